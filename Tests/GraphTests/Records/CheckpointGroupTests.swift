import Testing

@testable import Graph

/// Parts of a checkpoint that several threads decode at once: the same state and the same error as one after the other.
struct CheckpointGroupTests {
    private static let rowCount: RowNumber = 20_000

    /// Payloads of a store, most of which have rows; every row but the teams' refers to a team.
    private static func payloads(brokenRow: RowNumber? = nil) throws -> (snapshot: Snapshot, payloads: [[UInt8]]) {
        let schema = try Schema([EntityDescription(Team.self), EntityDescription(Person.self)])
        var snapshot = Snapshot(schema: schema)
        var team = Team(name: "team")
        var scratch = EntryScratch()
        withUnsafePointer(to: &team) {
            _ = snapshot.set(RowID(entity: 0, row: 1), version: RowVersion(1), copying: $0, scratch: &scratch)
        }
        for row in 1...rowCount {
            let target = PersistentID<Team>(row: row == brokenRow ? 2 : 1)
            let name = String(repeating: "n", count: Int(row % 50))
            var person = Person(name: name, email: "\(row)@example.com", age: Int(row), team: ToOne(target))
            withUnsafePointer(to: &person) {
                _ = snapshot.set(RowID(entity: 1, row: row), version: RowVersion(1), copying: $0, scratch: &scratch)
            }
        }
        snapshot.token.commit = CommitNumber(1)
        var writer = CheckpointWriter(
            snapshot, SchemaRecord(schema), counters: [3, rowCount + 1], time: 5)
        var payloads: [[UInt8]] = []
        while let payload = try writer.next() { payloads.append(payload) }
        return (snapshot, payloads)
    }

    /// Replays payloads, of which those before `ends` are the last ones of their groups.
    private static func replay(
        _ payloads: [[UInt8]], of schema: Schema, ends: Set<Int>
    ) throws(GraphError) -> StoreReplay {
        var replay = StoreReplay(schema: schema, path: "store", keepsIndexes: false)
        // They are valid for as long as a group may be.
        let buffers = (payloads + [[]]).map { payload in
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: payload.count, alignment: 8)
            buffer.copyBytes(from: payload)
            return UnsafeRawBufferPointer(buffer)
        }
        defer { for buffer in buffers { buffer.deallocate() } }
        for (number, buffer) in buffers.enumerated() {
            try replay.apply(
                JournalEntry(
                    kind: number < payloads.count ? .snapshotChunk : .snapshotEnd,
                    sequence: JournalSequence(UInt64(number + 2)), offset: UInt64(number) * 1_000,
                    baseCommit: CommitNumber(1), payload: buffer,
                    endsGroup: number == payloads.count || ends.contains(number + 1)))
        }
        _ = try replay.finish()
        return replay
    }

    /// Where the reader says that the first thing wrong is, and what.
    private static func failure(
        _ payloads: [[UInt8]], of schema: Schema, ends: Set<Int>
    ) -> (offset: UInt64, description: String)? {
        do throws(GraphError) {
            _ = try replay(payloads, of: schema, ends: ends)
            return nil
        } catch {
            guard case .invalidRecord(_, let offset, _, _) = error else { return (.max, "\(error)") }
            return (offset, "\(error)")
        }
    }

    @Test func `groups of any length make the same state`() throws {
        let (snapshot, payloads) = try Self.payloads()
        #expect(payloads.count(where: { $0[0] == 1 }) > 3)
        var random = SeededGenerator(seed: 3)
        for share in 0...4 {
            let ends = Set(payloads.indices.filter { _ in Int.random(in: 0..<4, using: &random) < share })
            let replay = try Self.replay(payloads, of: snapshot.schema, ends: ends)
            #expect(replay.snapshot.check() == [] && replay.snapshot.entities[1].rows.checkInvariants() == [])
            #expect(replay.snapshot.entities[1].rows.count == Int(Self.rowCount))
            for row in 1...Self.rowCount {
                let id = RowID(entity: 1, row: row)
                let (ours, theirs) = (replay.snapshot.address(of: id), snapshot.address(of: id))
                guard let ours, let theirs, snapshot.schema.entities[1].areIdentical(ours, theirs) else {
                    Issue.record("row \(row)")
                    return
                }
            }
        }
    }

    @Test func `of several damaged parts the first one is reported, whichever thread decodes it`() throws {
        let (snapshot, payloads) = try Self.payloads()
        let parts = payloads.indices.filter { payloads[$0][0] == 1 }
        for first in parts {
            for second in parts where second >= first {
                var damaged = payloads
                // The second one is found out at once, the first one only at its end.
                damaged[first].removeLast()
                if second > first { damaged[second][1] = 77 }
                let found = Self.failure(damaged, of: snapshot.schema, ends: [])
                #expect(found?.offset == UInt64(first) * 1_000)
                let alone = Self.failure(damaged, of: snapshot.schema, ends: Set(payloads.indices))
                #expect(found?.description == alone?.description)
            }
        }
    }

    @Test func `rows that come twice, and rows before the head, are refused in a group as well`() throws {
        let (snapshot, payloads) = try Self.payloads()
        let place = try #require(payloads.lastIndex { $0[0] == 1 })
        var (twice, headless) = (payloads, payloads)
        twice.insert(payloads[place], at: place + 1)
        headless.swapAt(0, place)
        for (damaged, offset) in [(twice, place + 1), (headless, 0)] {
            let found = Self.failure(damaged, of: snapshot.schema, ends: [])
            #expect(found?.offset == UInt64(offset) * 1_000)
            let alone = Self.failure(damaged, of: snapshot.schema, ends: Set(payloads.indices))
            #expect(found?.description == alone?.description)
        }
    }

    @Test(arguments: [1, 31, 32, 10_000, 15_000, 20_000] as [RowNumber])
    func `one reference among many that leads to no row is found`(row: RowNumber) throws {
        let (snapshot, payloads) = try Self.payloads(brokenRow: row)
        let found = Self.failure(payloads, of: snapshot.schema, ends: [])
        #expect(found?.description.contains("\(row)") == true)
        #expect(found?.offset == UInt64(payloads.count) * 1_000)
    }

    @Test func `parts of a table are all of it, in order`() {
        for (count, step) in [(1, 1), (3, 1 << 40), (5_000, 1), (5_000, 77), (5_000, 1 << 45)] as [(UInt64, UInt64)] {
            var table = RowTable(layout: RowLayout(UInt64.self))
            for number in 1...count { _ = table.set(number * step, version: 1, number) }
            var rows: [RowNumber] = []
            for leaves in table.parts {
                table.forEachRun(in: leaves) { run in
                    run.occupancy.forEachBit { rows.append(run.firstRow + UInt64($0)) }
                }
            }
            #expect(rows == table.rowNumbers)
        }
        #expect(RowTable(layout: RowLayout(UInt64.self)).parts == [])
    }

    @Test func `a leaf comes into a table that has none there, or beside the rows of one`() {
        let live = LiveCount()
        do {
            var table = RowTable(layout: TokenRow.layout)
            for (first, expected) in [(0, true), (4, true), (3, false), (40, true), (1 << 40, true)]
                as [(RowNumber, Bool)]
            {
                var leaf = LooseLeaf(first >> 5, TokenRow.layout)
                for row in first..<(first + 4) {
                    let place = Int(row & 31)
                    leaf.freePlace(place).initializeMemory(as: TokenRow.self, to: TokenRow(row, live))
                    leaf.add(place, version: RowVersion(row + 1))
                }
                let old = table
                #expect(table.insert(leaf) == expected)
                #expect(table.count == old.count + (expected ? 4 : 0) && table.checkInvariants() == [])
                #expect(table.hasLeaf(first >> 5) && !table.hasLeaf(first >> 5 + 7))
            }
            #expect(table.rowNumbers == Array(0..<8) + Array(40..<44) + Array((1 << 40)..<(1 << 40 + 4)))
            #expect(table.rowNumbers.allSatisfy { table.version(of: $0) == RowVersion($0 + 1) })
            #expect(live.value == 16)
        }
        #expect(live.value == 0)
    }
}
