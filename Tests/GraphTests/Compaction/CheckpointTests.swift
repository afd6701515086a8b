import Testing

@testable import Graph

/// The state at a commit as payloads, and what becomes of payloads that nobody vouches for.
struct CheckpointTests {
    enum Model: CaseIterable {
        case albums
        case school

        func state(seed: UInt64) throws -> (snapshot: Snapshot, counters: [RowNumber]) {
            switch self {
            case .albums:
                var (store, random) = (try RecordedStore(), SeededGenerator(seed: seed))
                for _ in 0..<(1 + seed % 6) { try store.commitRandomly(&random) }
                return (store.state.head, store.counters)
            case .school:
                let store = try StoreReplayHostileTests.school().store
                return (store.state.head, store.counters)
            }
        }
    }

    private static func payloads(of state: (snapshot: Snapshot, counters: [RowNumber])) throws -> [[UInt8]] {
        var writer = CheckpointWriter(
            state.snapshot, SchemaRecord(state.snapshot.schema), counters: state.counters, time: 5)
        var payloads: [[UInt8]] = []
        while let payload = try writer.next() { payloads.append(payload) }
        return payloads
    }

    /// What a replay makes of payloads, its indexes included.
    private static func replay(
        _ payloads: [[UInt8]],
        of snapshot: Snapshot,
        keepsIndexes: Bool = false,
        baseCommit: CommitNumber? = nil
    ) throws(GraphError) -> StoreReplay {
        var replay = StoreReplay(schema: snapshot.schema, path: "store", keepsIndexes: keepsIndexes)
        let records = payloads.map { (Journal.RecordKind.snapshotChunk, $0) } + [(.snapshotEnd, [])]
        for (kind, payload) in records {
            // The compiler does not yet pass a closure's error type through `withUnsafeBytes`.
            let result = payload.withUnsafeBytes { buffer in
                Result { () throws(GraphError) in
                    try replay.apply(
                        JournalEntry(
                            kind: kind, sequence: JournalSequence(2), offset: 64,
                            baseCommit: baseCommit ?? snapshot.commit,
                            payload: buffer))
                }
            }
            try result.get()
        }
        _ = try replay.finish()
        return replay
    }

    /// Whether two states have the same rows, versions and links.
    private static func isSame(_ lhs: Snapshot, _ rhs: Snapshot) -> Bool {
        guard lhs.commit == rhs.commit else { return false }
        for (entity, description) in lhs.schema.entities.enumerated() {
            let (ours, theirs) = (lhs.entities[entity].rows, rhs.entities[entity].rows)
            guard ours.rowNumbers == theirs.rowNumbers else { return false }
            for row in ours.rowNumbers {
                guard ours.version(of: row) == theirs.version(of: row), let left = ours.address(of: row),
                    let right = theirs.address(of: row), description.areIdentical(left, right)
                else { return false }
            }
        }
        return zip(lhs.linkTables, rhs.linkTables).allSatisfy { $0.isIdentical(to: $1) }
    }

    @Test(arguments: Model.allCases, [false, true])
    func `a checkpoint has all rows, versions, links, orders and counters`(model: Model, keepsIndexes: Bool) throws {
        for seed in 1...20 as ClosedRange<UInt64> {
            let state = try model.state(seed: seed)
            let replay = try Self.replay(
                try Self.payloads(of: state), of: state.snapshot, keepsIndexes: keepsIndexes)
            #expect(Self.isSame(replay.snapshot, state.snapshot))
            #expect(replay.counters == state.counters && replay.snapshot.check() == [])
        }
    }

    @Test func `a long checkpoint has many payloads, and rows far from each other`() throws {
        let schema = try Schema([EntityDescription(Team.self), EntityDescription(Person.self)])
        var work = WorkingState(base: Snapshot(schema: schema))
        for row in 1...20_000 as ClosedRange<RowNumber> {
            work.insert(row * row, Person(name: String(repeating: "n", count: Int(row % 50)), age: Int(row)))
        }
        var state = CommitState(head: Snapshot(schema: schema))
        let commit = try state.prepare(work)
        state.accept(commit)
        let counters: [RowNumber] = [1, 1 << 40]
        let payloads = try Self.payloads(of: (state.head, counters))
        #expect(payloads.count > 3 && payloads.allSatisfy { $0.count < 300 << 10 })
        let replay = try Self.replay(payloads, of: state.head)
        #expect(Self.isSame(replay.snapshot, state.head) && replay.counters == counters)
    }

    @Test func `rows of a leaf that are too long for one block are divided`() throws {
        let schema = try Schema([EntityDescription(Team.self), EntityDescription(Person.self)])
        var state = CommitState(head: Snapshot(schema: schema))
        var work = WorkingState(base: state.head)
        for row in 1...6 as ClosedRange<RowNumber> {
            work.insert(row, Person(name: String(repeating: "\(row)", count: 12 << 20)))
        }
        state.accept(try state.prepare(work))
        let payloads = try Self.payloads(of: (state.head, [1, 100]))
        #expect(payloads.allSatisfy { $0.count < 64 << 20 })
        #expect(Self.isSame(try Self.replay(payloads, of: state.head).snapshot, state.head))
    }

    @Test func `an empty store has a checkpoint`() throws {
        let snapshot = Snapshot(schema: try .albums())
        let payloads = try Self.payloads(of: (snapshot, [7, 7, 7, 7, 7]))
        #expect(payloads.count == 1)
        #expect(try Self.replay(payloads, of: snapshot).counters == [7, 7, 7, 7, 7])
    }

    // MARK: What nobody vouches for

    @Test(arguments: Model.allCases)
    func `payloads that are missing, doubled or out of place are refused`(model: Model) throws {
        let state = try model.state(seed: 6)
        let payloads = try Self.payloads(of: state)
        for place in payloads.indices {
            var fewer = payloads
            fewer.remove(at: place)
            #expect(throws: GraphError.self) { try Self.replay(fewer, of: state.snapshot) }
            for keepsIndexes in [false, true] {
                #expect(throws: GraphError.self) {
                    try Self.replay(payloads + [payloads[place]], of: state.snapshot, keepsIndexes: keepsIndexes)
                }
            }
        }
        #expect(throws: GraphError.self) { try Self.replay(payloads.reversed(), of: state.snapshot) }
        #expect(throws: GraphError.self) { try Self.replay(payloads, of: state.snapshot, baseCommit: CommitNumber(77)) }
    }

    /// Of an order, the places and the references must be the same: none may be missing on either side, also where both sides have
    /// as many.
    @Test(arguments: [false, true])
    func `an order with other members than the references is refused`(keepsIndexes: Bool) throws {
        let state = try Model.school.state(seed: 1)
        let schema = state.snapshot.schema
        var changed = 0
        for list in schema.linkTables.indices where schema.linkTables[list].toOne != nil {
            var pairs: [LinkTable.Pair] = []
            state.snapshot.linkTables[list].members.forEachEntry { entry in
                pairs.append(LinkTable.Pair(entry))
                return true
            }
            let owners = state.snapshot.entities[schema.linkTables[list].entity].rows.rowNumbers
            for pair in pairs {
                for owner in [nil] + owners.filter({ $0 != pair.owner }) {
                    for keepsPlace in owner == nil ? [false] : [false, true] {
                        var snapshot = state.snapshot
                        if let owner { snapshot.linkTables[list].insert(pair.member, of: owner, key: pair.key) }
                        if !keepsPlace { snapshot.linkTables[list].remove(pair.member, of: pair.owner) }
                        let payloads = try Self.payloads(of: (snapshot, state.counters))
                        #expect(throws: GraphError.self) {
                            try Self.replay(payloads, of: snapshot, keepsIndexes: keepsIndexes)
                        }
                        changed += 1
                    }
                }
            }
        }
        #expect(changed >= 9)
    }

    /// Every byte takes other values, and each part of a payload goes missing: a replay refuses the payload, or comes out with
    /// a state that keeps every rule. With and without indexes it decides the same.
    @Test(arguments: Model.allCases)
    func `a payload with other bytes is refused, or leads to a sound state`(model: Model) throws {
        let state = try model.state(seed: 5)
        let payloads = try Self.payloads(of: state)
        var random = SeededGenerator(seed: 3)
        var (refused, taken) = (0, 0)
        func check(_ changed: [[UInt8]], _ comment: @autoclosure () -> String) {
            let results = [false, true].map { keepsIndexes in
                Result { () throws(GraphError) in
                    try Self.replay(changed, of: state.snapshot, keepsIndexes: keepsIndexes)
                }
            }
            switch (results[0], results[1]) {
            case (.success(let replay), .success(let other)):
                taken += 1
                let findings = replay.snapshot.check() + other.snapshot.check()
                #expect(findings == [] && Self.isSame(replay.snapshot, other.snapshot), "\(comment())")
            case (.failure(let error), .failure):
                refused += 1
                #expect("\(error)".count < 2_000)
            default:
                Issue.record("\(comment()): \(results)")
            }
        }
        for (number, payload) in payloads.enumerated() {
            for place in payload.indices {
                for _ in 0..<6 {
                    var changed = payloads
                    changed[number][place] = UInt8.random(in: .min ... .max, using: &random)
                    check(changed, "payload \(number), byte \(place) is \(changed[number][place])")
                }
                var changed = payloads
                changed[number].removeSubrange(place...)
                check(changed, "payload \(number) ends at \(place)")
            }
        }
        #expect(refused > 1_000 && taken > 20, "\(refused) refused, \(taken) taken")
    }
}
