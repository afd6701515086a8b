import Testing

@testable import Graph

/// R19: a row deleted elsewhere while it has local edits.
struct LostRowTests {
    @Test(.bug(id: "base of a lost row")) func `an edited object that others deleted keeps its value and its base`()
        async throws
    {
        let coordinator = try await Coordinator(for: Team.self, Person.self)
        let (one, two) = (Context(coordinator), Context(coordinator))
        let id = try await one.transaction { $0.insert(Person(name: "Ada")).id }
        await two.refresh()
        try await one.transaction { try $0.object(for: id).delete() }
        try await two.refreshWithEdit(of: id)
        await two.rollback()
        #expect(await two.hasChanges == false)
        try await two.save()
    }
}

extension Context {
    fileprivate func refreshWithEdit(of id: PersistentID<Person>) async throws {
        let person = try object(for: id)
        person.name = "Eve"
        for _ in 0..<2 {
            await refresh()
            #expect(person.isDeleted && self[id] == nil)
            #expect(try fetchCount(Person.self) == 0)
            #expect(person.name == "Eve")
            #expect(person.isUpdated && person.hasChanges && hasChanges)
            #expect(updatedObjects.first === person)
            #expect(person.version == RowVersion(1))
            #expect(person.committedValue?.name == "Ada")
            person.name = "nobody"
            #expect(person.name == "Eve")
            do {
                try await save()
                Issue.record("the save should find a conflict")
            } catch {
                guard case .conflicts(let conflicts) = error else { throw error }
                #expect(conflicts.map(\.oldVersion) == [RowVersion(1)])
                #expect(conflicts.map(\.newVersion) == [RowVersion(0)])
            }
        }
    }
}
