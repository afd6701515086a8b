import Testing

@testable import Graph

/// What only a plan can say.
extension EvolutionProgram {
    static let plans = [
        EvolutionProgram(
            name: "a plan with a step to each version, and objects that steps insert and delete",
            versions: [Custom.V1.self, Custom.V2.self, Custom.V3.self],
            steps: [Custom.toV2, Custom.toV3],
            fill: { context in
                for (name, age) in [("Ada King", "36"), ("Bob", "x"), ("Cleo King", "7")] {
                    context.insert(Custom.V1.Person(name: name, age: age))
                }
            },
            check: { snapshot in
                let people = try snapshot.fetchValues(Custom.V3.Person.self)
                #expect(people.map(\.firstName) == ["Ada", "Cleo"] && people.map(\.age) == [36, 7])
                #expect(people.map { $0.home.id?.row } == [1, 1])
                let values = try snapshot.fetchValues(Custom.V3.Home.self)
                #expect(values.map(\.name) == ["King"])
            }
        ),
        EvolutionProgram(
            name: "a step to the third version, and nothing to say about the second",
            versions: [Custom.V1.self, Late.V2.self, Late.V3.self],
            steps: [Late.toV3],
            fill: { context in
                for number in 0..<40 { context.insert(Custom.V1.Person(name: "P\(number)", age: "\(number)")) }
            },
            check: { snapshot in
                let people = try snapshot.fetchValues(Late.V3.Person.self)
                #expect(people.map(\.age) == Array(0..<40) && people.map(\.name) == (0..<40).map { "P\($0)" })
            }
        ),
        EvolutionProgram(
            name: "relationships and orders through steps",
            versions: [Orders.V1.self, Orders.V2.self, Orders.V3.self],
            steps: [Orders.toV2, Orders.toV3],
            fill: { context in
                let list = context.insert(Orders.V1.List(name: "list"))
                for number in 0..<8 {
                    let song = context.insert(Orders.V1.Song(number: number, genre: number % 3 == 0 ? "folk" : "jazz"))
                    list.songs.insert(song, at: 0)
                }
            },
            check: { snapshot in
                let list = try #require(try snapshot.fetchIDs(Orders.V3.List.self).first)
                // Twice the other way round.
                #expect(
                    try snapshot.related(\Orders.V3.List.songs, of: list).map(\.row) == [8, 7, 6, 5, 4, 3, 2, 1])
                let genres = try snapshot.fetchIDs(Orders.V3.Genre.self)
                let names = try snapshot.fetchValues(Orders.V3.Genre.self)
                #expect(names.map(\.name) == ["folk", "jazz"])
                let songs = try genres.map { try snapshot.related(\Orders.V3.Genre.songs, of: $0).map(\.row) }
                #expect(songs == [[1, 4, 7], [8, 6, 5, 3, 2]])
                // What was to-many has become to-one.
                let values = try snapshot.fetchValues(Orders.V3.Song.self)
                #expect(values.allSatisfy { $0.list.id == list })
            }
        ),
        EvolutionProgram(
            name: "a step that throws",
            versions: [Custom.V1.self, Late.V2.self, Late.V3.self],
            steps: [Late.toV3],
            fill: { context in
                for age in ["1", "x"] { context.insert(Custom.V1.Person(name: "P", age: age)) }
            },
            obstacle: "NoNumber",
            correct: { context, version in
                if version == 1 {
                    for person in try context.fetch(Custom.V1.Person.self) { person.age = "2" }
                } else {
                    for person in try context.fetch(Late.V2.Person.self) { person.age = "2" }
                }
            },
            check: { snapshot in
                let values = try snapshot.fetchValues(Late.V3.Person.self)
                #expect(values.map(\.age) == [2, 2])
            }
        ),
        EvolutionProgram(
            name: "a step that leaves what is not unique",
            versions: [Custom.V1.self, Custom.V2.self, Doubled.V3.self],
            steps: [Custom.toV2, Doubled.toV3],
            fill: { context in
                for name in ["Ada King", "Cleo King"] { context.insert(Custom.V1.Person(name: name, age: "1")) }
            },
            obstacle: ".lastName: has the same value as Person/p",
            correct: { context, version in
                if version == 1 {
                    for (number, person) in try context.fetch(Custom.V1.Person.self).enumerated() {
                        person.name += "\(number)"
                    }
                } else {
                    for (number, person) in try context.fetch(Custom.V2.Person.self).enumerated() {
                        person.lastName += "\(number)"
                    }
                }
            },
            check: { snapshot in
                let values = try snapshot.fetchValues(Doubled.V3.Person.self)
                #expect(values.map(\.lastName) == ["King0", "King1"])
            }
        ),
    ]
}

private enum Custom {
    enum V1: SchemaVersion {
        static let entities: [any Entity.Type] = [Person.self]
        @Entity struct Person {
            var name: String
            var age: String
        }
    }

    enum V2: SchemaVersion {
        static let entities: [any Entity.Type] = [Person.self]
        @Entity struct Person {
            var firstName: String
            var lastName: String
            var age: Int
        }
    }

    enum V3: SchemaVersion {
        static let entities: [any Entity.Type] = [Home.self, Person.self]
        @Entity struct Home {
            @Unique var name: String
            @Relationship(inverse: \Person.home) var people: ToMany<Person> = []
        }

        @Entity struct Person {
            @Indexed var firstName: String
            var age: Double
            @Relationship(minimum: 1) var home: ToOne<Home> = nil
        }
    }

    static let toV2 = MigrationStep.custom(from: V1.self, to: V2.self) { old, new in
        for id in try old.fetchIDs(V1.Person.self) {
            guard let person = old.value(for: id), let object = new[id.migrated(to: V2.Person.self)] else { continue }
            let names = person.name.split(separator: " ", maxSplits: 1).map(String.init)
            (object.firstName, object.lastName) = (names[0], names.count > 1 ? names[1] : "")
            object.age = Int(person.age) ?? 0
        }
    }

    static let toV3 = MigrationStep.custom(from: V2.self, to: V3.self) { old, new in
        var homes: [String: V3.Home.Object] = [:]
        for id in try old.fetchIDs(V2.Person.self) {
            guard let name = old.value(for: id)?.lastName, let person = new[id.migrated(to: V3.Person.self)] else {
                continue
            }
            guard !name.isEmpty else {
                person.delete()
                continue
            }
            let home = homes[name] ?? new.insert(V3.Home(name: name))
            homes[name] = home
            person.home = home
        }
    }
}

private enum Late {
    enum V2: SchemaVersion {
        static let entities: [any Entity.Type] = [Person.self]
        @Entity struct Person {
            @Indexed var name: String
            var age: String
            var note: String?
        }
    }

    enum V3: SchemaVersion {
        static let entities: [any Entity.Type] = [Person.self]
        @Entity struct Person {
            @Indexed var name: String
            @Indexed var age: Int
            var note: String?
        }
    }

    struct NoNumber: Error {}

    static let toV3 = MigrationStep.custom(from: V2.self, to: V3.self) { old, new in
        for id in try old.fetchIDs(V2.Person.self) {
            guard let age = Int(old.value(for: id)?.age ?? "") else { throw NoNumber() }
            new[id.migrated(to: V3.Person.self)]?.age = age
        }
    }
}

private enum Orders {
    enum V1: SchemaVersion {
        static let entities: [any Entity.Type] = [List.self, Song.self]
        @Entity struct List {
            var name: String
            @Relationship(inverse: \Song.lists, ordered: true) var songs: ToMany<Song> = []
        }

        @Entity struct Song {
            var number: Int
            var genre: String
            var lists: ToMany<List> = []
        }
    }

    enum V2: SchemaVersion {
        static let entities: [any Entity.Type] = [List.self, Song.self, Genre.self]
        @Entity struct List {
            var name: String
            @Relationship(inverse: \Song.lists, ordered: true) var songs: ToMany<Song> = []
        }

        @Entity struct Song {
            var number: Int
            var lists: ToMany<List> = []
            var genre: ToOne<Genre> = nil
        }

        @Entity struct Genre {
            @Unique var name: String
            @Relationship(inverse: \Song.genre) var songs: ToMany<Song> = []
        }
    }

    enum V3: SchemaVersion {
        static let entities: [any Entity.Type] = [Genre.self, List.self, Song.self]
        @Entity struct List {
            var name: String
            @Relationship(inverse: \Song.list, ordered: true) var songs: ToMany<Song> = []
        }

        @Entity struct Song {
            var number: Int
            var list: ToOne<List> = nil
            var genre: ToOne<Genre> = nil
        }

        @Entity struct Genre {
            @Unique var name: String
            @Relationship(inverse: \Song.genre, ordered: true) var songs: ToMany<Song> = []
        }
    }

    static let toV2 = MigrationStep.custom(from: V1.self, to: V2.self) { old, new in
        var genres: [String: V2.Genre.Object] = [:]
        for id in try old.fetchIDs(V1.Song.self) {
            guard let name = old.value(for: id)?.genre else { continue }
            let genre = genres[name] ?? new.insert(V2.Genre(name: name))
            genres[name] = genre
            new[id.migrated(to: V2.Song.self)]?.genre = genre
        }
        for list in try new.fetch(V2.List.self) { list.songs = RelatedObjects(list.songs.reversed()) }
    }

    static let toV3 = MigrationStep.custom(from: V2.self, to: V3.self) { old, new in
        for id in try old.fetchIDs(V2.List.self) {
            let songs = try old.related(\V2.List.songs, of: id)
            guard let list = new[id.migrated(to: V3.List.self)] else { continue }
            list.songs = RelatedObjects(songs.reversed().compactMap { new[$0.migrated(to: V3.Song.self)] })
        }
        let jazz = try new.first(V3.Genre.self, where: { $0.name == "jazz" })
        jazz?.songs = RelatedObjects((jazz?.songs.reversed() ?? []))
    }
}

private enum Doubled {
    enum V3: SchemaVersion {
        static let entities: [any Entity.Type] = [Person.self]
        @Entity struct Person {
            var firstName: String
            @Unique var lastName: String
            var isOld: Bool
        }
    }

    static let toV3 = MigrationStep.custom(from: Custom.V2.self, to: V3.self) { old, new in
        for id in try old.fetchIDs(Custom.V2.Person.self) {
            new[id.migrated(to: V3.Person.self)]?.isOld = (old.value(for: id)?.age ?? 0) > 50
        }
    }
}
