import Testing

@testable import Graph

/// R12: identifiers given to a to-many property take effect at once, and the last write wins.
struct ToManyAssignmentTests {
    private let context: Context

    init() async throws {
        context = Context(try await Coordinator(for: Team.self, Person.self))
    }

    @Test(.bug(id: "members of an insert")) func `members given to an insert refer to it at once`() async {
        await context.perform { context in
            let ada = context.insert(Person(name: "Ada"))
            let team = context.insert(Team(name: "red", members: [ada.id]))
            #expect(ada.team === team)
            #expect(ada.value.team.id == team.id)
        }
    }

    @Test(.bug(id: "members of an insert")) func `a member changed after it was given to an insert stays a member`()
        async throws
    {
        let id = try await context.transaction { $0.insert(Person(name: "Ada")).id }
        let teamID = try await context.transaction { context in
            let ada = try context.object(for: id)
            let team = context.insert(Team(name: "red", members: [id]))
            ada.age = 37
            return team.id
        }
        let snapshot = context.coordinator.snapshot
        #expect(snapshot.value(for: id)?.team.id == teamID)
        #expect(snapshot.value(for: id)?.age == 37)
    }

    @Test(.bug(id: "order of writes")) func `a member may be inserted after the object and before the assignment`()
        async throws
    {
        try await context.transaction { context in
            let team = context.insert(Team(name: "red"))
            let ada = context.insert(Person(name: "Ada"))
            team.members = ToMany([ada.id])
            #expect(ada.team === team)
        }
        #expect(try context.coordinator.snapshot.fetchCount(Person.self) { $0.team.id != nil } == 1)
    }

    @Test(.bug(id: "order of writes")) func `the last write wins, whichever end it is made at`() async throws {
        let (ada, red, blue) = try await context.transaction { context in
            (
                context.insert(Person(name: "Ada")).id, context.insert(Team(name: "red")).id,
                context.insert(Team(name: "blue")).id
            )
        }
        try await context.perform { context in
            let (person, red, blue) = try (
                context.object(for: ada), context.object(for: red), context.object(for: blue)
            )
            red.name = "dirty"
            person.team = blue
            red.members = ToMany([ada])
            #expect(person.team === red)
            #expect(blue.members.isEmpty)
            person.team = blue
            #expect(red.members.isEmpty)
            red.members = ToMany([ada])
            person.team = nil
            #expect(red.members.isEmpty)
            #expect(person.team == nil)
        }
    }

    @Test(.bug(id: "dead members")) func `a transaction undone takes its dead members along`() async throws {
        let dead = try await context.transaction { $0.insert(Person(name: "Ada")).id }
        try await context.transaction { try $0.object(for: dead).delete() }
        struct Stop: Error {}
        await #expect(throws: Stop.self) {
            try await context.transaction { context in
                context.insert(Team(name: "red", members: [dead]))
                #expect(try context.fetchCount(Team.self) == 1)
                throw Stop()
            }
        }
        try await context.save()
        await context.perform { _ = $0.insert(Team(name: "blue")) }
        try await context.save()
    }

    @Test(.bug(id: "dead members")) func `an object deleted takes its dead members along`() async throws {
        let dead = try await context.transaction { $0.insert(Person(name: "Ada")).id }
        try await context.transaction { try $0.object(for: dead).delete() }
        try await context.transaction { context in
            let team = context.insert(Team(name: "red", members: [dead]))
            #expect(team.members.isEmpty)
            team.delete()
            #expect(context.hasChanges == false)
            context.insert(Team(name: "blue"))
        }
    }
}
