import Foundation

/// A process that serves runs, as the process that asks for them sees it.
final class RunProcess {
    /// A process that has ended, or says something else than it should.
    struct Failure: Error, CustomStringConvertible {
        let program: String
        let hasEnded: Bool

        var description: String {
            hasEnded ? "\(program) has ended, as one does that knows no pairs" : "\(program) answers with no figure"
        }
    }

    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    /// What has come of lines that are not complete, or not asked for.
    private var buffer = Data()

    /// Starts a process and returns once it is ready.
    init(_ program: URL, workload: String, arguments: [String]) throws {
        process.executableURL = program
        process.arguments = [RunServer.command, workload] + arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let line = nextLine()
        if line != RunServer.ready {
            end()
            throw Failure(program: program.path, hasEnded: line == nil)
        }
    }

    deinit {
        end()
    }

    func run(_ number: Int) throws -> PairSeries.Figure {
        try input.fileHandleForWriting.write(contentsOf: Data("\(number)\n".utf8))
        let line = nextLine()
        guard let line, let figure = RunServer.figure(line) else {
            throw Failure(program: process.executableURL?.path ?? "", hasEnded: line == nil)
        }
        return figure
    }

    /// Has the process end, and waits until it has.
    func end() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// Waits for the next line; nil if there is none.
    private func nextLine() -> String? {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                defer { buffer = Data(buffer[(end + 1)...]) }
                return String(decoding: buffer[..<end], as: UTF8.self)
            }
            let more = output.fileHandleForReading.availableData
            if more.isEmpty { return nil }
            buffer += more
        }
    }
}
