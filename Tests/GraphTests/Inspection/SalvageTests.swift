import Foundation
import Testing

@testable import Graph

/// What is said of damaged files, what happens to objects that depend on what is lost, and what nobody gets a file for.
struct SalvageTests {
    private typealias File = SalvagedFile

    // MARK: What is lost

    @Test func `a lost commit is named, and objects stay as they were before it`() async throws {
        let file = try await File.make { store in
            let ids = try await store.transaction { context in
                ["a", "b"].map { context.insert(Person(name: $0)).id }
            }
            try await store.transaction { $0[ids[0]]?.age = 1 }
            try await store.transaction { context in
                context[ids[0]]?.name = "A"
                context[ids[1]]?.name = "B"
                context.insert(Person(name: "c"))
            }
        }
        let outcome = try await File.salvage(try file.damaged(commit: 2))
        let rows = File.rows(of: Person.self, in: outcome.snapshot)
        try #require(rows.count == 3)
        #expect(rows[0].contains("\"a\"") && rows[0].contains("age = 0"))
        #expect(rows[1].contains("\"B\"") && rows[2].contains("\"c\""))
        let losses = outcome.salvage.losses
        try #require(losses.count == 4, "\(losses)")
        #expect(losses[0].hasPrefix("bytes 8") && losses[0].hasSuffix(" cannot be read: record 4 is lost"))
        #expect(losses[1].hasPrefix("commit 2 is lost: saved after 20"), "\(losses)")
        #expect(losses[2].hasPrefix("commit 3, saved 20") && losses[2].hasSuffix(", lacks updates of objects: 1"))
        #expect(losses[3].hasPrefix("Person 1 is as of version 1: "))
        let whole = try await File.salvage(file.bytes)
        #expect(outcome.salvage.commit == 4 && whole.salvage.commit == 3 && outcome.storeID == whole.storeID)
    }

    @Test func `an object that is not as it last was can still be deleted`() async throws {
        let file = try await File.make { store in
            let id = try await store.transaction { $0.insert(Person(name: "a")).id }
            try await store.transaction { $0[id]?.age = 1 }
            try await store.transaction { $0[id]?.age = 2 }
            try await store.transaction { $0[id]?.delete() }
        }
        let outcome = try await File.salvage(try file.damaged(commit: 2))
        #expect(outcome.snapshot.entities[1].rows.count == 0 && outcome.salvage.losses.count == 3)
    }

    @Test func `of two objects with one unique value the one that took it later keeps it`() async throws {
        let file = try await File.make { store in
            let first = try await store.transaction { $0.insert(Person(name: "1", email: "x")).id }
            try await store.transaction { $0[first]?.email = "y" }
            try await store.transaction { _ = $0.insert(Person(name: "2", email: "x")) }
        }
        let outcome = try await File.salvage(try file.damaged(commit: 2))
        let rows = File.rows(of: Person.self, in: outcome.snapshot)
        #expect(rows.count == 2 && rows[0].contains("email = nil") && rows[1].contains("\"x\""), "\(rows)")
        #expect(outcome.salvage.losses.contains("Person 1.email is cleared: Person 2 has the same email"))
    }

    @Test(arguments: [false, true]) func `an identifier of a lost object leads to no new one`(isShared: Bool)
        async throws
    {
        let folder = try TemporaryFolder()
        let path = folder.file()
        let store = try await Coordinator(for: Person.self, Team.self, at: path)
        try await store.transaction { _ = $0.insert(Person(name: "a")) }
        var writer = store
        if isShared {
            try await store.copy(to: folder.file("joined.graph"))
            writer = try await Coordinator(
                for: Person.self, Team.self, at: folder.file("joined.graph"), joining: JournalCommitLog(store))
        }
        try await writer.transaction { _ = $0.insert(Person(name: "b")) }
        let lost = try await writer.transaction { $0.insert(Person(name: "c")).id }
        let bytes = Array(try #require(FileManager.default.contents(atPath: path)))
        if isShared { try await writer.close() }
        try await store.close()
        // As after a crash, and then with its last commit damaged.
        let record = try #require(DamagedFile.records(in: bytes).last { $0.kind == Journal.RecordKind.commit.rawValue })
        var damaged = bytes
        damaged[record.range.lowerBound + 41] ^= 4
        try FileManager.default.removeItem(atPath: path + ".lock")
        try Data(damaged).write(to: URL(fileURLWithPath: path))
        let output = folder.file("salvaged.graph")
        _ = try await StoreSalvage(of: path, to: output)
        let salvaged = try await Coordinator(for: Person.self, Team.self, at: output)
        #expect(salvaged.snapshot.count(of: Person.self) == 2)
        let ids = try await salvaged.transaction { context in
            (0..<10).map { context.insert(Person(name: "\($0)")).id }
        }
        #expect(!ids.contains(lost))
        try await salvaged.close()
    }

    fileprivate enum Strict {
        @Entity struct Owner {
            @Unique var code: Int
            @Relationship(inverse: \Item.owner, minimum: 1) var items: ToMany<Item> = []
        }

        @Entity struct Item {
            var name = ""
            @Relationship(minimum: 1) var owner: ToOne<Owner> = nil
            var friend: ToOne<Item> = nil
        }
    }

    @Test func `what cannot be without lost objects goes, and other references to these are cleared`() async throws {
        let file = try await File.make([Strict.Owner.self, Strict.Item.self]) { store in
            let owner = try await store.transaction { context in
                let owner = context.insert(Strict.Owner(code: 1)).id
                context.insert(Strict.Item(name: "of 1", owner: ToOne(owner)))
                return owner
            }
            let second = try await store.transaction { context in
                let second = context.insert(Strict.Owner(code: 2)).id
                context.insert(Strict.Item(name: "of 2", owner: ToOne(second)))
                return second
            }
            try await store.transaction { context in
                let item = context.insert(Strict.Item(name: "more of 2", owner: ToOne(second)))
                context.insert(Strict.Item(name: "more of 1", owner: ToOne(owner), friend: ToOne(item.id)))
                try context.fetch(Strict.Item.self).first { $0.name == "of 1" }?.friend = item
            }
        }
        let outcome = try await File.salvage(try file.damaged(commit: 2))
        #expect(File.rows(of: Strict.Owner.self, in: outcome.snapshot).count == 1)
        let rows = File.rows(of: Strict.Item.self, in: outcome.snapshot)
        #expect(rows.count == 2 && rows[1].contains("more of 1") && rows[1].contains("friend = nil"), "\(rows)")
        #expect(outcome.salvage.losses.contains("Item 3 is dropped: it cannot be without its owner, which is lost"))
        #expect(
            outcome.salvage.losses.contains("Item 4.friend is cleared: Item 3 is lost"), "\(outcome.salvage.losses)")
    }

    @Test func `an object without as many members as it needs goes`() async throws {
        let file = try await File.make([Strict.Owner.self, Strict.Item.self]) { store in
            let ids = try await store.transaction { context in
                let owner = context.insert(Strict.Owner(code: 1)).id
                return (owner, context.insert(Strict.Item(name: "a", owner: ToOne(owner))).id)
            }
            try await store.transaction { _ = $0.insert(Strict.Item(name: "b", owner: ToOne(ids.0))) }
            try await store.transaction { $0[ids.1]?.delete() }
        }
        let outcome = try await File.salvage(try file.damaged(commit: 2))
        #expect(outcome.snapshot.entities.allSatisfy { $0.rows.count == 0 })
        #expect(outcome.salvage.losses.last == "Owner 1 is dropped: 0 of its items are left, and there must be 1")
    }

    @Test func `an object goes whose unique value another one has, if it cannot be without`() async throws {
        let file = try await File.make([Strict.Owner.self, Strict.Item.self]) { store in
            let owner = try await store.transaction { context in
                let owner = context.insert(Strict.Owner(code: 1)).id
                context.insert(Strict.Item(name: "a", owner: ToOne(owner)))
                return owner
            }
            try await store.transaction { $0[owner]?.code = 9 }
            try await store.transaction { context in
                context.insert(Strict.Item(name: "b", owner: ToOne(context.insert(Strict.Owner(code: 1)).id)))
            }
        }
        let outcome = try await File.salvage(try file.damaged(commit: 2))
        #expect(File.rows(of: Strict.Owner.self, in: outcome.snapshot).map { $0.prefix(2) } == ["2 "])
        #expect(File.rows(of: Strict.Item.self, in: outcome.snapshot).map { $0.prefix(2) } == ["2 "])
        #expect(outcome.salvage.losses.contains("Owner 1 is dropped: Owner 2 has the same code"))
    }

    @Test func `long reports end with a number`() async throws {
        let file = try await File.make { store in
            let team = try await store.transaction { $0.insert(Team(name: "a")).id }
            try await store.transaction { context in
                for number in 0..<250 { context.insert(Person(name: "\(number)", team: ToOne(team))) }
            }
        }
        let outcome = try await File.salvage(try file.damaged(commit: 1))
        #expect(outcome.salvage.losses.count == 103 && outcome.salvage.losses.last == "and 150 more")
        #expect(outcome.snapshot.entities[1].rows.count == 250)
    }

    // MARK: Headers, schemas, ends

    private func people() async throws -> File {
        try await File.make { store in
            for number in 0..<5 { try await store.transaction { _ = $0.insert(Person(name: "\(number)")) } }
        }
    }

    @Test func `both headers may be lost`() async throws {
        let file = try await people()
        let storeID = try await File.salvage(file.bytes).storeID
        var damaged = file.bytes
        for copy in [0, 4_096] { damaged[copy + 200] ^= 7 }
        let outcome = try await File.salvage(damaged)
        #expect(outcome.storeID == storeID && outcome.snapshot.entities[1].rows.count == 5)
        #expect(
            outcome.salvage.losses.count == 1 && outcome.salvage.losses[0].hasPrefix("the header is damaged in both"))
        damaged[40] ^= 1
        // The copies say different things.
        let other = try await File.salvage(damaged)
        #expect(other.storeID != storeID && other.salvage.losses[0].contains("identifier lost"))
        for rest in [[UInt8](repeating: 0, count: 8_192) + file.bytes[8_192...], Array(file.bytes[8_192...])] {
            let outcome = try await File.salvage(rest)
            #expect(outcome.storeID != storeID && outcome.snapshot.entities[1].rows.count == 5)
        }
    }

    @Test func `without a schema there is nothing, and a later one does as well`() async throws {
        let file = try await people()
        var damaged = file.bytes
        damaged[8_200] ^= 1
        let error = await #expect(throws: GraphError.self) { try await File.salvage(damaged) }
        guard case .corrupt(_, _, _, let reason)? = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(reason.contains("no record with a schema can be read"))
        // Another name makes a program append its schema.
        let old = try await File.make([Old.Note.self]) { store in
            try await store.transaction { _ = $0.insert(Old.Note(text: "a")) }
        }
        let disk = SimulatedDisk()
        disk.setContents(old.bytes, at: JournalFixture.path)
        let coordinator = try await Coordinator(
            try Schema([EntityDescription(New.Remark.self)]), path: JournalFixture.path, fileSystem: disk,
            options: JournalFixture.options())
        try await coordinator.close()
        var renamed = try #require(disk.contents(JournalFixture.path))
        renamed[8_200] ^= 1
        let outcome = try await File.salvage(renamed)
        #expect(outcome.salvage.objectCounts.map(\.entity) == ["Remark"] && outcome.salvage.objectCounts[0].count == 1)
    }

    @Test func `what is no store, or of a newer version, is refused`() async throws {
        for bytes in [[], [1, 2, 3], [UInt8](repeating: 9, count: 20_000)] {
            let error = await #expect(throws: GraphError.self) { try await File.salvage(bytes) }
            guard case .notAStore? = error else {
                Issue.record("\(error as Any)")
                return
            }
        }
        var newer = try await people().bytes
        newer[8] = 9
        newer[4_096 + 8] = 9
        let error = await #expect(throws: GraphError.self) { try await File.salvage(newer) }
        guard case .unsupportedVersion? = error else {
            Issue.record("\(error as Any)")
            return
        }
    }

    @Test func `the lock file knows of records that are missing at the end`() async throws {
        let disk = SimulatedDisk()
        let coordinator = try await Coordinator.people(on: disk)
        for _ in 0..<3 { try await coordinator.transaction { _ = $0.insert(Team(name: "a")) } }
        try await coordinator.close()
        let bytes = try #require(disk.contents(JournalFixture.path))
        let lock = try #require(disk.contents(JournalFixture.path + ".lock"))
        let end = DamagedFile.records(in: bytes)[3].range.upperBound
        let outcome = try await File.salvage(Array(bytes[..<end]), lock: lock)
        #expect(
            outcome.salvage.losses == [
                "records 5 to 6 are lost at the end of the file, as the lock file beside it knows"
            ])
        #expect(try await File.salvage(bytes, lock: lock).salvage.losses == [])
        #expect(try await File.salvage(Array(bytes[..<end])).salvage.losses == [])
    }

    // MARK: Forgeries

    /// A file with these payloads as commits, all checksums right.
    private func forged(_ store: RecordedStore, _ payloads: [[UInt8]]) throws -> [UInt8] {
        let disk = SimulatedDisk()
        try RecordedStore(RecordedStore(schema: store.state.head.schema), payloads).write(
            to: disk, as: store.state.head.schema)
        return try #require(disk.contents(JournalFixture.path))
    }

    @Test func `records with right checksums and other contents never trap, and what comes out is sound`() async throws
    {
        var random = SeededGenerator(seed: 5)
        var (store, whole) = (try RecordedStore(), 0)
        for _ in 0..<6 { try store.commitRandomly(&random) }
        for round in 0..<400 {
            var payloads = store.records
            for _ in 0..<(1 + round % 3) {
                let number = Int(random.next() % UInt64(payloads.count))
                guard !payloads[number].isEmpty else { continue }
                let place = Int(random.next() % UInt64(payloads[number].count))
                switch random.next() % 4 {
                case 0: payloads[number][place] = UInt8(truncatingIfNeeded: random.next())
                case 1: payloads[number].removeSubrange(place...)
                case 2: payloads.swapAt(number, Int(random.next() % UInt64(payloads.count)))
                default: payloads[number][place] &+= 1
                }
            }
            if try await File.salvage(try forged(store, payloads)).salvage.losses.isEmpty { whole += 1 }
        }
        #expect(whole < 300)
    }

    @Test func `damaged records that claim to be long do not hold up the search`() async throws {
        let file = try await people()
        let salt = file.bytes[48..<52].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        var writer = ByteWriter()
        for number in 0..<20_000 {
            var frame = ByteWriter()
            let record = Journal.Record(kind: .commit, payload: [])
            _ = JournalFrame.append(
                record, sequence: JournalSequence(UInt64(100 + number)), durableThrough: .none, chain: 0, salt: salt,
                to: &frame)
            var bytes = frame.bytes
            bytes[14] = 8
            let checksum = bytes.withUnsafeBytes {
                CRC32C.checksum(UnsafeRawBufferPointer(rebasing: $0[8..<36]), seed: salt)
            }
            bytes.replaceSubrange(4..<8, with: withUnsafeBytes(of: checksum.littleEndian) { Array($0) })
            writer.append(contentsOf: bytes)
        }
        let outcome = try await File.salvage(file.bytes + writer.bytes)
        #expect(outcome.snapshot.entities[1].rows.count == 5)
        #expect(outcome.salvage.losses.contains { $0.hasSuffix("too many records before are damaged") })
    }

    @Test func `a checksum's seed follows from it`() {
        var random = SeededGenerator(seed: 1)
        for count in 0..<100 {
            let bytes = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            let seed = UInt32(truncatingIfNeeded: random.next())
            let checksum = CRC32C.checksum(bytes, seed: seed)
            #expect(bytes.withUnsafeBytes { CRC32C.seed(of: checksum, $0) } == seed)
        }
    }

    // MARK: The new file

    @Test(arguments: [false, true]) func `who reads history learns that the new file has another one`(
        isCompacted: Bool
    ) async throws {
        let file = try await File.make { store in
            for name in ["a", "b", "c"] {
                try await store.transaction { _ = $0.insert(Person(name: name)) }
                if name != "c" { _ = try await store.consumer(named: name) }
            }
            let removed = try await store.consumer(named: "removed")
            try await store.removeConsumer(named: removed.name)
            if isCompacted { try await store.compact() }
            for name in ["d", "e"] { try await store.transaction { _ = $0.insert(Person(name: name)) } }
            // It has read what is going to be lost.
            _ = try await store.consumer(named: "late")
        }
        for bytes in [file.bytes, try file.damaged(commit: 4), try file.damaged(commit: 5)] {
            let disk = SimulatedDisk()
            disk.setContents(bytes, at: File.path)
            let salvage = try await StoreSalvage(of: File.path, to: File.newPath, disk, JournalFixture.options())
            #expect(salvage.losses.isEmpty == (bytes == file.bytes))
            #expect(salvage.commit == (salvage.losses.isEmpty ? 5 : 6))
            let store = try await Coordinator.people(on: disk, at: File.newPath)
            let consumers = await store.consumers
            #expect(consumers.mapValues(\.commit.number) == ["a": 1, "b": 2, "late": 5])
            for token in consumers.values where token != store.snapshot.token {
                let error = await #expect(throws: GraphError.self) {
                    for try await _ in store.history(since: token) {}
                }
                guard case .historyExpired(store.snapshot.token)? = error else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
            }
            try await store.close()
        }
    }

    @Test func `nothing is replaced`() async throws {
        let (file, disk) = (try await people(), SimulatedDisk())
        disk.setContents(file.bytes, at: File.path)
        disk.setContents([1], at: "/data/other")
        for name in [File.path, "/data/other", "/nowhere/new", ""] {
            await #expect(throws: GraphError.self) {
                try await StoreSalvage(of: File.path, to: name, disk, JournalFixture.options())
            }
        }
        #expect(disk.contents(File.path) == file.bytes && disk.contents("/data/other") == [1] && disk.names.count == 2)
    }

    @Test(arguments: [false, true])
    func `every operation may fail in every way, once or from then on, and leaves no half of a file`(
        forEver: Bool
    ) async throws {
        let (file, reference) = (try await people(), SimulatedDisk())
        reference.setContents(file.bytes, at: File.path)
        _ = try await StoreSalvage(of: File.path, to: File.newPath, reference, JournalFixture.options())
        #expect(reference.operationCount > 8)
        for (name, fault) in ErrorSweepTests.faults {
            for index in 0..<reference.operationCount {
                let disk = SimulatedDisk(failingAt: index, with: fault, forEver: forEver)
                disk.setContents(file.bytes, at: File.path)
                let salvage = try? await StoreSalvage(of: File.path, to: File.newPath, disk, JournalFixture.options())
                disk.stopFailing()
                #expect(disk.contents(File.path) == file.bytes)
                let rest = disk.names.filter { $0 != File.path }
                // A disk that takes nothing more may keep a temporary file, or the whole new one.
                #expect(
                    salvage != nil ? rest == [File.newPath] : rest.isEmpty || forEver && rest.count == 1,
                    "\(name) at \(index)")
                guard disk.names.contains(File.newPath) else { continue }
                let found = try await Coordinator.people(on: disk, at: File.newPath)
                #expect(found.snapshot.count(of: Person.self) == 5 && found.check() == [])
                try await found.close()
            }
        }
    }
}

private enum Old {
    @Entity struct Note {
        var text = ""
    }
}

private enum New {
    @Entity(originalName: "Note") struct Remark {
        var text = ""
    }
}
