import Foundation
import Testing

@testable import Graph

/// Logs between a store and its copies in the same process.
struct LogTests {
    @Entity fileprivate struct Reading {
        @Indexed var place: String
        var degrees = 0
        @Unique var code: Int?
    }

    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file()
    }

    private func writer(_ path: String? = nil, _ retention: HistoryRetention = HistoryRetention()) async throws
        -> Coordinator
    {
        try await Coordinator(
            for: Reading.self, at: path ?? self.path, compaction: .manual, retention: retention)
    }

    /// A receiver of a copy of the store.
    private func receiver(of writer: Coordinator, _ name: String = "copy.graph") async throws -> LogReceiver {
        let copy = folder.file(name)
        try await writer.copy(to: copy)
        return try await LogReceiver(for: Reading.self, at: copy)
    }

    private func insert(_ places: String..., into writer: Coordinator) async throws {
        for place in places { try await writer.transaction(author: "w") { _ = $0.insert(Reading(place: place)) } }
    }

    private func log(_ path: String? = nil, since token: HistoryToken) async throws -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        for try await piece in LogSender(at: path ?? self.path, since: token, waitingForMore: false) {
            pieces.append(piece)
        }
        return pieces
    }

    private func catchUp(_ receiver: LogReceiver, _ path: String? = nil) async throws {
        try await receiver.receive(LogSender(at: path ?? self.path, since: receiver.token, waitingForMore: false))
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

    private func places(_ snapshot: Snapshot) throws -> [String] {
        try snapshot.fetchValues(Reading.self, sortedBy: [.ascending(\.place)]).map(\.place)
    }

    private func stream(_ pieces: [[UInt8]]) -> AsyncStream<[UInt8]> {
        AsyncStream { continuation in
            for piece in pieces { continuation.yield(piece) }
            continuation.finish()
        }
    }

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

    private static func copied(_ writer: Coordinator, _ path: String) async throws -> String {
        try await writer.copy(to: path)
        return path
    }

    // MARK: Bytes

    @Test func `however a log is cut into pieces, it says the same`() async throws {
        let writer = try await writer()
        let start = writer.snapshot.token
        try await insert("a", "b", "c", into: writer)
        let bytes = try await log(since: start).flatMap { $0 }
        func records(_ pieces: [ArraySlice<UInt8>]) throws -> [LogRecord] {
            var (log, records): (LogReader, [LogRecord]) = (LogReader(), [])
            for piece in pieces {
                log.append(piece)
                while let record = try log.next() { records.append(record) }
            }
            return records
        }
        let all = try records([bytes[...]])
        #expect(all.count { $0.kind == LogRecord.Kind.commit } == 3)
        let single: [ArraySlice<UInt8>] = bytes.indices.map { bytes[$0...$0] }
        #expect(try records(single) == all)
        for cut in bytes.indices {
            let first = try records([bytes[..<cut]])
            #expect(all.starts(with: first) && first.count < all.count)
            #expect(try records([bytes[..<cut], bytes[cut...]]) == all)
        }
        try await writer.close()
    }

    @Test func `bytes that are changed, missing or come twice are found`() async throws {
        let store = try await writer()
        let start = store.snapshot.token
        try await insert("a", "b", "c", into: store)
        let bytes = try await log(since: start).flatMap { $0 }
        /// Reads as far as it goes. Returns whether it was refused.
        func read(_ bytes: [UInt8], _ all: [LogRecord]?) throws -> (records: [LogRecord], isRefused: Bool) {
            var (log, records): (LogReader, [LogRecord]) = (LogReader(), [])
            log.append(bytes)
            do {
                while let record = try log.next() { records.append(record) }
            } catch GraphError.invalidLog(let reason) {
                #expect(reason.count < 200)
                if let all { #expect(all.starts(with: records)) }
                return (records, true)
            } catch {
                throw error
            }
            if let all { #expect(all.starts(with: records)) }
            return (records, false)
        }
        let all = try read(bytes, nil).records
        for place in bytes.indices {
            for mask in [1, 0x80, 0xFF] as [UInt8] {
                var changed = bytes
                changed[place] ^= mask
                #expect(try read(changed, all).isRefused, "byte \(place)")
            }
            var missing = bytes
            missing.remove(at: place)
            #expect(try read(missing, all).records.count < all.count)
            let end = Int.random(in: place + 1...bytes.count)
            let twice = bytes[..<end] + bytes[place...]
            let result = try read(Array(twice), all)
            #expect(result.isRefused || result.records == all, "\(place)..<\(end)")
        }
        // Whole frames.
        var log = LogReader()
        log.append(bytes)
        let head = try #require(
            try { () -> LogFormat.Head? in
                _ = try log.next()
                return log.head
            }())
        var (writer, frames) = (LogWriter(since: head.start, salt: head.salt), [[UInt8]]())
        frames.append(writer.take())
        for record in all {
            writer.append(record)
            frames.append(writer.take())
        }
        #expect(frames.flatMap { $0 } == bytes)
        for place in 1..<frames.count - 1 {
            var (missing, twice, swapped) = (frames, frames, frames)
            missing.remove(at: place)
            twice.insert(frames[place], at: place)
            swapped.swapAt(place, place + 1)
            for other in [missing, twice, swapped] { #expect(try read(other.flatMap { $0 }, all).isRefused) }
        }
        for _ in 0..<2_000 {
            let garbage = (0..<Int.random(in: 0...200)).map { _ in UInt8.random(in: 0...255) }
            _ = try read(Array(bytes.prefix(Int.random(in: 0...bytes.count))) + garbage, nil)
        }
        try await store.close()
    }

    @Test func `a copy whose logs end anywhere goes on where it was, also after it was closed`() async throws {
        let writer = try await writer()
        var receiver = try await receiver(of: writer)
        for number in 0..<30 { try await insert("\(number)", into: writer) }
        while receiver.token != writer.snapshot.token {
            let bytes = try await log(since: receiver.token).flatMap { $0 }
            let before = receiver.token
            try await receiver.receive(stream([Array(bytes.prefix(Int.random(in: 0...bytes.count)))]))
            #expect(receiver.token >= before && receiver.snapshot.check() == [])
            guard Bool.random() else { continue }
            try await receiver.close()
            receiver = try await LogReceiver(for: Reading.self, at: folder.file("copy.graph"))
        }
        #expect(try places(receiver.snapshot) == places(writer.snapshot))
        try await receiver.close()
        try await writer.close()
    }

    @Test func `what comes before damage is kept, and a stream's own error is thrown`() async throws {
        struct Lost: Error {}
        let writer = try await writer()
        let receiver = try await receiver(of: writer)
        try await insert("a", "b", into: writer)
        var bytes = try await log(since: receiver.token).flatMap { $0 }
        bytes[bytes.count - 20] ^= 1
        let pieces = [bytes]
        await #expect(throws: GraphError.self) { try await receiver.receive(stream(pieces)) }
        #expect(try places(receiver.snapshot) == ["a"])
        let good = try await log(since: receiver.token).flatMap { $0 }
        let failing = AsyncThrowingStream<[UInt8], any Error> { continuation in
            continuation.yield(good)
            continuation.finish(throwing: Lost())
        }
        await #expect(throws: Lost.self) { try await receiver.receive(failing) }
        #expect(try places(receiver.snapshot) == ["a", "b"])
        try await receiver.close()
        try await writer.close()
    }

    // MARK: Places in history

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
        let rest = SimulatedDisk(disk.medium.crashed(keeping: 0, namesKept: 0, using: &random))
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
