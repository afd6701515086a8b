import Foundation
import Testing

@testable import Graph

struct CommitHistoryTests {
    private static func all(_ history: CommitHistory) async throws(GraphError) -> [Commit] {
        var commits: [Commit] = []
        for try await commit in history { commits.append(commit) }
        return commits
    }

    // MARK: Random histories

    @Test(arguments: [true, false]) func `history leads from any state to the newest one, either way`(isFile: Bool)
        async throws
    {
        for seed in Seeds.programs(share: 8) {
            let folder = try TemporaryFolder()
            var run = try await AnnalsRun(path: isFile ? folder.file() : nil, seed: seed)
            for _ in 0..<3 {
                try await run.run(30)
                let expected = zip(run.states, run.states.dropFirst()).map {
                    SnapshotDifference(before: $0, after: $1).lines()
                }
                for start in Set([0, run.states.count - 1, Int.random(in: 0..<run.states.count, using: &run.random)]) {
                    let token = run.states[start].token
                    let commits = try await Self.all(run.coordinator.history(since: token))
                    try #require(commits.count == run.states.count - 1 - start, "seed \(seed)")
                    #expect(commits.map { $0.changes.lines() } == Array(expected.dropFirst(start)), "seed \(seed)")
                }
                let newestFirst = run.coordinator.history(HistoryRequest(isNewestFirst: true))
                let back = try await Self.all(newestFirst)
                #expect(back.map { $0.changes.lines() } == expected.reversed(), "seed \(seed)")
            }
            try await run.coordinator.close()
        }
    }

    // MARK: What a commit says

    @Test func `what has changed is told by property, and of all entities`() async throws {
        let folder = try TemporaryFolder()
        for path in [nil, folder.file()] {
            let coordinator = try await Coordinator(for: Team.self, Person.self, at: path)
            let (red, eve) = try await coordinator.transaction { context in
                let red = context.insert(Team(name: "red"))
                return (red.id, context.insert(Person(name: "Eve", age: 3)).id)
            }
            try await coordinator.transaction(author: "a") { try $0.object(for: eve).age = 4 }
            try await coordinator.transaction { try $0.object(for: eve).team = $0[red] }
            try await coordinator.transaction { context in
                try context.object(for: eve).name = "Eva"
                try context.object(for: eve).age = 5
            }
            try await coordinator.transaction { try $0.object(for: red).name = "blue" }
            try await coordinator.transaction { try $0.object(for: eve).delete() }

            func numbers(_ history: CommitHistory) async throws -> [UInt64] {
                try await Self.all(history).map(\.number.number)
            }
            #expect(try await numbers(coordinator.history(changing: \Person.age)) == [1, 2, 4, 6])
            #expect(try await numbers(coordinator.history(changing: \Person.age, by: "a")) == [2])
            #expect(try await numbers(coordinator.history(changing: \Person.name)) == [1, 4, 6])
            #expect(try await numbers(coordinator.history(changing: \Person.team)) == [1, 3, 6])
            #expect(try await numbers(coordinator.history(changing: \Person.email)) == [1, 6])
            #expect(try await numbers(coordinator.history(changing: \Team.name)) == [1, 5])
            #expect(try await numbers(coordinator.history(changing: \Team.members)) == [3, 6])

            let commits = try await Self.all(coordinator.history())
            #expect(commits[3].changes(in: \Person.age).map { [$0.before?.age, $0.after?.age] } == [[4, 5]])
            #expect(commits[3].changes(in: \Person.email).isEmpty && commits[3].changes(in: \Team.name).isEmpty)
            #expect(commits[0].changes(in: \Person.email).map(\.id) == [eve])
            #expect(
                commits.map { $0.allChanges().map(\.description) } == [
                    ["Team/p1 inserted", "Person/p1 inserted"], ["Person/p1 changed (age)"],
                    ["Person/p1 changed (team)"], ["Person/p1 changed (name, age)"], ["Team/p1 changed (name)"],
                    ["Person/p1 deleted"],
                ])
            let change = try #require(commits[3].allChanges().first)
            #expect(change.id == AnyPersistentID(eve))
            #expect((change.before as? Person)?.name == "Eve" && (change.after as? Person)?.name == "Eva")
            let inserted = try #require(commits[0].allChanges().last)
            #expect(inserted.before == nil && inserted.changedProperties == ["name", "email", "age", "team"])
            try await coordinator.close()
        }
    }

    @Test func `links that were made and ended are told by name, from feeds and from history`() async throws {
        let folder = try TemporaryFolder()
        for path in [nil, folder.file()] {
            let coordinator = try await Annals.open(path)
            var feed = coordinator.commits.makeAsyncIterator()
            let (volume, topics) = try await coordinator.transaction { context in
                let topics = ["a", "b"].map { context.insert(Annals.Topic(name: $0)) }
                let volume = context.insert(Annals.Volume(title: "v"))
                for topic in topics { volume.topics.append(topic) }
                return (volume.id, topics.map(\.id))
            }
            try await coordinator.transaction { try $0.object(for: volume).topics.move(from: 1, to: 0) }
            try await coordinator.transaction { try $0.object(for: topics[0]).delete() }
            let writer = try await coordinator.transaction { context in
                let writer = context.insert(Annals.Writer(name: "w"))
                writer.volumes.append(try context.object(for: volume))
                return writer.id
            }
            try await coordinator.transaction { try $0.object(for: volume).title = "w" }
            // An ordered relationship is recorded, the unordered one at its other end is not.
            let expected = [
                ["Volume/p1.topics: Topic/p1 added", "Volume/p1.topics: Topic/p2 added"],
                ["Volume/p1.topics: Topic/p2 removed", "Volume/p1.topics: Topic/p2 added"],
                ["Volume/p1.topics: Topic/p1 removed"], ["Writer/p1.volumes: Volume/p1 added"], [],
            ]
            let commits = try await Self.all(coordinator.history())
            for (commit, lines) in zip(commits, expected) {
                let shown = try #require(await feed.next())
                #expect(commit.linkChanges().map(\.description) == lines)
                #expect(Set(shown.linkChanges()) == Set(commit.linkChanges()), "\(shown)")
            }
            let made = try #require(commits[3].linkChanges().first)
            #expect(made.owner == AnyPersistentID(writer) && made.member == AnyPersistentID(volume) && made.isMade)
            #expect(commits.count == 5 && made.property == "volumes")
            try await coordinator.close()
        }
    }

    @Test func `a commit from the file is the one of the feed`() async throws {
        let folder = try TemporaryFolder()
        for path in [nil, folder.file()] {
            let coordinator = try await Coordinator(for: Team.self, Person.self, at: path)
            let context = Context(coordinator, author: "import")
            var feed = coordinator.commits.makeAsyncIterator()
            let (red, eve) = try await context.transaction { context in
                let red = context.insert(Team(name: "red"))
                return (red.id, context.insert(Person(name: "Eve", age: 3)).id)
            }
            try await context.transaction { context in
                try context.object(for: eve).team = context[red]
                try context.object(for: eve).age = 4
            }
            try await context.transaction { try $0.object(for: eve).delete() }
            var told: [Commit] = []
            for _ in 1...3 { if let commit = await feed.next() { told.append(commit) } }
            let read = try await Self.all(coordinator.history())
            #expect(read.map(\.token) == told.map(\.token) && read.map(\.time) == told.map(\.time))
            #expect(read.map(\.number.number) == [1, 2, 3] && read.map(\.commits) == told.map(\.commits))
            #expect(read.map { $0.origin?.author } == ["import", "import", "import"])
            for (read, told) in zip(read, told) {
                for (ours, theirs) in zip(read.changes(of: Person.self), told.changes(of: Person.self)) {
                    #expect(ours.id == theirs.id && "\(ours)" == "\(theirs)")
                    #expect(ours.before?.age == theirs.before?.age && ours.after?.age == theirs.after?.age)
                    #expect(ours.before?.team == theirs.before?.team && ours.after?.team == theirs.after?.team)
                }
                #expect(read.changes(of: Team.self).count == told.changes(of: Team.self).count)
                #expect(read.changedOwners(of: \Team.members) == told.changedOwners(of: \Team.members))
            }
            #expect(read[1].changedOwners(of: \Team.members) == [red])
            let change = try #require(read[1].change(of: eve))
            #expect(change.before?.age == 3 && change.after?.age == 4 && change.after?.name == "Eve")
            #expect(read[2].change(of: eve)?.after == nil && read[0].change(of: eve)?.before == nil)
            #expect((read[0].difference == nil) == (path != nil) && told[0].difference != nil)
            try await coordinator.close()
        }
    }

    @Test func `history is asked for by entity, object, author and time`() async throws {
        let folder = try TemporaryFolder()
        for path in [nil, folder.file()] {
            let coordinator = try await Coordinator(for: Team.self, Person.self, at: path)
            let red = try await coordinator.transaction(author: "ann") { $0.insert(Team(name: "red")).id }
            try await coordinator.transaction(author: "bob") { _ = $0.insert(Person(name: "Eve")) }
            try await coordinator.transaction(author: "bob") { try $0.object(for: red).name = "blue" }
            try await coordinator.transaction(author: "ann") { try $0.object(for: red).delete() }
            func numbers(_ history: CommitHistory) async throws -> [UInt64] {
                try await Self.all(history).map(\.number.number)
            }
            #expect(try await numbers(coordinator.history(of: Person.self)) == [2])
            #expect(try await numbers(coordinator.history(of: Team.self, by: "ann")) == [1, 4])
            #expect(try await numbers(coordinator.history(of: red)) == [4, 3, 1])
            #expect(try await numbers(coordinator.history(by: "bob")) == [2, 3])
            let commits = try await Self.all(coordinator.history())
            let times = commits.map(\.time)
            #expect(try await numbers(coordinator.history(during: times[1]..<Date.distantFuture)).last == 4)
            #expect(try await numbers(coordinator.history(during: Date.distantPast..<times[0])) == [])
            let token = commits[1].token
            #expect(try await numbers(coordinator.history(since: token, by: "ann")) == [4])
            try await coordinator.close()
        }
    }

    // MARK: Borders

    @Test func `a token of another store, another history or a time that is gone is refused`() async throws {
        let folder = try TemporaryFolder()
        func save(_ coordinator: Coordinator, _ name: String) async throws -> HistoryToken {
            try await Context(coordinator).transaction { _ = $0.insert(Team(name: name)) }
            return coordinator.snapshot.token
        }
        func refusal(_ coordinator: Coordinator, _ token: HistoryToken?) async -> String {
            do throws(GraphError) {
                return "\(try await Self.all(coordinator.history(since: token)).count) commits"
            } catch {
                switch error {
                case .tokenOfOtherStore: return "other store"
                case .historyDiverged(let own): return own == token ? "diverged" : "diverged elsewhere"
                case .historyExpired(let oldest): return "expired until \(oldest.commit)"
                default: return "\(error)"
                }
            }
        }
        let first = try await Coordinator(for: Team.self, Person.self, at: folder.file(), retention: .none)
        let start = first.snapshot.token
        let one = try await save(first, "a")
        try await first.copy(to: folder.file("copy.graph"))
        let two = try await save(first, "b")
        let copy = try await Coordinator(for: Team.self, Person.self, at: folder.file("copy.graph"))
        #expect(await refusal(copy, one) == "0 commits")
        // The copy has not got so far.
        #expect(await refusal(copy, two) == "diverged")
        let other = try await save(copy, "b")
        #expect(await refusal(copy, two) == "diverged")
        #expect(await refusal(first, other) == "diverged")
        _ = try await save(copy, "c")
        #expect(await refusal(copy, two) == "diverged")
        #expect(await refusal(copy, one) == "2 commits")
        #expect(await refusal(copy, start) == "expired until 1")
        var forged = one
        forged.fingerprint ^= 1
        #expect(await refusal(copy, forged) == "diverged")
        let memory = try await Coordinator(for: Team.self, Person.self)
        #expect(await refusal(memory, one) == "other store")
        try await first.compact()
        #expect(await refusal(first, one) == "expired until 2")
        #expect(await refusal(first, two) == "0 commits")
        #expect(await refusal(first, nil) == "0 commits")
        let three = try await save(first, "d")
        #expect(await refusal(first, two) == "1 commits")
        try await first.close()
        let reader = try await Coordinator(for: Team.self, Person.self, at: folder.file(), readOnly: true)
        #expect(await refusal(reader, two) == "1 commits")
        #expect(await refusal(reader, three) == "0 commits")
        #expect(await refusal(reader, one) == "expired until 2")
        try await copy.close()
    }

    @Test func `a store in memory keeps its last commits, and none of a mass of changes`() async throws {
        let (limit, rowLimit) = (100, 1_000)
        let retention = HistoryRetention(commits: limit, bytes: rowLimit * HistoryRetention.bytesInMemory)
        let coordinator = try await Coordinator(for: Team.self, Person.self, retention: retention)
        let context = Context(coordinator)
        let start = coordinator.snapshot.token
        for _ in 0..<(limit * 2) { try await context.transaction { _ = $0.insert(Team(name: "a")) } }
        let kept = try await Self.all(coordinator.history())
        #expect(kept.count >= limit && kept.count <= limit + limit / 4)
        #expect(kept.last?.token == coordinator.snapshot.token)
        await #expect(throws: GraphError.self) { try await Self.all(coordinator.history(since: start)) }
        try await context.transaction { context in
            for _ in 0...rowLimit { context.insert(Team(name: "a")) }
        }
        #expect(try await Self.all(coordinator.history()).isEmpty)
        let token = coordinator.snapshot.token
        try await context.transaction { _ = $0.insert(Team(name: "a")) }
        #expect(try await Self.all(coordinator.history(since: token)).count == 1)
    }

    // MARK: While the store is in use

    @Test func `a history goes on in the old file when a compaction replaces that, and saves go on`() async throws {
        let folder = try TemporaryFolder()
        let coordinator = try await Coordinator(
            for: Team.self, Person.self, at: folder.file(), compaction: .manual, retention: .none)
        let context = Context(coordinator)
        for number in 1...300 { try await context.transaction { _ = $0.insert(Team(name: "\(number)")) } }
        var iterator = coordinator.history().makeAsyncIterator()
        var numbers: [UInt64] = []
        if let first = try await iterator.next() { numbers.append(first.number.number) }
        try await coordinator.compact()
        for number in 1...100 { try await context.transaction { _ = $0.insert(Team(name: "later \(number)")) } }
        while let commit = try await iterator.next() { numbers.append(commit.number.number) }
        #expect(numbers == Array(1...300))
        #expect(try await iterator.next() == nil)
        #expect(try await Self.all(coordinator.history()).map(\.number.number) == Array(301...400))
        try await coordinator.close()
        await #expect(throws: GraphError.self) { try await Self.all(coordinator.history()) }
    }

    @Test(arguments: [Durability.relaxed, .none]) func `commits that may still be lost are not in history`(
        durability: Durability
    ) async throws {
        let folder = try TemporaryFolder()
        let schema = try Schema([EntityDescription(Team.self), EntityDescription(Person.self)])
        // Nothing is synced unless the test asks for it.
        let coordinator = try await Coordinator(
            schema, path: folder.file(), fileSystem: PosixFileSystem(), options: JournalOptions(),
            durability: durability)
        try await coordinator.transaction(durability: .full) { _ = $0.insert(Team(name: "a")) }
        try await coordinator.transaction { _ = $0.insert(Team(name: "b")) }
        try await coordinator.transaction { _ = $0.insert(Team(name: "c")) }
        let token = coordinator.snapshot.token
        #expect(try await Self.all(coordinator.history()).map(\.number.number) == [1])
        #expect(try await Self.all(coordinator.history(since: token)).isEmpty)
        let backwards = coordinator.history(HistoryRequest(isNewestFirst: true))
        #expect(try await Self.all(backwards).map(\.number.number) == [1])
        try await coordinator.sync()
        #expect(try await Self.all(coordinator.history()).map(\.number.number) == [1, 2, 3])
        try await coordinator.close()
    }

    @Test func `a cancelled task gets no more commits`() async throws {
        let coordinator = try await Coordinator(for: Team.self, Person.self)
        for number in 1...10 {
            try await Context(coordinator).transaction { _ = $0.insert(Team(name: "\(number)")) }
        }
        let count = await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return (try? await Self.all(coordinator.history()).count) ?? -1
        }.value
        #expect(count == 0)
    }

    @Test func `damage since the file was opened is an error`() async throws {
        let folder = try TemporaryFolder()
        let coordinator = try await Coordinator(for: Team.self, Person.self, at: folder.file(), compaction: .manual)
        for number in 1...20 {
            try await Context(coordinator).transaction { _ = $0.insert(Team(name: "\(number)")) }
        }
        let length = try #require(await coordinator.statistics.file?.length)
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: folder.file()))
        try file.seek(toOffset: length / 2 + 4_096)
        try file.write(contentsOf: Data([UInt8](repeating: 0x5A, count: 64)))
        try file.close()
        do throws(GraphError) {
            _ = try await Self.all(coordinator.history())
            Issue.record("history was read")
        } catch {
            if case .corrupt = error { return }
            Issue.record(error)
        }
        try? await coordinator.close()
    }
}
