import Foundation
import Testing

@testable import Graph

struct RetentionTests {
    private static func open(
        _ path: String?, _ retention: HistoryRetention = HistoryRetention(), readOnly: Bool = false
    ) async throws(GraphError) -> Coordinator {
        try await Coordinator(
            for: Team.self, Person.self, at: path, readOnly: readOnly, compaction: .manual, retention: retention)
    }

    private static func save(_ count: Int, to coordinator: Coordinator) async throws -> [HistoryToken] {
        var tokens = [coordinator.snapshot.token]
        for number in 0..<count {
            try await coordinator.transaction { _ = $0.insert(Team(name: "team \(number)")) }
            tokens.append(coordinator.snapshot.token)
        }
        return tokens
    }

    private static func numbers(_ history: CommitHistory) async throws(GraphError) -> [UInt64] {
        var numbers: [UInt64] = []
        for try await commit in history { numbers.append(commit.number.number) }
        return numbers
    }

    // MARK: What is retained

    @Test func `the newest commits within all limits are retained, and unread ones within their own`() {
        func retained(
            _ retention: HistoryRetention, unreadSince unread: UInt64? = nil, lengths: [Int?] = [5, 5, 5, 5, 5]
        ) -> Int {
            retention.retainedCount(of: lengths.count, unreadSince: unread.map(CommitNumber.init)) { index in
                lengths[index].map { .init(number: CommitNumber(UInt64(index) + 1), lengthBytes: $0) }
            }
        }
        #expect(retained(.all) == 5 && retained(.none) == 0 && retained(HistoryRetention()) == 5)
        #expect(retained(.init(commits: 3)) == 3 && retained(.init(commits: 9)) == 5)
        #expect(retained(.init(bytes: 14)) == 2 && retained(.init(bytes: 15)) == 3 && retained(.init(bytes: 4)) == 0)
        #expect(retained(.init(commits: 1, bytes: 15)) == 1 && retained(.init(commits: 9, bytes: 9)) == 1)
        // Without gaps: a long commit ends what is retained.
        #expect(retained(.init(bytes: 15), lengths: [1, 1, 20, 1, 1]) == 2)
        #expect(retained(.all, lengths: [1, 1, nil, 1, 1]) == 2)
        #expect(retained(.none, unreadSince: 2) == 0 && retained(.init(commits: 0), unreadSince: 2) == 3)
        #expect(retained(.init(commits: 4), unreadSince: 2) == 4)
        #expect(retained(.init(bytes: 5, unreadBytes: 10), unreadSince: 2) == 2)
        #expect(retained(.init(bytes: 5, unreadBytes: 25), unreadSince: 2) == 3)
        #expect(retained(.init(bytes: 0, unreadBytes: nil), unreadSince: 0) == 5)
    }

    @Test func `an age has a time before which commits are too old`() {
        #expect(HistoryRetention().oldestTime(at: 7) == nil)
        #expect(HistoryRetention(age: .seconds(2)).oldestTime(at: 3_000_000_001) == 1_000_000_001)
        #expect(HistoryRetention(age: .nanoseconds(1_500_000_001)).oldestTime(at: 3_000_000_001) == 1_500_000_000)
        #expect(HistoryRetention(age: .seconds(4)).oldestTime(at: 3_000_000_000) == 0)
        #expect(HistoryRetention(age: .seconds(Int64.max)).oldestTime(at: .max) == 0)
        #expect(HistoryRetention(age: .seconds(-1)).oldestTime(at: 9) == 9)
    }

    @Test func `compacted files keep as many bytes of history as they may, and statistics say how many`() async throws {
        let folder = try TemporaryFolder()
        let coordinator = try await Self.open(folder.file(), HistoryRetention(bytes: 4_000))
        var tokens = try await Self.save(100, to: coordinator)
        for _ in 0..<2 {
            try await coordinator.compact()
            let file = try #require(await coordinator.statistics.file)
            let first = try #require(tokens.firstIndex(of: file.oldest))
            let kept = try await Self.numbers(coordinator.history())
            #expect(kept == tokens[(first + 1)...].map(\.commit.number))
            // Each has 9 bytes more in front, and up to 7 zeros behind.
            #expect(file.historyLength <= UInt64(4_000 + kept.count * 16) && file.historyLength > 3_800)
            #expect(file.historyLength < file.compactedLength && file.compactedLength < file.length)
            #expect(
                "\(await coordinator.statistics)".contains("since commit \(file.oldest.commit), \(file.historyLength)"))
            tokens += try await Self.save(10, to: coordinator).dropFirst()
        }
        try await coordinator.close()
        let again = try await Self.open(folder.file(), .none)
        let file = try #require(await again.statistics.file)
        #expect(
            try await Self.numbers(again.history()).count == tokens.count - 1
                - (tokens.firstIndex(of: file.oldest) ?? 0))
        try await again.compact()
        #expect(try await Self.numbers(again.history()) == [])
        #expect(await again.statistics.file?.historyLength == 0)
        #expect(await again.statistics.file?.oldest == tokens.last)
        try await again.close()
    }

    @Test func `who only reads a file, and tools, have its retained history too`() async throws {
        let folder = try TemporaryFolder()
        let coordinator = try await Self.open(folder.file())
        let tokens = try await Self.save(3, to: coordinator)
        try await coordinator.compact()
        let reader = try await Self.open(folder.file(), readOnly: true)
        #expect(try await Self.numbers(reader.history(since: tokens[1])) == [2, 3])
        #expect(try await reader.snapshot(at: tokens[1]).count(of: Team.self) == 1)
        let log = try await StoreLog(reading: folder.file())
        #expect(log.commits.map(\.number) == [1, 2, 3] && log.firstCommit == 0)
        try await reader.close()
        try await coordinator.close()
    }

    @Test func `a save after a compaction goes on with the history before it`() async throws {
        let folder = try TemporaryFolder()
        let coordinator = try await Self.open(folder.file(), .all)
        let id = try await coordinator.transaction { $0.insert(Person(name: "0")).id }
        for number in 1...40 {
            try await coordinator.transaction { try $0.object(for: id).name = "\(number)" }
            if number.isMultiple(of: 7) { try await coordinator.compact() }
        }
        var names: [String?] = []
        for try await commit in coordinator.history(of: id) { names.append(commit.change(of: id)?.after?.name) }
        #expect(names == (0...40).reversed().map { "\($0)" })
        try await coordinator.close()
    }

    // MARK: What is deleted

    @Test func `deleted history takes its values out of the file`() async throws {
        let folder = try TemporaryFolder()
        let coordinator = try await Self.open(folder.file())
        let id = try await coordinator.transaction { $0.insert(Person(name: "a very secret name")).id }
        try await coordinator.transaction { try $0.object(for: id).name = "a public name" }
        try await coordinator.compact()
        func file() throws -> String {
            String(decoding: try Data(contentsOf: URL(filePath: folder.file())), as: UTF8.self)
        }
        #expect(try file().contains("a very secret name"))
        let token = coordinator.snapshot.token
        try await coordinator.transaction { try $0.object(for: id).age = 4 }
        try await coordinator.deleteHistory(before: token)
        #expect(try !file().contains("a very secret name") && file().contains("a public name"))
        #expect(try await Self.numbers(coordinator.history(since: token)) == [3])
        // There is nothing left to delete.
        try await coordinator.deleteHistory(before: token)
        var forged = token
        forged.fingerprint ^= 1
        await #expect(throws: GraphError.historyDiverged(forged)) {
            try await coordinator.deleteHistory(before: forged)
        }
        try await coordinator.close()
        await #expect(throws: GraphError.self) { try await coordinator.deleteHistory(before: token) }
        let reader = try await Self.open(folder.file(), readOnly: true)
        await #expect(throws: GraphError.readOnly(path: reader.path)) { try await reader.deleteHistory(before: token) }
        try await reader.close()
    }

    @Test func `history that was deleted stays deleted in a store in memory`() async throws {
        let coordinator = try await Self.open(nil)
        let tokens = try await Self.save(5, to: coordinator)
        try await coordinator.deleteHistory(before: tokens[3])
        #expect(try await Self.numbers(coordinator.history()) == [4, 5])
        await #expect(throws: GraphError.historyExpired(oldest: tokens[3])) {
            try await coordinator.snapshot(at: tokens[2])
        }
        #expect(try await coordinator.snapshot(at: tokens[3]).count(of: Team.self) == 3)
    }

    // MARK: Consumers

    @Test func `a store retains what a consumer has not read`() async throws {
        let folder = try TemporaryFolder()
        for path in [nil, folder.file()] {
            let retention = HistoryRetention(commits: 2, unreadBytes: nil)
            let coordinator = try await Self.open(path, retention)
            _ = try await Self.save(1, to: coordinator)
            var consumer = try await coordinator.consumer(named: "index")
            let tokens = try await Self.save(20, to: coordinator)
            #expect(consumer.token == tokens[0])
            try await coordinator.compact()
            #expect(try await Self.numbers(coordinator.history(since: consumer.token)) == Array(2...21))
            try await consumer.advance(to: tokens[12])
            try await consumer.advance(to: tokens[4])
            #expect(consumer.token == tokens[12])
            #expect(await coordinator.consumers == ["index": tokens[12]])
            var beyond = coordinator.snapshot.token
            beyond.commit = beyond.commit.next
            var forged = coordinator.snapshot.token
            forged.fingerprint ^= 1
            for token in [beyond, forged] {
                await #expect(throws: GraphError.historyDiverged(token)) { try await consumer.advance(to: token) }
            }
            let later = try await Self.save(20, to: coordinator)
            try await coordinator.compact()
            #expect(try await Self.numbers(coordinator.history(since: tokens[12])).count == 28)
            if path != nil {
                await #expect(throws: GraphError.historyExpired(oldest: tokens[12])) {
                    try await coordinator.snapshot(at: tokens[11])
                }
            }
            try await coordinator.removeConsumer(named: "index")
            try await coordinator.removeConsumer(named: "index")
            _ = try await Self.save(1, to: coordinator)
            try await coordinator.compact()
            #expect(try await Self.numbers(coordinator.history()) == [41, 42])
            do {
                try await consumer.advance(to: later[2])
                Issue.record("a consumer that is gone reads on")
            } catch GraphError.consumerMissing(let name) {
                #expect(name == "index")
            } catch {
                Issue.record("\(error)")
            }
            try await coordinator.close()
        }
    }

    @Test func `a store in memory frees what no consumer waits for any more, and takes any limit`() async throws {
        let coordinator = try await Self.open(nil, HistoryRetention(commits: 4))
        var consumer = try await coordinator.consumer(named: "slow")
        let tokens = try await Self.save(50, to: coordinator)
        #expect(try await Self.numbers(coordinator.history(since: consumer.token)).count == 50)
        try await consumer.advance(to: tokens[20])
        #expect(try await Self.numbers(coordinator.history()).count == 30)
        try await coordinator.removeConsumer(named: "slow")
        #expect(try await Self.numbers(coordinator.history()).count == 4)
        let endless = try await Self.open(nil, HistoryRetention(commits: .max, bytes: .max, unreadBytes: .max))
        _ = try await Self.save(3, to: endless)
        #expect(try await Self.numbers(endless.history()).count == 3)
        let none = try await Self.open(
            nil, HistoryRetention(commits: -1, age: .seconds(-1), bytes: -1, unreadBytes: -1))
        _ = try await Self.save(3, to: none)
        #expect(try await Self.numbers(none.history()).count == 0)
    }

    @Test func `a consumer that has expired holds nothing back`() async throws {
        let folder = try TemporaryFolder()
        let coordinator = try await Self.open(folder.file(), HistoryRetention(commits: 2))
        _ = try await coordinator.consumer(named: "forgotten")
        let tokens = try await Self.save(5, to: coordinator)
        try await coordinator.deleteHistory(before: tokens[1])
        _ = try await Self.save(5, to: coordinator)
        try await coordinator.compact()
        #expect(try await Self.numbers(coordinator.history()) == [9, 10])
        try await coordinator.close()
    }

    @Test(
        .bug(id: "without a bound", "whatever a consumer had not read stayed beside an age, however old and long"),
        arguments: [
            HistoryRetention(bytes: 0, unreadBytes: 1_000),
            HistoryRetention(age: .nanoseconds(1), bytes: nil, unreadBytes: 1_000),
        ]
    )
    func `limits beat consumers`(limits: HistoryRetention) async throws {
        let folder = try TemporaryFolder()
        let coordinator = try await Self.open(folder.file(), limits)
        let consumer = try await coordinator.consumer(named: "slow")
        _ = try await Self.save(100, to: coordinator)
        try await coordinator.compact()
        let oldest = try #require(await coordinator.statistics.file?.oldest)
        #expect(oldest.commit.number > 80 && oldest.commit.number < 98)
        await #expect(throws: GraphError.historyExpired(oldest: oldest)) {
            try await Self.numbers(coordinator.history(since: consumer.token))
        }
        try await coordinator.close()
    }

    @Test func `an age beats consumers in memory, too`() async throws {
        let store = try await Self.open(nil, HistoryRetention(age: .nanoseconds(1), bytes: nil, unreadBytes: 16_000))
        _ = try await store.consumer(named: "slow")
        _ = try await Self.save(100, to: store)
        let kept = try await Self.numbers(store.history())
        #expect((5...40).contains(kept.count) && kept.last == 100)
        try await store.close()
    }

    @Test func `consumers are in the file, in its copies and in what migrations make of it`() async throws {
        let folder = try TemporaryFolder()
        let coordinator = try await Self.open(folder.file())
        let tokens = try await Self.save(3, to: coordinator)
        let names = ["a", "äöü", String(repeating: "n", count: 1_000), "gone"]
        for name in names { _ = try await coordinator.consumer(named: name) }
        try await coordinator.removeConsumer(named: "gone")
        let expected = Dictionary(uniqueKeysWithValues: names.dropLast().map { ($0, tokens[3]) })
        try await coordinator.copy(to: folder.file("copy.graph"))
        try await coordinator.close()
        for (path, isCompacted) in [(folder.file(), false), (folder.file(), true), (folder.file("copy.graph"), false)] {
            let again = try await Self.open(path)
            #expect(await again.consumers == expected)
            if isCompacted { try await again.compact() }
            try await again.close()
        }
        let reader = try await Self.open(folder.file(), readOnly: true)
        #expect(try await reader.consumer(named: "a").token == tokens[3])
        await #expect(throws: GraphError.readOnly(path: reader.path)) { try await reader.consumer(named: "b") }
        try await reader.close()
        let migrated = try await Coordinator(
            for: Team.self, Person.self, HistoryTokenTests.Stamp.self, at: folder.file())
        #expect(await migrated.consumers == expected)
        #expect(try await Self.numbers(migrated.history(since: tokens[3])) == [4])
        try await migrated.close()
        let reopened = try await Coordinator(
            for: Team.self, Person.self, HistoryTokenTests.Stamp.self, at: folder.file())
        #expect(await reopened.consumers == expected)
        try await reopened.close()
    }

    @Test func `a consumer that reads on while the file is compacted is where it was afterwards`() async throws {
        let disk = GatedDisk(holdingAt: .sync)
        let coordinator = try await Coordinator.people(on: disk)
        var consumer = try await coordinator.consumer(named: "index")
        let tokens = try await Self.save(3, to: coordinator)
        disk.hold()
        let compaction = Task { try await coordinator.compact() }
        await disk.waitForArrival()
        try await consumer.advance(to: tokens[2])
        disk.release()
        try await compaction.value
        try await coordinator.close()
        let again = try await Coordinator.people(on: disk)
        #expect(await again.consumers == ["index": tokens[2]])
        #expect(try await Self.numbers(again.history(since: tokens[0])) == [1, 2, 3])
        try await again.close()
    }

    @Test func `a consumer survives that the program is stopped`() async throws {
        let folder = try TemporaryFolder()
        let coordinator = try await Self.open(folder.file())
        var consumer = try await coordinator.consumer(named: "index")
        let tokens = try await Self.save(3, to: coordinator)
        try await consumer.advance(to: tokens[2])
        // What is in the file when the program gets no further.
        try FileManager.default.copyItem(atPath: folder.file(), toPath: folder.file("stopped.graph"))
        let again = try await Self.open(folder.file("stopped.graph"))
        #expect(await again.consumers == ["index": tokens[2]])
        try await again.close()
        try await coordinator.close()
    }
}
