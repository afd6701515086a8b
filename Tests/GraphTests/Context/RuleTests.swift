import Foundation
import Testing

@testable import Graph

/// The rules of contexts and commits, one by one. The random programs hold the same rules in combination.
struct RuleTests {
    private let coordinator: Coordinator
    private let context: Context

    init() async throws {
        coordinator = try await Coordinator(for: Team.self, Person.self)
        context = Context(coordinator)
    }

    private func insert(_ person: Person) async throws -> Person.ID {
        try await context.transaction { $0.insert(person).id }
    }

    @Test func `R1: a version grows by one with each commit that changes the row, and an equal value is no change`()
        async throws
    {
        let id = try await insert(Person(name: "Ada", age: 1))
        #expect(coordinator.snapshot.version(of: id) == RowVersion(1))
        try await context.transaction { context in
            let person = try context.object(for: id)
            person.age = 1
            #expect(!person.hasChanges)
            person.name = "Eve"
            #expect(person.isUpdated)
            person.name = "Ada"
            #expect(!person.hasChanges)
        }
        #expect(coordinator.snapshot.commit.number == 1)
        try await context.transaction { context in
            try context.object(for: id).age = 2
            try context.object(for: id).age = 3
        }
        #expect(coordinator.snapshot.version(of: id) == RowVersion(2))
    }

    @Test func `R1: strings are equal by their bytes`() async throws {
        let id = try await insert(Person(name: "\u{E9}"))
        try await context.transaction { try $0.object(for: id).name = "e\u{301}" }
        #expect(coordinator.snapshot.version(of: id) == RowVersion(2))
        #expect(coordinator.snapshot.value(for: id)?.name.utf8.count == 3)
    }

    @Test func `R2: a deleted row conflicts with newVersion 0, and all conflicts come in one error`() async throws {
        let (ada, eve) = (try await insert(Person(name: "Ada")), try await insert(Person(name: "Eve")))
        let other = Context(coordinator)
        try await other.perform { context in
            try context.object(for: ada).age = 1
            try context.object(for: eve).delete()
        }
        try await context.transaction { context in
            try context.object(for: ada).delete()
            try context.object(for: eve).age = 2
        }
        do {
            try await other.save()
            Issue.record("the save succeeded")
        } catch {
            guard case .conflicts(let conflicts) = error else { throw error }
            #expect(conflicts.map(\.id) == [AnyPersistentID(ada), AnyPersistentID(eve)])
            #expect(conflicts.map(\.oldVersion) == [RowVersion(1), RowVersion(1)])
            #expect(conflicts.map(\.newVersion) == [RowVersion(0), RowVersion(2)])
            #expect(conflicts[0].theirs == nil)
            #expect((conflicts[0].ours as? Person)?.age == 1)
            #expect((conflicts[1].theirs as? Person)?.age == 2)
            #expect(conflicts[1].ours == nil)
        }
    }

    @Test func `R3: adding children to one parent from two contexts is no conflict and leaves its version alone`()
        async throws
    {
        let team = try await context.transaction { $0.insert(Team(name: "red")).id }
        let other = Context(coordinator)
        for each in [context, other] {
            try await each.perform { context in
                try context.object(for: team).members.append(context.insert(Person(name: "new")))
            }
        }
        try await context.save()
        try await other.save()
        #expect(coordinator.snapshot.version(of: team) == RowVersion(1))
        #expect(try coordinator.snapshot.related(\Team.members, of: team).count == 2)
    }

    @Test func `R38: a save with nothing pending takes no number, also of a closed store`() async throws {
        try await context.save()
        #expect(coordinator.snapshot.commit == .none)
        try await coordinator.close()
        try await context.save()
        await context.perform { _ = $0.insert(Team(name: "red")) }
        await #expect(throws: GraphError.self) { try await context.save() }
    }

    @Test func `R7: after a save that was merged, objects show the committed result and its version`() async throws {
        let (ada, eve) = (try await insert(Person(name: "Ada")), try await insert(Person(name: "Eve")))
        let other = Context(coordinator)
        try await other.transaction { try $0.object(for: eve).age = 5 }
        try await context.perform { try $0.object(for: ada).age = 1 }
        try await context.save()
        try await context.perform { context throws in
            #expect(try context.object(for: ada).version == RowVersion(2))
            #expect(try context.object(for: eve).age == 5)
            #expect(try context.object(for: eve).version == RowVersion(2))
        }
    }

    @Test func `R10: a value of a unique property is refused while another row has it, pending rows included`()
        async throws
    {
        let ada = try await insert(Person(name: "Ada", email: "a@example.com"))
        await context.perform { _ = $0.insert(Person(name: "Eve", email: "a@example.com")) }
        do {
            try await context.save()
            Issue.record("the save succeeded")
        } catch {
            guard case .notUnique(let violations) = error else { throw error }
            #expect(violations.map(\.existing) == [AnyPersistentID(ada)])
            #expect(violations.map(\.description) == [#"Person/p2.email = "a@example.com" is taken by Person/p1"#])
        }
        await context.rollback()
        try await context.transaction { context in
            context.insert(Person(name: "nobody"))
            context.insert(Person(name: "nobody"))
            try context.object(for: ada).email = "new@example.com"
            context.insert(Person(name: "Eve", email: "a@example.com"))
        }
        await context.perform { context in
            context.insert(Person(name: "x", email: "twice"))
            context.insert(Person(name: "y", email: "twice"))
        }
        await #expect(throws: GraphError.self) { try await context.save() }
    }

    @Test func `R13: deleting a parent nullifies its children's references`() async throws {
        try await context.transaction { context in
            let team = context.insert(Team(name: "red"))
            let person = context.insert(Person(name: "Ada", team: ToOne(team.id)))
            #expect(person.team === team)
            team.delete()
            #expect(person.team == nil)
            #expect(team.isDeleted)
            #expect(team.name == "red")
            #expect(context[team.id] == nil)
        }
        #expect(coordinator.snapshot.count(of: Team.self) == 0)
        #expect(try coordinator.snapshot.fetchValues(Person.self).map(\.team.id) == [nil])
    }

    @Test func `R14: a parent deleted while a child is added elsewhere leaves no dangling reference, in either order`()
        async throws
    {
        let (red, blue) = try await context.transaction {
            ($0.insert(Team(name: "red")).id, $0.insert(Team(name: "blue")).id)
        }
        let other = Context(coordinator)
        let late = try await other.transaction { $0.insert(Person(name: "late", team: ToOne(red))).id }
        try await context.transaction { try $0.object(for: red).delete() }
        #expect(coordinator.snapshot.value(for: late)?.team.id == nil)

        await other.refresh()
        await other.perform { _ = $0.insert(Person(name: "too late", team: ToOne(blue))) }
        try await context.transaction { try $0.object(for: blue).delete() }
        do {
            try await other.save()
            Issue.record("the save succeeded")
        } catch {
            guard case .danglingReferences(let dangling) = error else { throw error }
            #expect(dangling.map(\.description) == ["Person/p2.team refers to Team/p2, which does not exist"])
        }
        #expect(coordinator.snapshot.checkInvariants() == [])
    }

    @Test func `R14: nullifying a reference is no conflict with what others did to the row, and they keep it`()
        async throws
    {
        let (red, blue) = try await context.transaction {
            ($0.insert(Team(name: "red")).id, $0.insert(Team(name: "blue")).id)
        }
        let (ada, eve) = try await context.transaction { context in
            let ada = context.insert(Person(name: "Ada", team: ToOne(red)))
            return (ada.id, context.insert(Person(name: "Eve", team: ToOne(red))).id)
        }
        let other = Context(coordinator)
        try await other.perform { try $0.object(for: red).delete() }
        try await context.transaction { context in
            try context.object(for: ada).age = 36
            try context.object(for: eve).team = context[blue]
        }
        try await other.save()
        #expect(coordinator.snapshot.value(for: ada)?.team.id == nil)
        #expect(coordinator.snapshot.value(for: ada)?.age == 36)
        #expect(coordinator.snapshot.value(for: eve)?.team.id == blue)
        #expect(coordinator.snapshot.checkInvariants() == [])
    }

    @Test func `R14: a row that was nullified and written to conflicts like any other`() async throws {
        let team = try await context.transaction { $0.insert(Team(name: "red")).id }
        let ada = try await insert(Person(name: "Ada", team: ToOne(team)))
        let other = Context(coordinator)
        try await other.perform { context in
            try context.object(for: team).delete()
            try context.object(for: ada).name = "Countess"
        }
        try await context.transaction { try $0.object(for: ada).age = 36 }
        await #expect(throws: GraphError.self) { try await other.save() }
        await other.refresh()
        try await other.save()
        #expect(coordinator.snapshot.value(for: ada)?.age == 36)
        #expect(coordinator.snapshot.value(for: ada)?.name == "Countess")
        #expect(coordinator.snapshot.value(for: ada)?.team.id == nil)
    }

    @Test func `R12: a refresh leaves no reference to what is deleted here`() async throws {
        let team = try await context.transaction { $0.insert(Team(name: "red")).id }
        let other = Context(coordinator)
        try await other.perform { try $0.object(for: team).delete() }
        let late = try await context.transaction { $0.insert(Person(name: "late", team: ToOne(team))).id }
        await other.refresh()
        try await other.perform { context in
            let person = try context.object(for: late)
            #expect(person.team == nil)
            #expect(person.value.team.id == nil)
            #expect(person.isUpdated)
        }
        try await context.transaction { try $0.object(for: late).age = 1 }
        try await other.save()
        #expect(coordinator.snapshot.value(for: late)?.team.id == nil)
        #expect(coordinator.snapshot.value(for: late)?.age == 1)
    }

    @Test func `R15: what others commit shows only after a refresh, what the context changed shows at once`()
        async throws
    {
        let id = try await insert(Person(name: "Ada"))
        let other = Context(coordinator)
        try await context.transaction { context in
            try context.object(for: id).age = 1
            context.insert(Person(name: "Eve"))
        }
        try await other.perform { context in
            #expect(try context.object(for: id).age == 0)
            #expect(try context.fetchCount(Person.self) == 1)
            try context.object(for: id).name = "Countess"
            #expect(try context.fetchValues(Person.self, where: { $0.name == "Countess" }).count == 1)
            #expect(try context.fetchValues(Person.self, includesPendingChanges: false).map(\.name) == ["Ada"])
        }
        await other.refresh()
        try await other.perform { context throws in
            #expect(try context.object(for: id).age == 1)
            #expect(try context.object(for: id).name == "Countess")
            #expect(try context.fetchCount(Person.self) == 2)
        }
    }

    @Test func `R16 and R17: one object per row while somebody holds it; objects nobody holds go, changed ones stay`()
        async throws
    {
        let id = try await insert(Person(name: "Ada"))
        try await context.perform { context in
            #expect(context.registeredObject(for: id) == nil)
            do {
                let person = try context.object(for: id)
                #expect(try context.fetch(Person.self).first === person)
                #expect(try context.first(Person.self) === person)
                #expect(context.registeredObject(for: id) === person)
                #expect(context.object(for: AnyPersistentID(id)) === person)
            }
            #expect(context.registeredObject(for: id) == nil)
            try context.object(for: id).age = 1
            #expect(context.registeredObject(for: id)?.age == 1)
        }
        try await context.save()
        await context.perform { #expect($0.registeredObject(for: id) == nil) }
    }

    @Test func `R18: a rollback drops what is pending and keeps the base`() async throws {
        let id = try await insert(Person(name: "Ada"))
        let other = Context(coordinator)
        try await other.transaction { try $0.object(for: id).age = 9 }
        try await context.perform { context in
            let person = try context.object(for: id)
            let fresh = context.insert(Person(name: "Eve"))
            person.age = 1
            context.rollback()
            #expect(person.age == 0)
            #expect(fresh.isDeleted)
            #expect(fresh.name == "Eve")
            fresh.name = "ghost"
            #expect(fresh.name == "Eve")
            #expect(context.hasChanges == false)
            person.delete()
            context.rollback()
            #expect(!person.isDeleted)
            #expect(context[id] === person)
        }
        await context.rollback(to: .latest)
        try await context.perform { context throws in #expect(try context.object(for: id).age == 9) }
    }

    @Test
    func `R19: a row deleted elsewhere leaves fetches, its objects keep their value, local edits wait for the save`()
        async throws
    {
        let id = try await insert(Person(name: "Ada"))
        let other = Context(coordinator)
        try await other.perform { try $0.object(for: id).age = 1 }
        try await context.transaction { try $0.object(for: id).delete() }
        await other.refresh()
        try await other.perform { context throws in
            #expect(try context.fetchCount(Person.self) == 0)
            let updated = context.updatedObjects
            #expect(updated.map(\.anyID) == [AnyPersistentID(id)])
            #expect(updated.map(\.isDeleted) == [true])
        }
        do {
            try await other.save()
            Issue.record("the save succeeded")
        } catch {
            guard case .conflicts(let conflicts) = error else { throw error }
            #expect(conflicts.map(\.newVersion) == [RowVersion(0)])
            #expect((conflicts[0].ours as? Person)?.age == 1)
        }
        await other.rollback()
        #expect(await other.hasChanges == false)
    }

    @Test func `R20: a transaction that throws undoes exactly what it did`() async throws {
        struct Stop: Error {}
        let id = try await insert(Person(name: "Ada"))
        try await context.perform { try $0.object(for: id).age = 1 }
        await #expect(throws: Stop.self) {
            try await context.transaction { context in
                try context.object(for: id).name = "gone"
                context.insert(Person(name: "gone"))
                throw Stop()
            }
        }
        try await context.perform { context throws in
            #expect(try context.object(for: id).value.name == "Ada")
            #expect(try context.object(for: id).age == 1)
            #expect(context.insertedObjects.isEmpty)
            #expect(context.updatedObjects.count == 1)
        }
    }

    @Test func `R24: identifiers are never used again, not after delete, rollback or reopening`() async throws {
        let folder = try TemporaryFolder()
        var seen: Set<Person.ID> = []
        for _ in 0..<3 {
            let coordinator = try await Coordinator(for: Team.self, Person.self, at: folder.file())
            let context = Context(coordinator)
            let rolledBack = await context.perform { $0.insert(Person(name: "a")).id }
            await context.rollback()
            let saved = try await context.transaction { $0.insert(Person(name: "b")).id }
            try await context.transaction { try $0.object(for: saved).delete() }
            let unsaved = await context.perform { $0.insert(Person(name: "c")).id }
            for id in [rolledBack, saved, unsaved] { #expect(seen.insert(id).inserted) }
            try await coordinator.close()
        }
    }

    @Test func `a snapshot tells what changed since an older one`() async throws {
        let (ada, eve) = (try await insert(Person(name: "Ada")), try await insert(Person(name: "Eve")))
        let older = coordinator.snapshot
        let bob = try await context.transaction { context in
            try context.object(for: ada).age = 1
            try context.object(for: eve).delete()
            return context.insert(Person(name: "Bob")).id
        }
        let difference = coordinator.snapshot.difference(from: older)
        #expect(
            difference.changes(of: Person.self).map { "\($0)" } == [
                "\(ada) changed", "\(eve) deleted", "\(bob) inserted",
            ])
        #expect(difference.changes(of: Team.self).isEmpty)
        #expect(older.value(for: eve)?.name == "Eve")
    }
}
