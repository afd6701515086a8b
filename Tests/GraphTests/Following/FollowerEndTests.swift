import Foundation
import Synchronization
import Testing

@testable import Graph

/// What a follower cannot go on from, and says.
struct FollowerEndTests {
    @Entity fileprivate struct Reading {
        @Unique var place: String
    }

    enum Later {
        @Entity struct Reading {
            @Unique var place: String
            var degrees: Double = 0
        }
    }

    enum Renamed {
        @Entity struct Reading {
            @Attribute(originalName: "place") @Unique var town: String
        }
    }

    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file()
    }

    private func insert(_ places: String..., at path: String? = nil) async throws {
        let writer = try await Coordinator(for: Reading.self, at: path ?? self.path, compaction: .manual)
        for place in places { try await writer.transaction { _ = $0.insert(Reading(place: place)) } }
        try await writer.close()
    }

    private func follower() async throws -> Follower {
        try await Follower(
            Schema([EntityDescription(Reading.self)]), path: path, fileSystem: PosixFileSystem(),
            options: JournalOptions(), isAwake: false)
    }

    /// That it has ended with an error, and still shows what it had.
    private func expectEnd(_ follower: Follower, at commit: UInt64, _ text: String) async throws {
        var feed = follower.commits.makeAsyncIterator()
        let error = await #expect(throws: GraphError.self) { try await follower.catchUp() }
        #expect("\(try #require(error))".contains(text), "\(error.map { "\($0)" } ?? "")")
        #expect(follower.failure.map { "\($0)" } == error.map { "\($0)" })
        while let commit = await feed.next() { #expect(commit.number <= follower.snapshot.commit) }
        #expect(follower.snapshot.commit.number == commit && follower.snapshot.check() == [])
        await #expect(throws: GraphError.self) { try await follower.catchUp() }
    }

    @Test func `a file that is not there cannot be followed`() async throws {
        await #expect(throws: GraphError.unusableFile(path: path, reason: "there is no file")) {
            _ = try await follower()
        }
    }

    @Test func `a file that is removed ends it`() async throws {
        try await insert("a")
        let follower = try await follower()
        try FileManager.default.removeItem(atPath: path)
        try await expectEnd(follower, at: 1, "removed or moved")
    }

    enum Looser {
        @Entity struct Reading {
            var place: String
        }
    }

    @Test(.bug(id: "taken for damage", "the copy has other rules, and sound commits broke them"))
    func `a commit that breaks a rule of the program alone is of another schema, not damaged`() async throws {
        let writer = try await Coordinator(for: Looser.Reading.self, at: path)
        func insert() async throws { try await writer.transaction { _ = $0.insert(Looser.Reading(place: "a")) } }
        try await insert()
        let schema = try Schema([EntityDescription(Reading.self)])
        let follower = try await follower()
        try await writer.copy(to: path + "-copy")
        let receiver = try await LogReceiver(
            schema, path: path + "-copy", fileSystem: PosixFileSystem(), options: JournalOptions())
        func isMismatch(_ error: any Error) -> Bool {
            if case GraphError.schemaMismatch(_, let differences) = error { differences.count == 2 } else { false }
        }
        try await insert()
        await #expect {
            try await follower.catchUp()
        } throws: {
            isMismatch($0)
        }
        await #expect {
            try await receiver.receive(LogSender(at: path, since: receiver.token, waitingForMore: false))
        } throws: {
            isMismatch($0)
        }
        try await receiver.close()
        try await writer.close()
    }

    @Test func `a copy goes on once its program has the rules that the store has got`() async throws {
        let writer = try await Coordinator(for: Looser.Reading.self, at: path)
        try await writer.transaction { _ = $0.insert(Looser.Reading(place: "a")) }
        try await writer.copy(to: path + "-copy")
        try await writer.close()
        let upgraded = try await Coordinator(for: Reading.self, at: path)
        try await upgraded.transaction { _ = $0.insert(Reading(place: "b")) }
        func receiver<E: Entity>(_ type: E.Type) async throws -> LogReceiver {
            try await LogReceiver(
                Schema([EntityDescription(type)]), path: path + "-copy", fileSystem: PosixFileSystem(),
                options: JournalOptions())
        }
        let old = try await receiver(Looser.Reading.self)
        await #expect {
            try await old.receive(LogSender(at: path, since: old.token, waitingForMore: false))
        } throws: { error in
            if case GraphError.schemaMismatch = error { true } else { false }
        }
        try await old.close()
        let new = try await receiver(Reading.self)
        try await new.receive(LogSender(at: path, since: new.token, waitingForMore: false))
        #expect(new.token == upgraded.snapshot.token && new.store.check() == [])
        try await new.close()
        try await upgraded.close()
    }

    @Test(.bug(id: "corrupt", "an older copy is sound"))
    func `an older copy in its place is another history, also before a program opens it`() async throws {
        try await insert("a")
        let older = try Data(contentsOf: URL(fileURLWithPath: path))
        try await insert("b")
        let follower = try await follower()
        try older.write(to: URL(fileURLWithPath: path + "-older"))
        rename(path + "-older", path)
        let token = follower.snapshot.token
        await #expect(throws: GraphError.historyDiverged(token)) { try await follower.catchUp() }
        #expect(follower.snapshot.token == token && token.commit.number == 2)
    }

    @Test func `a follower that shows commits by itself ends by itself`() async throws {
        try await insert("a")
        let follower = try await Follower(for: Reading.self, at: path)
        var feed = follower.commits.makeAsyncIterator()
        try FileManager.default.removeItem(atPath: path)
        #expect(await feed.next() == nil)
        let failure = try #require(follower.failure)
        guard case .unusableFile = failure else { throw failure }
    }

    /// A program that closes the file cuts off what it has reserved behind the last record.
    @Test func `a file that is cut behind its last record, at any moment of a look, is followed on`() async throws {
        let (path, lockPath) = (JournalFixture.path, StorePath(JournalFixture.path + ".lock"))
        var (moment, hasCut) = (0, true)
        while hasCut {
            let disk = SimulatedDisk()
            let schema = try Schema([EntityDescription(Reading.self)])
            let writer = try await Coordinator(
                schema, path: path, fileSystem: disk, options: JournalOptions(), compaction: .manual)
            try await writer.transaction { _ = $0.insert(Reading(place: "a")) }
            let rest = Mutex<Int?>(nil)
            let hooked = HookedDisk(
                disk,
                beforeReading: { disk in
                    let isNow = rest.withLock { rest in
                        defer { rest = rest.map { $0 - 1 } }
                        return rest == 0
                    }
                    guard isNow, let lock = try? disk.open(lockPath), let end = try? JournalEnd.read(from: lock)
                    else { return }
                    disk.change(path) { $0.current.removeLast($0.current.count - Int(end.offset)) }
                })
            let follower = try await Follower(
                schema, path: path, fileSystem: hooked, options: JournalOptions(), isAwake: false)
            try await writer.transaction { _ = $0.insert(Reading(place: "b")) }
            let lengthBytes = try #require(disk.contents(path)).count
            rest.withLock { $0 = moment }
            try await follower.catchUp()
            #expect(follower.snapshot.commit == writer.snapshot.commit, "cut before look \(moment)")
            hasCut = try #require(disk.contents(path)).count < lengthBytes
            moment += 1
        }
        #expect(moment > 2)
    }

    @Test(arguments: [true, false])
    func `another store in its place ends it`(isRenamed: Bool) async throws {
        try await insert("a")
        let follower = try await follower()
        let other = path + "-other"
        try await insert("b", "c", "d", at: other)
        if isRenamed {
            rename(other, path)
        } else {
            try Data(contentsOf: URL(fileURLWithPath: other)).write(to: URL(fileURLWithPath: path), options: [])
        }
        // Until a program opens it, only the name tells.
        if !isRenamed { try await insert("e") }
        try await expectEnd(follower, at: 1, "another store")
    }

    @Test(arguments: [true, false])
    func `an earlier copy that goes on differently ends it`(isRenamed: Bool) async throws {
        try await insert("a")
        try FileManager.default.copyItem(atPath: path, toPath: path + "-copy")
        try await insert("b")
        let follower = try await follower()
        let token = follower.snapshot.token
        if isRenamed {
            rename(path + "-copy", path)
        } else {
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            let copy = try Data(contentsOf: URL(fileURLWithPath: path + "-copy"))
            try file.write(contentsOf: copy)
            try file.truncate(atOffset: UInt64(copy.count))
            try file.close()
        }
        try await insert("c", "d", "e")
        try await expectEnd(follower, at: 2, "\(GraphError.historyDiverged(token))")
    }

    @Test func `a copy that has its commit is followed on`() async throws {
        try await insert("a", "b")
        let follower = try await follower()
        try FileManager.default.copyItem(atPath: path, toPath: path + "-copy")
        rename(path + "-copy", path)
        try await insert("c")
        try await follower.catchUp()
        #expect(follower.snapshot.commit.number == 3)
    }

    @Test func `a damaged record ends it behind the commits before`() async throws {
        try await insert("a")
        let follower = try await follower()
        let before = try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
        try await insert("b", "the one that gets damaged", "c")
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        let bytes = try #require(try file.readToEnd())
        let place = try #require(bytes.range(of: Data("gets damaged".utf8), in: before..<bytes.count))
        try file.seek(toOffset: UInt64(place.lowerBound))
        try file.write(contentsOf: Data("X".utf8))
        try file.close()
        try await expectEnd(follower, at: 2, "it was durable")
    }

    // MARK: Schemas

    @Test func `a migration to another schema ends it with the differences`() async throws {
        try await insert("a")
        let follower = try await follower()
        let writer = try await Coordinator(for: Later.Reading.self, at: path)
        try await writer.transaction { _ = $0.insert(Later.Reading(place: "b")) }
        try await writer.close()
        try await expectEnd(follower, at: 1, "degrees")
        await #expect(throws: GraphError.self) { _ = try await self.follower() }
    }

    @Test(arguments: [true, false])
    func `names that its program does not know end it`(isCompacted: Bool) async throws {
        try await insert("a")
        let follower = try await follower()
        let writer = try await Coordinator(for: Renamed.Reading.self, at: path, compaction: .manual)
        if isCompacted { try await writer.compact() }
        try await writer.transaction { _ = $0.insert(Renamed.Reading(town: "b")) }
        try await writer.close()
        try await expectEnd(follower, at: 1, "town")
    }

    @Test func `names that its program knows as original ones are followed`() async throws {
        try await insert("a")
        let follower = try await Follower(
            Schema([EntityDescription(Renamed.Reading.self)]), path: path, fileSystem: PosixFileSystem(),
            options: JournalOptions(), isAwake: false)
        try await insert("b")
        let writer = try await Coordinator(for: Renamed.Reading.self, at: path, compaction: .manual)
        try await writer.compact()
        try await writer.transaction { _ = $0.insert(Renamed.Reading(town: "c")) }
        try await writer.close()
        try await follower.catchUp()
        #expect(try follower.snapshot.fetchValues(Renamed.Reading.self).map(\.town) == ["a", "b", "c"])
    }
}
