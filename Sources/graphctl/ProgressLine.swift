import Foundation
import Synchronization

/// A line on a terminal that says what the program is doing, and goes away when there is something else to print.
final class ProgressLine: Sendable {
    private let isShown = Mutex(false)

    /// Returns nil if standard error is not a terminal.
    init?() {
        guard isatty(STDERR_FILENO) == 1 else { return nil }
    }

    /// Replaces the line.
    func show(_ text: String) {
        isShown.withLock { isShown in
            Self.write("\r\(text)\u{1B}[K")
            isShown = true
        }
    }

    /// Removes the line, if there is one.
    func erase() {
        isShown.withLock { isShown in
            if isShown { Self.write("\r\u{1B}[K") }
            isShown = false
        }
    }

    private static func write(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }
}
