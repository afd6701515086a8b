import Foundation
import Testing

@testable import Graph

struct RevertTests {
    /// What a state has, without versions and where it is in history.
    private static func values(_ snapshot: Snapshot) -> [String] {
        snapshot.contents().dropFirst().map { $0.replacing(#/ v\d+: /#, with: ": ") }
    }

    @Test(arguments: [true, false]) func `reverting the newest commit and that again changes nothing`(
        isFile: Bool
    ) async throws {
        for seed in Seeds.programs(share: 8) {
            let folder = try TemporaryFolder()
            var run = try await AnnalsRun(path: isFile ? folder.file() : nil, seed: seed)
            for _ in 0..<12 {
                try await run.run(4)
                guard run.states.count > 1 else { continue }
                let (before, after) = (run.states[run.states.count - 2], run.states[run.states.count - 1])
                // A migration's commit has nothing to revert.
                guard Self.values(before) != Self.values(after) else { continue }
                func last() async throws -> Commit {
                    var last: Commit?
                    for try await commit in run.coordinator.history() { last = commit }
                    return try #require(last)
                }
                try await run.coordinator.revert(try await last(), author: "undo")
                let reverted = run.coordinator.snapshot
                #expect(Self.values(reverted) == Self.values(before), "seed \(seed)")
                #expect(try await last().origin?.author == "undo")
                try await run.coordinator.revert(try await last())
                #expect(Self.values(run.coordinator.snapshot) == Self.values(after), "seed \(seed)")
                #expect(run.coordinator.snapshot.commit == after.commit.next.next && run.coordinator.check() == [])
                run.states += [reverted, run.coordinator.snapshot]
            }
            try await run.coordinator.close()
        }
    }

    @Test func `an earlier commit is reverted as a whole, or the error says what was changed since`() async throws {
        let folder = try TemporaryFolder()
        for path in [nil, folder.file()] {
            let coordinator = try await Coordinator(for: Team.self, Person.self, at: path)
            let (eve, bob) = try await coordinator.transaction { context in
                (context.insert(Person(name: "Eve", age: 1)).id, context.insert(Person(name: "Bob", age: 1)).id)
            }
            try await coordinator.transaction { context in
                try context.object(for: eve).age = 2
                try context.object(for: bob).delete()
            }
            try await coordinator.transaction { try $0.object(for: eve).name = "Eva" }
            var commits: [Commit] = []
            for try await commit in coordinator.history() { commits.append(commit) }
            try await coordinator.revert(commits[1])
            let snapshot = coordinator.snapshot
            #expect(snapshot.value(for: eve)?.age == 1 && snapshot.value(for: eve)?.name == "Eva")
            #expect(snapshot.value(for: bob)?.name == "Bob")
            try await coordinator.transaction { try $0.object(for: eve).age = 7 }
            try await coordinator.transaction { try $0.object(for: bob).delete() }
            let before = coordinator.snapshot
            do throws(GraphError) {
                try await coordinator.revert(commits[0])
                Issue.record("reverted")
            } catch {
                guard case .revertConflicts(let conflicts) = error else { throw error }
                #expect(conflicts.map { "\($0)" } == ["\(AnyPersistentID(eve))"])
            }
            #expect(coordinator.snapshot.token == before.token)
            let other = try await Coordinator(for: Team.self, Person.self)
            await #expect(throws: GraphError.self) { try await other.revert(commits[0]) }
            try await coordinator.close()
        }
    }

    // MARK: Earlier commits

    /// What a state says: of each row that it is there, of each property its value, of each link its position.
    private static func facts(_ snapshot: Snapshot) -> [String: String] {
        var facts: [String: String] = [:]
        for (entity, description) in snapshot.schema.entities.enumerated() {
            snapshot.entities[entity].rows.forEachRow { row, _, address in
                facts["\(description.name) \(row)"] = ""
                for property in description.properties where property.isStored {
                    facts["\(description.name) \(row).\(property.name)"] =
                        property.operations.describe(address + property.offset)
                }
            }
        }
        for (number, table) in snapshot.linkTables.enumerated() {
            table.members.forEachEntry { entry in
                let link = LinkTable.Link(entry)
                facts["\(number): \(link.owner) \(link.member)"] = link.key.map { "\($0.bytes)" } ?? ""
                return true
            }
        }
        return facts
    }

    @Test(arguments: [true, false])
    func `all that a commit did is as before it, and all else as it was, or nothing happens`(
        isFile: Bool
    ) async throws {
        var (reverted, refused) = (0, 0)
        for seed in Seeds.programs(share: 2) {
            let folder = try TemporaryFolder()
            var run = try await AnnalsRun(path: isFile ? folder.file() : nil, seed: seed)
            for _ in 0..<6 {
                try await run.run(8)
                guard run.states.count > 1 else { continue }
                let place = Int.random(in: 1..<run.states.count, using: &run.random)
                let (before, after) = (Self.facts(run.states[place - 1]), Self.facts(run.states[place]))
                let current = run.coordinator.snapshot
                var history = run.coordinator.history(since: run.states[place - 1].token).makeAsyncIterator()
                let commit = try #require(try await history.next())
                do throws(GraphError) {
                    try await run.coordinator.revert(commit)
                    var expected = Self.facts(current)
                    for key in Set(before.keys).union(after.keys) where before[key] != after[key] {
                        expected[key] = before[key]
                    }
                    let found = Self.facts(run.coordinator.snapshot)
                    let wrong = Set(found.keys).union(expected.keys).filter { found[$0] != expected[$0] }.sorted()
                    #expect(
                        wrong == [],
                        "seed \(seed), commit \(commit.number) at \(current.commit), \(wrong.map { found[$0] })")
                    reverted += 1
                } catch {
                    if case .revertConflicts = error { refused += 1 }
                    #expect(run.coordinator.snapshot.token == current.token)
                }
                if run.coordinator.snapshot.commit != run.states[run.states.count - 1].commit {
                    run.states.append(run.coordinator.snapshot)
                }
            }
            try await run.coordinator.close()
        }
        #expect(reverted > 20 && refused > 20, "\(reverted) reverted, \(refused) refused")
    }

    @Test func `what others add while a commit is reverted is not deleted along with it`() async throws {
        var reverted = 0
        for round in 0..<400 {
            let coordinator = try await Coordinator(for: Shelf.self, Book.self)
            let shelf = try await coordinator.transaction { $0.insert(Shelf(name: "new")).id }
            var history = coordinator.history().makeAsyncIterator()
            let commit = try #require(try await history.next())
            let added = await withTaskGroup(of: Int.self) { group in
                for number in 0..<2 {
                    group.addTask {
                        for _ in 0..<(round % 40) { await Task.yield() }
                        let result = try? await coordinator.transaction(retries: 0) { context in
                            context.insert(Book(title: "\(number)", shelf: ToOne(shelf)))
                            return 1
                        }
                        return result ?? 0
                    }
                }
                group.addTask {
                    do { try await coordinator.revert(commit) } catch { return 0 }
                    return 100
                }
                return await group.reduce(0, +)
            }
            // Those that came first are a conflict, and those that come later have nowhere to go.
            #expect(coordinator.snapshot.count(of: Book.self) == added % 100)
            #expect(coordinator.snapshot.count(of: Shelf.self) == (added >= 100 ? 0 : 1))
            #expect(added <= 100, "\(added)")
            if added >= 100 { reverted += 1 }
        }
        #expect(reverted > 0 && reverted < 400, "\(reverted)")
    }

    @Test func `a commit of an earlier opening is read anew, with the types of this one`() async throws {
        let folder = try TemporaryFolder()
        var coordinator = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        var feed = coordinator.commits.makeAsyncIterator()
        let eve = try await coordinator.transaction { $0.insert(Person(name: "Eve")).id }
        let bob = try await coordinator.transaction { $0.insert(Person(name: "Bob")).id }
        let (first, second) = (try #require(await feed.next()), try #require(await feed.next()))
        try await coordinator.close()
        coordinator = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        try await coordinator.revert(first)
        #expect(coordinator.snapshot.value(for: eve) == nil && coordinator.snapshot.value(for: bob)?.name == "Bob")
        try await coordinator.close()
        // In another order, entities have other numbers, and the file is another one.
        coordinator = try await Coordinator(for: Person.self, Team.self, at: folder.file())
        try await coordinator.revert(second)
        #expect(coordinator.snapshot.value(for: bob) == nil && coordinator.check() == [])
        try await coordinator.close()
    }
}

@Entity private struct Shelf {
    var name = ""
    @Relationship(.cascade, inverse: \Book.shelf) var books: ToMany<Book> = []
}

@Entity private struct Book {
    var title = ""
    var shelf: ToOne<Shelf> = nil
}
