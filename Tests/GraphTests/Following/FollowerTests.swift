import Foundation
import Testing

@testable import Graph

/// Followers of files that a program writes in the same process, which share nothing with it but the file.
struct FollowerTests {
    @Entity fileprivate struct Reading {
        @Indexed var place: String
        var degrees = 0
    }

    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file()
    }

    private func writer(
        _ durability: Durability = .full, _ retention: HistoryRetention = HistoryRetention()
    ) async throws -> Coordinator {
        try await Coordinator(
            for: Reading.self, at: path, durability: durability, compaction: .manual, retention: retention)
    }

    /// One that shows commits only when it is asked to.
    private func follower() async throws -> Follower {
        try await Follower(
            Schema([EntityDescription(Reading.self)]), path: path, fileSystem: PosixFileSystem(),
            options: JournalOptions(), isAwake: false)
    }

    private func insert(_ places: String..., into writer: Coordinator) async throws {
        for place in places { try await writer.transaction(author: "w") { _ = $0.insert(Reading(place: place)) } }
    }

    private func places(_ snapshot: Snapshot) throws -> [String] {
        try snapshot.fetchValues(Reading.self, sortedBy: [.ascending(\.place)]).map(\.place)
    }

    // MARK: Showing

    @Test func `commits, results, values and changes arrive by themselves`() async throws {
        let writer = try await writer()
        try await insert("a", into: writer)
        let follower = try await Follower(for: Reading.self, at: path)
        #expect(try places(follower.snapshot) == ["a"] && follower.snapshot.token == writer.snapshot.token)
        var commits = follower.commits.makeAsyncIterator()
        var results = follower.results(FetchDescriptor<Reading>(sortBy: [.ascending(\.place)])).makeAsyncIterator()
        var counts = follower.values { try $0.fetchCount(Reading.self) }.makeAsyncIterator()
        #expect(try await results.next()?.values.map(\.place) == ["a"])
        #expect(try await counts.next() == 1)
        let id = try #require(try follower.snapshot.fetchIDs(Reading.self).first)
        var changes = follower.changes(of: id).makeAsyncIterator()
        var inserting = follower.commits(changing: Reading.self).makeAsyncIterator()

        try await insert("b", into: writer)
        let commit = try #require(await commits.next())
        #expect(commit.number.number == 2 && commit.origin?.author == "w" && commit.token == writer.snapshot.token)
        #expect(commit.changes(of: Reading.self).map(\.after?.place) == ["b"])
        #expect(commit.difference?.after.check() == [])
        #expect(try await results.next()?.values.map(\.place) == ["a", "b"])
        #expect(try await counts.next() == 2)
        #expect(await inserting.next()?.number.number == 2)
        try await writer.transaction { try $0.object(for: id).degrees = 7 }
        #expect(await changes.next()?.after?.degrees == 7)
        try await writer.close()
        await follower.close()
        #expect(await changes.next() == nil && follower.failure == nil)
        #expect(try places(follower.snapshot) == ["a", "b"])
        await #expect(throws: GraphError.closed(path: follower.path)) { try await follower.catchUp() }
    }

    @Test func `what is not durable is not shown`() async throws {
        // Without the sync that follows by itself within a second.
        let writer = try await Coordinator(
            Schema([EntityDescription(Reading.self)]), path: path, fileSystem: PosixFileSystem(),
            options: JournalOptions(), durability: .relaxed, compaction: .manual)
        try await writer.transaction(durability: .full) { _ = $0.insert(Reading(place: "a")) }
        let follower = try await follower()
        try await insert("b", into: writer)
        try await follower.catchUp()
        let early = try await self.follower()
        #expect(try places(follower.snapshot) == ["a"] && places(early.snapshot) == ["a"])
        try await writer.sync()
        try await follower.catchUp()
        #expect(try places(follower.snapshot) == ["a", "b"])
        try await writer.close()
    }

    @Test func `followers and the writer come and go as they like`() async throws {
        try await writer().close()
        let follower = try await follower()
        for round in 1...5 {
            let writer = try await writer()
            try await insert("\(round)", into: writer)
            try await writer.close()
            try await follower.catchUp()
            #expect(follower.snapshot.token == writer.snapshot.token)
        }
        let other = try await self.follower()
        #expect(other.snapshot.token == follower.snapshot.token)
    }

    @Test func `history since a token is read up to the newest durable commit`() async throws {
        let writer = try await writer()
        try await insert("a", "b", into: writer)
        let follower = try await follower()
        let start = follower.snapshot.token
        try await insert("c", "d", into: writer)
        var numbers: [UInt64] = []
        for try await commit in follower.history(since: start) { numbers.append(commit.number.number) }
        #expect(numbers == [3, 4] && follower.snapshot.token == writer.snapshot.token)
        for try await _ in follower.history(since: follower.snapshot.token) { Issue.record("a commit") }
        let other = try await Coordinator(for: Reading.self)
        try await insert("x", into: other)
        let token = other.snapshot.token
        await #expect(throws: GraphError.tokenOfOtherStore(token)) {
            for try await _ in follower.history(since: token) {}
        }
        try await writer.compact()
        try await follower.catchUp()
        numbers = []
        for try await commit in follower.history(since: start) { numbers.append(commit.number.number) }
        #expect(numbers == [3, 4])
        try await writer.deleteHistory(before: writer.snapshot.token)
        await #expect(throws: GraphError.historyExpired(oldest: writer.snapshot.token)) {
            try await follower.catchUp()
            for try await _ in follower.history(since: start) {}
        }
        try await writer.close()
    }

    @Test func `more commits than are taken over at once are all shown`() async throws {
        let writer = try await writer(.relaxed)
        let follower = try await follower()
        for number in 0..<200 { try await insert("\(number)", into: writer) }
        try await writer.sync()
        try await follower.catchUp()
        #expect(follower.snapshot.token == writer.snapshot.token && follower.snapshot.check() == [])
        try await writer.close()
    }

    @Test func `without the lock file the records show what is durable`() async throws {
        let writer = try await writer()
        let follower = try await follower()
        try await insert("a", "b", into: writer)
        try FileManager.default.moveItem(atPath: path + ".lock", toPath: path + ".away")
        try await follower.catchUp()
        // The second one says that the first one was durable.
        #expect(try places(follower.snapshot) == ["a"])
        try FileManager.default.moveItem(atPath: path + ".away", toPath: path + ".lock")
        try await writer.compact()
        try await insert("c", into: writer)
        try await writer.close()
        try FileManager.default.moveItem(atPath: path + ".lock", toPath: path + ".away")
        try await follower.catchUp()
        #expect(follower.snapshot.token == writer.snapshot.token)
    }

    @Test(.bug(id: "followers stood still", "and said nothing"))
    func `beside a lock file that somebody has emptied the records show what is durable`() async throws {
        let writer = try await writer()
        let follower = try await follower()
        try await insert("a", into: writer)
        truncate(path + ".lock", 0)
        try await insert("b", "c", into: writer)
        try await follower.catchUp()
        #expect(try places(follower.snapshot) == ["a", "b"])
        try await writer.close()
        let again = try await self.writer()
        try await follower.catchUp()
        #expect(follower.snapshot.token == again.snapshot.token && follower.snapshot.check() == [])
        try await again.close()
    }

    // MARK: Compaction

    @Test func `a compaction is no gap, whether the follower was at its commit, before, or behind`() async throws {
        let writer = try await writer()
        try await insert("a", into: writer)
        let followers = [try await follower(), try await follower(), try await follower()]
        var feeds = followers.map { $0.commits.makeAsyncIterator() }
        try await insert("b", into: writer)
        try await followers[0].catchUp()
        try await writer.compact()
        try await followers[1].catchUp()
        try await insert("c", into: writer)
        for (index, follower) in followers.enumerated() {
            try await follower.catchUp()
            #expect(follower.snapshot.token == writer.snapshot.token && follower.snapshot.check() == [])
            for number in 2...3 as ClosedRange<UInt64> {
                let commit = await feeds[index].next()
                #expect(commit?.commits.lowerBound.number == number && commit?.number.number == number)
            }
        }
        try await writer.close()
    }

    @Test(arguments: [false, true])
    func `one that misses a whole file gets the commits that the next one retains, or one element for the range`(
        hasHistory: Bool
    ) async throws {
        let writer = try await writer(.full, hasHistory ? HistoryRetention() : .none)
        try await insert("a", into: writer)
        let follower = try await follower()
        var feed = follower.commits.makeAsyncIterator()
        try await insert("b", into: writer)
        try await writer.compact()
        try await insert("c", into: writer)
        try await writer.compact()
        try await follower.catchUp()
        if hasHistory {
            #expect(await feed.next()?.changes(of: Reading.self).map(\.after?.place) == ["b"])
            let commit = try #require(await feed.next())
            #expect(commit.number.number == 3 && commit.origin?.author == "w")
        } else {
            let commit = try #require(await feed.next())
            #expect(commit.commits.lowerBound.number == 2 && commit.number.number == 3 && commit.origin == nil)
            #expect(commit.changes(of: Reading.self).count == 2)
        }
        #expect(follower.snapshot.token == writer.snapshot.token && follower.snapshot.check() == [])
        try await insert("d", into: writer)
        try await follower.catchUp()
        #expect(await feed.next()?.commits.lowerBound.number == 4)
        try await writer.close()
    }

    @Test func `commits of a file that another history has replaced are not shown`() async throws {
        var writer = try await writer()
        try await insert("a", into: writer)
        try await writer.close()
        try FileManager.default.copyItem(atPath: path, toPath: path + "-copy")
        let follower = try await follower()
        writer = try await self.writer()
        try await insert("b", into: writer)
        try await writer.close()
        rename(path + "-copy", path)
        writer = try await self.writer()
        try await insert("x", into: writer)
        try await writer.compact()
        try await follower.catchUp()
        #expect(try places(follower.snapshot) == ["a", "x"] && follower.snapshot.token == writer.snapshot.token)
        try await writer.close()
    }

    @Test func `commits that only a compaction has made durable are shown`() async throws {
        let writer = try await writer(.relaxed)
        let follower = try await follower()
        try await insert("a", into: writer)
        try await follower.catchUp()
        #expect(follower.snapshot.commit.number == 0)
        try await writer.compact()
        try await follower.catchUp()
        #expect(follower.snapshot.token == writer.snapshot.token)
        try await writer.close()
    }
}
