import Foundation
import Testing

@testable import Graph

struct AutomaticCompactionTests {
    private static func open(
        _ disk: any StoreFileSystem,
        _ policy: CompactionPolicy = .automatic,
        historyBytes: Int = 0
    ) async throws -> Coordinator {
        let schema = try Schema([EntityDescription(Team.self), EntityDescription(Person.self)])
        var options = JournalFixture.options()
        options.compactionMinimumBytes = 16 << 10
        return try await Coordinator(
            schema, path: JournalFixture.path, fileSystem: disk, options: options, compaction: policy,
            retention: HistoryRetention(bytes: historyBytes))
    }

    /// Changes 20 objects so often in commits of their own.
    private static func change(_ count: Int, in coordinator: Coordinator) async throws {
        let context = Context(coordinator)
        if coordinator.snapshot.count(of: Team.self) == 0 {
            try await context.transaction { context in
                for number in 0..<20 { context.insert(Team(name: "team \(number)")) }
            }
        }
        for number in 0..<count {
            try await context.transaction { context in
                for team in try context.fetch(Team.self) { team.name = "\(number) of \(team.id)" }
            }
        }
    }

    private static func generation(_ coordinator: Coordinator) async throws -> UInt64 {
        while await coordinator.isCompactingOrEstimating { await Task.yield() }
        return try await #require(coordinator.journal).generation
    }

    @Test(arguments: [0, 8 << 10]) func `a file that is written again and again stays short`(
        historyBytes: Int
    ) async throws {
        let disk = SimulatedDisk()
        let coordinator = try await Self.open(disk, historyBytes: historyBytes)
        for _ in 0..<20 {
            try await Self.change(10, in: coordinator)
            _ = try await Self.generation(coordinator)
            // Headers and rows, 16 KiB of commits that are no longer needed, and those of one round.
            #expect(try #require(disk.contents(JournalFixture.path)).count < 60_000 + historyBytes)
        }
        let history = try #require(await coordinator.statistics.file?.historyLength)
        #expect((history > 0) == (historyBytes > 0) && history <= UInt64(historyBytes + 1_000))
        #expect(try await Self.generation(coordinator) > 4)
        let commit = coordinator.snapshot.commit
        try await coordinator.close()
        let again = try await Self.open(disk)
        #expect(again.snapshot.commit == commit && again.snapshot.check() == [])
        try await again.close()
    }

    @Test func `what only grows is not compacted`() async throws {
        let coordinator = try await Self.open(SimulatedDisk())
        let context = Context(coordinator)
        for commit in 0..<100 {
            try await context.transaction { context in
                for number in 0..<30 { context.insert(Person(name: "person \(commit) \(number)")) }
            }
        }
        #expect(try await Self.generation(coordinator) == 1)
        try await coordinator.close()
    }

    @Test func `a file that was left long is compacted after opening, if the program wants that`() async throws {
        let disk = SimulatedDisk()
        let coordinator = try await Self.open(disk, .manual)
        try await Self.change(100, in: coordinator)
        #expect(try await Self.generation(coordinator) == 1)
        try await coordinator.close()
        for (policy, generation) in [(CompactionPolicy.manual, 1), (.automatic, 2)] as [(CompactionPolicy, UInt64)] {
            let again = try await Self.open(disk, policy)
            #expect(try await Self.generation(again) == generation)
            #expect(again.snapshot.check() == [])
            try await again.close()
        }
    }

    @Test func `a compaction that fails is tried again when the file has grown`() async throws {
        let disk = SimulatedDisk()
        let coordinator = try await Self.open(disk)
        disk.fail(next: .create, with: .error(.diskFull, 28))
        try await Self.change(60, in: coordinator)
        // The first attempt may come after the last of these commits.
        _ = try await Self.generation(coordinator)
        try await Self.change(60, in: coordinator)
        #expect(try await Self.generation(coordinator) > 1)
        try await coordinator.close()
    }

    @Test func `none begins on a disk without room for it`() async throws {
        let disk = SimulatedDisk()
        let coordinator = try await Self.open(disk)
        disk.setAvailableBytes(32 << 10)
        try await Self.change(60, in: coordinator)
        #expect(try await Self.generation(coordinator) == 1)
        disk.setAvailableBytes(1 << 30)
        try await Self.change(60, in: coordinator)
        #expect(try await Self.generation(coordinator) > 1)
        try await coordinator.close()
    }

    // MARK: Values that the program does not read

    fileprivate enum Newer {
        struct Card: Codable, Equatable {
            var text = ""
            var color: Int?
        }

        @Entity struct Item {
            var card: Card
            var count = 0
        }
    }

    fileprivate enum Older {
        struct Card: Codable, Equatable {
            var text = ""
        }

        @Entity struct Item {
            var card: Card
            var count = 0
        }
    }

    /// A conversion, since the order is another one.
    fileprivate enum Reordered {
        @Entity struct Item {
            var count = 0
            var card: Older.Card
        }
    }

    fileprivate enum Constant {
        /// Writes a constant that it does not read.
        struct Card: Codable, Equatable {
            let version = 1
            var text = ""

            private enum CodingKeys: String, CodingKey { case version, text }

            init(text: String) { self.text = text }

            init(from decoder: any Decoder) throws {
                text = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .text)
            }
        }

        @Entity struct Item {
            var card: Card
        }
    }

    @Test func `what a type writes again is not missed`() async throws {
        let disk = SimulatedDisk()
        var coordinator = try await Self.open(Constant.Item.self, disk)
        try await coordinator.transaction { _ = $0.insert(Constant.Item(card: .init(text: "a"))) }
        try await coordinator.close()
        coordinator = try await Self.open(Constant.Item.self, disk)
        #expect(coordinator.diagnostics == [])
        try await coordinator.close()
    }

    private static func open<E: Entity>(_ type: E.Type, _ disk: SimulatedDisk) async throws -> Coordinator {
        var options = JournalFixture.options()
        options.compactionMinimumBytes = 4 << 10
        return try await Coordinator(
            try Schema([EntityDescription(type)]), path: JournalFixture.path, fileSystem: disk, options: options)
    }

    @Test(arguments: [false, true])
    func `an older program does not drop by itself what a newer one has written`(isCompacted: Bool) async throws {
        let disk = SimulatedDisk()
        var coordinator = try await Self.open(Newer.Item.self, disk)
        let card = Newer.Card(text: "a", color: 7)
        let id = try await coordinator.transaction { $0.insert(Newer.Item(card: card)).id.row }
        if isCompacted { try await coordinator.compact() }
        try await coordinator.close()
        coordinator = try await Self.open(Older.Item.self, disk)
        let generation = try await Self.generation(coordinator)
        #expect(coordinator.diagnostics.map(\.kind) == [.unreadValues])
        #expect(coordinator.diagnostics[0].message.hasPrefix("Item.card: "))
        for number in 1...200 {
            try await coordinator.transaction { $0[Older.Item.ID(row: id)]?.count = number }
        }
        #expect(try await Self.generation(coordinator) == generation)
        try await coordinator.close()
        coordinator = try await Self.open(Newer.Item.self, disk)
        #expect(coordinator.diagnostics == [])
        #expect(try await Self.generation(coordinator) == generation + 1)
        let item = coordinator.snapshot.value(for: Newer.Item.ID(row: id))
        #expect(item?.card == card && item?.count == 200)
        try await coordinator.close()
    }

    @Test(.bug(id: "dropped without a word", "a conversion wrote values as the program reads them"))
    func `a conversion says which values it has not read completely`() async throws {
        let disk = SimulatedDisk()
        var coordinator = try await Self.open(Newer.Item.self, disk)
        let id = try await coordinator.transaction { context in
            context.insert(Newer.Item(card: .init(text: "b")))
            return context.insert(Newer.Item(card: .init(text: "a", color: 7))).id.row
        }
        try await coordinator.close()
        coordinator = try await Self.open(Reordered.Item.self, disk)
        #expect(coordinator.diagnostics.map(\.kind) == [.convertedChange, .unreadValues])
        #expect(coordinator.diagnostics.last?.message.hasPrefix("Item.card: some values had parts") == true)
        // Nothing is left that a compaction would drop.
        let generation = try await Self.generation(coordinator)
        for number in 1...200 {
            try await coordinator.transaction { $0[Reordered.Item.ID(row: id)]?.count = number }
        }
        #expect(try await Self.generation(coordinator) > generation)
        try await coordinator.close()
        coordinator = try await Self.open(Reordered.Item.self, disk)
        #expect(coordinator.diagnostics == [])
        try await coordinator.close()
    }

    @Test func `an older program does not drop by itself what a newer one has sent it`() async throws {
        let (disk, copyDisk) = (SimulatedDisk(), SimulatedDisk())
        let sender = try await Self.open(Newer.Item.self, disk)
        var options = JournalFixture.options()
        options.compactionMinimumBytes = 4 << 10
        try await sender.copy(to: JournalFixture.path, copyDisk, options)
        let receiver = try await LogReceiver(
            Schema([EntityDescription(Older.Item.self)]), path: JournalFixture.path, fileSystem: copyDisk,
            options: options)
        let generation = try await Self.generation(receiver.store)
        let card = Newer.Card(text: "a", color: 7)
        let id = try await sender.transaction { $0.insert(Newer.Item(card: card)).id.row }
        for number in 1...200 {
            try await sender.transaction { $0[Newer.Item.ID(row: id)]?.count = number }
            guard number % 20 == 0 else { continue }
            try await receiver.receive(
                LogSender(JournalFixture.path, receiver.token, false, disk, JournalOptions()))
        }
        #expect(try await Self.generation(receiver.store) == generation)
        try await receiver.close()
        let coordinator = try await Self.open(Newer.Item.self, copyDisk)
        #expect(coordinator.diagnostics == [] && coordinator.snapshot.token == sender.snapshot.token)
        #expect(coordinator.snapshot.value(for: Newer.Item.ID(row: id))?.card == card)
        for store in [coordinator, sender] { try await store.close() }
    }

    @Test func `once the program has compacted a file with values it does not read, the coordinator does so, too`()
        async throws
    {
        let disk = SimulatedDisk()
        var coordinator = try await Self.open(Newer.Item.self, disk)
        let card = Newer.Card(text: "a", color: 7)
        let id = try await coordinator.transaction { $0.insert(Newer.Item(card: card)).id.row }
        try await coordinator.close()
        coordinator = try await Self.open(Older.Item.self, disk)
        #expect(coordinator.diagnostics.map(\.kind) == [.unreadValues])
        try await coordinator.compact()
        let generation = try await Self.generation(coordinator)
        for number in 1...200 {
            try await coordinator.transaction { $0[Older.Item.ID(row: id)]?.count = number }
        }
        #expect(try await Self.generation(coordinator) > generation)
        try await coordinator.close()
    }

    @Test func `statistics tell why the last compaction failed, until one succeeds`() async throws {
        let disk = SimulatedDisk()
        let coordinator = try await Self.open(disk)
        #expect(try #require(await coordinator.statistics.file).lastCompactionFailure == nil)
        for _ in 0..<30 { disk.fail(next: .rename, with: .error(.other, 5)) }
        try await Self.change(60, in: coordinator)
        let generation = try await Self.generation(coordinator)
        let failure = try #require(await coordinator.statistics.file?.lastCompactionFailure)
        #expect(failure.hasPrefix(JournalFixture.path))
        #expect(await coordinator.statistics.description.contains("the last compaction failed: \(failure)"))
        disk.stopFailing()
        try await coordinator.compact()
        #expect(try await Self.generation(coordinator) > generation)
        #expect(try #require(await coordinator.statistics.file).lastCompactionFailure == nil)
        try await coordinator.close()
    }

    @Test func `a coordinator that is released during a compaction can be opened again at once`() async throws {
        let folder = try TemporaryFolder()
        let setup = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        try await Context(setup).transaction { context in
            for number in 0..<10_000 { context.insert(Person(name: "person \(number)")) }
        }
        try await setup.close()
        for round in 0..<5 {
            var coordinator: Coordinator? = try await Coordinator(for: Team.self, Person.self, at: folder.file())
            await coordinator?.startCompaction()
            if round % 2 == 0 { await Task.yield() }
            coordinator = nil
            // The step that the compaction is in may hold it for a moment.
            var again: Coordinator?
            while again == nil {
                do throws(GraphError) {
                    again = try await Coordinator(for: Team.self, Person.self, at: folder.file())
                } catch {
                    guard case .alreadyOpen = error else { throw error }
                }
            }
            #expect(again?.snapshot.count(of: Person.self) == 10_000)
            try await again?.close()
        }
    }

    @Test func `an estimate is near what a compaction comes to`() async throws {
        let coordinator = try await Coordinator(for: Team.self, Person.self)
        var random = SeededGenerator(seed: 5)
        let names = (0..<20_000).map { _ in String(repeating: "n", count: Int.random(in: 0..<60, using: &random)) }
        try await Context(coordinator).transaction { context in
            for name in names { context.insert(Person(name: name)) }
        }
        let record = SchemaRecord(coordinator.snapshot.schema)
        var writer = CheckpointWriter(coordinator.snapshot, record, counters: [1, 1], time: 0)
        let estimate = Double(writer.estimatedBytes)
        var bytes = 0
        while let payload = try writer.next() { bytes += payload.count }
        #expect((0.9...1.1).contains(estimate / Double(bytes)), "\(estimate) for \(bytes)")
    }
}

extension Coordinator {
    fileprivate var isCompactingOrEstimating: Bool {
        compaction != nil || automaticCompaction?.isEstimating == true
    }

    /// As if much of the file were no longer needed.
    fileprivate func startCompaction() {
        automaticCompaction?.didWrite(1 << 40)
        compactIfWorthwhile()
    }
}
