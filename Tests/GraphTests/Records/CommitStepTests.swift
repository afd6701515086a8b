import Testing

@testable import Graph

/// States of the past, by records: those of good will, and others.
struct CommitStepTests {
    /// A store's states, and the records that lead from each to the next.
    private struct Annals {
        var store: RecordedStore
        var states: [Snapshot]

        init(_ store: RecordedStore) { (self.store, states) = (store, [store.state.head]) }

        func record(_ index: Int) -> [UInt8] { store.records[store.records.count - states.count + 1 + index] }
    }

    /// Takes a state over a record, and returns what it changes, if that is kept.
    private static func pass(
        _ record: [UInt8], _ step: inout CommitStep, isBack: Bool, between states: (Snapshot, Snapshot),
        keepsChanges: Bool = true
    ) throws -> CommitChanges? {
        var changes = keepsChanges ? CommitChanges(step.state.schema, (states.0.token, states.1.token)) : nil
        try record.withUnsafeBytes { try step.apply($0, isBack: isBack, keeping: &changes) }
        step.state.token = isBack ? states.0.token : states.1.token
        return changes
    }

    @Test func `a walk over the commits of a store, back and forth, meets its states and their differences`() throws {
        for seed in Seeds.programs(share: 8) {
            var random = SeededGenerator(seed: seed)
            var annals = Annals(try RecordedStore(counter: 1_000))
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                try annals.store.commitRandomly(&random)
                annals.states.append(annals.store.state.head)
            }
            let states = annals.states
            var step = CommitStep(PastState(states[states.count - 1], isWhole: random.chance(2)), path: "store")
            var place = states.count - 1
            for _ in 0..<40 {
                let isBack = place == states.count - 1 || (place > 0 && random.chance(2))
                let first = isBack ? place - 1 : place
                let pair = (states[first], states[first + 1])
                let keepsChanges = random.chance(2)
                let changes = try Self.pass(
                    annals.record(first), &step, isBack: isBack, between: pair, keepsChanges: keepsChanges)
                place = isBack ? first : first + 1
                let expected = SnapshotDifference(before: pair.0, after: pair.1)
                #expect(changes?.lines() == (keepsChanges ? expected.lines() : nil), "seed \(seed)")
                #expect(step.state.snapshot.contents() == states[place].contents(), "seed \(seed)")
                #expect(step.state.snapshot.checkByHand() == [], "seed \(seed)")
            }
        }
    }

    @Test func `a row that a record writes as it was has not changed, but for its version`() throws {
        var store = try RecordedStore()
        try store.commit { $0.insert(1, Album(title: "one", code: "a")) }
        let state = store.state.head
        let album = try #require(state.schema.index(of: Album.self))
        var record = ByteWriter()
        record.appendVarint(2)
        record.appendFixed(UInt64(0))
        record.appendString("")
        // No counters; one entity without inserts and deletes, and with the update of row 1 to version 2; no links.
        for number in [0, 1, SchemaRecord.tag(album), 0, 1, 1, 2, 0, 0, 0] { record.appendVarint(number) }
        var next = state
        next.token.commit = CommitNumber(2)
        var step = CommitStep(PastState(state, isWhole: false), path: "store")
        for isBack in [false, true] {
            let changes = try #require(try Self.pass(record.bytes, &step, isBack: isBack, between: (state, next)))
            #expect(step.state.entities[album].row(1)?.version == RowVersion(isBack ? 1 : 2))
            #expect(!changes.hasChanges(of: Album.self) && changes.objectChanges(of: Album.self).isEmpty)
            #expect(changes.objectChange(of: PersistentID<Album>(row: 1)) == nil)
        }
    }

    @Test(arguments: StoreReplayHostileTests.Model.allCases)
    func `a record with another byte is refused or passed, either way, and can be asked`(
        model: StoreReplayHostileTests.Model
    ) throws {
        let (store, record) = try model.store()
        let before = try store.replay().snapshot
        var after = try store.replay()
        try after.apply(.commit, record)
        let states = (before, after.snapshot)
        var random = SystemRandomNumberGenerator()
        var taken = 0
        for position in record.indices {
            let byte = record[position]
            let values: [UInt8] = [0, 1, 0x7F, 0x80, 0xFF, byte &+ 1, byte &- 1, .random(in: 0...255, using: &random)]
            for value in values {
                var other = record
                other[position] = value
                for isBack in [true, false] {
                    var step = CommitStep(
                        PastState(isBack ? states.1 : states.0, isWhole: value % 2 == 0), path: "store")
                    do {
                        let changes = try Self.pass(other, &step, isBack: isBack, between: states)
                        taken += changes?.lines().isEmpty == false ? 1 : 0
                    } catch {
                        // Anything else would be reported to the program as it is.
                        if !(error is ByteReader.Failure || error is GraphError) { Issue.record(error) }
                    }
                }
            }
        }
        #expect(taken > 2)
    }
}
