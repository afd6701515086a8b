import Testing

@testable import Graph

/// R33: which rows are looked at for what was taken back in them.
struct RestoredChangesTests {
    private static let count = 50

    /// A state of which each row is changed here, and was changed by others, too, when its base moved by itself.
    private static func state() async throws -> WorkingState {
        let coordinator = try await Coordinator(for: Team.self, Person.self)
        let ids = try await coordinator.transaction { context in
            context.insert(contentsOf: (0..<count).map { Person(name: "\($0)") })
        }
        let context = Context(coordinator)
        await context.perform { context in for id in ids { context[id]?.age = 1 } }
        try await coordinator.transaction { context in for id in ids { context[id]?.age = 2 } }
        return await context.perform { context in
            _ = context.state.refresh(to: ContextBase(snapshot: coordinator.snapshot), keepingBases: true)
            return context.state.working
        }
    }

    private static func places(_ rows: RowNumber...) -> Set<RowID> {
        Set(rows.map { RowID(entity: 1, row: $0) })
    }

    @Test(.bug(id: "a look at all", "each question about changes looked at all rows that others had changed as well"))
    func `R33 only rows that were written since are looked at`() async throws {
        var state = try await Self.state()
        #expect(state.changes[1].detachedBases.count == Self.count)
        #expect(state.restorable.isEmpty)
        state.change(Person.self, 7) { $0.age = 0 }
        state.change(Person.self, 9) { $0.age = 5 }
        #expect(state.restorable == Self.places(7, 9))
        let copy = state
        let isChanged = state.endRestoredChanges()
        #expect(isChanged && state.restorable.isEmpty)
        #expect(state.snapshot.value(7, as: Person.self)?.age == 2 && state.kind(Person.self, 7) == nil)
        #expect(state.snapshot.value(9, as: Person.self)?.age == 5 && state.kind(Person.self, 9) == .updated)
        let isChangedAgain = state.endRestoredChanges()
        #expect(!isChangedAgain)
        // A copy has noted its own.
        #expect(copy.restorable == Self.places(7, 9))
    }

    @Test func `R33 a row that is given a base of its own is looked at`() async throws {
        var state = try await Self.state()
        let known = Person(name: "0", age: 1)
        withUnsafePointer(to: known) {
            state.setDetachedBase(of: RowID(entity: 1, row: 1), version: RowVersion(1), copying: $0)
        }
        #expect(state.restorable == Self.places(1))
        _ = state.endRestoredChanges()
        #expect(state.snapshot.value(1, as: Person.self)?.age == 2)
    }

    @Test(.bug(id: "one version twice", "a changed row was shown with the version of before"))
    func `R1 R33 a related object taken from a row that counted from its own base makes a version of the row`()
        async throws
    {
        let coordinator = try await Coordinator(for: Record.self, Sheet.self, Line.self, Tab.self, Seal.self)
        let (record, other, tab) = try await coordinator.transaction { context in
            let records = context.insert(contentsOf: [Record(key: "a"), Record(key: "b")])
            return (records[0], records[1], context.insert(Tab(text: "a")).id)
        }
        let context = Context(coordinator)
        try await context.perform { context in try context.object(for: tab).record = try context.object(for: record) }
        try await coordinator.transaction { context in
            try context.object(for: tab).record = try context.object(for: record)
        }
        let snapshot = coordinator.snapshot
        try await context.perform { context in
            _ = context.state.refresh(to: ContextBase(snapshot: snapshot), keepingBases: true)
            try context.object(for: tab).record = try context.object(for: other)
            let version = context.state.flushed.version(of: record)
            #expect(version == RowVersion(3))
        }
        try await context.save(mergePolicy: .mergeByPropertyObjectTrump)
        #expect(coordinator.snapshot.version(of: record) == RowVersion(3))
        #expect(coordinator.snapshot.version(of: tab) == RowVersion(3))
    }
}
