import Foundation

/// One line on the terminal that says what is going on; nothing where standard error is no terminal.
struct ProgressLine: Sendable {
    private let isVisible = Platform.standardErrorIsTerminal

    func show(_ text: String) {
        write("\r\u{1B}[K\(text)")
    }

    /// Shows how much of a known amount is done.
    func show(_ text: String, done: Int, of total: Int) {
        let width = 30
        let filled = total > 0 ? min(width, done * width / total) : width
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        show("\(bar) \(total > 0 ? min(100, done * 100 / total) : 100) % \(text)")
    }

    func clear() {
        write("\r\u{1B}[K")
    }

    private func write(_ text: String) {
        guard isVisible else { return }
        FileHandle.standardError.write(Data(text.utf8))
    }
}
