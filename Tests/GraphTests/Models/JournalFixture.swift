import Foundation
import Synchronization

@testable import Graph

/// A small journal on a simulated disk, opened without actors.
struct JournalFixture {
    static let path = "/data/store.graph"
    static let schema = Array("schema".utf8)
    static let seal = Array("counters".utf8)

    /// A record as `replay` met it.
    struct Replayed: Sendable, Equatable {
        var kind: Journal.RecordKind
        var sequence: UInt64
        var offset: UInt64
        var payload: [UInt8]
    }

    /// Short allocations, and identifiers that a seed fixes.
    static func options(seed: UInt64 = 1) -> JournalOptions {
        let random = SharedGenerator(seed: seed)
        var options = JournalOptions()
        options.allocationMinimumBytes = 512
        options.allocationMaximumBytes = 1_024
        options.allocationChoices = 2
        options.random = { random.next() }
        options.nanosecondsSince1970 = { 1_000 }
        return options
    }

    static func open(
        _ disk: any StoreFileSystem, at path: String = Self.path, options: JournalOptions = Self.options()
    ) throws(GraphError) -> (opened: JournalOpening.Opened, records: [Replayed]) {
        var records: [Replayed] = []
        let opening = JournalOpening(fileSystem: disk, options: options)
        let opened = try opening.open(at: path, schema: schema, seal: seal, into: &records) { records, entry in
            records.append(
                Replayed(
                    kind: entry.kind, sequence: entry.sequence.number, offset: entry.offset,
                    payload: Array(entry.payload)))
        }
        return (opened, records)
    }

    /// What reading the file without its lock finds.
    static func read(_ disk: any StoreFileSystem) throws(GraphError) -> [Replayed] {
        let opening = JournalOpening(fileSystem: disk, options: Self.options())
        return try opening.read(at: path, into: [Replayed]()) { records, entry in
            records.append(
                Replayed(
                    kind: entry.kind, sequence: entry.sequence.number, offset: entry.offset,
                    payload: Array(entry.payload)))
        }.1
    }

    /// What a second opener meets while a process has the journal, which has opened it with `options`.
    static func alreadyOpen(by processID: Int32) -> GraphError {
        .alreadyOpen(path: path, processID: processID, since: Date(timeIntervalSince1970: 1e-6))
    }

    static func commit(_ number: Int) -> Journal.Record {
        // Some reach over several sectors.
        let count = number % 7 == 6 ? 1_100 : 8 + number * 37 % 90
        let payload = (0..<count).map { UInt8(truncatingIfNeeded: number &* 31 &+ $0 &* 7) | 1 }
        return Journal.Record(kind: .commit, payload: payload)
    }

    static func commits(in records: [Replayed]) -> [[UInt8]] {
        records.filter { $0.kind == .commit }.map(\.payload)
    }

    /// A journal with commits 1 to 4 in three groups, as its bytes.
    static func bytes(closed: Bool) throws -> [UInt8] {
        let disk = SimulatedDisk()
        var writer = try open(disk).opened.writer
        try writer.write([commit(1)])
        try writer.write([commit(2), commit(3)])
        try writer.write([commit(4)])
        if closed { try writer.close([9]) }
        return disk.contents(path) ?? []
    }

    /// Opens those bytes as a journal, with a lock file or without.
    static func open(
        bytes: [UInt8], lock: [UInt8]? = nil
    ) throws(GraphError) -> (opened: JournalOpening.Opened, records: [Replayed]) {
        let disk = SimulatedDisk()
        disk.setContents(bytes, at: path)
        if let lock { disk.setContents(lock, at: path + ".lock") }
        return try open(disk)
    }
}

private final class SharedGenerator: Sendable {
    private let generator: Mutex<SeededGenerator>

    init(seed: UInt64) {
        generator = Mutex(SeededGenerator(seed: seed))
    }

    func next() -> UInt64 { generator.withLock { $0.next() } }
}
