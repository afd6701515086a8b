import Testing

@testable import Graph

struct FetchWhileChangingTests {
    @Test(.bug(id: "writes in a predicate")) func `a predicate may delete what it has let pass`() async throws {
        let context = Context(try await Coordinator(for: Team.self, Person.self))
        let ids = try await context.transaction { context in
            context.insert(contentsOf: (0..<100).map { Person(name: "p\($0)") })
        }
        try await context.perform { context in
            var isFirst = true
            let found = try context.fetch(Person.self) { _ in
                if isFirst { try context.object(for: ids[1]).delete() }
                isFirst = false
                return true
            }
            #expect(found.count == 100)
            #expect(found[1].isDeleted)
            #expect(context[ids[1]] == nil)
            #expect(found.filter { !$0.isDeleted }.count == 99)
        }
    }

    @Test(.bug(id: "writes in a predicate")) func `objects found show what the predicate changed`() async throws {
        let context = Context(try await Coordinator(for: Team.self, Person.self))
        let (team, person) = try await context.transaction { context in
            let team = context.insert(Team(name: "red"))
            let person = context.insert(Person(name: "Ada"))
            person.team = team
            return (team.id, person.id)
        }
        try await context.perform { context in
            let found = try context.fetch(Person.self) { _ in
                try context.object(for: team).delete()
                return true
            }
            #expect(found[0].value.team.id == nil)
            found[0].name = "Eve"
        }
        try await context.save()
        #expect(context.coordinator.snapshot.value(for: person)?.team.id == nil)
    }
}
