import Testing

@testable import Graph

/// Texts that Swift takes for equal, because only their composition differs, are one unique value and one key.
struct EquivalentTextTests {
    private static let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")

    @Test func `R10: composed and decomposed texts are one unique value`() async throws {
        let coordinator = try await Coordinator(for: Person.self, Team.self)
        try await coordinator.transaction { _ = $0.insert(Person(name: "one", email: Self.composed)) }
        let error = await #expect(throws: GraphError.self) {
            try await coordinator.transaction { _ = $0.insert(Person(name: "two", email: Self.decomposed)) }
        }
        guard case .notUnique(let violations) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(violations.map { "\($0.id) \($0.existing)" } == ["Person/p2 Person/p1"])
        #expect(coordinator.check() == [])
    }

    @Test func `R1: composing a unique text otherwise is a change, and clashes with nobody`() async throws {
        let coordinator = try await Coordinator(for: Person.self, Team.self)
        let id = try await coordinator.transaction { $0.insert(Person(name: "one", email: Self.composed)).id }
        try await coordinator.transaction { $0[id]?.email = Self.decomposed }
        #expect(coordinator.snapshot.value(for: id)?.email?.utf8.count == 6)
        #expect(coordinator.snapshot.version(of: id) == RowVersion(2))
        #expect(coordinator.check() == [])
        for email in [Self.composed, Self.decomposed] {
            #expect(coordinator.snapshot.fetchValues(\Person.email, equals: email).map(\.name) == ["one"])
        }
    }

    @Test func `sorting with an index, without one, and by Swift's own order agree`() async throws {
        var random = SeededGenerator(seed: 5)
        let coordinator = try await Coordinator(for: Word.self)
        let words = (0..<300).map { _ in AttributeValues.string(&random) }
        try await coordinator.transaction { context in
            for word in words { context.insert(Word(indexed: word, plain: word)) }
        }
        let snapshot = coordinator.snapshot
        let ranked = words.enumerated().sorted { lhs, rhs in
            lhs.element == rhs.element
                ? lhs.offset < rhs.offset
                : lhs.element._nfcCodeUnits.lexicographicallyPrecedes(rhs.element._nfcCodeUnits)
        }
        let expected = ranked.map { Array($0.element.utf8) }
        for limit in [nil, 300, 40] as [Int?] {
            let byIndex = try snapshot.fetchValues(Word.self, sortedBy: [.ascending(\.indexed)], limit: limit)
            let byScan = try snapshot.fetchValues(Word.self, sortedBy: [.ascending(\.plain)], limit: limit)
            #expect(byIndex.map { Array($0.indexed.utf8) } == Array(expected.prefix(limit ?? .max)))
            #expect(byScan.map { Array($0.plain.utf8) } == Array(expected.prefix(limit ?? .max)))
        }
    }

    // MARK: Files written when these were two values

    private func replay(_ keepsIndexes: Bool, _ body: (inout RecordedStore) throws -> Void) throws -> StoreReplay {
        // The same rows without the constraint stand for what an earlier version let through.
        var store = RecordedStore(schema: try Schema([EntityDescription(Loose.Tag.self)]), counter: 5_000)
        try body(&store)
        let schema = try Schema([EntityDescription(Strict.Tag.self)])
        var replay = StoreReplay(schema: schema, path: "store", keepsIndexes: keepsIndexes)
        for record in store.records { try replay.apply(.commit, record) }
        return replay
    }

    @Test(arguments: [true, false])
    func `a file that has both names the two objects`(keepsIndexes: Bool) throws {
        var replay = try replay(keepsIndexes) { store in
            try store.commit { $0.insert(1, Loose.Tag(name: Self.composed)) }
            try store.commit { $0.insert(2, Loose.Tag(name: "other")) }
            try store.commit { $0.insert(3, Loose.Tag(name: Self.decomposed)) }
        }
        let error = #expect(throws: GraphError.self) { try replay.finish() }
        guard case .notUnique(let violations) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(violations.map { "\($0.id) \($0.existing) \($0.property)" } == ["Tag/p3 Tag/p1 name"])
    }

    @Test func `a store does not open such a file, and leaves it as it is`() async throws {
        var store = RecordedStore(schema: try Schema([EntityDescription(Loose.Tag.self)]), counter: 5_000)
        try store.commit { $0.insert(1, Loose.Tag(name: Self.composed)) }
        try store.commit { $0.insert(3, Loose.Tag(name: Self.decomposed)) }
        let schema = try Schema([EntityDescription(Strict.Tag.self)])
        let disk = SimulatedDisk()
        try store.write(to: disk, as: schema)
        let before = disk.contents(JournalFixture.path)
        let error = await #expect(throws: GraphError.self) { try await Coordinator.open(schema, on: disk) }
        guard case .notUnique(let violations) = error else { throw try #require(error) }
        #expect(violations.map { "\($0.id) \($0.existing) \($0.property)" } == ["Tag/p3 Tag/p1 name"])
        #expect(disk.contents(JournalFixture.path) == before)
    }

    @Test(arguments: [true, false])
    func `a file that had both, and has one of them now, opens`(keepsIndexes: Bool) throws {
        var replay = try replay(keepsIndexes) { store in
            try store.commit { $0.insert(1, Loose.Tag(name: Self.composed)) }
            try store.commit { $0.insert(2, Loose.Tag(name: Self.decomposed)) }
            try store.commit { $0.change(Loose.Tag.self, 1) { $0.name = "another" } }
        }
        _ = try replay.finish()
        #expect(replay.snapshot.check() == [])
    }

    @Test(arguments: [true, false])
    func `a text that a file has twice in the same bytes is an error of the file`(keepsIndexes: Bool) throws {
        let error = #expect(throws: GraphError.self) {
            var replay = try replay(keepsIndexes) { store in
                for row: RowNumber in 1...2 { try store.commit { $0.insert(row, Loose.Tag(name: Self.composed)) } }
            }
            _ = try replay.finish()
        }
        guard case .invalidRecord = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `many texts with one key take a time in proportion to their number`() throws {
        // Each é of twelve in one of its two forms.
        var replay = try replay(false) { store in
            try store.commit { work in
                for row: RowNumber in 1..<4_096 {
                    let letters = (0..<12).map { row >> $0 & 1 == 0 ? "\u{E9}" : "e\u{301}" }
                    work.insert(row, Loose.Tag(name: letters.joined()))
                }
            }
        }
        let error = #expect(throws: GraphError.self) { try replay.finish() }
        guard case .notUnique(let violations) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(violations.count == 100)
    }
}

@Entity private struct Word {
    @Indexed var indexed: String
    var plain: String
}

private enum Loose {
    @Entity struct Tag {
        var name: String
    }
}

private enum Strict {
    @Entity struct Tag {
        @Unique var name: String
    }
}
