import Foundation
import Testing

@testable import Graph

struct ContextTests {
    @Test func `an inserted object is found by its identifier, before and after the save`() async throws {
        let coordinator = try await Coordinator(for: Team.self, Person.self)
        let context = Context(coordinator)
        let id = await context.perform { context in
            let person = context.insert(Person(name: "Ada"))
            #expect(person.isInserted)
            #expect(person.version == RowVersion(0))
            #expect(context[person.id] === person)
            #expect(context.hasChanges == true)
            return person.id
        }
        #expect(coordinator.snapshot.value(for: id) == nil)
        try await context.save()
        #expect(coordinator.snapshot.value(for: id)?.name == "Ada")
        #expect(coordinator.snapshot.commit.number == 1)
        try await context.perform { context in
            let person = try context.object(for: id)
            #expect(!person.isInserted && !person.hasChanges)
            #expect(context.hasChanges == false)
            #expect(person.version == RowVersion(1))
        }
    }

    @Test func `both sides of a relationship are right at once`() async throws {
        let context = Context(try await Coordinator(for: Team.self, Person.self))
        await context.perform { context in
            let red = context.insert(Team(name: "red"))
            let blue = context.insert(Team(name: "blue"))
            let ada = context.insert(Person(name: "Ada"))
            ada.team = red
            #expect(red.members.map(\.name) == ["Ada"])
            blue.members.append(ada)
            #expect(ada.team === blue)
            #expect(red.members.isEmpty)
            #expect(blue.members.contains(ada))
            ada.team = nil
            #expect(blue.members.count == 0)
            red.members += [ada]
            #expect(ada.team === red)
            let eve = context.insert(Person(name: "Eve"))
            #expect(red.members.map(\.name) == ["Ada"])
            red.members = blue.members
            #expect(red.members.map(\.name) == [])
            #expect(ada.team === nil)
            red.members.insert(eve)
            #expect(red.members.map(\.name) == ["Eve"])
            let green = context.insert(Team(name: "green", members: [ada.id, eve.id]))
            #expect(green.members.map(\.name) == ["Ada", "Eve"])
            #expect(eve.team === green)
            ada.team = ToOne(blue.id)
            #expect(blue.members.first === ada)
        }
    }

    @Test func `a store is the same after it is reopened`() async throws {
        let folder = try TemporaryFolder()
        let first = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        let context = Context(first)
        let (teamID, personID, goneID) = try await context.transaction { context in
            let team = context.insert(Team(name: "red"))
            let person = context.insert(Person(name: "Ada", email: "ada@example.com", age: 36))
            person.team = team
            let gone = context.insert(Person(name: "Bob"))
            return (team.id, person.id, gone.id)
        }
        try await context.transaction { context in
            try context.object(for: personID).age = 37
            try context.object(for: goneID).delete()
        }
        try await first.close()

        let second = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        #expect(second.snapshot.commit.number == 2)
        #expect(second.snapshot.value(for: personID)?.age == 37)
        #expect(second.snapshot.version(of: personID) == RowVersion(2))
        #expect(second.snapshot.value(for: goneID) == nil)
        #expect(try second.snapshot.related(\Team.members, of: teamID) == [personID])
        #expect(second.snapshot.checkInvariants() == [])
        let newID = try await Context(second).transaction { $0.insert(Person(name: "Eve")).id }
        #expect(newID > goneID)
        try await second.close()
    }

    @Test func `a conflict prints versions and rows`() async throws {
        let coordinator = try await Coordinator(for: Team.self, Person.self)
        let (one, two) = (Context(coordinator), Context(coordinator))
        let id = try await one.transaction { $0.insert(Person(name: "fan")).id }
        await two.refresh()
        try await one.transaction { try $0.object(for: id).name = "private_two" }
        try await two.perform { try $0.object(for: id).name = "private_one" }
        let error = await #expect(throws: GraphError.self) { try await two.save() }
        #expect(
            error?.description == """
                could not merge changes: 1 conflict
                  Person/p1: oldVersion = 1, newVersion = 2
                    cached row = { name = "fan", email = nil, age = 0, team = nil }
                    store row  = { name = "private_two", email = nil, age = 0, team = nil }
                    your row   = { name = "private_one", email = nil, age = 0, team = nil }
                """
        )
        #expect(await two.hasChanges == true)
        await two.refresh()
        try await two.save()
        #expect(coordinator.snapshot.value(for: id)?.name == "private_one")
        #expect(coordinator.snapshot.version(of: id) == RowVersion(3))
    }
}
