import Foundation
import Synchronization

/// A store in a process of its own, so that no memory of other workloads is counted or used again.
enum FootprintProcess {
    /// The first argument of the process.
    static let command = "footprint-of"
    /// The workloads that start such processes.
    static let (people, packages) = ("memory", "packages_memory")

    /// Gets ready for a store of about so many rows, and returns what makes it, with texts that nothing else has.
    typealias Load = @Sendable (_ rows: Int, _ seed: UInt64) async throws -> () async throws -> Store

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
    static func contender(_ side: Side, _ workload: String) -> Workload.Contender {
        return { setting in
            let arguments = [
                command, side.rawValue, "--workload", workload, "--rows", String(setting.data.rows),
                "--seed", String(setting.seed),
            ]
            let count = workload == packages ? await setting.packages.objectCount : setting.data.rows
            return { _ in
                let text = try output(of: Platform.executable, arguments: arguments)
                let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { UInt64($0) }
                guard numbers.count == 2 else { throw Failure(status: 0, output: text) }
                return Measurement(amount: Double(numbers[0]), count: count, answer: numbers[1])
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
    static func report(
        _ side: Side, of workload: String, rows: Int, seed: UInt64, engine: EngineSuite
    ) async throws {
        guard let load = load(side, of: workload, engine: engine) else { return }
        let makeStore = try await load(rows, seed)
        Platform.releaseFreeMemory()
        let before = Platform.residentBytes ?? 0
        let store = try await makeStore()
        Platform.releaseFreeMemory()
        let after = Platform.residentBytes ?? 0
        // The store lives until its memory was counted, and what it was made of as long.
        try withExtendedLifetime((store.object, makeStore)) {
            print(max(0, after - before), try store.answer())
        }
    }

    static func load(_ side: Side, of workload: String, engine: EngineSuite) -> Load? {
        switch side {
        case .engine: engine.footprints[workload]
        case .sqlite: workload == packages ? loadSQLitePackages : loadSQLite
        case .native: workload == packages ? nil : loadNative
        }
    }

    private static let loadSQLite: Load = { rows, _ in
        return {
            let peer = try SQLitePeer(at: .memory)
            try peer.load(rows: rows, teams: PeopleData.teamCount(rows: rows))
            return Store(object: peer) { try peer.answer() }
        }
    }

    private static let loadSQLitePackages: Load = { rows, seed in
        let index = PackageIndex(objects: rows, seed: seed)
        return {
            let peer = try SQLitePackagePeer(at: .memory)
            try peer.load(index) { index.packages[$0].afresh }
            return Store(object: peer) { try peer.answer() }
        }
    }

    private static let loadNative: Load = { rows, _ in
        return {
            let peer = NativePeer(rows: rows, teams: PeopleData.teamCount(rows: rows))
            return Store(object: peer) { peer.answer }
        }
    }
}
