import Testing

@testable import Graph

/// Relationships that become to-many, ordered, or get another end.
extension EvolutionProgram {
    static let relationships = [
        EvolutionProgram(
            name: "a to-one relationship made to-many, then ordered",
            versions: [ToMore.V1.self, ToMore.V2.self, ToMore.V3.self],
            fill: { context in
                let people = (0..<3).map { context.insert(ToMore.V1.Person(name: "\($0)")) }
                for number in 0..<40 {
                    let owner = number % 4 == 3 ? nil : people[number % 4]
                    context.insert(ToMore.V1.Pet(name: "\(number)", owner: ToOne(owner?.id)))
                }
            },
            check: { snapshot in
                for pet in try snapshot.fetchIDs(ToMore.V3.Pet.self) {
                    let owner = (pet.row - 1) % 4
                    let owners = try snapshot.related(\ToMore.V3.Pet.owner, of: pet).map(\.row)
                    #expect(owners == (owner == 3 ? [] : [owner + 1]))
                }
                let person = try snapshot.fetchIDs(ToMore.V3.Person.self)[1]
                let pets = try snapshot.related(\ToMore.V3.Person.pets, of: person).map(\.row)
                #expect(pets == (0..<10).map { $0 * 4 + 2 })
            }
        ),
        EvolutionProgram(
            name: "unordered relationships made ordered",
            versions: [Orderings.V1.self, Orderings.V2.self, Orderings.V3.self],
            fill: { context in
                let tags = (0..<5).map { context.insert(Orderings.V1.Tag(name: "\($0)")) }
                let list = context.insert(Orderings.V1.List(name: "list"))
                for number in (0..<40).reversed() {
                    let song = context.insert(Orderings.V1.Song(number: number))
                    song.list = list
                    song.tags = [tags[4], tags[number % 4]]
                }
            },
            check: { snapshot in
                let list = try #require(try snapshot.fetchIDs(Orderings.V3.List.self).first)
                #expect(try snapshot.related(\Orderings.V3.List.songs, of: list).map(\.row) == Array(1...40))
                let song = try #require(try snapshot.fetchIDs(Orderings.V3.Song.self).first)
                #expect(try snapshot.related(\Orderings.V3.Song.tags, of: song).map(\.row) == [4, 5])
                let tag = try snapshot.fetchIDs(Orderings.V3.Tag.self)[4]
                #expect(try snapshot.related(\Orderings.V3.Tag.songs, of: tag).map(\.row) == Array(1...40))
            }
        ),
        EvolutionProgram(
            name: "an inverse added, and one removed",
            versions: [Inverse.V1.self, Inverse.V2.self, Inverse.V3.self],
            fill: { context in
                let teams = (0..<2).map { context.insert(Inverse.V1.Team(name: "\($0)")) }
                for number in 0..<6 {
                    context.insert(Inverse.V1.Player(number: number, team: ToOne(teams[number % 2].id)))
                }
            },
            check: { snapshot in
                let players = try snapshot.fetchValues(Inverse.V3.Player.self)
                #expect(players.map { $0.team.id?.row } == [1, 2, 1, 2, 1, 2])
                #expect(players.allSatisfy { $0.captainOf.id == nil })
                let team = try #require(try snapshot.fetchIDs(Inverse.V3.Team.self).first)
                #expect(try snapshot.related(\Inverse.V3.Team.players, of: team).map(\.row) == [1, 3, 5])
            }
        ),
        EvolutionProgram(
            name: "delete rules and counts",
            versions: [Rules.V1.self, Rules.V2.self, Rules.V3.self],
            fill: { context in
                for number in 1...3 {
                    let box = context.insert(Rules.V1.Box(name: "\(number)"))
                    for _ in 0..<number { box.items.insert(context.insert(Rules.V1.Item(name: "item"))) }
                }
            },
            check: { snapshot in
                let boxes = try snapshot.fetchIDs(Rules.V3.Box.self)
                let counts = try boxes.map { try snapshot.related(\Rules.V3.Box.items, of: $0).count }
                #expect(counts == [1, 2, 3])
                let items = snapshot.schema.end(0, 1)
                #expect(items?.rule == .deny && items?.counts == MemberCounts(minimum: 1, maximum: 3))
            }
        ),
    ]
}

private enum ToMore {
    enum V1: SchemaVersion {
        static let entities: [any Entity.Type] = [Person.self, Pet.self]
        @Entity struct Person {
            var name: String
            @Relationship(inverse: \Pet.owner) var pets: ToMany<Pet> = []
        }

        @Entity struct Pet {
            var name: String
            var owner: ToOne<Person> = nil
        }
    }

    enum V2: SchemaVersion {
        static let entities: [any Entity.Type] = [Person.self, Pet.self]
        @Entity struct Person {
            var name: String
            @Relationship(inverse: \Pet.owner) var pets: ToMany<Pet> = []
        }

        @Entity struct Pet {
            var name: String
            var owner: ToMany<Person> = []
        }
    }

    enum V3: SchemaVersion {
        static let entities: [any Entity.Type] = [Person.self, Pet.self]
        @Entity struct Person {
            var name: String
            @Relationship(inverse: \Pet.owner, ordered: true) var pets: ToMany<Pet> = []
        }

        @Entity struct Pet {
            var name: String
            @Relationship(ordered: true) var owner: ToMany<Person> = []
        }
    }
}

private enum Orderings {
    enum V1: SchemaVersion {
        static let entities: [any Entity.Type] = [List.self, Song.self, Tag.self]
        @Entity struct List {
            var name: String
            @Relationship(inverse: \Song.list) var songs: ToMany<Song> = []
        }

        @Entity struct Song {
            var number: Int
            var list: ToOne<List> = nil
            var tags: ToMany<Tag> = []
        }

        @Entity struct Tag {
            var name: String
            @Relationship(inverse: \Song.tags) var songs: ToMany<Song> = []
        }
    }

    enum V2: SchemaVersion {
        static let entities: [any Entity.Type] = [List.self, Song.self, Tag.self]
        @Entity struct List {
            var name: String
            @Relationship(inverse: \Song.list, ordered: true) var songs: ToMany<Song> = []
        }

        @Entity struct Song {
            var number: Int
            var list: ToOne<List> = nil
            var tags: ToMany<Tag> = []
        }

        @Entity struct Tag {
            var name: String
            @Relationship(inverse: \Song.tags, ordered: true) var songs: ToMany<Song> = []
        }
    }

    enum V3: SchemaVersion {
        static let entities: [any Entity.Type] = [List.self, Song.self, Tag.self]
        @Entity struct List {
            var name: String
            @Relationship(inverse: \Song.list, ordered: true) var songs: ToMany<Song> = []
        }

        @Entity struct Song {
            var number: Int
            var list: ToOne<List> = nil
            @Relationship(ordered: true) var tags: ToMany<Tag> = []
        }

        @Entity struct Tag {
            var name: String
            @Relationship(inverse: \Song.tags, ordered: true) var songs: ToMany<Song> = []
        }
    }
}

private enum Inverse {
    enum V1: SchemaVersion {
        static let entities: [any Entity.Type] = [Team.self, Player.self]
        @Entity struct Team { var name: String }

        @Entity struct Player {
            var number: Int
            var team: ToOne<Team> = nil
        }
    }

    enum V2: SchemaVersion {
        static let entities: [any Entity.Type] = [Team.self, Player.self]
        @Entity struct Team {
            var name: String
            @Relationship(.cascade, inverse: \Player.team, ordered: true) var players: ToMany<Player> = []
            var captain: ToOne<Player> = nil
        }

        @Entity struct Player {
            var number: Int
            var team: ToOne<Team> = nil
            @Relationship(inverse: \Team.captain) var captainOf: ToOne<Team> = nil
        }
    }

    enum V3: SchemaVersion {
        static let entities: [any Entity.Type] = [Team.self, Player.self]
        @Entity struct Team {
            var name: String
            @Relationship(.cascade, inverse: \Player.team, ordered: true) var players: ToMany<Player> = []
        }

        @Entity struct Player {
            var number: Int
            var team: ToOne<Team> = nil
            var captainOf: ToOne<Team> = nil
        }
    }
}

private enum Rules {
    enum V1: SchemaVersion {
        static let entities: [any Entity.Type] = [Box.self, Item.self]
        @Entity struct Box {
            var name: String
            @Relationship(inverse: \Item.box) var items: ToMany<Item> = []
        }

        @Entity struct Item {
            var name: String
            var box: ToOne<Box> = nil
        }
    }

    enum V2: SchemaVersion {
        static let entities: [any Entity.Type] = [Box.self, Item.self]
        @Entity struct Box {
            var name: String
            @Relationship(.cascade, inverse: \Item.box, minimum: 1) var items: ToMany<Item> = []
        }

        @Entity struct Item {
            var name: String
            var box: ToOne<Box> = nil
        }
    }

    enum V3: SchemaVersion {
        static let entities: [any Entity.Type] = [Box.self, Item.self]
        @Entity struct Box {
            var name: String
            @Relationship(.deny, inverse: \Item.box, minimum: 1, maximum: 3) var items: ToMany<Item> = []
        }

        @Entity struct Item {
            var name: String
            @Relationship(minimum: 1) var box: ToOne<Box> = nil
        }
    }
}
