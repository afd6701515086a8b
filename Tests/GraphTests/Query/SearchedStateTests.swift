import Foundation
import Observation
import Synchronization
import Testing

@testable import Graph

@Entity private struct Guild {
    var name: String
    var head: ToOne<Smith> = nil
    @Relationship(inverse: \Smith.guild) var smiths: ToMany<Smith> = []
}

@Entity private struct Smith {
    var name: String
    var rank: Int?
    var guild: ToOne<Guild> = nil

    /// What a program computes through references.
    var title: String { "\(name) of \(guild.name ?? "nowhere")" }
    var followsItself: Bool { guild.head.name == name }
}

extension ToOne where Target == Guild {
    /// A program's own property, which reads a member and is of a member's type.
    fileprivate var shout: String? { self.name?.uppercased() }
}

/// Conditions of the program that follow references read the state that is searched.
struct SearchedStateTests {
    private let coordinator: Coordinator
    private let context: Context

    init() async throws {
        coordinator = try await Coordinator(for: Guild.self, Smith.self)
        context = Context(coordinator)
        try await context.transaction { context in
            let guilds = ["iron", "gold"].map { context.insert(Guild(name: $0)) }
            for (number, name) in ["Ada", "Bo", "Cy", "Di"].enumerated() {
                let smith = context.insert(Smith(name: name, rank: number == 3 ? nil : number))
                smith.guild = number == 3 ? nil : guilds[number % 2]
                if number < 2 { guilds[number].head = smith }
            }
        }
    }

    @Test func `closures follow references in snapshots and contexts`() async throws {
        let snapshot = coordinator.snapshot
        let isIron: @Sendable (Smith) -> Bool = { $0.guild.name == "iron" }
        #expect(try snapshot.fetchValues(where: isIron).map(\.name) == ["Ada", "Cy"])
        #expect(try snapshot.fetchValues(where: isIron, sortedBy: [.descending(\.name)]).map(\.name) == ["Cy", "Ada"])
        #expect(try snapshot.fetchCount(where: isIron) == 2)
        #expect(try snapshot.first(Smith.self, where: { $0.guild.head.rank == 1 })?.name == "Bo")
        #expect(try snapshot.fetchValues(Smith.self, where: \.followsItself).map(\.name) == ["Ada", "Bo"])
        #expect(try snapshot.fetchValues(Smith.self, where: { $0.guild.head.guild.id == nil }).map(\.name) == ["Di"])
        try await context.perform { context in
            let iron = try context.fetch(Guild.self, where: { $0.head.name == "Ada" })
            for guild in iron { guild.name = "steel" }
            #expect(try context.fetch(Smith.self, where: isIron).isEmpty)
            #expect(try context.fetchIDs(Smith.self, where: isIron, includesPendingChanges: false).count == 2)
            let changed = try context.update(Smith.self, where: { $0.guild.name == "steel" }) { $0.rank = 9 }
            #expect(changed == 2)
            let deleted = try context.delete(Smith.self, where: { $0.guild.name == nil })
            #expect(deleted == 1)
            #expect(try context.fetchValues(Smith.self).map(\.rank) == [9, 1, 9])
        }
    }

    @Test func `what a program computes from references is evaluated, and is no member`() async throws {
        let snapshot = coordinator.snapshot
        #expect(try snapshot.fetchCount(Smith.self, where: #Predicate { $0.title == "Cy of iron" }) == 1)
        #expect(try snapshot.fetchCount(Smith.self, where: #Predicate { $0.title == "Di of nowhere" }) == 1)
        #expect(try snapshot.fetchCount(Smith.self, where: #Predicate { $0.guild.shout == "IRON" }) == 2)
        #expect(try snapshot.fetchCount(Smith.self, where: #Predicate { $0.guild.shout == "iron" }) == 0)
        #expect(try snapshot.fetchCount(Smith.self, where: #Predicate { $0.guild.head.title == "Bo of gold" }) == 1)
        #expect(try snapshot.fetchCount(Guild.self, where: #Predicate { $0.smiths.contains { $0.followsItself } }) == 2)
        try await context.perform { context in
            context.insert(Smith(name: "Eve", rank: 0)).guild = context.insert(Guild(name: "tin"))
            let found = try context.fetchCount(Smith.self, where: #Predicate { $0.title == "Eve of tin" })
            #expect(found == 1)
        }
    }

    @Test func `R26 a transaction depends on what its closures and computed properties followed`() async throws {
        let conditions: [@Sendable (isolated Context) throws -> Int] = [
            { try $0.fetchCount(Smith.self, where: { $0.guild.name == "tin" }) },
            { try $0.fetchCount(Smith.self, where: #Predicate { $0.title == "Ada of tin" }) },
            { try $0.fetchCount(Smith.self, where: #Predicate { $0.guild.shout == "TIN" }) },
            { try $0.fetchIDs(Smith.self, sortedBy: [.ascending(\.guild, \.name)]).count },
            { try $0.fetchIDs(where: { $0.rank != 7 }, sortedBy: [Ordering<Smith>.descending(\.guild, \.name)]).count },
        ]
        for condition in conditions {
            let runs = Count()
            let other = Context(coordinator)
            try await coordinator.transaction(isolation: .serializable) { context in
                _ = try condition(context)
                context.insert(Smith(name: "new", rank: nil))
                guard runs.next() == 1 else { return }
                await other.refresh()
                try await other.transaction { other in
                    for guild in try other.fetch(Guild.self) { guild.name += "!" }
                }
            }
            #expect(runs.next() == 3)
        }
    }

    @Test @MainActor func `R22 observers are told of what closures and computed properties followed`() async throws {
        let watching = Context(coordinator, executor: .main, isObservable: true)
        let questions: [(Context) throws -> Int] = [
            { try $0.sync { try $0.fetchCount(Smith.self, where: { $0.guild.name == "tin" }) } },
            { try $0.sync { try $0.fetchCount(Smith.self, where: #Predicate { $0.title == "Ada of tin" }) } },
            { try $0.sync { try $0.fetchIDs(Smith.self, sortedBy: [.ascending(\.guild, \.name)]).count } },
            { context in
                let order = [Ordering<Smith>.descending(\.guild, \.name)]
                return try context.sync { try $0.fetchIDs(where: { $0.rank != 7 }, sortedBy: order).count }
            },
        ]
        for (number, question) in questions.enumerated() {
            let isTold = Flag()
            _ = withObservationTracking {
                try? question(watching)
            } onChange: {
                isTold.value.withLock { $0 = true }
            }
            try await context.transaction { context in
                for guild in try context.fetch(Guild.self) { guild.name += "\(number)" }
            }
            await watching.refresh()
            #expect(isTold.value.withLock { $0 }, "question \(number)")
        }
    }
}

/// A live result that has met no row yet knows nothing of what the program's code follows.
struct FollowingResultTests {
    @Test func `a result that was empty depends on what its first objects have led to`() async throws {
        let coordinator = try await Coordinator(for: Guild.self, Smith.self)
        var iterator = coordinator.results(
            FetchDescriptor<Smith>(predicate: #Predicate { $0.title == "Ada of iron" })
        ).makeAsyncIterator()
        #expect(try await iterator.next()?.values.count == 0)
        let (guild, other) = try await coordinator.transaction { context in
            let guild = context.insert(Guild(name: "tin"))
            let smith = context.insert(Smith(name: "Ada", rank: 1))
            smith.guild = guild
            return (guild.id, context.insert(Guild(name: "gold")).id)
        }
        #expect(try iterator.newestUpdate() == nil)
        // A state in which nothing is asked about, and then another guild.
        try await coordinator.transaction { $0[other]?.name = "silver" }
        #expect(try iterator.newestUpdate() == nil)
        try await coordinator.transaction { $0[guild]?.name = "iron" }
        #expect(try iterator.newestUpdate()?.inserted == [0])
        try await coordinator.transaction { $0[guild]?.name = "steel" }
        #expect(try iterator.newestUpdate()?.removed == [0])
    }
}

private final class Flag: Sendable {
    let value = Mutex(false)
}

private final class Count: Sendable {
    private let value = Mutex(0)

    func next() -> Int {
        value.withLock { value in
            value += 1
            return value
        }
    }
}
