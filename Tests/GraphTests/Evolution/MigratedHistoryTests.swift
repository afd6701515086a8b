import Foundation
import Testing

@testable import Graph

private typealias Second = HistoryVersions.Second
private typealias First = HistoryVersions.First
private typealias Next = HistoryVersions.Next
private typealias Last = HistoryVersions.Last
private typealias Border = HistoryVersions.Border
private typealias Pairs = HistoryVersions.Pairs
private typealias Refusing = HistoryVersions.Refusing
private typealias Fussy = HistoryVersions.Fussy

/// What a history has of the past after a migration.
struct MigratedHistoryTests {
    private static func open(
        _ entities: [any Entity.Type], _ path: String, _ retention: HistoryRetention = HistoryRetention(),
        dropping: [String] = []
    ) async throws(GraphError) -> Coordinator {
        func description<E: Entity>(_ type: E.Type) -> EntityDescription { EntityDescription(type) }
        return try await Coordinator(
            Schema(entities.map { description($0) }), path: path, fileSystem: PosixFileSystem(),
            options: JournalOptions(), compaction: .manual, retention: retention, dropping: dropping)
    }

    private static func commits(_ history: CommitHistory) async throws(GraphError) -> [Commit] {
        var commits: [Commit] = []
        for try await commit in history { commits.append(commit) }
        return commits
    }

    @Test func `random histories are those of the states that a migration would have made of each`() async throws {
        var past = 0
        for seed in Seeds.programs(share: 8) {
            let folder = try TemporaryFolder()
            var run = try await AnnalsRun(path: folder.file(), seed: seed)
            try await run.run(40)
            try await run.coordinator.close()
            let path = try #require(run.path)
            let entities = Second.entities.shuffled(using: &run.random)
            run.coordinator = try await Self.open(
                entities, path, run.retention, dropping: Second.dropping)
            try await run.didMigrate(dropping: Second.dropping)
            past += run.states.count - 1
            for isAgain in [false, true] {
                for state in run.states {
                    let found = try await run.coordinator.snapshot(at: state.token)
                    #expect(found.contents() == state.contents(), "seed \(seed)")
                    #expect(found.check() == [], "seed \(seed)")
                }
                let commits = try await Self.commits(run.coordinator.history(since: run.states[0].token))
                let expected = zip(run.states, run.states.dropFirst()).map {
                    SnapshotDifference(before: $0, after: $1).lines()
                }
                #expect(commits.map { $0.changes.lines() } == expected, "seed \(seed)")
                guard !isAgain else { break }
                // The next generation takes over what a migration has written anew.
                try await run.coordinator.compact()
                run.states = run.retained
                try await run.coordinator.close()
                run.coordinator = try await Self.open(entities, path, run.retention)
            }
            try await run.coordinator.close()
        }
        // Many keep little or nothing.
        #expect(past > 10)
    }

    /// A file of the first version: a team with two people, one of whom goes.
    private static func firstFile(_ folder: TemporaryFolder) async throws -> [HistoryToken] {
        let coordinator = try await open(First.entities, folder.file())
        var tokens = [coordinator.snapshot.token]
        let (eve, bob) = try await coordinator.transaction(author: "ann") { context in
            let team = context.insert(First.Team(name: "red"))
            let eve = context.insert(First.Person(name: "Eve", age: 3, team: ToOne(team.id)))
            let bob = context.insert(
                First.Person(name: "Bob", age: 4, nickname: "b", team: ToOne(team.id)))
            team.members.move(from: 1, to: 0)
            return (eve.id, bob.id)
        }
        tokens.append(coordinator.snapshot.token)
        _ = try await coordinator.consumer(named: "index")
        try await coordinator.transaction { context in
            try context.object(for: eve).age = 5
            try context.object(for: eve).nickname = "e"
        }
        tokens.append(coordinator.snapshot.token)
        try await coordinator.transaction { try $0.object(for: eve).nickname = nil }
        tokens.append(coordinator.snapshot.token)
        try await coordinator.transaction { try $0.object(for: bob).delete() }
        tokens.append(coordinator.snapshot.token)
        try await coordinator.close()
        return tokens
    }

    @Test func `tokens, consumers and reverts go on in the types of today`() async throws {
        let folder = try TemporaryFolder()
        let tokens = try await Self.firstFile(folder)
        var coordinator = try await Self.open(
            Next.entities, folder.file(), dropping: ["Person.nickname"])
        let eve = try #require(try coordinator.snapshot.fetchIDs(Next.Person.self).first)
        let code = try #require(coordinator.snapshot.value(for: eve)?.code)

        let commits = try await Self.commits(coordinator.history())
        #expect(commits.map(\.number.number) == [1, 2, 3, 4, 5] && commits.map(\.token).prefix(4) == tokens[1...])
        #expect(commits.map { $0.origin?.author } == ["ann", nil, nil, nil, nil])
        let inserted = commits[0].changes(of: Next.Person.self).compactMap(\.after)
        #expect(inserted.map(\.called) == ["Eve", "Bob"] && inserted.map(\.age) == [3, 4] && inserted[0].code == code)
        #expect(commits[0].changedOwners(of: \Next.Team.members).count == 1)
        let aged = try #require(commits[1].changes(of: Next.Person.self).first)
        #expect(aged.before?.age == 3 && aged.after?.age == 5 && aged.after?.code == code)
        // Only a property that is gone has changed.
        #expect(commits[2].allChanges().isEmpty && commits[2].changes(of: Next.Person.self).isEmpty)
        let deleted = try #require(commits[3].changes(of: Next.Person.self).first?.before)
        // What never was in the state has one default for all records.
        #expect(deleted.called == "Bob" && deleted.code == inserted[1].code && deleted.code != code)
        #expect(commits[4].allChanges().isEmpty && commits[4].token == coordinator.snapshot.token)

        let then = try await coordinator.snapshot(at: tokens[1])
        let team = try #require(try then.fetchIDs(Next.Team.self).first)
        #expect(try then.relatedValues(\Next.Team.members, of: team).map(\.called) == ["Bob", "Eve"])
        #expect(then.check() == [] && then.first(\Next.Person.code, equals: code)?.called == "Eve")
        #expect(
            try await coordinator.fork(at: tokens[3]).snapshot.fetchValues(Next.Person.self).map(\.age)
                == [5, 4])

        var consumer = try await coordinator.consumer(named: "index")
        #expect(consumer.token == tokens[1])
        try await consumer.advance(to: commits[2].token)
        try await coordinator.revert(commits[3])
        #expect(
            try coordinator.snapshot.fetchValues(Next.Person.self).contains { $0.code == deleted.code })
        try await coordinator.compact()
        try await coordinator.close()

        // Another migration takes over what the first one has made.
        coordinator = try await Self.open(
            Last.entities, folder.file(), dropping: ["Badge", "Person.badges"])
        #expect(
            try await coordinator.snapshot(at: tokens[1]).fetchValues(Last.Person.self).map(\.age) == [
                3, 4,
            ])
        #expect(try await coordinator.consumer(named: "index").token == tokens[3])
        let all = try await Self.commits(coordinator.history(since: tokens[2]))
        #expect(all.map(\.number.number) == [3, 4, 5, 6, 7])
        #expect(all[1].changes(of: Last.Person.self).first?.before?.code == deleted.code)
        #expect(all[3].changes(of: Last.Person.self).first?.after?.code == deleted.code)
        #expect(try await coordinator.snapshot(at: tokens[0]).check() == [] && coordinator.check() == [])
        try await coordinator.close()
    }

    /// A file of the schema before the border.
    private static func borderFile(_ folder: TemporaryFolder) async throws -> [HistoryToken] {
        let coordinator = try await open(Border.old, folder.file())
        var tokens = [coordinator.snapshot.token]
        func save<Result: Sendable>(
            _ body: @Sendable (isolated Context) throws -> Result
        ) async throws -> Result {
            let result = try await Context(coordinator).transaction(body)
            tokens.append(coordinator.snapshot.token)
            return result
        }
        let (eve, club, visitor) = try await save { context in
            let eve = context.insert(Border.Person(age: 1 << 53 + 1, mood: .bad)).id
            return (
                eve, context.insert(Border.Club()).id,
                context.insert(Border.Visitor(name: "Bob")).id
            )
        }
        try await save { try $0.object(for: eve).email = "e" }
        try await save { try $0.object(for: eve).age = 3 }
        try await save { try $0.object(for: eve).mood = .good }
        try await save { try $0.object(for: eve).club = $0[club] }
        try await save { try $0.object(for: visitor).delete() }
        try await coordinator.close()
        return tokens
    }

    @Test(arguments: Border.versions)
    func `a history ends where a value or a link has no counterpart`(
        _ name: String, _ entities: [any Entity.Type], _ oldest: UInt64
    ) async throws {
        let folder = try TemporaryFolder()
        let tokens = try await Self.borderFile(folder)
        let coordinator = try await Self.open(entities, folder.file())
        #expect(coordinator.snapshot.commit.number == 7 && coordinator.check() == [])
        #expect(try await Self.commits(coordinator.history()).map(\.number.number) == Array(oldest..<7).map { $0 + 1 })
        let first = oldest < 7 ? tokens[Int(oldest)] : coordinator.snapshot.token
        #expect(await coordinator.statistics.file?.oldest == first)
        for token in tokens {
            do throws(GraphError) {
                #expect(try await coordinator.snapshot(at: token).check() == [])
                #expect(token.commit.number >= oldest)
            } catch {
                #expect(error == .historyExpired(oldest: first) && token.commit.number < oldest)
            }
        }
        try await coordinator.close()
    }

    @Test func `a program that converts what it only reads has no history`() async throws {
        let folder = try TemporaryFolder()
        let tokens = try await Self.borderFile(folder)
        let reader = try await Coordinator(
            for: Border.Ordered.Person.self, Border.Ordered.Club.self,
            Border.Visitor.self, at: folder.file(),
            readOnly: true)
        await #expect(throws: GraphError.historyExpired(oldest: reader.snapshot.token)) {
            try await Self.commits(reader.history(since: tokens[5]))
        }
        #expect(try await Self.commits(reader.history()).isEmpty && reader.snapshot.token == tokens[6])
        try await reader.close()
    }

    @Test func `a migration keeps no more history than a compaction`() async throws {
        for (retention, oldest) in [
            (HistoryRetention.none, 5), (HistoryRetention(commits: 0, unreadBytes: 0), 5),
            (HistoryRetention(commits: 1, unreadBytes: 0), 4), (HistoryRetention(commits: 0), 1),
            (HistoryRetention(commits: 3, unreadBytes: 0), 2), (.all, 0),
        ] {
            let folder = try TemporaryFolder()
            _ = try await Self.firstFile(folder)
            let coordinator = try await Self.open(
                Next.entities, folder.file(), retention, dropping: ["Person.nickname"])
            #expect(await coordinator.statistics.file?.oldest.commit.number == UInt64(oldest))
            let numbers = try await Self.commits(coordinator.history()).map(\.number.number)
            #expect(numbers == (UInt64(oldest)..<5).map { $0 + 1 })
            try await coordinator.close()
        }
    }

    @Test func `a default that cannot be encoded ends history, and not the opening`() async throws {
        let folder = try TemporaryFolder()
        let first = try await Self.open(First.entities, folder.file())
        try await first.transaction { _ = $0.insert(First.Team(name: "red")) }
        let blue = try await first.transaction { $0.insert(First.Team(name: "blue")).id }
        try await first.transaction { try $0.object(for: blue).delete() }
        try await first.close()
        // The one of the team that is left is odd, and can be encoded; then two are tried out, and the insert gets an even one.
        if Fussy.made.value % 2 == 1 { _ = Fussy.made.next() }
        let coordinator = try await Self.open(
            [Refusing.Team.self, Refusing.Person.self], folder.file())
        #expect(try coordinator.snapshot.fetchValues(Refusing.Team.self).map(\.name) == ["red"])
        #expect(try await Self.commits(coordinator.history()).map(\.number.number) == [3, 4])
        #expect(coordinator.check() == [])
        try await coordinator.close()
    }

    @Test func `an object has always had the default that the migration gave it, though others have had the same`()
        async throws
    {
        let folder = try TemporaryFolder()
        let first = try await Self.open(First.entities, folder.file())
        for name in 1...8 { try await first.transaction { _ = $0.insert(First.Team(name: "\(name)")) } }
        try await first.close()
        let coordinator = try await Self.open([Pairs.Team.self, Pairs.Person.self], folder.file())
        let pairs = try coordinator.snapshot.fetchValues(Pairs.Team.self).map(\.pair)
        #expect(Set(pairs).count > 3)
        let inserted = try await Self.commits(coordinator.history()).flatMap { $0.changes(of: Pairs.Team.self) }
        #expect(inserted.map { $0.after?.pair } == pairs)
        try await coordinator.close()
    }

    @Test func `copies and other programs begin behind a migration, and followers have its history`() async throws {
        let folder = try TemporaryFolder()
        let tokens = try await Self.firstFile(folder)
        let coordinator = try await Coordinator(
            for: Next.Person.self, Next.Badge.self, Next.Team.self,
            at: folder.file(), dropping: ["Person.nickname"])
        let migrated = coordinator.snapshot.token
        try await coordinator.transaction { _ = $0.insert(Next.Team(name: "blue")) }
        for isCompacted in [false, true] {
            if isCompacted { try await coordinator.compact() }
            let sender = LogSender(at: folder.file(), since: tokens[4], waitingForMore: false)
            await #expect(throws: GraphError.historyExpired(oldest: migrated)) { for try await _ in sender {} }
            var sent = LogReader()
            for try await piece in LogSender(at: folder.file(), since: migrated, waitingForMore: false) {
                sent.append(piece)
            }
            var kinds: [LogRecord.Kind] = []
            while let record = try sent.next() { kinds.append(record.kind) }
            #expect(kinds.count { $0 == .commit } == 1)
            let log = JournalCommitLog(coordinator)
            #expect(try await log.read(after: 5).count == 1)
            await #expect(throws: GraphError.historyExpired(oldest: migrated)) { try await log.read(after: 4) }
            let follower = try await Follower(
                for: Next.Person.self, Next.Badge.self, Next.Team.self,
                at: folder.file())
            var numbers: [UInt64] = []
            for try await commit in follower.history(since: tokens[0]) { numbers.append(commit.number.number) }
            #expect(numbers == [1, 2, 3, 4, 5, 6])
            await follower.close()
        }
        try await coordinator.close()
        #expect(try await StoreLog(reading: folder.file()).commits.map(\.number) == [1, 2, 3, 4, 5, 6])
        // So has a copy.
        let copy = folder.file("copy.graph")
        let again = try await Coordinator(
            for: Next.Person.self, Next.Badge.self, Next.Team.self,
            at: folder.file())
        try await again.copy(to: copy)
        try await again.close()
        let copied = try await Coordinator(
            for: Next.Person.self, Next.Badge.self, Next.Team.self,
            at: copy)
        #expect(try await copied.snapshot(at: tokens[1]).count(of: Next.Person.self) == 2)
        try await copied.close()
    }
}
