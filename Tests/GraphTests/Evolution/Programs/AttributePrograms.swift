import Foundation
import Testing

@testable import Graph

/// Attributes that come, go, change their names, their places and their types.
extension EvolutionProgram {
    static let attributes = [
        EvolutionProgram(
            name: "attributes with defaults, and optional ones, added",
            versions: [Added.V1.self, Added.V2.self, Added.V3.self],
            fill: { context in for number in 0..<40 { context.insert(Added.V1.Item(name: "\(number)")) } },
            check: { snapshot in
                let items = try snapshot.fetchValues(Added.V3.Item.self)
                #expect(items.map(\.name) == (0..<40).map { "\($0)" })
                #expect(items.allSatisfy { $0.count == 5 && $0.note == nil && $0.tags == ["new"] && $0.rank == 0.5 })
            }
        ),
        EvolutionProgram(
            name: "attributes and a relationship removed",
            versions: [Removed.V1.self, Removed.V2.self, Removed.V3.self],
            fill: { context in
                for number in 0..<5 {
                    let item = context.insert(Removed.V1.Item(name: "\(number)", size: number, note: "n\(number)"))
                    item.next = context.insert(Removed.V1.Item(name: "next", size: -1, note: nil))
                }
            },
            check: { snapshot in
                let items = try snapshot.fetchValues(Removed.V3.Item.self)
                #expect(items.map(\.name) == (0..<5).flatMap { ["\($0)", "next"] })
            }
        ),
        EvolutionProgram(
            name: "entities, attributes and relationships renamed twice",
            versions: [RenamedTwice.V1.self, RenamedTwice.V2.self, RenamedTwice.V3.self],
            fill: { context in
                let singer = context.insert(RenamedTwice.V1.Singer(name: "Joni"))
                for number in 0..<3 {
                    singer.songs.append(context.insert(RenamedTwice.V1.Song(label: "\(number)", seconds: number)))
                }
            },
            check: { snapshot in
                let titles = try snapshot.fetchValues(RenamedTwice.V3.Title.self)
                #expect(titles.map(\.title) == ["0", "1", "2"] && titles.map(\.length) == [0, 1, 2])
                let artist = try #require(try snapshot.fetchIDs(RenamedTwice.V3.Artist.self).first)
                #expect(
                    try snapshot.related(\RenamedTwice.V3.Artist.titles, of: artist).map(\.row) == [1, 2, 3])
            }
        ),
        EvolutionProgram(
            name: "properties and entities in another order",
            versions: [Reordered.V1.self, Reordered.V2.self, Reordered.V3.self],
            fill: { context in
                for number in 0..<40 {
                    let other = context.insert(Reordered.V1.Other(name: "other \(number)"))
                    context.insert(
                        Reordered.V1.Item(
                            number: number, text: "t\(number % 3)", flag: number % 2 == 0, other: ToOne(other.id)))
                }
            },
            check: { snapshot in
                let items = try snapshot.fetchValues(Reordered.V3.Item.self)
                #expect(items.map(\.number) == Array(0..<40) && items.map(\.text) == (0..<40).map { "t\($0 % 3)" })
                #expect(items.map(\.flag) == (0..<40).map { $0 % 2 == 0 })
                #expect(items.map { $0.other.id?.row } == (1...40).map { UInt64($0) })
                let sorted = try snapshot.fetchValues(
                    Reordered.V3.Item.self, sortedBy: [.ascending(\.text), .ascending(\.number)])
                #expect(sorted.prefix(3).map(\.number) == [0, 3, 6])
            }
        ),
        EvolutionProgram(
            name: "numbers made wider",
            versions: [Widened.V1.self, Widened.V2.self, Widened.V3.self],
            fill: { context in
                for number in Int8.min...Int8.max {
                    context.insert(
                        Widened.V1.Item(
                            signed: number, unsigned: UInt8(bitPattern: number), real: Float(number) / 3,
                            exact: Int32(number) << 24, maybe: number % 2 == 0 ? nil : UInt16(Int(number) + 200)))
                }
            },
            check: { snapshot in
                let items = try snapshot.fetchValues(Widened.V3.Item.self)
                for (item, number) in zip(items, Int8.min...Int8.max) {
                    #expect(item.signed == Int(number) && item.unsigned == Int128(UInt8(bitPattern: number)))
                    #expect(item.real == Double(Float(number) / 3) && item.exact == Double(Int32(number) << 24))
                    #expect(item.maybe == (number % 2 == 0 ? nil : Double(Int(number) + 200)))
                }
                #expect(items.count == 256)
            }
        ),
        EvolutionProgram(
            name: "optional attributes made required, and required ones optional",
            versions: [Required.V1.self, Required.V2.self, Required.V3.self],
            fill: { context in
                for number in 0..<6 {
                    context.insert(
                        Required.V1.Item(note: number % 2 == 0 ? nil : "\(number)", size: number, place: nil))
                }
            },
            check: { snapshot in
                let items = try snapshot.fetchValues(Required.V3.Item.self)
                #expect(items.map(\.note) == ["none", "1", "none", "3", "none", "5"])
                #expect(items.map(\.size) == [0, 1, 2, 3, 4, 5])
                #expect(items.allSatisfy { $0.place == Required.Place(name: "nowhere") })
            }
        ),
        EvolutionProgram(
            name: "raw values made enumerations, and the reverse",
            versions: [Raw.V1.self, Raw.V2.self, Raw.V3.self],
            fill: { context in
                for (number, kind) in Raw.Kind.allCases.enumerated() {
                    context.insert(Raw.V1.Item(kind: kind.rawValue, rank: number == 0 ? .low : .high))
                }
            },
            check: { snapshot in
                let items = try snapshot.fetchValues(Raw.V3.Item.self)
                #expect(items.map(\.kind) == Raw.Kind.allCases && items.map(\.rank) == [-1, 9])
            }
        ),
    ]
}

private enum Added {
    enum V1: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item { var name: String }
    }

    enum V2: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item {
            var name: String
            @Indexed var count = 5
            var note: String?
        }
    }

    enum V3: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item {
            var tags: [String] = ["new"]
            var name: String
            @Indexed var count = 5
            var note: String?
            var rank = 0.5
        }
    }
}

private enum Removed {
    enum V1: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity(indexed: [["size", "name"]]) struct Item {
            var name: String
            @Indexed var size: Int
            var note: String?
            var next: ToOne<Item> = nil
            @Relationship(inverse: \Self.next) var previous: ToMany<Item> = []
        }
    }

    enum V2: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item {
            var name: String
            var note: String?
            var next: ToOne<Item> = nil
        }
    }

    enum V3: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item { var name: String }
    }
}

private enum RenamedTwice {
    enum V1: SchemaVersion {
        static let entities: [any Entity.Type] = [Song.self, Singer.self]
        @Entity(indexed: [["label", "seconds"]]) struct Song {
            var label: String
            var seconds: Int
            var singer: ToOne<Singer> = nil
        }

        @Entity struct Singer {
            @Unique var name: String
            @Relationship(inverse: \Song.singer, ordered: true) var songs: ToMany<Song> = []
        }
    }

    enum V2: SchemaVersion {
        static let entities: [any Entity.Type] = [Track.self, Singer.self]
        @Entity(originalName: "Song", indexed: [["name", "seconds"]]) struct Track {
            @Attribute(originalName: "label") var name: String
            var seconds: Int
            @Relationship(originalName: "singer") var artist: ToOne<Singer> = nil
        }

        @Entity struct Singer {
            @Unique @Attribute(originalName: "name") var fullName: String
            @Relationship(inverse: \Track.artist, ordered: true, originalName: "songs") var tracks: ToMany<Track> = []
        }
    }

    enum V3: SchemaVersion {
        static let entities: [any Entity.Type] = [Title.self, Artist.self]
        @Entity(originalName: ["Track", "Song"], indexed: [["title", "length"]]) struct Title {
            @Attribute(originalName: ["name", "label"]) var title: String
            @Attribute(originalName: "seconds") var length: Int
            @Relationship(originalName: ["artist", "singer"]) var by: ToOne<Artist> = nil
        }

        @Entity(originalName: "Singer") struct Artist {
            @Unique @Attribute(originalName: "fullName") var name: String
            @Relationship(inverse: \Title.by, ordered: true, originalName: ["tracks", "songs"])
            var titles: ToMany<Title> = []
        }
    }
}

private enum Reordered {
    enum V1: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self, Other.self]
        @Entity(unique: [["text", "number"]]) struct Item {
            var number: Int
            var text: String
            var flag: Bool
            var other: ToOne<Other> = nil
        }

        @Entity struct Other {
            var name: String
            @Relationship(inverse: \Item.other) var item: ToOne<Item> = nil
        }
    }

    enum V2: SchemaVersion {
        static let entities: [any Entity.Type] = [Other.self, Item.self]
        @Entity(unique: [["text", "number"]]) struct Item {
            var other: ToOne<Other> = nil
            var flag: Bool
            var number: Int
            var text: String
        }

        @Entity struct Other {
            @Relationship(inverse: \Item.other) var item: ToOne<Item> = nil
            var name: String
        }
    }

    enum V3: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self, Other.self]
        @Entity(unique: [["text", "number"]]) struct Item {
            var text: String
            var flag: Bool
            var other: ToOne<Other> = nil
            var number: Int
        }

        @Entity struct Other {
            @Relationship(inverse: \Item.other) var item: ToOne<Item> = nil
            var name: String
        }
    }
}

private enum Widened {
    enum V1: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item {
            @Unique var signed: Int8
            @Indexed var unsigned: UInt8
            var real: Float
            var exact: Int32
            var maybe: UInt16?
        }
    }

    enum V2: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item {
            @Unique var signed: Int16
            @Indexed var unsigned: UInt64
            var real: Double
            var exact: Int64
            var maybe: Int32?
        }
    }

    enum V3: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item {
            @Unique var signed: Int
            @Indexed var unsigned: Int128
            var real: Double
            var exact: Double
            @Indexed var maybe: Double?
        }
    }
}

private enum Required {
    struct Place: Codable, Equatable, Sendable { var name: String }

    enum V1: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item {
            var note: String?
            var size: Int
            var place: Place?
        }
    }

    enum V2: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item {
            @Indexed var note: String = "none"
            var size: Int
            var place: Place = Place(name: "nowhere")
        }
    }

    enum V3: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item {
            @Indexed var note: String = "none"
            var size: Int?
            var place: Place = Place(name: "nowhere")
        }
    }
}

private enum Raw {
    enum Kind: String, CaseIterable {
        case first
        case second = "2nd"
    }

    enum Rank: Int {
        case low = -1
        case high = 9
    }

    enum V1: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item {
            var kind: String
            var rank: Rank
        }
    }

    enum V2: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item {
            @Indexed var kind: Kind
            @Unique var rank: Int
        }
    }

    enum V3: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item {
            @Indexed var kind: Kind
            @Unique var rank: Int?
        }
    }
}
