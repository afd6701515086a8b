import Foundation
import Testing

@testable import Graph

/// What random programs write, byte by byte, is as it was when `Golden/records.txt` was made: a file means the same to every
/// version of the engine, down to the order of rows, links and keys in a commit.
///
/// Each line has a seed, the number of commits and schemas and the digest of their kinds and payloads, of which the times and the row
/// counters of commits are taken out. A change of the engine must not change a line. A change of the random programs does:
/// `GRAPH_GOLDEN=write swift test --filter GoldenRecordTests` then writes the file again, with the engine of before.
struct GoldenRecordTests {
    private static let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Golden/records.txt")

    @Test func `random programs write the same records as ever`() async throws {
        if ProcessInfo.processInfo.environment["GRAPH_GOLDEN"] == "write" {
            var lines: [String] = []
            for seed in UInt64(1)...100 { lines.append(try await Self.line(seed)) }
            try (lines.joined(separator: "\n") + "\n").write(to: Self.file, atomically: true, encoding: .utf8)
            return
        }
        let golden = try String(contentsOf: Self.file, encoding: .utf8).split(separator: "\n").map(String.init)
        #expect(golden.count == 100)
        for (index, line) in golden.enumerated() where Sweep.choices([true, false, false], for: index).contains(true) {
            #expect(try await Self.line(UInt64(index) + 1) == line)
        }
    }

    private static func line(_ seed: UInt64) async throws -> String {
        let records = try await StoreProgramRun.records(of: StoreProgram(length: 60, seed: seed))
            .filter { [.schema, .commit].contains($0.kind) }
        let bytes = try records.flatMap { try [$0.kind.rawValue] + reproducible($0) }
        let digest = SHA256.digest(bytes).prefix(8).map { StoreID.hexadecimal(UInt64($0)).suffix(2) }.joined()
        return "\(seed) \(records.count) \(digest)"
    }

    /// What is left of a commit without its time and without the row counters, which count what runs of a transaction threw
    /// away; how many there were is chance.
    private static func reproducible(_ record: JournalFixture.Replayed) throws -> [UInt8] {
        guard record.kind == .commit else { return record.payload }
        return try record.payload.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            _ = try reader.readVarint()
            let number = record.payload[..<reader.offset]
            _ = try reader.readFixed(UInt64.self)
            let start = reader.offset
            _ = try reader.readString()
            let author = record.payload[start..<reader.offset]
            for _ in 0..<(try reader.readVarint()) { _ = (try reader.readVarint(), try reader.readVarint()) }
            return Array(number + author + record.payload[reader.offset...])
        }
    }
}

extension StoreProgramRun {
    /// The records of the journal that a program leaves behind.
    fileprivate static func records(of program: StoreProgram) async throws -> [JournalFixture.Replayed] {
        let disk = GatedDisk()
        var run = try await StoreProgramRun(path: nil, .full, disk, undoes: program.hasUndo)
        (run.isCompacted, run.evolves) = (false, false)
        try await run.perform(program)
        try await run.coordinator.close()
        return try JournalFixture.open(bytes: disk.disk.contents(JournalFixture.path) ?? []).records
    }
}
