import Testing

@testable import Graph

/// Closures whose one expression is an object: it stays in the context, and all else comes back.
struct DroppedResultTests {
    let coordinator: Coordinator
    let context: Context

    init() async throws {
        coordinator = try await Coordinator(for: Person.self, Team.self)
        context = Context(coordinator)
    }

    private var names: [String] {
        get throws { try coordinator.snapshot.fetchValues(Person.self).map(\.name) }
    }

    @Test func `an insert may be all that a closure does`() async throws {
        await context.perform { $0.insert(Person(name: "one")) }
        #expect(try await context.fetchCount(Person.self) == 1 && names == [])
        try await context.transaction { $0.insert(Person(name: "two")) }
        try await context.transaction(mergePolicy: .overwrite) { context in context.insert(Person(name: "three")) }
        #expect(try names == ["one", "two", "three"] && coordinator.snapshot.commit == CommitNumber(2))
        try await coordinator.transaction { $0.insert(Person(name: "four")) }
        try await coordinator.transaction(isolation: .serializable) { context in
            await Task.yield()
            return context.insert(Person(name: "five"))
        }
        #expect(try names == ["one", "two", "three", "four", "five"])
    }

    @Test func `what is dropped throws, undoes and retries as any other`() async throws {
        await #expect(throws: GraphError.self) {
            try await context.transaction { context in
                context.insert(Person(name: "one"))
                return try context.object(for: PersistentID<Person>(row: 99))
            }
        }
        #expect(await context.hasChanges == false)
        let id = try await coordinator.transaction { $0.insert(Person(name: "Ada")).id }
        let tries = Counter()
        try await coordinator.transaction(retries: 3) { [coordinator] context in
            let person = try context.object(for: id)
            person.age += 1
            if tries.next() < 3 { try await coordinator.transaction { $0[id]?.age += 10 } }
            return person
        }
        #expect(coordinator.snapshot.value(for: id)?.age == 21 && tries.value == 3)
        let counted = try await context.perform { try $0.fetchCount(Person.self) }
        #expect(counted == 0)
    }

    @Test func `what a closure returns comes back if it may leave, used or not`() async throws {
        let id = try await context.transaction { $0.insert(Person(name: "Ada", age: 36)).id }
        let value = await context.perform { $0[id]?.value }
        #expect(value?.name == "Ada")
        let ages = try await context.perform { context in
            let people = try context.fetch(Person.self)
            return people.map(\.age)
        }
        #expect(ages == [36])
        let waited: Int = try await context.transaction { context in
            await Task.yield()
            return try context.fetchCount(Person.self)
        }
        #expect(waited == 1)
        let pair = try await coordinator.transaction { context in (context[id]?.name, context.hasChanges) }
        #expect(pair.0 == "Ada" && !pair.1)
        try await context.transaction { $0[id]?.age }
        await context.perform { $0.undo() }
    }

    @Test func `a closure that waits still runs in a context of its own`() async throws {
        try await context.transaction { [context] nested in
            #expect(nested === context)
            nested.insert(Person(name: "here"))
        }
        try await context.transaction { [context] nested in
            await Task.yield()
            #expect(nested !== context)
            nested.insert(Person(name: "there"))
        }
        #expect(try names == ["here", "there"])
    }

    @Test func `an object that is converted to Any ends the process instead of leaving a transaction`() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let context = Context(try await Coordinator(for: Person.self, Team.self))
            let any: Any = try await context.transaction { context in
                let person = context.insert(Person(name: "one"))
                await Task.yield()
                return person
            }
            print(any is String)
        }
        let output = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(output.contains("an object cannot leave its context"))
    }
}
