import Foundation
import Synchronization

/// A store in a process of its own, so that no memory of other workloads is counted or used again.
enum FootprintProcess {
    /// The first argument of the process.
    static let command = "footprint-of"
    /// The workload that starts such processes.
    static let workload = "memory"

    /// Makes a store with `rows` people, whose strings are made one row at a time, and returns it with a way to its answer.
    typealias Load = @Sendable (_ rows: Int) async throws -> Store

    struct Store {
        let object: AnyObject
        /// Called once the memory was counted.
        let answer: () throws -> UInt64
    }

    struct Failure: Error {
        let status: Int32
        let output: String
    }

    /// The process that runs, if one does.
    private static let running = Mutex<Int32?>(nil)

    /// Ends the process that runs: it would go on behind an interruption.
    ///
    /// - Returns: whether one did.
    @discardableResult
    static func end() -> Bool {
        running.withLock { identifier in
            guard let identifier else { return false }
            Platform.end(process: identifier)
            return true
        }
    }

    /// Starts the process for one side and reads what it printed.
    static func contender(_ side: Side) -> Workload.Contender {
        return { setting in
            let rows = setting.data.rows
            return { _ in
                let text = try output(
                    of: Platform.executable, arguments: [command, side.rawValue, "--rows", String(rows)])
                let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { UInt64($0) }
                guard numbers.count == 2 else { throw Failure(status: 0, output: text) }
                return Measurement(amount: Double(numbers[0]), count: rows, answer: numbers[1])
            }
        }
    }

    /// Runs a program, which ``end()`` may end, and returns what it printed.
    static func output(of program: URL, arguments: [String]) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = program
        process.arguments = arguments
        process.standardOutput = output
        try running.withLock { identifier in
            try process.run()
            identifier = process.processIdentifier
        }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        running.withLock { $0 = nil }
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(status: process.terminationStatus, output: text)
        }
        return text
    }

    /// What the process does: prints by how many bytes the resident memory grew, and the store's answer.
    static func report(_ side: Side, rows: Int, engine: EngineSuite) async throws {
        let load: Load? =
            switch side {
            case .engine: engine.footprint
            case .sqlite: loadSQLite
            case .native: loadNative
            }
        guard let load else { return }
        let before = Platform.residentBytes ?? 0
        let store = try await load(rows)
        Platform.releaseFreeMemory()
        let after = Platform.residentBytes ?? 0
        // The store lives until its memory was counted.
        try withExtendedLifetime(store.object) {
            print(max(0, after - before), try store.answer())
        }
    }

    private static func loadSQLite(rows: Int) throws -> Store {
        let peer = try SQLitePeer(at: .memory)
        try peer.load(rows: rows, teams: PeopleData.teamCount(rows: rows))
        return Store(object: peer) { try peer.answer() }
    }

    private static func loadNative(rows: Int) -> Store {
        let peer = NativePeer(rows: rows, teams: PeopleData.teamCount(rows: rows))
        return Store(object: peer) { peer.answer }
    }
}
