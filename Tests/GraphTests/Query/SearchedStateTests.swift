import Foundation
import Observation
import Synchronization
import Testing

@testable import Graph

@Entity private struct Guild {
    var name: String
    var words: [String] = []
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

    @Test func `look-ups follow references, too`() async throws {
        let snapshot = coordinator.snapshot
        #expect(snapshot.first(\Smith.title, equals: "Cy of iron")?.name == "Cy")
        #expect(snapshot.first(\Smith.guild.name, equals: "gold")?.name == "Bo")
        #expect(snapshot.fetchCount(\Smith.guild.name, equals: "iron") == 2)
        #expect(snapshot.fetchValues(\Smith.title, equals: "Di of nowhere").map(\.name) == ["Di"])
        #expect(snapshot.first(\Smith.title, equals: "Ada of iron", \.rank, equals: 0)?.name == "Ada")
        #expect(snapshot.first(\Smith.rank, equals: 2, \.guild.name, equals: "iron")?.name == "Cy")
        #expect(try snapshot.first(Smith.self, where: #Predicate { $0.title == "Bo of gold" })?.name == "Bo")
        let name = try await context.perform { context in
            context.first(\Smith.title, equals: "Bo of gold")?.guild?.name = "brass"
            return try context.first(Smith.self, where: #Predicate { $0.title == "Bo of brass" })?.name
        }
        #expect(name == "Bo")
    }

    @Test func `captured references lead into the searched state, in each state anew`() async throws {
        struct Mine: Codable, Sendable {
            var guild: ToOne<Guild>
            var guildName: String? { guild.name }
        }
        let iron = try #require(coordinator.snapshot.fetchIDs(\Guild.name, equals: "iron").first)
        let mine = Mine(guild: ToOne(iron))
        let reference = mine.guild
        let texts = ["Bo", "Cy", "Di"]
        let predicates: [Predicate<Smith>] = [
            #Predicate { $0.guild.name == mine.guildName }, #Predicate { (reference.words ?? []).contains($0.name) },
            #Predicate { $0.guild.name == reference.name }, #Predicate { ($0.rank ?? 0) == texts.count - 1 },
            #Predicate { ((reference.words ?? []).count..<3).contains($0.rank ?? 9) },
            #Predicate { reference.smiths.contains { $0.rank == 2 } && $0.rank != nil },
        ]
        #expect(
            try predicates.map { try coordinator.snapshot.fetchCount(Smith.self, where: $0) } == [2, 0, 2, 1, 3, 3])
        var results = predicates.map {
            coordinator.results(FetchDescriptor(predicate: $0)).makeAsyncIterator()
        }
        var shown = try results.indices.map { try results[$0].newestUpdate()?.values.map(\.id) ?? [] }
        for step in 0..<6 {
            try await context.transaction { context in
                let guild = try #require(context[iron])
                switch step {
                case 0: guild.words = ["Ada", "Bo"]
                case 1: context.insert(Smith(name: "Bo", rank: 1)).guild = guild
                case 2: guild.name = "gold"
                case 3: context.insert(Smith(name: "Ada", rank: 2)).guild = nil
                case 4: for smith in try context.fetch(Smith.self, where: { $0.rank == 2 }) { smith.rank = 4 }
                default: guild.words = []
                }
            }
            for number in results.indices {
                if let update = try results[number].newestUpdate() { shown[number] = update.values.map(\.id) }
                let fetched = try coordinator.snapshot.fetchIDs(Smith.self, where: predicates[number])
                #expect(shown[number] == fetched, "predicate \(number), step \(step)")
            }
        }
    }

    @Test func `what is done with each value on the way reads the searched state`() throws {
        let snapshot = coordinator.snapshot
        let all = FetchDescriptor<Smith>(sortBy: [.descending(\.name)])
        #expect(try snapshot.fetchValues(all) { $0.guild.name } == [nil, "iron", "gold", "iron"])
        for order in [[], [Ordering<Smith>.ascending(\.name)]] {
            var names: [String?] = []
            let isRanked: (Smith) -> Bool = { $0.rank != nil }
            try snapshot.forEachValue(Smith.self, where: isRanked, sortedBy: order) { names.append($1.guild.name) }
            try snapshot.forEachValue(Smith.self, sortedBy: order, limit: 1) { names.append($1.guild.name) }
            #expect(names == ["iron", "gold", "iron", "iron"])
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
