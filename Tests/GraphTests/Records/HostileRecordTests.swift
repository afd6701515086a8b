import Foundation
import Testing

@testable import Graph

/// Records with valid checksums that no program of good will wrote.
struct HostileRecordTests {
    private func replay(_ payloads: [UInt8]..., kind: Journal.RecordKind = .commit) throws -> StoreReplay {
        var replay = StoreReplay(schema: try Schema([EntityDescription(Plain.self)]), path: "hostile")
        for (index, payload) in payloads.enumerated() {
            try payload.withUnsafeBytes {
                try replay.apply(
                    JournalEntry(kind: kind, sequence: JournalSequence(UInt64(index + 2)), offset: 0, payload: $0))
            }
        }
        return replay
    }

    /// A commit of one entity.
    private func commit(_ number: UInt64, counter: UInt64, _ body: (inout ByteWriter) -> Void) -> [UInt8] {
        var writer = ByteWriter()
        writer.appendVarint(number)
        writer.appendFixed(UInt64(0))
        writer.appendString("")
        writer.appendVarint(1)
        writer.appendVarint(1)
        writer.appendVarint(counter)
        writer.appendVarint(1)
        writer.appendVarint(1)
        body(&writer)
        writer.appendVarint(0)
        return writer.bytes
    }

    @Test func `a row is inserted at version 1 and no other, so that versions cannot run out`() throws {
        for version: UInt64 in [0, 2, .max - 1, .max] {
            let record = commit(1, counter: 10) { writer in
                writer.appendVarint(1)
                writer.appendVarint(1)
                writer.appendVarint(version)
                writer.appendSignedVarint(5)
                writer.appendVarint(0)
                writer.appendVarint(0)
            }
            #expect(throws: GraphError.self) { try replay(record) }
        }
    }

    @Test func `rows far apart are read and walked through`() throws {
        let rows: [UInt64] = [1, 31, 32, 1 << 20, 1 << 40, (1 << 61) + 3, (1 << 62) - 1]
        let record = commit(1, counter: 1 << 62) { writer in
            writer.appendVarint(UInt64(rows.count))
            var previous: UInt64 = 0
            for row in rows {
                writer.appendVarint(row - previous)
                previous = row
                writer.appendVarint(1)
                writer.appendSignedVarint(5)
            }
            writer.appendVarint(0)
            writer.appendVarint(0)
        }
        let snapshot = try replay(record).snapshot
        #expect(try snapshot.fetchIDs(Plain.self).map(\.row) == rows)
        #expect(snapshot.checkInvariants() == [])
        #expect(snapshot.value(for: PersistentID<Plain>(row: .max)) == nil)
        #expect(throws: GraphError.self) {
            try replay(commit(1, counter: (1 << 62) + 1) { _ in })
        }
    }

    @Test func `random bytes and random changes of a record never trap`() throws {
        var generator = SeededGenerator(seed: 11)
        let record = commit(1, counter: 100) { writer in
            writer.appendVarint(3)
            for _ in 0..<3 {
                writer.appendVarint(2)
                writer.appendVarint(1)
                writer.appendSignedVarint(5)
            }
            writer.appendVarint(1)
            writer.appendVarint(2)
            writer.appendVarint(2)
            writer.appendVarint(1)
            writer.appendVarint(1)
            writer.appendSignedVarint(5)
            writer.appendSignedVarint(6)
            writer.appendVarint(1)
            writer.appendVarint(4)
            writer.appendVarint(1)
            writer.appendSignedVarint(5)
        }
        let whole = try replay(record)
        #expect(whole.snapshot.checkInvariants() == [])
        for _ in 0..<20_000 {
            var damaged = record
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                damaged[Int.random(in: damaged.indices, using: &generator)] = UInt8.random(
                    in: 0 ... .max, using: &generator)
            }
            if let result = try? replay(damaged) { #expect(result.snapshot.checkInvariants() == []) }
        }
    }

    @Test func `a schema with long names and many lines is compared in little memory`() throws {
        let name = String(repeating: "x", count: 100_000)
        let lines = (0..<20_000).map { "property \($0) \"p\"" }
        let malformed = "entity 1 \"\(name)\"\n" + lines.joined(separator: "\n")
        let properties = (1...20_000).map { "property \($0) \"\(name.prefix(200))\($0)\" int\n" }
        let other = "graph schema 1\nentity 1 \"\(name)\"\n" + properties.joined()
        for text in [malformed, other] {
            var replay = StoreReplay(schema: try Schema([EntityDescription(Plain.self)]), path: "store")
            let error = #expect(throws: GraphError.self) { try replay.apply(.schema, Array(text.utf8)) }
            #expect("\(error as Any)".utf8.count < 10_000)
            if text == other, case .schemaMismatch(_, let differences)? = error {
                #expect(differences.joined().utf8.count < 1_000_000)
            }
        }
    }
}

@Entity private struct Plain {
    @Indexed var number = 0
}
