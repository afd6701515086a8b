import Foundation
import Testing

@testable import Graph

/// Copies that go on with a store by its log, until they are promoted.
struct LogTests: LogTesting {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    // MARK: Going on

    @Test func `a copy goes on with all that is committed, and its file is a sound one`() async throws {
        let writer = try await writer()
        try await insert("a", into: writer)
        let receiver = try await receiver(of: writer)
        #expect(receiver.token == writer.snapshot.token)
        let start = receiver.token
        var commits = receiver.commits.makeAsyncIterator()
        var counts = receiver.values { try $0.fetchCount(Reading.self) }.makeAsyncIterator()
        #expect(try await counts.next() == 1)
        var results = receiver.results(FetchDescriptor<Reading>(sortBy: [.ascending(\.place)])).makeAsyncIterator()
        #expect(try await results.next()?.values.map(\.place) == ["a"])

        try await insert("b", "c", into: writer)
        try await writer.setMetadata("today", for: "import")
        _ = try await writer.consumer(named: "index")
        try await catchUp(receiver)
        #expect(receiver.token == writer.snapshot.token && receiver.snapshot.check() == [])
        #expect(await commits.next()?.changes(of: Reading.self).map(\.after?.place) == ["b"])
        let last = try #require(await commits.next())
        #expect(last.origin?.author == "w" && last.token == writer.snapshot.token)
        #expect(try await counts.next() ?? 0 > 1)
        #expect(try await results.next()?.values.map(\.place).last == "c")
        var history: [UInt64] = []
        for try await commit in receiver.history(since: start, by: "w") { history.append(commit.number.number) }
        #expect(history == [2, 3])

        try await receiver.close()
        #expect(try await StoreInspection(reading: folder.file("copy.graph")).damages == [])
        let other = try await self.writer(folder.file("copy.graph"))
        #expect(other.snapshot.token == writer.snapshot.token)
        #expect(await other.metadata == ["import": "today"])
        #expect(await other.consumers == writer.consumers)
        #expect(try places(other.snapshot) == ["a", "b", "c"])
        for store in [other, writer] { try await store.close() }
    }

    @Test func `a log that waits shows commits as they become durable`() async throws {
        let writer = try await writer()
        let receiver = try await receiver(of: writer)
        let task = Task { [path] in
            try await receiver.receive(LogSender(at: path, since: receiver.token))
        }
        var commits = receiver.commits.makeAsyncIterator()
        for number in 1...20 as ClosedRange<UInt64> {
            try await insert("\(number)", into: writer)
            if number == 10 { try await writer.compact() }
            #expect(await commits.next()?.number.number == number)
        }
        task.cancel()
        await #expect(throws: GraphError.cancelled) { try await task.value }
        #expect(receiver.token == writer.snapshot.token)
        try await receiver.close()
        try await writer.close()
    }

    @Test(.bug(id: "a commit of a tool's own", "the file was of another history than its log"))
    func `a writer's file that a tool has compacted joins its log again`() async throws {
        let host = try await writer()
        let (path, log) = (try await Self.copied(host, folder.file("joined.graph")), JournalCommitLog(host))
        let joined = try await Coordinator(for: Reading.self, at: path, joining: log)
        try await insert("a", into: joined)
        let token = joined.snapshot.token
        try await joined.close()
        _ = try await StoreInspection.compact(path)
        let reader = try await Coordinator(for: Reading.self, at: path, readOnly: true)
        #expect(reader.snapshot.token == token)
        try await reader.close()
        let again = try await Coordinator(for: Reading.self, at: path, joining: log)
        try await insert("b", into: again)
        #expect(try places(again.snapshot) == ["a", "b"] && host.snapshot.token == again.snapshot.token)
        try await again.close()
        try await host.close()
    }

    @Test func `identifiers that a program has handed out are not handed out by the copy`() async throws {
        let writer = try await writer()
        try await insert("a", into: writer)
        let receiver = try await receiver(of: writer)
        let context = Context(writer)
        let given = await context.perform { context in (0..<10).map { context.insert(Reading(place: "\($0)")).id } }
        // The mark has them.
        try await writer.close()
        try await catchUp(receiver)
        let promoted = try await receiver.promote()
        let id = try await promoted.transaction { $0.insert(Reading(place: "b")).id }
        #expect(!given.contains(id))
        try await promoted.close()
    }

    @Test func `a copy that is promoted hands out none of the identifiers of a writer that lives`() async throws {
        let host = try await writer()
        let joined = try await Coordinator(
            for: Reading.self, at: Self.copied(host, folder.file("joined.graph")), joining: JournalCommitLog(host))
        try await insert("a", into: joined)
        let receiver = try await receiver(of: host)
        let context = Context(joined)
        let given = await context.perform { context in (0..<10).map { context.insert(Reading(place: "\($0)")).id } }
        try await host.close()
        let promoted = try await receiver.promote()
        let ids = try await promoted.transaction { context in
            (0..<10).map { context.insert(Reading(place: "\($0)")).id }
        }
        #expect(Set(given).isDisjoint(with: ids) && promoted.check() == [])
        try await promoted.close()
        try? await joined.close()
    }

    @Test(.bug(id: "promoted without numbers of its own", "a second attempt handed out those of a writer"))
    func `a promotion for which the disk has no room is tried again`() async throws {
        let schema = try Schema([EntityDescription(Reading.self)])
        var failures = 0
        for skipping in 0..<6 {
            let disk = SimulatedDisk()
            func open(_ path: String, _ seed: UInt64, _ log: (any CommitLog)? = nil) async throws -> Coordinator {
                try await Coordinator(
                    schema, path: path, fileSystem: disk, options: JournalFixture.options(seed: seed), log: log)
            }
            let host = try await open("/data/host.graph", 1)
            for name in ["joined", "copy"] {
                try await host.copy(to: "/data/\(name).graph", disk, JournalFixture.options(seed: 2))
            }
            let joined = try await open("/data/joined.graph", 3, JournalCommitLog(host))
            let receiver = try await LogReceiver(
                schema, path: "/data/copy.graph", fileSystem: disk, options: JournalFixture.options(seed: 4))
            try await receiver.receive(
                LogSender("/data/host.graph", receiver.token, false, disk, JournalFixture.options(seed: 5)))
            let given = await Context(joined).perform { context in
                (0..<5).map { context.insert(Reading(place: "\($0)")).id }
            }
            disk.fail(next: .write, skipping: skipping, with: .error(.diskFull, 28))
            var promoted: Coordinator?
            while promoted == nil {
                do throws(GraphError) {
                    promoted = try await receiver.promote()
                } catch {
                    guard case .diskFull = error else { throw error }
                    failures += 1
                }
            }
            disk.stopFailing()
            let ids = try await promoted?.transaction { context in
                (0..<5).map { context.insert(Reading(place: "\($0)")).id }
            }
            #expect(Set(given).isDisjoint(with: ids ?? given), "\(skipping)")
            try await promoted?.close()
            for writer in [joined, host] { try? await writer.close(discardingChanges: true) }
        }
        #expect(failures > 0)
    }

    @Test func `a copy may be compacted, and be copied on from`() async throws {
        let writer = try await writer()
        let first = try await receiver(of: writer)
        let second = try await LogReceiver(
            Schema([EntityDescription(Reading.self)]), path: try await Self.copied(writer, folder.file("second.graph")),
            fileSystem: PosixFileSystem(), options: JournalOptions())
        try await insert("a", "b", into: writer)
        try await catchUp(first)
        try await first.store.compact()
        // A copy's file is as good as the store's.
        try await catchUp(second, folder.file("copy.graph"))
        #expect(second.token == writer.snapshot.token)
        for receiver in [first, second] { try await receiver.close() }
        try await writer.close()
    }

    // MARK: Promotion

    @Test func `a copy that was promoted saves, and takes no more of the old store`() async throws {
        let writer = try await writer()
        try await insert("a", into: writer)
        let receiver = try await receiver(of: writer)
        let behind = try await self.receiver(of: writer, "behind.graph")
        let ahead = try await self.receiver(of: writer, "ahead.graph")
        let start = receiver.token
        let promoted = try await receiver.promote(author: "failover")
        #expect(promoted.snapshot.commit == start.commit.next && promoted.check() == [])
        #expect(try await receiver.promote() === promoted)
        try await insert("b", into: promoted)
        var origins: [String?] = []
        for try await commit in promoted.history(since: start) { origins.append(commit.origin?.author) }
        #expect(origins == ["failover", "w"])

        // The old store goes on.
        try await insert("x", "y", "z", into: writer)
        let old = try await log(since: start)
        await #expect(throws: GraphError.historyDiverged(start)) { try await receiver.receive(stream(old)) }
        await #expect(throws: GraphError.historyDiverged(receiver.token)) { try await catchUp(receiver) }
        try await promoted.close()
        let again = try await LogReceiver(for: Reading.self, at: folder.file("copy.graph"))
        let diverged = await #expect(throws: GraphError.self) { try await again.receive(stream(old)) }
        guard case .historyDiverged = diverged else {
            Issue.record("\(diverged as Any)")
            return
        }
        #expect(try places(again.snapshot) == ["a", "b"])

        // Copies that have no more than it had go on with it, others do not.
        try await catchUp(behind, folder.file("copy.graph"))
        #expect(behind.token == again.token && behind.snapshot.check() == [])
        try await catchUp(ahead)
        await #expect(throws: GraphError.historyDiverged(ahead.token)) {
            try await catchUp(ahead, folder.file("copy.graph"))
        }
        let newer = try await log(folder.file("copy.graph"), since: start)
        let refusal = await #expect(throws: GraphError.self) { try await ahead.receive(stream(newer)) }
        guard case .historyDiverged = refusal else {
            Issue.record("\(refusal as Any)")
            return
        }
        #expect(try places(ahead.snapshot) == ["a", "x", "y", "z"])
        for receiver in [again, behind, ahead] { try await receiver.close() }
        #expect(try await StoreInspection(reading: folder.file("copy.graph")).damages == [])
        try await writer.close()
    }

    @Test func `nothing writes to a copy but its log`() async throws {
        let writer = try await writer()
        let receiver = try await receiver(of: writer)
        let store = try await LogReceiver(
            Schema([EntityDescription(Reading.self)]), path: try await Self.copied(writer, folder.file("b.graph")),
            fileSystem: PosixFileSystem(), options: JournalOptions())
        await #expect(throws: GraphError.self) { try await self.writer(folder.file("copy.graph")) }
        await #expect(
            throws: GraphError.unusableFile(
                path: folder.file("none.graph"),
                reason: "there is no file: bring a copy there, which Coordinator.copy(to:) makes")
        ) { _ = try await LogReceiver(for: Reading.self, at: folder.file("none.graph")) }
        #expect(!FileManager.default.fileExists(atPath: folder.file("none.graph")))
        try await receiver.close()
        await #expect(throws: GraphError.closed(path: folder.file("copy.graph"))) { try await receiver.promote() }
        let pieces = try await log(since: writer.snapshot.token)
        try await insert("a", into: writer)
        let more = try await log(since: receiver.token)
        try await receiver.receive(stream([[]]))
        await #expect(throws: GraphError.closed(path: folder.file("copy.graph"))) {
            try await receiver.receive(stream(pieces + more))
        }
        try await store.close()
        try await writer.close()
    }
}
