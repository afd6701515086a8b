import Graph

/// A coordinator with people and tags in it, and the identifiers in the order of the data.
struct EngineTagStore: Sendable {
    /// In which everything is inserted.
    let context: Context
    let tags: [Tag.ID]
    private(set) var people: [TaggedPerson.ID] = []

    /// The tags without anybody.
    init(tagNames: [String]) async throws {
        context = Context(try await Coordinator(for: Tag.self, TaggedPerson.self))
        tags = try await context.insert([tagNames.indices]) { Tag(name: tagNames[$0]) }
    }

    /// Inserts all people, with their links if there are any, in transactions of ``PeopleData/batch`` people.
    mutating func insertPeople(_ data: PeopleData, links: TagData? = nil) async throws {
        let tags = tags
        people = try await context.insert(data.batches) { person in
            let ids = links?.tags(of: person).map { tags[$0] } ?? []
            return TaggedPerson(data.people[person], tags: ToMany(ids))
        }
    }

    /// The people and all links, as each side of the relationship tells them.
    func answer() throws -> UInt64 {
        let snapshot = context.coordinator.snapshot
        let personNumbers = Dictionary(uniqueKeysWithValues: zip(people, people.indices))
        let tagNumbers = Dictionary(uniqueKeysWithValues: zip(tags, tags.indices))
        var (byPerson, byTag): (UInt64, UInt64) = (0, 0)
        for (person, id) in people.enumerated() {
            for tag in try snapshot.related(\TaggedPerson.tags, of: id).compactMap({ tagNumbers[$0] }) {
                byPerson &+= Checksum.link(person: person, tag: tag)
            }
        }
        for (tag, id) in tags.enumerated() {
            for person in try snapshot.related(\Tag.people, of: id).compactMap({ personNumbers[$0] }) {
                byTag &+= Checksum.link(person: person, tag: tag)
            }
        }
        let values = try snapshot.fetchValues(TaggedPerson.self)
        let people = Checksum.people(count: values.count, ages: values.reduce(0) { $0 + $1.age })
        return Checksum.tagged(people: people, byPerson: byPerson, byTag: byTag)
    }
}

extension Context {
    /// Inserts objects whose values `value` returns one at a time, each batch in a transaction.
    func insert<E: Entity>(_ batches: [Range<Int>], value: @Sendable (Int) -> E) async throws -> [PersistentID<E>] {
        var ids: [PersistentID<E>] = []
        ids.reserveCapacity(batches.last?.upperBound ?? 0)
        for batch in batches {
            ids += insert(contentsOf: batch.map(value))
            try await save()
        }
        return ids
    }
}

extension Setting {
    /// The engine in memory with all people and their tags, for workloads that only read.
    var engineTagStore: EngineTagStore {
        get async throws {
            let tags = await tags
            return try await shared("Graph with tags") {
                var store = try await EngineTagStore(tagNames: tags.names)
                try await store.insertPeople(data, links: tags)
                return store
            }
        }
    }
}
