import Testing

@testable import Graph

/// Each kind of relationship, for random histories.
enum Annals {
    @Entity struct Writer {
        var name = ""
        @Unique var email: String?
        var desk: ToOne<Desk> = nil
        @Relationship(.cascade, inverse: \Volume.writer, ordered: true) var volumes: ToMany<Volume> = []
    }

    @Entity struct Volume {
        @Indexed var pages = 0
        var title = ""
        var writer: ToOne<Writer> = nil
        @Relationship(inverse: \Topic.volumes, ordered: true) var topics: ToMany<Topic> = []
    }

    @Entity struct Topic {
        var name = ""
        var parent: ToOne<Topic> = nil
        @Relationship(inverse: \Topic.parent) var children: ToMany<Topic> = []
        var volumes: ToMany<Volume> = []
    }

    @Entity struct Desk {
        var number = 0
        @Relationship(inverse: \Writer.desk) var writer: ToOne<Writer> = nil
    }

    static let entities: [any Entity.Type] = [Writer.self, Volume.self, Topic.self, Desk.self]

    /// - Parameter entities: all of them. A file with another order is migrated.
    static func open(
        _ path: String?, _ retention: HistoryRetention = HistoryRetention(), _ entities: [any Entity.Type] = entities
    ) async throws(GraphError) -> Coordinator {
        func description<E: Entity>(_ type: E.Type) -> EntityDescription { EntityDescription(type) }
        return try await Coordinator(
            Schema(entities.map { description($0) }), path: path, fileSystem: PosixFileSystem(),
            options: JournalOptions(), compaction: .manual, retention: retention)
    }
}

/// Commits at random, and remembers the state after each.
struct AnnalsRun {
    private(set) var path: String?
    var coordinator: Coordinator
    var random: SeededGenerator
    /// The states that history goes back to, the oldest first.
    var states: [Snapshot]
    let retention: HistoryRetention
    private var entities = Annals.entities
    private var consumers: [String: HistoryToken] = [:]

    init(path: String?, seed: UInt64) async throws {
        self.path = path
        random = SeededGenerator(seed: seed)
        let retentions = [
            .none, .all, HistoryRetention(), HistoryRetention(commits: .random(in: 1...12, using: &random)),
            HistoryRetention(commits: .random(in: 0...12, using: &random), unreadBytes: 0),
            HistoryRetention(age: .zero), HistoryRetention(age: .seconds(1_000_000)),
        ]
        // A store in memory drops commits at any time.
        retention = path == nil ? .all : retentions.randomElement(using: &random) ?? .all
        coordinator = try await Annals.open(path, retention)
        states = [coordinator.snapshot]
    }

    /// So many times a commit, or now and then something else that history has to outlive, or not.
    mutating func run(_ count: Int) async throws {
        for _ in 0..<count {
            switch Int.random(in: 0..<24, using: &random) {
            case 0 where path != nil: try await compact()
            case 1 where path != nil: try await reopen()
            case 2 where path != nil: try await goOnInCopy()
            case 3: try await changeConsumer()
            case 4: if Bool.random(using: &random) { try await deleteHistory() }
            case 5 where path != nil: try await migrate()
            default: await commit()
            }
        }
    }

    mutating func compact() async throws {
        try await coordinator.compact()
        states = retained
        let file = try #require(await coordinator.statistics.file)
        #expect(file.oldest == states[0].token)
        #expect((file.historyLength > 0) == (states.count > 1))
    }

    /// What a compaction leaves.
    var retained: [Snapshot] {
        // A consumer that has expired holds nothing back.
        let unread = consumers.values.map(\.commit).filter { $0 >= states[0].commit }.min()
        var count = min(retention.commits ?? .max, states.count - 1)
        if retention.age == .zero { count = 0 }
        if retention.unreadBytes != 0, let unread { count = max(count, states.count { $0.commit > unread }) }
        return states.suffix(min(count, states.count - 1) + 1)
    }

    /// States of before belong to the coordinator of before; what they have stays comparable.
    mutating func reopen() async throws {
        try await coordinator.close()
        coordinator = try await Annals.open(path, retention, entities)
        #expect(await coordinator.consumers == consumers)
    }

    /// Has the entities in another order, which takes a file of its own: states become those of the other schema.
    private mutating func migrate() async throws {
        let order = entities.shuffled(using: &random)
        let isSame = zip(order, entities).allSatisfy(==)
        entities = order
        try await reopen()
        if !isSame { try await didMigrate() }
    }

    /// What is retained when another program has the file, whose schema asked for a migration.
    mutating func didMigrate(dropping: [String] = []) async throws {
        let newest = coordinator.snapshot
        let comparison = SchemaComparison(
            from: states[0].schema, to: newest.schema, rowCounts: states[0].schema.entities.map { _ in 1 },
            dropping: dropping)
        #expect(comparison.refused.isEmpty, "\(comparison.refused)")
        states = states.map { state in
            let conversion = SnapshotConversion(state, comparison)
            #expect(conversion.failures.isEmpty, "\(conversion.failures)")
            return conversion.result
        }
        #expect(newest.commit == states[states.count - 1].commit.next)
        states.append(newest)
        states = states.suffix(max(retained.count, retention.age == .zero ? 2 : 1))
        #expect(await coordinator.statistics.file?.oldest == states[0].token)
    }

    private mutating func goOnInCopy() async throws {
        let copy = try #require(path) + "\(random.next() % 1_000_000)"
        try await coordinator.copy(to: copy)
        path = copy
        states = retained
        try await reopen()
    }

    /// One that begins, reads on, or ends.
    private mutating func changeConsumer() async throws {
        let name = ["index", "äußere Kopie"].randomElement(using: &random) ?? ""
        if consumers[name] == nil {
            consumers[name] = try await coordinator.consumer(named: name).token
            #expect(consumers[name] == coordinator.snapshot.token)
        } else if Bool.random(using: &random), let token = states.randomElement(using: &random)?.token {
            var consumer = try await coordinator.consumer(named: name)
            #expect(consumer.token == consumers[name])
            try await consumer.advance(to: token)
            if let last = consumers[name], last < token { consumers[name] = token }
            #expect(consumer.token == consumers[name])
        } else {
            try await coordinator.removeConsumer(named: name)
            consumers[name] = nil
        }
        #expect(await coordinator.consumers == consumers)
    }

    private mutating func deleteHistory() async throws {
        guard let token = states.randomElement(using: &random)?.token else { return }
        try await coordinator.deleteHistory(before: token)
        if path != nil { states = retained }
        states = states.suffix(states.count { $0.commit >= token.commit })
    }

    mutating func commit() async {
        let context = Context(coordinator, author: ["ann", "bob"].randomElement(using: &random))
        let seed = random.next()
        // A change that breaks a rule is no commit.
        try? await context.transaction { context in
            var random = SeededGenerator(seed: seed)
            for _ in 0..<Int.random(in: 1...6, using: &random) { try Self.change(context, &random) }
        }
        if coordinator.snapshot.commit != states[states.count - 1].commit { states.append(coordinator.snapshot) }
    }

    private static func change(_ context: isolated Context, _ random: inout SeededGenerator) throws {
        let writers = try context.fetch(Annals.Writer.self)
        let volumes = try context.fetch(Annals.Volume.self)
        let topics = try context.fetch(Annals.Topic.self)
        let desks = try context.fetch(Annals.Desk.self)
        let number = Int.random(in: 0..<1_000, using: &random)
        let (writer, volume) = (writers.randomElement(using: &random), volumes.randomElement(using: &random))
        let (topic, desk) = (topics.randomElement(using: &random), desks.randomElement(using: &random))
        switch Int.random(in: 0..<16, using: &random) {
        case 0: context.insert(Annals.Writer(name: "w\(number)", email: number % 3 == 0 ? nil : "e\(number)"))
        case 1, 2: context.insert(Annals.Volume(pages: number, title: "v\(number)")).writer = writer
        case 3: context.insert(Annals.Topic(name: "t\(number)")).parent = topic
        case 4: context.insert(Annals.Desk(number: number)).writer = writer
        case 5: writer?.name = "w\(number)"
        case 6 where number % 3 == 0:
            if let writer, let other = writers.randomElement(using: &random) {
                (writer.email, other.email) = (other.email, writer.email)
            }
        case 6: writer?.email = "e\(number)"
        case 7: writer?.desk = desk
        case 8: volume?.pages = number
        case 9: volume?.writer = number % 4 == 0 ? nil : writer
        case 10: if let volume, let topic { volume.topics.append(topic) }
        case 11: if let volume, volume.topics.count > 1 { volume.topics.move(from: volume.topics.count - 1, to: 0) }
        case 12: if let volume, volume.topics.count > 0 { volume.topics.remove(at: 0) }
        case 13: if let writer, writer.volumes.count > 1 { writer.volumes.move(from: 0, to: 1) }
        case 14: topic?.parent = topics.first
        default:
            switch number % 4 {
            case 0: writer?.delete()
            case 1: volume?.delete()
            case 2: topic?.delete()
            default: desk?.delete()
            }
        }
    }
}

extension Snapshot {
    /// What two states differ in: rows with their versions, links, and where they are in history.
    func contents() -> [String] {
        var lines = ["\(token)"]
        for (entity, description) in schema.entities.enumerated() {
            entities[entity].rows.forEachRow { row, version, address in
                let values = description.properties.filter(\.isStored).map {
                    $0.operations.describe(address + $0.offset)
                }
                lines.append("\(description.name) \(row) v\(version): \(values.joined(separator: ", "))")
            }
        }
        for (number, table) in linkTables.enumerated() {
            table.members.forEachEntry { entry in
                let link = LinkTable.Link(entry)
                lines.append("\(number): \(link.owner) \(link.member) \(link.key.map { "\($0.bytes)" } ?? "")")
                return true
            }
        }
        return lines
    }
}
