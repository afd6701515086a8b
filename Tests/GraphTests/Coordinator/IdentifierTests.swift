import Testing

@testable import Graph

/// Identifiers as text.
struct IdentifierTests {
    @Test func `a URI reads back in the same store, reopened or not, and in no other`() async throws {
        let folder = try TemporaryFolder()
        let coordinator = try await Coordinator(for: Person.self, Team.self, at: folder.file())
        let id = try await coordinator.transaction { $0.insert(Person(name: "one")).id }
        let uri = coordinator.uri(for: id)
        #expect(uri.wholeMatch(of: /graph:\/\/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\/Person\/p1/) != nil)
        #expect(coordinator.id(forURI: uri) == AnyPersistentID(id))
        try await coordinator.close()
        let reopened = try await Coordinator(for: Person.self, Team.self, at: folder.file())
        #expect(reopened.id(forURI: uri)?.typed(as: Person.self) == id)
        let other = try await Coordinator(for: Person.self, Team.self)
        #expect(other.id(forURI: uri) == nil)
        #expect(other.id(forURI: other.uri(for: id)) == AnyPersistentID(id))
        try await reopened.close()
    }

    @Test(arguments: [
        "", "Person", "Person/", "Person/p", "Person/p0", "Person/p01", "Person/1", "Nobody/p1", "Person/p1/",
        "Person/p99999999999999999999", "Person/p-1", "/p1", "Person/p+1",
    ])
    func `other texts are no identifiers`(path: String) async throws {
        let coordinator = try await Coordinator(for: Person.self, Team.self)
        let store = coordinator.uri(for: PersistentID<Person>(row: 1)).dropLast("Person/p1".count)
        #expect(coordinator.id(forURI: store + "Person/p1") != nil)
        #expect(coordinator.id(forURI: store + path) == nil)
        #expect(coordinator.id(forURI: path) == nil)
    }

    /// Without `close()` the file does not have the number of an object that was never saved, unless a commit follows.
    @Test(arguments: [(isClosed: true, isFollowed: false, next: 3), (false, false, 2), (false, true, 4)])
    func `R24 the numbers of objects that were never saved reach the file with a commit or when it is closed`(
        _ scenario: (isClosed: Bool, isFollowed: Bool, next: UInt64)
    ) async throws {
        let disk = SimulatedDisk()
        do {
            let coordinator = try await Coordinator.people(on: disk)
            try await coordinator.transaction { _ = $0.insert(Person(name: "one")) }
            let context = Context(coordinator)
            let unsaved = await context.perform { $0.insert(Person(name: "two")).id }
            #expect(unsaved.row == 2)
            await context.rollback()
            if scenario.isFollowed { try await coordinator.transaction { _ = $0.insert(Person(name: "three")) } }
            if scenario.isClosed { try await coordinator.close() }
        }
        let reopened = try await Coordinator.people(on: disk)
        let id = try await reopened.transaction { $0.insert(Person(name: "next")).id }
        #expect(id.row == scenario.next)
    }

    private struct Odd: Entity {
        var name = ""
        static let schema = EntitySchema<Odd>("Größe/50 %") { $0.attribute("name", \.name) }
    }

    @Test func `names of entities are escaped`() async throws {
        let coordinator = try await Coordinator(for: Odd.self)
        let id = try await coordinator.transaction { $0.insert(Odd()).id }
        let uri = coordinator.uri(for: id)
        #expect(uri.hasSuffix("/Gr%C3%B6%C3%9Fe%2F50%20%25/p1"))
        #expect(coordinator.id(forURI: uri)?.typed(as: Odd.self) == id)
    }
}
