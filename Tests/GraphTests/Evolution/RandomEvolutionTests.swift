import Foundation
import Testing

@testable import Graph

/// Changes of a schema in any order, together or one after another, lead to the same store.
struct RandomEvolutionTests {
    @Test(arguments: Sweep.seeds(0..<24))
    func `versions one after another, and the last one directly, give equal stores`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let store = [GoldenStore.library, .libraryCompacted, .libraryUnclean].randomElement(using: &random) ?? .library
        var (record, records): (SchemaRecord, [SchemaRecord]) = (try store.record, [])
        for change in AutomaticChangeTests.changes.shuffled(using: &random) {
            // Some exclude each other.
            var next = record
            guard (try? change.change(&next)) != nil,
                let checked = try? next.bytes.withUnsafeBytes({ try SchemaRecord(reading: $0) }),
                SchemaComparison(
                    from: try Schema(record), to: try Schema(checked),
                    rowCounts: record.entities.map { _ in 1 }, dropping: ["Shelf", "Draft", "Reader.nickname"]
                ).refused.isEmpty
            else { continue }
            record = checked
            if random.chance(2) { records.append(record) }
        }
        records.append(record)
        let dropping = ["Shelf", "Reader.nickname"]
        let (steps, direct) = (try store.copy(), try store.copy())
        var stepwise: PlainState?
        for record in records {
            let coordinator = try await Coordinator.open(try Schema(record), steps.file(), dropping: dropping)
            #expect(coordinator.check() == [])
            stepwise = PlainState(coordinator.snapshot)
            if random.chance(3) { try await coordinator.compact() }
            try await coordinator.close()
        }
        let coordinator = try await Coordinator.open(try Schema(record), direct.file(), dropping: dropping)
        #expect(coordinator.check() == [])
        #expect(PlainState(coordinator.snapshot) == stepwise)
        try await coordinator.close()
    }

    @Test func `a schema record says itself, and any other text is refused or says something complete`() throws {
        for store in [GoldenStore.library, .wide] {
            let record = try store.record
            #expect(SchemaRecord(try Schema(record)) == record)
            var random = SeededGenerator(seed: 3)
            let followed = record.following(SchemaRecord(entities: [], earlier: [record.fingerprint]))
            #expect(followed.earlier == [SchemaRecord(entities: [], earlier: []).fingerprint])
            let bytes = record.following(SchemaRecord(entities: [], earlier: [])).bytes
            var taken = 0
            for round in 0..<3_000 where Sweep.tries(round) {
                var other = bytes
                for _ in 0...Int.random(in: 0...2, using: &random) {
                    let place = Int.random(in: other.indices, using: &random)
                    switch Int.random(in: 0...2, using: &random) {
                    case 0: other[place] = UInt8.random(in: 0 ... .max, using: &random)
                    case 1: other.remove(at: place)
                    default: other.insert(other[Int.random(in: other.indices, using: &random)], at: place)
                    }
                }
                guard let read = try? other.withUnsafeBytes({ try SchemaRecord(reading: $0) }) else { continue }
                taken += 1
                // What can be read can be written and read again, and is a schema.
                #expect(try read.bytes.withUnsafeBytes { try SchemaRecord(reading: $0) } == read)
                let schema = try? Schema(read)
                if let schema { #expect(SchemaRecord(schema).entities == read.entities) }
            }
            #expect(taken > Sweep.least(100))
        }
    }
}
