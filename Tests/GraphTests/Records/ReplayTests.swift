import Foundation
import Testing

@testable import Graph

/// Whatever a save writes, the next open reads.
struct ReplayTests {
    @Test func `an object with a Codable value that holds NaN can be changed, deleted and read again`() async throws {
        let store = try ReopenedStore<Reading>()
        try await store.save { context in
            context.insert(Reading(sample: Sample(value: .nan)))
            context.insert(Reading(sample: Sample(value: .nan)))
        }
        try await store.save { context in
            for reading in try context.fetch(Reading.self) { reading.note = "changed" }
        }
        try await store.save { context in
            for reading in try context.fetch(Reading.self) { reading.sample = Sample(value: 1) }
        }
        try await store.save { context in
            for reading in try context.fetch(Reading.self) { reading.sample = Sample(value: .nan) }
        }
        try await store.save { context in
            try context.fetch(Reading.self).first?.delete()
        }
        let values = try await store.values()
        #expect(values.map(\.note) == ["changed"])
        #expect(values.first?.sample.value.isNaN == true)
    }

    @Test func `writing a Codable value that holds NaN once more is no change`() async throws {
        let coordinator = try await Coordinator(for: Reading.self)
        let context = Context(coordinator)
        let id = await context.perform { $0.insert(Reading(sample: Sample(value: .nan))).id }
        try await context.save()
        try await context.perform { context in
            let reading = try context.object(for: id)
            reading.sample = Sample(value: .nan)
            #expect(!reading.hasChanges)
        }
    }

    @Test func `a Codable type whose values are not equal to their decoded selves does no harm`() async throws {
        let store = try ReopenedStore<Bookmark>()
        try await store.save { $0.insert(Bookmark(tag: Tag(name: "a"))) }
        try await store.save { try $0.fetch(Bookmark.self).first?.tag = Tag(name: "b") }
        try await store.save { try $0.fetch(Bookmark.self).first?.note = "c" }
        #expect(try await store.values().map(\.tag.name) == ["b"])
        try await store.save { try $0.fetch(Bookmark.self).first?.delete() }
        #expect(try await store.values().isEmpty)
    }

    @Test func `a Codable value that cannot be read back is refused by the save`() async throws {
        let store = try ReopenedStore<Fussy>()
        try await store.save { $0.insert(Fussy(name: Fussy.Name(text: "fine"))) }
        await #expect(throws: GraphError.self) {
            try await store.save { $0.insert(Fussy(name: Fussy.Name(text: ""))) }
        }
        #expect(try await store.values().map(\.name.text) == ["fine"])
    }

    @Test func `a Codable value nested too deeply for the decoder is refused by the save`() async throws {
        let store = try ReopenedStore<Nested>()
        var list = Nested.List.end
        for _ in 0..<1_000 { list = .link(list) }
        let deep = list
        await #expect(throws: GraphError.self) {
            try await store.save { $0.insert(Nested(list: deep)) }
        }
        #expect(try await store.values().isEmpty)
    }

    @Test func `a raw value that makes no value again is refused by the save`() async throws {
        let store = try ReopenedStore<Graded>()
        try await store.save { $0.insert(Graded(percent: Percent(rawValue: 50)!)) }
        await #expect(throws: GraphError.self) {
            try await store.save { context in
                var percent = Percent(rawValue: 50)!
                percent.rawValue = 200
                context.insert(Graded(percent: percent))
            }
        }
        #expect(try await store.values().map(\.percent.rawValue) == [50])
    }

    @Test func `a Codable type that throws while it is encoded leaves the store as it was`() async throws {
        let store = try ReopenedStore<Throwing>()
        try await store.save { $0.insert(Throwing(content: .init(fails: false))) }
        let coordinator = try await Coordinator(for: Throwing.self, at: store.path)
        let context = Context(coordinator)
        let id = await context.perform { context in
            context.insert(Throwing(content: .init(fails: false)))
            return context.insert(Throwing(content: .init(fails: true))).id
        }
        await #expect(throws: GraphError.self) { try await context.save() }
        #expect(try coordinator.snapshot.fetchCount(Throwing.self) == 1)
        try await context.perform { context in
            let object: ManagedObject<Throwing> = try context.object(for: id)
            object.content = Throwing.Value(fails: false)
        }
        try await context.save()
        try await coordinator.close()
        #expect(try await store.values().count == 3)
    }

    @Test func `a dictionary with several NaN keys can be changed, deleted and read again`() async throws {
        let store = try ReopenedStore<Table>()
        for round in 0..<20 {
            try await store.save { context in
                var values: [Double: Int] = [:]
                for number in 0..<12 { values[.nan] = number }
                context.insert(Table(values: values, note: "\(round)"))
            }
            try await store.save { context in
                for table in try context.fetch(Table.self) { table.note += "." }
            }
            try await store.save { context in
                for table in try context.fetch(Table.self) { table.values[.nan] = 100 + round }
            }
        }
        try await store.save { try $0.fetch(Table.self).first?.delete() }
        #expect(try await store.values().count == 19)
    }

    @Test func `unique values can be exchanged in one save`() async throws {
        let folder = try TemporaryFolder()
        var coordinator = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        let context = Context(coordinator)
        try await context.transaction { context in
            context.insert(Person(name: "Ada", email: "a"))
            context.insert(Person(name: "Eve", email: "b"))
        }
        try await context.transaction { context in
            let people = try context.fetch(Person.self)
            (people[0].email, people[1].email) = (people[1].email, people[0].email)
        }
        try await context.transaction { context in
            let people = try context.fetch(Person.self)
            people[0].delete()
            people[1].email = "b"
            context.insert(Person(name: "Joe", email: "a"))
        }
        try await coordinator.close()
        coordinator = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        #expect(try coordinator.snapshot.fetchValues(Person.self).map(\.email) == ["b", "a"])
        try await coordinator.close()
    }

    @Test func `a hundred thousand rows in one save come back`() async throws {
        let folder = try TemporaryFolder()
        var coordinator = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        let context = Context(coordinator)
        try await context.transaction { context in
            let teams = context.insert(contentsOf: (0..<100).map { Team(name: "\($0)") })
            context.insert(
                contentsOf: (0..<100_000).map {
                    Person(name: "person \($0)", email: "\($0)", age: $0 % 90, team: ToOne(teams[$0 % 100]))
                })
        }
        try await context.transaction { context in
            for team in try context.fetch(Team.self, limit: 50) { team.delete() }
        }
        try await coordinator.close()
        coordinator = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        #expect(coordinator.snapshot.count(of: Person.self) == 100_000)
        #expect(try coordinator.snapshot.fetchCount(Person.self, where: { $0.team.id == nil }) == 50_000)
        #expect(coordinator.snapshot.checkInvariants() == [])
        try await coordinator.close()
    }

    enum Blog {
        @Entity struct Post {
            var topics: ToMany<Topic> = []
        }

        @Entity struct Topic {
            @Relationship(inverse: \Post.topics) var posts: ToMany<Post> = []
        }
    }

    @Test func `links of one save, more than a replay takes at once, come back in both directions`() async throws {
        let folder = try TemporaryFolder()
        let (count, each) = (1_200, 15)
        #expect(count * each > LinkTable.mostAtOnce)
        var coordinator = try await Coordinator(for: Blog.Post.self, Blog.Topic.self, at: folder.file())
        let context = Context(coordinator)
        let posts = await context.perform { context in
            let topics = context.insert(contentsOf: (0..<100).map { _ in Blog.Topic() })
            return context.insert(
                contentsOf: (0..<count).map { post in
                    Blog.Post(topics: ToMany((0..<each).map { topics[(post + $0) % 100] }))
                })
        }
        try await context.save()
        // Of owners that have links already.
        try await context.transaction { context in
            let topics = try context.fetchIDs(Blog.Topic.self)
            for (number, post) in posts.enumerated() {
                context[post]?.topics.insert(context[topics[(number + each) % 100]]!)
            }
        }
        let saved = coordinator.snapshot
        #expect(saved.linkTables.map(\.members.count) == [count * (each + 1), count * (each + 1)])
        try await coordinator.close()
        coordinator = try await Coordinator(for: Blog.Post.self, Blog.Topic.self, at: folder.file())
        #expect(coordinator.snapshot.check() == [])
        for table in 0..<2 {
            #expect(coordinator.snapshot.linkTables[table].isIdentical(to: saved.linkTables[table]))
        }
        try await coordinator.close()
    }

    @Test func `contexts that insert while others save leave counters that the next open accepts`() async throws {
        let folder = try TemporaryFolder()
        var coordinator = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        let contexts = (0..<4).map { _ in Context(coordinator) }
        await withTaskGroup { group in
            for context in contexts {
                group.addTask {
                    for number in 0..<100 {
                        await context.perform { context in
                            for _ in 0..<7 { context.insert(Person(name: "\(number)")) }
                            if number % 3 == 0 { context.rollback() }
                        }
                        try? await context.save()
                    }
                }
            }
        }
        try await coordinator.close()
        coordinator = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        #expect(coordinator.snapshot.count(of: Person.self) == 4 * 66 * 7)
        try await coordinator.close()
    }
}

private struct Sample: Codable, Equatable {
    var value: Double
}

@Entity private struct Reading {
    var sample: Sample
    var note = ""
}

/// Its identity is made anew by each decoding.
private struct Tag: Codable, Equatable {
    var identity = UUID()
    var name: String

    private enum CodingKeys: CodingKey {
        case name
    }
}

@Entity private struct Bookmark {
    var tag: Tag
    var note = ""
}

@Entity private struct Fussy {
    struct Name: Codable, Equatable {
        var text: String

        init(text: String) {
            self.text = text
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            text = try container.decode(String.self)
            guard !text.isEmpty else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "an empty name")
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(text)
        }
    }

    var name: Name
}

@Entity private struct Nested {
    indirect enum List: Codable, Equatable, Sendable {
        case end
        case link(List)
    }

    var list: List
}

private struct Percent: RawRepresentable {
    var rawValue: Int

    init?(rawValue: Int) {
        guard (0...100).contains(rawValue) else { return nil }
        self.rawValue = rawValue
    }
}

@Entity private struct Graded {
    var percent: Percent
}

@Entity private struct Throwing {
    struct Value: Codable, Equatable {
        struct Failure: Error {}

        var fails: Bool

        init(fails: Bool) {
            self.fails = fails
        }

        func encode(to encoder: any Encoder) throws {
            if fails { throw Failure() }
            var container = encoder.singleValueContainer()
            try container.encode(fails)
        }

        init(from decoder: any Decoder) throws {
            fails = try decoder.singleValueContainer().decode(Bool.self)
        }
    }

    var content: Value
}

@Entity private struct Table {
    var values: [Double: Int]
    var note: String
}
