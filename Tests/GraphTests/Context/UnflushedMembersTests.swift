import Testing

@testable import Graph

struct UnflushedMembersTests {
    @Test func `a to-many value may name objects that were inserted after its owner`() async throws {
        let context = Context(try await Coordinator(for: Team.self, Person.self))
        try await context.transaction { context in
            let team = context.insert(Team(name: "red"))
            let ada = context.insert(Person(name: "Ada"))
            team.members = ToMany([ada.id])
            #expect(team.members.map(\.name) == ["Ada"])
        }
    }
}
