import Testing

@testable import Graph

/// Entities that come and go, and rules for values that are there.
extension EvolutionProgram {
    static let entities = [
        EvolutionProgram(
            name: "entities added",
            versions: [NewEntity.V1.self, NewEntity.V2.self, NewEntity.V3.self],
            fill: { context in for number in 0..<3 { context.insert(NewEntity.V1.Item(name: "\(number)")) } },
            check: { snapshot in
                let values = try snapshot.fetchValues(NewEntity.V3.Item.self)
                #expect(values.map(\.name) == ["0", "1", "2"])
                #expect(snapshot.count(of: NewEntity.V3.Tag.self) == 0)
                #expect(snapshot.count(of: NewEntity.V3.Maker.self) == 0)
            }
        ),
        EvolutionProgram(
            name: "entities with objects removed",
            versions: [OldEntity.V1.self, OldEntity.V2.self, OldEntity.V3.self],
            dropping: ["Shelf", "Card"],
            fill: { context in
                for number in 0..<6 {
                    let item = context.insert(OldEntity.V1.Item(name: "\(number)"))
                    if number % 2 == 0 { item.shelf = context.insert(OldEntity.V1.Shelf(code: "s\(number)")) }
                    item.cards = [context.insert(OldEntity.V1.Card(text: "c\(number)"))]
                }
            },
            check: { snapshot in
                let values = try snapshot.fetchValues(OldEntity.V3.Item.self)
                #expect(values.map(\.name) == (0..<6).map { "\($0)" })
                #expect(snapshot.schema.entities.map(\.name) == ["Item"])
            }
        ),
    ]

    static let rules = [
        EvolutionProgram(
            name: "uniqueness added, of one property and of several",
            versions: [UniqueValues.V1.self, UniqueValues.V2.self, UniqueValues.V3.self],
            fill: { context in
                for number in 0..<40 {
                    context.insert(UniqueValues.V1.Item(email: "\(number)", a: number % 5, b: number / 5, c: nil))
                }
            },
            check: { snapshot in
                let values = try snapshot.fetchValues(UniqueValues.V3.Item.self)
                #expect(values.map(\.email) == (0..<40).map { "\($0)" })
            }
        ),
        EvolutionProgram(
            name: "indexes added and taken away",
            versions: [Indexes.V1.self, Indexes.V2.self, Indexes.V3.self],
            fill: { context in
                for number in 0..<40 { context.insert(Indexes.V1.Item(name: "\(number % 7)", size: 40 - number)) }
            },
            check: { snapshot in
                let items = try snapshot.fetchValues(
                    Indexes.V3.Item.self, sortedBy: [.ascending(\.name), .ascending(\.size)])
                #expect(items.prefix(2).map(\.size) == [5, 12] && items.count == 40)
            }
        ),
        EvolutionProgram(
            name: "values that are not unique",
            versions: [UniqueValues.V1.self, UniqueValues.V2.self, UniqueValues.V3.self],
            fill: { context in
                for number in 0..<6 {
                    context.insert(UniqueValues.V1.Item(email: "\(number)", a: number / 4, b: 0, c: nil))
                }
            },
            obstacle: "a, b: has the same value as Item/p",
            correct: { context, version in
                if version == 1 {
                    for (number, item) in try context.fetch(UniqueValues.V1.Item.self).enumerated() { item.b = number }
                } else {
                    for (number, item) in try context.fetch(UniqueValues.V2.Item.self).enumerated() { item.b = number }
                }
            },
            check: { snapshot in
                let values = try snapshot.fetchValues(UniqueValues.V3.Item.self)
                #expect(values.map(\.b) == Array(0..<6))
            }
        ),
        EvolutionProgram(
            name: "nil where there is no default",
            versions: [Nil.V1.self, Nil.V2.self, Nil.V3.self],
            fill: { context in for number in 0..<6 { context.insert(Nil.V1.Item(size: number % 2 == 0 ? 1 : nil)) } },
            obstacle: ".size: is nil, and there is no default",
            correct: { context, version in
                if version == 1 {
                    for item in try context.fetch(Nil.V1.Item.self) { item.size = item.size ?? 2 }
                } else {
                    for item in try context.fetch(Nil.V2.Item.self) { item.size = item.size ?? 2 }
                }
            },
            check: { snapshot in
                let values = try snapshot.fetchValues(Nil.V3.Item.self)
                #expect(values.map(\.size) == [1, 2, 1, 2, 1, 2])
            }
        ),
        EvolutionProgram(
            name: "too few related objects",
            versions: [Few.V1.self, Few.V2.self, Few.V3.self],
            fill: { context in for _ in 0..<4 { context.insert(Few.V1.Item()) } },
            obstacle: ".next: must not be nil",
            correct: { context, version in
                if version == 1 {
                    for item in try context.fetch(Few.V1.Item.self) { item.next = item }
                } else {
                    for item in try context.fetch(Few.V2.Item.self) { item.next = item }
                }
            },
            check: { snapshot in
                let values = try snapshot.fetchValues(Few.V3.Item.self)
                #expect(values.map { $0.next.id?.row } == [1, 2, 3, 4])
            }
        ),
    ]
}

private enum NewEntity {
    enum V1: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item { var name: String }
    }

    enum V2: SchemaVersion {
        static let entities: [any Entity.Type] = [Tag.self, Item.self]
        @Entity struct Tag {
            @Unique var name: String
            @Relationship(inverse: \Item.tags) var items: ToMany<Item> = []
        }

        @Entity struct Item {
            var name: String
            @Relationship(ordered: true) var tags: ToMany<Tag> = []
        }
    }

    enum V3: SchemaVersion {
        static let entities: [any Entity.Type] = [Tag.self, Maker.self, Item.self]
        @Entity struct Tag {
            @Unique var name: String
            @Relationship(inverse: \Item.tags) var items: ToMany<Item> = []
        }

        @Entity struct Maker {
            @Relationship(.cascade, inverse: \Item.maker) var items: ToMany<Item> = []
        }

        @Entity struct Item {
            var name: String
            @Relationship(ordered: true) var tags: ToMany<Tag> = []
            var maker: ToOne<Maker> = nil
        }
    }
}

private enum OldEntity {
    enum V1: SchemaVersion {
        static let entities: [any Entity.Type] = [Shelf.self, Card.self, Item.self]
        @Entity struct Shelf {
            var code: String
            @Relationship(.deny, inverse: \Item.shelf) var items: ToMany<Item> = []
        }

        @Entity struct Card {
            var text: String
            @Relationship(inverse: \Item.cards, ordered: true) var items: ToMany<Item> = []
        }

        @Entity(unique: [["shelf", "name"]]) struct Item {
            var name: String
            var shelf: ToOne<Shelf> = nil
            @Relationship(ordered: true) var cards: ToMany<Card> = []
        }
    }

    enum V2: SchemaVersion {
        static let entities: [any Entity.Type] = [Card.self, Item.self]
        @Entity struct Card {
            var text: String
            @Relationship(inverse: \Item.cards, ordered: true) var items: ToMany<Item> = []
        }

        @Entity struct Item {
            var name: String
            @Relationship(ordered: true) var cards: ToMany<Card> = []
        }
    }

    enum V3: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item { var name: String }
    }
}

private enum UniqueValues {
    enum V1: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item {
            var email: String
            var a: Int
            var b: Int
            var c: Int?
        }
    }

    enum V2: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item {
            @Unique var email: String
            var a: Int
            var b: Int
            // nil is like no other value.
            @Unique var c: Int?
        }
    }

    enum V3: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity(unique: [["a", "b"], ["a", "c"]]) struct Item {
            @Unique var email: String
            var a: Int
            var b: Int
            var c: Int?
        }
    }
}

private enum Indexes {
    enum V1: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity(indexed: [["size", "name"]]) struct Item {
            var name: String
            var size: Int
        }
    }

    enum V2: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity(indexed: [["size", "name"]]) struct Item {
            @Indexed var name: String
            @Indexed var size: Int
        }
    }

    enum V3: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity(indexed: [["name", "size"]]) struct Item {
            var name: String
            @Indexed var size: Int
        }
    }
}

private enum Nil {
    enum V1: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item { var size: Int? }
    }

    enum V2: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item {
            @Indexed var size: Int?
            var note: String?
        }
    }

    enum V3: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item {
            @Indexed var size: Int
            var note: String?
        }
    }
}

private enum Few {
    enum V1: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item { var next: ToOne<Item> = nil }
    }

    enum V2: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item {
            var note: String?
            var next: ToOne<Item> = nil
        }
    }

    enum V3: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item {
            var note: String?
            @Relationship(minimum: 1) var next: ToOne<Item> = nil
        }
    }
}
