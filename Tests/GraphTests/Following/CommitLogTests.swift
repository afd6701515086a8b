import Synchronization
import Testing

@testable import Graph

/// Programs that save to one log, each with a copy of the store.
struct CommitLogTests {
    private typealias Item = SharedItems.Item
    private typealias Part = SharedItems.Part

    @Test func `what one program saves, the others have, and no identifiers are the same`() async throws {
        let shared = try await SharedItems.Origin(1)
        let writers = [try await shared.writer(), try await shared.writer(), try await shared.writer()]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, writer) in writers.enumerated() {
                for code in 0..<20 {
                    group.addTask {
                        try await writer.transaction(author: "\(number)") { context in
                            let item = context.insert(Item(code: 100 * (number + 1) + code))
                            for name in ["a", "b"] { item.parts.insert(context.insert(Part(name: name))) }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        for writer in writers { try await writer.catchUp() }
        let expected = [1] + (1...3).flatMap { number in (0..<20).map { 100 * number + $0 } }
        for writer in writers {
            #expect(try SharedItems.codes(writer) == expected && writer.check() == [])
            #expect(writer.snapshot.token == writers[0].snapshot.token)
            #expect(writer.snapshot.count(of: Part.self) == 120)
        }
        // One commit for each writer, and one for each save.
        #expect(writers[0].snapshot.commit.number == 1 + 3 + 60)
        #expect(shared.log.records.count == 63)
        var authors: [String: Int] = [:]
        for try await commit in writers[1].history(since: shared.origin.snapshot.token) {
            let author = try #require(commit.origin?.author)
            authors[author.hasPrefix("writer") ? String(author.prefix(8)) : author, default: 0] += 1
        }
        #expect(authors == ["0": 20, "1": 20, "2": 20, "writer 1": 1, "writer 2": 1, "writer 3": 1])
    }

    @Test(.timeLimit(.minutes(10))) func `contexts see what others save when they refresh, and feeds show it`()
        async throws
    {
        let shared = try await SharedItems.Origin(1)
        let (one, other) = (try await shared.writer(), try await shared.writer())
        try await one.catchUp()
        let context = Context(one)
        var feed = one.commits.makeAsyncIterator()
        let code = try await other.transaction(author: "other") { context in
            let item = try #require(try context.fetch(Item.self).first)
            item.label = "new"
            return item.code
        }
        // It comes by itself.
        let commit = try #require(await feed.next())
        #expect(commit.origin?.author == "other" && commit.token == other.snapshot.token)
        #expect(commit.changes(of: Item.self).map(\.after?.label) == ["new"])
        await context.refresh()
        #expect(try await context.perform { try $0.fetch(Item.self).map(\.label) } == ["new"] && code == 1)
    }

    @Test func `who was second is checked again with what the first one did`() async throws {
        let shared = try await SharedItems.Origin(1, 2)
        let (one, other) = (try await shared.writer(), try await shared.writer())
        try await one.catchUp()
        let contexts = [Context(one, author: "one"), Context(other, author: "other")]
        for (number, context) in contexts.enumerated() {
            try await context.perform { context in
                for item in try context.fetch(Item.self) { item.count += 10 + number }
            }
        }
        try await contexts[0].save()
        do {
            try await contexts[1].save()
            Issue.record("two saves have changed one version")
        } catch GraphError.conflicts(let conflicts) {
            #expect(conflicts.count == 2)
            #expect(conflicts.first?.theirOrigin?.author == "one")
        } catch {
            Issue.record(error)
        }
        // What others have changed besides is merged.
        await contexts[1].rollback(to: .latest)
        try await contexts[1].perform { try $0.fetch(Item.self).first?.label = "mine" }
        await contexts[0].refresh()
        try await contexts[0].perform { try $0.fetch(Item.self).first?.count = 100 }
        try await contexts[0].save()
        try await contexts[1].save(mergePolicy: .mergeByPropertyObjectTrump)
        let item = try #require(try other.snapshot.fetchValues(Item.self, sortedBy: [.ascending(\.code)]).first)
        #expect(item.label == "mine" && item.count == 100)
        // Rules hold over all programs.
        try await one.transaction { _ = $0.insert(Item(code: 7)) }
        await #expect { try await other.transaction { _ = $0.insert(Item(code: 7)) } } throws: { error in
            if case GraphError.notUnique = error { true } else { false }
        }
    }

    @Test func `transactions that are serializable in one program are so in two`() async throws {
        let shared = try await SharedItems.Origin(1, 2)
        let writers = [try await shared.writer(), try await shared.writer()]
        // Each takes from its item what both have: at most one may.
        for code in 1...2 {
            try await writers[0].transaction { try $0.fetch(Item.self).first { $0.code == code }?.count = 1 }
        }
        for writer in writers { try await writer.catchUp() }
        let contexts = writers.map { Context($0, isolation: .serializable) }
        for (number, context) in contexts.enumerated() {
            try await context.perform { context in
                let items = try context.fetch(Item.self)
                if items.reduce(0, { $0 + $1.count }) == 2 { items.first { $0.code == number + 1 }?.count = 0 }
            }
        }
        try await contexts[0].save()
        await #expect(throws: GraphError.self) { try await contexts[1].save() }
        for writer in writers { try await writer.catchUp() }
        for writer in writers {
            #expect(try writer.snapshot.fetchValues(Item.self).reduce(0) { $0 + $1.count } == 1)
        }
    }

    @Test func `rules run where an object is saved, and nowhere else`() async throws {
        let shared = try await SharedItems.Origin(1)
        let (one, other) = (try await shared.writer(), try await shared.writer())
        try await one.catchUp()
        func validations() -> Int { Item.validated.withLock { $0.count { $0 == 4_711 } } }
        try await one.transaction { _ = $0.insert(Item(code: 4_711)) }
        let count = validations()
        #expect(count > 0)
        try await other.catchUp()
        #expect(try SharedItems.codes(other) == [1, 4_711] && validations() == count)
    }

    @Test func `hooks run where an object is saved, once, and others take over what they made of it`() async throws {
        let shared = try await SharedItems.Origin(1)
        let (one, other) = (try await shared.writer(), try await shared.writer())
        // Learns of nothing before it asks.
        let late = try await shared.writer(SharedItems.Line(shared.log))
        func hooks(_ code: Int) -> Int { Item.prepared.withLock { $0.count { $0 == code } } }
        try await one.transaction { _ = $0.insert(Item(code: 4_712, label: "draft")) }
        #expect(hooks(4_712) == 1)
        try await other.catchUp()
        // It is checked again behind what it did not know of, and not prepared again.
        let context = Context(late)
        await context.perform { _ = $0.insert(Item(code: 4_713, label: "draft")) }
        let seen = late.snapshot.commit
        try await context.save()
        #expect(late.snapshot.commit.number == seen.number + 2)
        try await other.catchUp()
        try await other.transaction { try #require(try $0.fetch(Item.self).first { $0.code == 4_713 }).count = 1 }
        for writer in [one, other, late] {
            try await writer.catchUp()
            let items = try writer.snapshot.fetchValues(Item.self, sortedBy: [.ascending(\.code)])
            #expect(items.map(\.code) == [1, 4_712, 4_713])
            #expect(items.map(\.label) == ["", "prepared", "prepared"] && items.map(\.count) == [0, 0, 1])
            #expect(writer.snapshot.token == one.snapshot.token)
        }
        #expect(hooks(4_712) == 1 && hooks(4_713) == 2)
    }
}
