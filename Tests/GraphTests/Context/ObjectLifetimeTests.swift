import Testing

@testable import Graph

@Entity private struct Lamp {
    var name = ""
    @Transient var isOn = false
}

/// R17: clean objects nobody holds are released.
struct ObjectLifetimeTests {
    @Test(.bug(id: "kept without a change")) func `an object inserted and deleted again is released by the next save`()
        async throws
    {
        let context = Context(try await Coordinator(for: Team.self, Person.self))
        try await context.saveWithoutChange()
    }

    @Test func `objects nobody holds go, however many others are held`() async throws {
        let coordinator = try await Coordinator(for: Team.self, Person.self)
        let context = Context(coordinator)
        let ids = try await context.transaction { context in
            context.insert(contentsOf: (0..<500).map { Person(name: "\($0)") })
        }
        try await context.hold(ids)
    }

    @Test(.bug(id: "held across turns", "all but a few stayed as long as the context"))
    func `R17 objects that an asynchronous operation held go when it is over`() async throws {
        let context = Context(try await Coordinator(for: Team.self, Person.self))
        try await context.transaction { context in
            _ = context.insert(contentsOf: (0..<1_000).map { Person(name: "\($0)") })
        }
        try await context.holdDuringSave()
        for _ in 0..<200 { await context.perform { _ = $0.hasChanges } }
        await context.perform { #expect($0.state.registry?.count == 0) }
    }

    @Test func `R17 objects used for a moment go while the turn lasts, and those held stay`() async throws {
        let context = Context(try await Coordinator(for: Team.self, Person.self))
        let ids = try await context.transaction { context in
            context.insert(contentsOf: (0..<20_000).map { Person(name: "\($0)") })
        }
        try await context.useForAMoment(ids)
    }

    @Test(.bug(id: "looked up again", "each look-up was noted until the turn ended"))
    func `an object that a turn makes again and again is not noted each time`() async throws {
        let context = Context(try await Coordinator(for: Lamp.self))
        let id = try await context.transaction { $0.insert(Lamp(name: "desk")).id }
        let count = try await context.lookUpOften(id)
        #expect(count < 5_000)
    }

    enum Restoring: CaseIterable {
        case discard
        case writeBack
        case undo
    }

    @Test(.bug(id: "kept though restored", "until a save, a rollback or a reset"), arguments: Restoring.allCases)
    func `R17 objects whose changes were taken back go`(way: Restoring) async throws {
        let context = Context(try await Coordinator(for: Team.self, Person.self))
        let ids = try await context.transaction { context in
            context.insert(contentsOf: (0..<500).map { Person(name: "\($0)") })
        }
        try await context.change(ids, way)
        for _ in 0..<100 { await context.perform { _ = $0.hasChanges } }
        await context.perform { #expect($0.hasChanges == false && $0.registry.kept.count < 100) }
    }

    @Test(.bug(id: "kept last value", "what was written since the base was forgotten"))
    func `a deleted object that nobody holds keeps its last value`() async throws {
        let context = Context(try await Coordinator(for: Team.self, Person.self))
        let (team, person) = try await context.transaction { context in
            let team = context.insert(Team(name: "red"))
            return (team.id, context.insert(Person(name: "Ada", team: ToOne(team.id))).id)
        }
        try await context.perform { try $0.object(for: team).delete() }
        try await context.perform { try $0.object(for: person).delete() }
        await context.perform { context in
            let deleted = context.deletedObjects.compactMap { $0 as? Person.Object }
            #expect(deleted.map(\.value.team.id) == [nil])
        }
    }

    @Test func `the table of objects shrinks after large turns, and small ones make that go on`() async throws {
        let context = Context(try await Coordinator(for: Team.self, Person.self))
        try await context.transaction { context in
            _ = context.insert(contentsOf: (0..<10_000).map { Person(name: "\($0)") })
        }
        try await context.perform { context in
            let count = try context.fetch(Person.self).count
            #expect(count == 10_000)
            #expect(context.registry.capacity > 10_000)
        }
        for _ in 0..<3 { try await context.perform { _ = try $0.first(Person.self) } }
        await context.perform { #expect($0.registry.capacity < 100) }
    }

    @Test(.bug(id: "kept replacements")) func `R10 what replaced objects that nobody holds is forgotten`()
        async throws
    {
        let coordinator = try await Coordinator(for: Track.self, Disc.self, Mix.self)
        let count = try await Context(coordinator).upsertOften()
        #expect(count < 3)
    }

    @Test func `a table of objects is a dictionary`() {
        final class Token {}
        var random = SeededGenerator(seed: 1)
        var table = ObjectTable()
        var held: [RowNumber: Token] = [:]
        var unheld: Set<RowNumber> = []
        for _ in 0..<20_000 {
            let row = RowNumber.random(in: 1...300, using: &random) << (random.next() % 3 * 20)
            let isKnown = held[row] != nil || unheld.contains(row)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<3:
                let token = Token()
                #expect(table.insert(token, as: row) == !isKnown)
                held[row] = token
                unheld.remove(row)
            case 3..<6:
                if held.removeValue(forKey: row) != nil { unheld.insert(row) }
            case 6..<9:
                #expect((table.removeIfUnheld(row) != nil) == unheld.contains(row))
                unheld.remove(row)
            default:
                guard Int.random(in: 0..<50, using: &random) == 0 else { break }
                #expect(table.removeUnheld().count == unheld.count)
                unheld = []
            }
            #expect(table.count == held.count + unheld.count)
            #expect(table[row] === held[row] || unheld.contains(row))
        }
        #expect(held.allSatisfy { table[$0.key] === $0.value })
    }
}

extension Context {
    fileprivate func saveWithoutChange() async throws {
        weak var released: ManagedObject<Person>?
        do {
            let person = insert(Person(name: "Ada"))
            person.delete()
            #expect(!hasChanges)
            released = person
        }
        try await save()
        #expect(released == nil)
    }

    fileprivate func hold(_ ids: [Person.ID]) throws {
        weak var first: ManagedObject<Person>?
        let held = try ids.dropFirst().map { try object(for: $0) }
        do { first = try object(for: ids[0]) }
        #expect(registeredObject(for: ids[0]) == nil)
        #expect(first == nil)
        for (object, id) in zip(held, ids.dropFirst()) { #expect(registeredObject(for: id) === object) }
    }
    fileprivate func holdDuringSave() async throws {
        let people = try fetch(Person.self)
        insert(Team(name: "red"))
        try await save()
        #expect(people.map(\.name).count == 1_000)
    }

    /// Holds every hundredth object.
    fileprivate func useForAMoment(_ ids: [Person.ID]) throws {
        var held: [ManagedObject<Person>] = []
        var most = 0
        for (number, id) in ids.enumerated() {
            let person = try object(for: id)
            if number.isMultiple(of: 100) { held.append(person) }
            most = max(most, try #require(state.registry).count - held.count)
        }
        #expect(most < 1_100)
        for (number, person) in held.enumerated() { #expect(registeredObject(for: ids[100 * number]) === person) }
    }

    fileprivate func lookUpOften(_ id: Lamp.ID) throws -> Int {
        for _ in 0..<100_000 { _ = self[id]?.name }
        return try #require(state.registry).recent.count
    }

    fileprivate func change(_ ids: [Person.ID], _ way: ObjectLifetimeTests.Restoring) throws {
        undoLimit = way == .undo ? 1 : 0
        for id in ids {
            let person = try object(for: id)
            person.age = 1
            switch way {
            case .discard: discard(person)
            case .writeBack:
                #expect(hasChanges)
                person.age = 0
            case .undo: break
            }
        }
        if way == .undo { #expect(undo() == []) }
    }

    /// How many replacements the context knows in the end.
    fileprivate func upsertOften() async throws -> Int {
        insert(Track(code: "a"))
        try await save()
        var rows: [RowNumber] = []
        for number in 0..<1_000 {
            let track = insert(Track(code: "a", title: "\(number)"))
            try await save()
            #expect(track.isDeleted && track.replacedBy != nil)
            rows.append(track.id.row)
        }
        let entity = state.entityIndex(of: Track.self)
        return rows.count { state.replacement(of: RowID(entity: entity, row: $0)) != nil }
    }
}
