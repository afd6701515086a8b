import Testing

@testable import Graph

/// R17: clean objects nobody holds are released.
struct ObjectLifetimeTests {
    @Test(.bug(id: "kept without a change")) func `an object inserted and deleted again is released by the next save`()
        async throws
    {
        let context = Context(try await Coordinator(for: Team.self, Person.self))
        try await context.saveWithoutChange()
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
}
