import Testing

/// What the compiler says where a program's first guess cannot be, and that it says nothing where it can.
struct MessageTests {
    private static let model = """
        import Graph
        @Entity struct Team {
            var name: String
            @Relationship(inverse: \\Person.team) var members: ToMany<Person> = []
        }
        @Entity struct Person {
            var name: String
            var age = 0
            var team: ToOne<Team> = nil
        }

        """

    private static let stays =
        "is unavailable: the object stays in its context: return its 'id' or its 'value' from the closure, or use it inside"
    private static let notSendable =
        "conformance of 'ManagedObject<E>' to 'Sendable' is unavailable: "
        + "an object stays in its context: pass its 'id', or its 'value', which is a plain struct"
    private static let comesFromContext =
        "is unavailable: an object comes from a context: insert a value there, "
        + #"as in context.insert(Person(name: "Ada"))"#
    private static let snapshotHasValues =
        "is unavailable: a snapshot has values, not objects: fetchValues, fetchIDs or fetchIdentifiedValues"

    /// A line of a function that has the arguments below, and what the compiler says about it.
    static let guesses: [(String, String)] = [
        ("let a = await context.perform { $0.insert(person) }; use(a.name)", "'subscript(dynamicMember:)' \(stays)"),
        ("let a = await context.perform { $0.insert(person) }; use(a.id)", "'subscript(dynamicMember:)' \(stays)"),
        (
            "let a = try await context.transaction { $0.insert(person) }; use(a.value)",
            "'subscript(dynamicMember:)' \(stays)"
        ),
        (
            "let a = try await context.transaction { $0.insert(person) }; a.name = \"Eve\"",
            "'subscript(dynamicMember:)' \(stays)"
        ),
        (
            "let a = try await coordinator.transaction { $0.insert(person) }; use(a.team?.name)",
            "'subscript(dynamicMember:)' \(stays)"
        ),
        (
            "let a = await context.perform { $0.insert(person) }; a.delete()",
            "'delete()' is unavailable: the object stays in its context: delete it in the closure"
        ),
        ("let a: Person.Object = try await coordinator.transaction { $0.insert(person) }; use(a)", notSendable),
        ("let a = try await coordinator.transaction { $0[id] }; use(a)", notSendable),
        ("let a = try await coordinator.transaction { try $0.fetch(Person.self) }; use(a)", notSendable),
        ("use(Person.Object())", "'init(_:)' \(comesFromContext)"),
        ("use(Person.Object(person))", "'init(_:)' \(comesFromContext)"),
        ("use(Person.Object(context: context))", "'init(context:)' \(comesFromContext)"),
        (
            "await context.perform { $0.delete(id) }",
            "'delete' is unavailable: delete the object with this identifier: context[id]?.delete()"
        ),
        (
            "await context.perform { for team in (try? $0.fetch(Team.self)) ?? [] { team.members.append(id) } }",
            "'append' is unavailable: members are objects: add the object with this identifier, "
                + "as in members.append(try context.object(for: id))"
        ),
        (
            "await context.perform { for t in (try? $0.fetch(Team.self)) ?? [] { t.members.append(contentsOf: [id]) } }",
            "'append(contentsOf:)' is unavailable: members are objects: add the objects with these identifiers, "
                + "as in members.append(contentsOf: ids.compactMap { context[$0] })"
        ),
        (
            "await context.perform { for team in (try? $0.fetch(Team.self)) ?? [] { team.members.insert(id) } }",
            "'insert' is unavailable: members are objects: add the object with this identifier, "
                + "as in members.insert(try context.object(for: id))"
        ),
        (
            "use(coordinator.snapshot[id]?.name)",
            "'subscript(_:)' is unavailable: a snapshot has values, not objects: snapshot.value(for: id)"
        ),
        (
            "use(try coordinator.snapshot.fetch(Person.self))",
            "'fetch(_:where:sortedBy:offset:limit:)' \(snapshotHasValues)"
        ),
        (
            "use(try coordinator.snapshot.fetch(Person.self, where: { $0.age > 3 }, sortedBy: [.ascending(\\.name)]))",
            "'fetch(_:where:sortedBy:offset:limit:)' \(snapshotHasValues)"
        ),
    ]

    @Test func `the first message says what to write`() throws {
        var source = Self.model + "func use(_ value: Any?) {}\n"
        var expected: [Int: String] = [:]
        for (number, (line, message)) in Self.guesses.enumerated() {
            source += """
                func guess\(number)(_ coordinator: Coordinator, _ context: Context, _ person: Person, _ id: Person.ID) async throws {
                    \(line)
                }

                """
            expected[source.count { $0 == "\n" } - 1] = message
        }
        var said: [Int: [String]] = [:]
        for diagnostic in try SwiftCompiler().diagnostics(of: source) {
            guard let match = diagnostic.firstMatch(of: /snippet\.swift:(\d+):\d+: (?:error|warning): (.*)/),
                let line = Int(match.1)
            else { continue }
            said[line, default: []].append(String(match.2))
        }
        for (line, message) in expected.sorted(by: { $0.key < $1.key }) {
            #expect(said.removeValue(forKey: line) == [message], "\(source.split(separator: "\n")[line - 2])")
        }
        #expect(said == [:])
    }

    /// Where the message is the compiler's own, the guides have the sentence that a program's author searches for.
    static let sentences: [(guide: String, sentence: String, source: String)] = [
        (
            "WorkingOnAContext", "non-Sendable 'Any'-typed result can not be returned",
            """
            func look(_ context: Context, _ id: Person.ID) async {
                print(await context.perform { context in
                    let person = context[id]
                    return person?.name ?? ""
                })
            }
            """
        ),
        (
            "WorkingOnAContext", "type 'Any' does not conform to the 'Sendable' protocol",
            """
            func look(_ coordinator: Coordinator, _ id: Person.ID) async throws {
                print(try await coordinator.transaction { context in
                    let person = context[id]
                    return person?.name ?? ""
                })
            }
            """
        ),
        (
            "TheMainActor", "sending value of non-Sendable type '(Person) -> Bool' risks causing data races",
            """
            @MainActor func look(_ context: Context, for name: String) async throws {
                print(try await context.fetchValues(Person.self, where: { $0.name == name }))
            }
            """
        ),
        (
            "TheMainActor", "in a '@Sendable' closure",
            """
            @MainActor func drop(_ person: Person.Object, _ context: Context) async throws {
                await context.perform { $0.delete(person) }
            }
            """
        ),
        (
            "TheMainActor",
            "call to actor-isolated instance method 'insert' in a synchronous main actor-isolated context",
            """
            @MainActor func add(_ context: Context) {
                _ = context.insert(Person(name: "Ada"))
            }
            """
        ),
        (
            "TheMainActor",
            "main actor-isolated property 'draft' can not be referenced from a nonisolated context",
            """
            @MainActor final class Form {
                let context: Context
                var draft = ""
                init(_ context: Context) { self.context = context }
                func add() { context.sync { $0.insert(Person(name: draft)) } }
            }
            """
        ),
        (
            "TheMainActor", "actor-isolated subscript 'subscript(_:)' can not be mutated from the main actor",
            """
            @MainActor func grow(_ id: Person.ID, _ context: Context) async throws {
                try await context.atomically { context[id]?.age += 1 }
            }
            """
        ),
        (
            "TheMainActor",
            "actor-isolated property 'automaticallyMergesChanges' can not be mutated from the main actor",
            """
            @MainActor func follow(_ context: Context) async {
                await context.automaticallyMergesChanges = true
            }
            """
        ),
        (
            "TheMainActor", "'async' call in a function that does not support concurrency",
            """
            @MainActor func form(_ context: Context) -> Context { Context(parent: context) }
            """
        ),
        (
            "TheMainActor",
            "actor-isolated initializer 'init(parent:mergePolicy:author:executor:isObservable:)' "
                + "cannot be called from outside of the actor",
            """
            @MainActor func form(_ context: Context) async -> Context { Context(parent: context) }
            """
        ),
        (
            "TheMainActor",
            "call to actor-isolated instance method 'object(for:)' in a synchronous actor-isolated context",
            """
            extension Context {
                func grow(_ id: Person.ID) async throws {
                    try await transaction { _ in try object(for: id).age += 1 }
                }
            }
            """
        ),
        (
            "TheMainActor", "'nil' is not compatible with expected argument type 'any Actor'",
            """
            func nowhere(_ context: Context) async throws {
                try await context.atomically {}
            }
            """
        ),
        (
            "WorkingOnAContext", "extraneous argument label",
            """
            let person = Person.Object(name: "Ada")
            """
        ),
    ]

    @Test(arguments: sentences)
    func `what the compiler says is in the guide`(guide: String, sentence: String, source: String) throws {
        let diagnostics = try SwiftCompiler().diagnostics(of: Self.model + source)
        #expect(diagnostics.first?.contains(sentence) == true, "\(diagnostics)")
        let text = try DocumentedProgram.text(of: "Docs/Graph.docc/\(guide).md")
        #expect(text.contains(sentence))
    }

    @Test func `what a program would guess compiles without a warning`() throws {
        let source = """
            extension Context {
                func assign(_ person: Person.Object, _ team: Team.Object, _ id: Team.ID) throws {
                    (person.team, person.team) = (team, nil)
                    person.team = team.id
                    person.team = ToOne(id)
                    let maybe: Team.Object? = team
                    person.team = maybe
                    person.team = maybe?.id
                    let read: Team.ID? = person.team
                    print(read == id, person.team?.name ?? "", person.team.id == id)
                    let people = try fetch(Person.self, where: { $0.team == team && $0.age > 3 })
                    team.members = people
                    team.members = [person]
                    team.members = []
                    team.members = team.members.filter { $0.age > 3 }
                    team.members = RelatedObjects(people)
                    team.members = ToMany([person.id])
                    team.members += people
                    team.members.removeAll()
                    team.members.removeAll(where: { $0.age > 3 })
                    team.members.removeAll { $0.age > 3 && $0.team == team }
                    let array: [Person.Object] = team.members
                    let live = team.members
                    print(array.count, live.values.count, team.members.map(\\.name), team.members.first?.name ?? "")
                    print(people.map(\\.team), people.map(\\.team?.name), team.members == [person])
                    print(people.map { $0.team?.members.count ?? 0 }.reduce(0, +), team.members.contains(person))
                    delete(person)
                    discard(team)
                    require(unchanged: team)
                }

                func compare(_ person: Person.Object, _ team: Team.Object, _ id: Team.ID?) {
                    let value = person.value
                    print(person.team == team, person.team == id, person.team == nil, person.team != nil, team == person.team)
                    print(value.team == team, value.team == id, value.team == nil, value.team != nil, value.team != id)
                    print(team == value.team, id == value.team, value.team == team.id, value.team == value.team)
                }
            }

            func stream(_ snapshot: Snapshot) throws -> [Person.ID: String] {
                var names: [Person.ID: String] = [:]
                try snapshot.forEachValue(Person.self) { id, person in names[id] = person.name }
                for row in try snapshot.fetchIdentifiedValues(Person.self, where: { $0.age > 3 }) { names[row.id] = row.name }
                print(try snapshot.first(Person.self, where: { $0.name == "Ada" })?.age ?? 0)
                return names
            }

            func drop(_ context: Context, _ coordinator: Coordinator) async throws {
                await context.perform { $0.insert(Person(name: "Ada")) }
                try await context.transaction { context in context.insert(Person(name: "Ada")) }
                try await coordinator.transaction { $0.insert(Person(name: "Ada")) }
                Task { try await context.transaction { $0.insert(Person(name: "Ada")) } }
                await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await coordinator.transaction { $0.insert(Person(name: "Ada")) } }
                    group.addTask { try await context.transaction { $0.insert(Person(name: "Ada")) } }
                }
                let id = try await context.transaction { $0.insert(Person(name: "Ada")).id }
                let name: String? = await context.perform { $0[id]?.name }
                print(name ?? "", await context.perform { $0.hasChanges })
                let text = await context.perform { context in
                    let person = context[id]
                    return person?.name ?? ""
                }
                print(text)
                print(await context.perform { context -> String in
                    let person = context[id]
                    return person?.name ?? ""
                })
            }

            @MainActor final class Model {
                let context: Context
                let person: Person.Object
                private var count = 0

                init(_ coordinator: Coordinator) {
                    context = Context(coordinator, executor: .main)
                    person = context.sync { $0.insert(Person(name: "Ada")) }
                    context.sync { $0.insert(Person(name: "Bob")) }
                }

                func tap() {
                    Task {
                        try await context.atomically {
                            person.age += 1
                            count += 1
                        }
                    }
                }

                func drop() { context.delete(person) }

                private var draft = ""

                func add(_ id: Person.ID) async throws {
                    context.sync { [draft] in $0.insert(Person(name: draft)) }
                    await context.perform { [draft] in $0.insert(Person(name: draft)) }
                    try await context.atomically {
                        guard let person = context.sync({ $0[id] }) else { return }
                        person.team = context.sync { $0.insert(Team(name: "A")) }
                    }
                    context.sync { $0.automaticallyMergesChanges = true }
                    await context.perform { $0.automaticallyMergesChanges = true }
                    let form = await Context(parent: context)
                    try await form.save()
                }

                func look(for name: String) async throws -> [Person] {
                    try await context.fetchValues(Person.self, where: { @Sendable in $0.name == name })
                }
            }

            actor Importer: ContextActor {
                let context: Context
                init(_ coordinator: Coordinator) { context = Context(coordinator) }

                func load(_ name: String) async throws {
                    withContext { $0.insert(Person(name: name)) }
                    let person = withContext { $0.insert(Person(name: name)) }
                    try await context.atomically { person.age = 1 }
                    context.delete(person)
                }
            }
            """
        #expect(try SwiftCompiler().diagnostics(of: Self.model + source) == [])
    }
}
