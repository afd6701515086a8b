import Testing

/// What the compiler proves about objects and contexts, asked of the compiler itself.
struct CompilerTests {
    private static let model = """
        import Graph
        @Entity struct Person {
            var name: String
            var friend: ToOne<Person> = nil
        }

        """

    struct Rejected: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// Part of the one message that is due.
        let message: String
        let source: String
    }

    static let rejected = [
        Rejected(
            testDescription: "returning an object from perform",
            message: "non-Sendable 'Person.Object' (aka 'ManagedObject<Person>')-typed result can not be returned",
            source: """
                func leak(_ context: Context) async {
                    let person: Person.Object = await context.perform { $0.insert(Person(name: "Ada")) }
                    print(person)
                }
                """
        ),
        Rejected(
            testDescription: "returning an object from a transaction",
            message: "non-Sendable '[ManagedObject<Person>]'-typed result can not be returned",
            source: """
                func leak(_ context: Context) async throws {
                    let people = try await context.transaction { [$0.insert(Person(name: "Ada"))] }
                    print(people)
                }
                """
        ),
        Rejected(
            testDescription: "fetching objects from outside",
            message: "non-Sendable '[ManagedObject<Person>]'-typed result can not be returned",
            source: """
                func leak(_ context: Context) async throws {
                    print(try await context.fetch(Person.self))
                }
                """
        ),
        Rejected(
            testDescription: "capturing an object in a detached task",
            message: "passing closure as a 'sending' parameter risks causing data races",
            source: """
                extension Context {
                    func leak() {
                        let person = insert(Person(name: "Ada"))
                        Task.detached { print(person.name) }
                    }
                }
                """
        ),
        Rejected(
            testDescription: "capturing an object in a Sendable closure",
            message: "capture of 'person' with non-Sendable type 'ManagedObject<Person>'",
            source: """
                extension Context {
                    func leak() {
                        let person = insert(Person(name: "Ada"))
                        let closure: @Sendable () -> Void = { print(person.name) }
                        closure()
                    }
                }
                """
        ),
        Rejected(
            testDescription: "handing an object to another context",
            message: "sending 'person' risks causing data races",
            source: """
                extension Context {
                    func take(_ person: Person.Object) {}

                    func leak(to other: Context) async {
                        let person = insert(Person(name: "Ada"))
                        await other.take(person)
                    }
                }
                """
        ),
        Rejected(
            testDescription: "using an object in another context's closure",
            message: "capture of 'person' with non-Sendable type 'ManagedObject<Person>'",
            source: """
                extension Context {
                    func leak(to other: Context) async {
                        let person = insert(Person(name: "Ada"))
                        await other.perform { _ in print(person.name) }
                    }
                }
                """
        ),
        Rejected(
            testDescription: "handing an object to the main actor",
            message: "sending 'person' risks causing data races",
            source: """
                @MainActor func show(_ person: Person.Object) {}
                extension Context {
                    func leak() async {
                        let person = insert(Person(name: "Ada"))
                        await show(person)
                    }
                }
                """
        ),
        Rejected(
            testDescription: "handing a relationship's collection to an actor",
            message: "risks causing data races",
            source: """
                actor Other { func take(_ person: Person.Object?) {} }
                extension Context {
                    func leak(to other: Other) async {
                        let friend = insert(Person(name: "Ada")).friend
                        await other.take(friend)
                    }
                }
                """
        ),
        Rejected(
            testDescription: "keeping an object in a Sendable class",
            message: "stored property 'person' of 'Sendable'-conforming class 'Box' has non-Sendable type",
            source: """
                final class Box: Sendable {
                    let person: Person.Object
                    init(_ person: Person.Object) { self.person = person }
                }
                """
        ),
        Rejected(
            testDescription: "returning an object from a transaction that waits",
            message: "as a 'sending' result risks causing data races",
            source: """
                func leak(_ context: Context) async throws {
                    let person = try await context.transaction { context in
                        await Task.yield()
                        return context.insert(Person(name: "Ada"))
                    }
                    print(person)
                }
                """
        ),
        Rejected(
            testDescription: "returning an object from a transaction of the coordinator",
            message: "conformance of 'ManagedObject<E>' to 'Sendable' is unavailable: an object stays in its context",
            source: """
                func leak(_ coordinator: Coordinator, _ id: Person.ID) async throws {
                    let person = try await coordinator.transaction { $0[id] }
                    print(person?.name ?? "")
                }
                """
        ),
        Rejected(
            testDescription: "a transaction that waits without a context of its own",
            message: "cannot pass function of type",
            source: """
                extension Context {
                    func work() async throws {
                        try await atomically {
                            await Task.yield()
                            insert(Person(name: "Ada"))
                        }
                    }
                }
                """
        ),
        Rejected(
            testDescription: "a transaction around objects from nowhere in particular",
            message: "'nil' is not compatible with expected argument type 'any Actor'",
            source: """
                func leak(_ context: Context) async throws {
                    try await context.atomically {}
                }
                """
        ),
        Rejected(
            testDescription: "a transaction that waits around objects of the main actor",
            message: "cannot pass function of type",
            source: """
                @MainActor func mix(_ context: Context, _ person: Person.Object) async throws {
                    try await context.atomically {
                        await Task.yield()
                        person.name = "Eve"
                    }
                }
                """
        ),
        Rejected(
            testDescription: "sending away an object that a transaction on the main actor returns",
            message: "sending 'person' risks causing data races",
            source: """
                actor Other { func take(_ person: Person.Object) {} }
                @MainActor func leak(_ context: Context, to other: Other) async throws {
                    let person = try await context.atomically { context.sync { $0.insert(Person(name: "Ada")) } }
                    await other.take(person)
                }
                """
        ),
        Rejected(
            testDescription: "sync from nowhere in particular",
            message: "in a synchronous nonisolated context",
            source: """
                func leak(_ context: Context) {
                    print(context.sync { $0.insert(Person(name: "Ada")) })
                }
                """
        ),
        Rejected(
            testDescription: "using an object that the main actor holds in the closure of sync",
            message: "capture of 'person' with non-Sendable type 'ManagedObject<Person>'",
            source: """
                @MainActor func mix(_ context: Context) {
                    let person = context.sync { $0.insert(Person(name: "Ada")) }
                    context.sync { _ in person.delete() }
                }
                """
        ),
        Rejected(
            testDescription: "sending an object away that the main actor holds",
            message: "sending 'person' risks causing data races",
            source: """
                actor Other { func take(_ person: Person.Object) {} }
                @MainActor func leak(_ context: Context, to other: Other) async {
                    let person = context.sync { $0.insert(Person(name: "Ada")) }
                    await other.take(person)
                }
                """
        ),
        Rejected(
            testDescription: "returning a result from perform",
            message: "non-Sendable 'FetchedResults<Person>'-typed result can not be returned",
            source: """
                func leak(_ context: Context) async throws {
                    let results = try await context.perform { try $0.results(FetchDescriptor<Person>()) }
                    print(results.objects.count)
                }
                """
        ),
        Rejected(
            testDescription: "returning a result from a transaction of the coordinator",
            message: "conformance of 'FetchedResults<E>' to 'Sendable' is unavailable: a result stays in its context",
            source: """
                func leak(_ coordinator: Coordinator) async throws {
                    let results = try await coordinator.transaction { try $0.results(FetchDescriptor<Person>()) }
                    print(results.objects.count)
                }
                """
        ),
        Rejected(
            testDescription: "capturing a result in a detached task",
            message: "passing closure as a 'sending' parameter risks causing data races",
            source: """
                extension Context {
                    func leak() throws {
                        let results = try results(FetchDescriptor<Person>())
                        Task.detached { print(results.objects.count) }
                    }
                }
                """
        ),
        Rejected(
            testDescription: "capturing the objects of a result in a detached task",
            message: "passing closure as a 'sending' parameter risks causing data races",
            source: """
                extension Context {
                    func leak() throws {
                        let objects = try results(FetchDescriptor<Person>()).objects
                        Task.detached { print(objects.count) }
                    }
                }
                """
        ),
        Rejected(
            testDescription: "handing a result to the main actor",
            message: "sending value of non-Sendable type 'FetchedResults<Person>' risks causing data races",
            source: """
                @MainActor func show(_ results: FetchedResults<Person>) {}
                extension Context {
                    func leak() async throws { await show(try results(FetchDescriptor<Person>())) }
                }
                """
        ),
        Rejected(
            testDescription: "sending a result away that the main actor holds",
            message: "sending 'results' risks causing data races",
            source: """
                actor Other { func take(_ results: FetchedResults<Person>) {} }
                @MainActor func leak(_ context: Context, to other: Other) async throws {
                    let results = try context.sync { try $0.results(FetchDescriptor<Person>()) }
                    await other.take(results)
                }
                """
        ),
        Rejected(
            testDescription: "keeping a result in a Sendable class",
            message: "stored property 'results' of 'Sendable'-conforming class 'Box' has non-Sendable type",
            source: """
                final class Box: Sendable {
                    let results: FetchedResults<Person>
                    init(_ results: FetchedResults<Person>) { self.results = results }
                }
                """
        ),
        Rejected(
            testDescription: "returning batches from perform",
            message: "non-Sendable 'ObjectBatches<Person>'-typed result can not be returned",
            source: """
                func leak(_ context: Context) async throws {
                    let batches = try await context.perform { try $0.batches(of: FetchDescriptor<Person>(), size: 10) }
                    for try await people in batches { print(people.count) }
                }
                """
        ),
        Rejected(
            testDescription: "going through batches from outside",
            message: "non-Sendable 'ObjectBatches<Person>'-typed result can not be returned",
            source: """
                func leak(_ context: Context) async throws {
                    let fetch = FetchDescriptor<Person>()
                    for try await people in try await context.batches(of: fetch, size: 10) { print(people.count) }
                }
                """
        ),
        Rejected(
            testDescription: "capturing batches in a detached task",
            message: "passing closure as a 'sending' parameter risks causing data races",
            source: """
                extension Context {
                    func leak() throws {
                        let batches = try batches(of: FetchDescriptor<Person>(), size: 10)
                        Task.detached { for try await people in batches { print(people.count) } }
                    }
                }
                """
        ),
        Rejected(
            testDescription: "handing batches to an actor",
            message: "sending 'batches' risks causing data races",
            source: """
                actor Other { func take(_ batches: ObjectBatches<Person>) {} }
                extension Context {
                    func leak(to other: Other) async throws {
                        let batches = try batches(of: FetchDescriptor<Person>(), size: 10)
                        await other.take(batches)
                    }
                }
                """
        ),
        Rejected(
            testDescription: "asking for a batch where no context runs",
            message: "sending 'iterator' risks causing data races",
            source: """
                extension Context {
                    func leak() async throws {
                        var iterator = try batches(of: FetchDescriptor<Person>(), size: 10).makeAsyncIterator()
                        let people = try await iterator.next()
                        print(people?.count ?? 0)
                    }
                }
                """
        ),
    ]

    @Test(arguments: rejected)
    func `what would take objects or results out of their context does not compile`(_ snippet: Rejected) throws {
        let diagnostics = try SwiftCompiler().diagnostics(of: Self.model + snippet.source)
        #expect(diagnostics.contains { $0.contains("error:") && $0.contains(snippet.message) }, "\(diagnostics)")
    }

    @Test func `values, identifiers, updates and work inside a context compile without a warning`() throws {
        let source = """
            extension Context {
                func make() -> Person.Object { insert(Person(name: "Ada")) }

                func work() async throws -> Person.ID {
                    let person = make()
                    person.name = "Eve"
                    try await save()
                    person.friend = person
                    let value = person.value
                    Task.detached { print(value) }
                    for friend in try fetch(Person.self, where: { $0.name == "Eve" }) { print(friend.name) }
                    return person.id
                }
            }

            actor Reader {
                func read(_ snapshot: Snapshot) throws -> Int { try snapshot.fetchCount(Person.self) }
            }

            @MainActor final class Library {
                let context: Context
                var people: [Person.Object] = []

                init(_ coordinator: Coordinator) { context = Context(coordinator, executor: .main) }

                func load(_ name: String) throws {
                    people = try context.sync { try $0.fetch(Person.self, where: { $0.name == name }) }
                    let first = context.sync { $0.insert(Person(name: name)) }
                    print(people.map { $0.name + first.name })
                }
            }

            actor Importer: ContextActor {
                let context: Context
                init(_ coordinator: Coordinator) { context = Context(coordinator) }
                func load() throws -> [String] {
                    let people = try withContext { try $0.fetch(Person.self) }
                    return people.map(\\.name)
                }
            }

            extension Context {
                func waits() async throws {
                    let ada = insert(Person(name: "Ada"))
                    try await atomically { ada.name = "Countess" }
                    let count = try fetchCount(Person.self)
                    try await transaction { context in
                        await Task.yield()
                        for _ in 0..<count { context.insert(Person(name: "Eve")) }
                    }
                }
            }

            extension Context {
                func follow() async throws -> ResultUpdates<Person> {
                    let results = try results(FetchDescriptor<Person>())
                    for try await people in try batches(of: FetchDescriptor<Person>(), size: 10) {
                        for person in people { person.name += "!" }
                    }
                    print(results.objects.count)
                    return results.updates
                }
            }
            @MainActor func show(_ context: Context) async throws {
                let results = try context.sync { try $0.results(FetchDescriptor<Person>()) }
                for try await update in results.updates { print(update.values.count); break }
                for try await people in try context.sync({ try $0.batches(of: FetchDescriptor<Person>(), size: 10) }) {
                    print(people.map(\\.name))
                }
            }

            func use(_ coordinator: Coordinator) async throws -> [Person] {
                let context = Context(coordinator)
                let id = try await context.work()
                let name = try await context.perform { try $0.object(for: id).name }
                let saved = try await context.transaction { $0.insert(Person(name: name)).id }
                await context.perform { context in
                    let person = context[saved]
                    context.insert(Person(name: "Bob", friend: ToOne(person?.id)))
                }
                print(try await Reader().read(coordinator.snapshot))
                return try await context.fetchValues(Person.self)
            }
            """
        #expect(try SwiftCompiler().diagnostics(of: Self.model + source) == [])
    }
}
