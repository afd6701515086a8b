import Foundation
import Testing

@testable import Graph

struct ObjectBatchesTests {
    private static func people(_ count: Int) async throws -> (Coordinator, Context) {
        let coordinator = try await Coordinator(for: Team.self, Person.self)
        let context = Context(coordinator)
        try await context.transaction { context in
            _ = context.insert(contentsOf: (0..<count).map { Person(name: "\($0)", age: $0 % 10) })
        }
        return (coordinator, context)
    }

    @Test func `every object comes once, in order, and few are in memory at a time`() async throws {
        let (_, context) = try await Self.people(10_000)
        try await context.perform { context in
            var (names, sizes) = ([String](), [Int]())
            let descriptor = FetchDescriptor<Person>(
                predicate: #Predicate { $0.age > 4 }, sortBy: [.descending(\.age), .ascending(\.name)])
            for try await batch in try context.batches(of: descriptor, size: 700) {
                names += batch.map(\.name)
                sizes.append(batch.count)
                #expect(context.registry.count < 3_000)
            }
            let expected = try context.fetchValues(descriptor).map(\.name)
            #expect(names == expected)
            #expect(sizes == [700, 700, 700, 700, 700, 700, 700, 100])
        }
    }

    @Test func `which objects come is settled first; they show what there is when they come`() async throws {
        let (coordinator, context) = try await Self.people(10)
        try await context.perform { context in
            let ids = try context.fetchIDs(Person.self)
            var (names, sizes) = ([String](), [Int]())
            for try await batch in try context.batches(of: FetchDescriptor<Person>(), size: 3) {
                sizes.append(batch.count)
                names += batch.map(\.name)
                guard sizes.count == 1 else { continue }
                context.insert(Person(name: "late"))
                for number in 3..<6 { context[ids[number]]?.delete() }
                context[ids[6]]?.delete()
                try await coordinator.transaction { $0[ids[7]]?.name = "other" }
                await context.refresh()
                try await context.save()
            }
            #expect(names == ["0", "1", "2", "other", "8", "9"])
            #expect(sizes == [3, 2, 1])
        }
    }

    @MainActor @Test func `batches come on the main actor, too`() async throws {
        let (coordinator, _) = try await Self.people(5)
        let context = Context(coordinator, executor: .main)
        var people: [Person.Object] = []
        let batches = try context.sync { try $0.batches(of: FetchDescriptor<Person>(), size: 2) }
        for try await batch in batches { people += batch }
        #expect(people.map(\.age) == [0, 1, 2, 3, 4])
    }

    @Test func `a cancelled task gets no more batches`() async throws {
        let (_, context) = try await Self.people(5)
        let task = Task {
            try await context.perform { context in
                for try await _ in try context.batches(of: FetchDescriptor<Person>(), size: 1) {
                    withUnsafeCurrentTask { $0?.cancel() }
                }
            }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
