import Foundation
import Testing

@testable import Graph

/// Where a log begins, and which logs a copy refuses.
struct LogPlacesTests: LogTesting {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func `a log that begins earlier is passed over up to the copy's commit`() async throws {
        let writer = try await writer()
        let start = writer.snapshot.token
        // Without the marks that a receiver writes by itself.
        let receiver = try await LogReceiver(
            Schema([EntityDescription(Reading.self)]),
            path: try await Self.copied(writer, folder.file("copy.graph")), fileSystem: PosixFileSystem(),
            options: JournalOptions())
        try await insert("a", "b", into: writer)
        try await writer.setMetadata("1", for: "k")
        try await catchUp(receiver)
        try await writer.setMetadata("2", for: "k")
        _ = try await writer.consumer(named: "index")
        try await catchUp(receiver)
        func length() async throws -> UInt64 {
            try await StoreInspection(reading: folder.file("copy.graph")).lengthBytes
        }
        let before = try await length()
        for _ in 0..<3 {
            try await receiver.receive(stream(try await log(since: start)))
            try await catchUp(receiver)
        }
        #expect(try await length() == before, "nothing new")
        try await insert("c", into: writer)
        try await receiver.receive(stream(try await log(since: start)))
        #expect(receiver.token == writer.snapshot.token && receiver.snapshot.check() == [])
        #expect(await (try receiver.promote()).metadata == ["k": "2"])
        try await receiver.close()
        try await writer.close()
    }

    @Test func `the log that has begun last goes on, and the one before ends with its next bytes`() async throws {
        let writer = try await writer()
        let receiver = try await receiver(of: writer)
        try await insert("a", into: writer)
        let old = try await log(since: receiver.token).flatMap { $0 }
        let (stream, continuation) = AsyncStream<[UInt8]>.makeStream()
        let first = Task { try await receiver.receive(stream) }
        var commits = receiver.commits.makeAsyncIterator()
        continuation.yield(old)
        #expect(await commits.next()?.number.number == 1)
        try await catchUp(receiver)
        continuation.yield(try Self.goingOn(old, with: LogRecord(kind: .consumers, payload: [0])))
        continuation.finish()
        await #expect(
            throws: GraphError.invalidLog(reason: "another one has begun, which goes on instead")
        ) { try await first.value }
        try await receiver.close()
        try await writer.close()
    }

    @Test func `a log that diverges at the copy's last commit, or before it and is shorter, is refused`() async throws {
        let writer = try await writer()
        let start = writer.snapshot.token
        let receiver = try await receiver(of: writer)
        let other = try await LogReceiver(for: Reading.self, at: try await Self.copied(writer, folder.file("b.graph")))
        try await insert("a", "b", into: writer)
        try await catchUp(receiver)
        let promoted = try await other.promote()
        for length in 1...2 {
            let diverged = await #expect(throws: GraphError.self) {
                try await receiver.receive(stream(try await log(folder.file("b.graph"), since: start)))
            }
            guard case .historyDiverged = diverged else {
                Issue.record("\(length): \(diverged as Any)")
                return
            }
            try await insert("x", into: promoted)
        }
        #expect(try places(receiver.snapshot) == ["a", "b"])
        for store in [writer, promoted] { try await store.close() }
        try await receiver.close()
    }

    @Test func `a copy that was made while saves go on, and has given out numbers, goes on`() async throws {
        let writer = try await writer()
        let context = Context(writer)
        _ = await context.perform { context in (0..<10).map { context.insert(Reading(place: "\($0)")).id } }
        async let saving: Void = {
            for number in 0..<200 { try await insert("\(number)", into: writer) }
        }()
        var last: [RowNumber] = []
        for number in 0..<5 {
            let receiver = try await receiver(of: writer, "\(number).graph")
            try await catchUp(receiver)
            try await receiver.close()
            // A program opens it, and saves nothing.
            let store = try await self.writer(folder.file("\(number).graph"))
            let unsaved = Context(store)
            last.append(
                await unsaved.perform { context in
                    (0..<300).map { context.insert(Reading(place: "\($0)")).id.row }.max() ?? 0
                })
            try await store.close()
        }
        try await saving
        for number in 0..<5 {
            var receiver = try await LogReceiver(for: Reading.self, at: folder.file("\(number).graph"))
            try await catchUp(receiver)
            #expect(receiver.token == writer.snapshot.token && receiver.snapshot.check() == [])
            try await receiver.close()
            receiver = try await LogReceiver(for: Reading.self, at: folder.file("\(number).graph"))
            #expect(receiver.token == writer.snapshot.token)
            let promoted = try await receiver.promote()
            let row = try await promoted.transaction { $0.insert(Reading(place: "new")).id.row }
            #expect(row > last[number])
            try await promoted.close()
        }
        try await writer.close()
    }

    @Test func `what the lock file does not know is sent, as far as the records show that it is durable`() async throws
    {
        let writer = try await writer()
        let receiver = try await receiver(of: writer)
        try await insert("a", "b", into: writer)
        try await writer.compact()
        try await insert("c", into: writer)
        try await writer.close()
        // As after a power cut, or when a program was stopped after a compaction's renaming.
        let lock = try FileHandle(forWritingTo: URL(fileURLWithPath: path + ".lock"))
        try lock.seek(toOffset: JournalEnd.slotOffset)
        try lock.write(contentsOf: Data(count: JournalEnd.slotBytes))
        try lock.close()
        try await catchUp(receiver)
        #expect(receiver.token == writer.snapshot.token)
        try await receiver.close()
    }

    @Test(arguments: [Durability.none, .relaxed])
    func `a copy is not ahead of what is durable`(durability: Durability) async throws {
        let disk = SimulatedDisk()
        let schema = try Schema([EntityDescription(Reading.self)])
        let writer = try await Coordinator(
            schema, path: JournalFixture.path, fileSystem: disk, options: JournalFixture.options(seed: 1),
            durability: durability, compaction: .manual)
        try await insert("a", "b", into: writer)
        try await writer.copy(to: folder.file("copy.graph"))
        // Nothing that waits for a sync is kept.
        var random = SeededGenerator(seed: 1)
        let rest = SimulatedDisk(disk.medium.crashed(keeping: 0, keepingNames: 0, using: &random))
        let again = try await Coordinator(
            schema, path: JournalFixture.path, fileSystem: rest, options: JournalFixture.options(seed: 2))
        let copy = try await LogReceiver(for: Reading.self, at: folder.file("copy.graph"))
        #expect(copy.token == again.snapshot.token && copy.token.commit.number == 2)
        try await copy.close()
        try await again.close()
    }

    @Test func `damage in the store's file is no other history`() async throws {
        let writer = try await writer()
        try await insert("gets damaged", "b", into: writer)
        let receiver = try await receiver(of: writer)
        try await insert("c", into: writer)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        let place = try #require(bytes.range(of: Data("gets damaged".utf8)))
        bytes[place.lowerBound] ^= 1
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try handle.write(contentsOf: bytes)
        try handle.close()
        let error = await #expect(throws: GraphError.self) { try await catchUp(receiver) }
        guard case .corrupt = error else {
            Issue.record("\(error as Any)")
            return
        }
        try await receiver.close()
    }

    @Test func `logs of other stores, with gaps, and of commits that are not kept are refused`() async throws {
        let none = HistoryRetention.none
        let writer = try await writer(nil, none)
        let receiver = try await receiver(of: writer)
        let start = receiver.token
        try await insert("a", "b", into: writer)
        let later = writer.snapshot.token
        try await insert("c", into: writer)
        let gap = try await log(since: later)
        await #expect(
            throws: GraphError.invalidLog(reason: "it begins behind commit 2, and the copy has commit 0")
        ) { try await receiver.receive(stream(gap)) }

        let other = try await self.writer(folder.file("other.graph"))
        let foreign = other.snapshot.token
        await #expect(throws: GraphError.tokenOfOtherStore(foreign)) {
            try await receiver.receive(stream(try await log(folder.file("other.graph"), since: foreign)))
        }
        await #expect(throws: GraphError.tokenOfOtherStore(start)) {
            try await catchUp(receiver, folder.file("other.graph"))
        }
        await #expect(throws: GraphError.unusableFile(path: folder.file("no.graph"), reason: "there is no file")) {
            try await catchUp(receiver, folder.file("no.graph"))
        }
        try await writer.compact()
        await #expect(throws: GraphError.historyExpired(oldest: writer.snapshot.token)) { try await catchUp(receiver) }
        #expect(receiver.token == start)
        for store in [writer, other] { try await store.close() }
        try await receiver.close()
    }

    @Test func `compactions between leave no gap, as long as they retain the commits`() async throws {
        let writer = try await writer()
        let receiver = try await receiver(of: writer)
        for number in 0..<6 {
            for place in 0..<Int.random(in: 0...100) { try await insert("\(number), \(place)", into: writer) }
            try await writer.compact()
            if Bool.random() { try await writer.compact() }
            if Bool.random() { try await catchUp(receiver) }
        }
        try await catchUp(receiver)
        #expect(receiver.token == writer.snapshot.token && receiver.snapshot.check() == [])
        #expect(try places(receiver.snapshot) == places(writer.snapshot))
        try await receiver.close()
        try await writer.close()
    }

    @Test func `consumers that were removed are gone from the copy, too`() async throws {
        let writer = try await writer()
        _ = try await writer.consumer(named: "a")
        _ = try await writer.consumer(named: "b")
        let receiver = try await receiver(of: writer)
        try await writer.removeConsumer(named: "a")
        try await insert("x", into: writer)
        var consumer = try await writer.consumer(named: "b")
        try await consumer.advance(to: writer.snapshot.token)
        // The new file says nothing of the one that was removed.
        try await writer.compact()
        try await catchUp(receiver)
        let promoted = try await receiver.promote()
        #expect(await promoted.consumers == writer.consumers)
        #expect(await promoted.consumers.keys.sorted() == ["b"])
        try await promoted.close()
        try await writer.close()
    }

    /// What a log has next.
    private static func goingOn(_ log: [UInt8], with record: LogRecord) throws -> [UInt8] {
        var reader = LogReader()
        reader.append(log)
        let head = try #require(try { try reader.next() != nil ? reader.head : nil }())
        var writer = LogWriter(since: head.start, salt: head.salt)
        reader = LogReader()
        reader.append(log)
        while let record = try reader.next() { writer.append(record) }
        #expect(writer.take() == log)
        writer.append(record)
        return writer.take()
    }
}
