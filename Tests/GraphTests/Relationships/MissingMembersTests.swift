import Testing

@testable import Graph

/// R14: members that lead nowhere, because others deleted them.
struct MissingMembersTests {
    private let coordinator: Coordinator
    private let context: Context

    init() async throws {
        coordinator = try await .school()
        context = Context(coordinator)
    }

    private static func missing(_ context: Context) async throws -> [String] {
        do {
            try await context.save()
            return []
        } catch {
            guard case .danglingReferences(let dangling) = error else { throw error }
            return dangling.map(\.description)
        }
    }

    @Test(.bug(id: "removing what leads nowhere", "only a new value for the members gave them up"))
    func `R14 removing all members gives up those that lead nowhere`() async throws {
        let other = Context(coordinator)
        let (ada, course) = try await other.transaction { context in
            (context.insert(Student(name: "Ada")).id, context.insert(Course(title: "Logic")).id)
        }
        await context.refresh()
        try await context.perform { try $0.object(for: ada).courses.append($0.object(for: course)) }
        try await other.transaction { try $0.object(for: course).delete() }
        await context.refresh()
        #expect(
            try await Self.missing(context) == ["Student/p1.courses refers to Course/p1, which does not exist"])
        try await context.perform { try $0.object(for: ada).courses.removeAll() }
        #expect(await context.hasChanges == false)
        #expect(try await Self.missing(context) == [])
    }

    @Test(.bug(id: "upserts of what leads nowhere", "the save left them out"))
    func `R14 members of an upsert that lead nowhere are reported`() async throws {
        let course = try await context.transaction { context in
            context.insert(Student(name: "Ada", email: "ada@x"))
            return context.insert(Course(title: "Logic")).id
        }
        try await context.transaction { try $0.object(for: course).delete() }
        await context.perform { _ = $0.insert(Student(name: "Ada L.", email: "ada@x", courses: [course])) }
        #expect(
            try await Self.missing(context) == ["Student/p1.courses refers to Course/p1, which does not exist"])
    }
}
