@testable import Graph

/// What `Library` declares, as the model knows it: who leads where, and what follows from it.
enum StoreShape {
    struct ToOne {
        enum Inverse: Equatable {
            case none
            case toOne(slot: Int)
            case toMany(Int)
        }

        let name: String
        let target: Int
        var inverse = Inverse.none
        var rule = DeleteRule.nullify
        var isRequired = false
    }

    struct ToMany {
        enum Inverse: Equatable {
            /// The members refer to the owner with the reference at this place in their rows.
            case toOne(slot: Int)
            /// Members are linked, and this is the relationship at their end.
            case toMany(Int)
        }

        let name: String
        let owners: Int
        let members: Int
        let inverse: Inverse
        var rule = DeleteRule.nullify
        var isOrdered = false
        var minimum = 0
        var maximum = Int.max
    }

    struct Unique {
        var name: String
        var attribute: Int
        var reference: Int?
        /// Whether 0 stands for nil.
        var isOptional = true
        let policy: UniquenessPolicy
    }

    struct Entity {
        let name: String
        let attributes: [String]
        let toOnes: [ToOne]
        /// The numbers of its relationships in `toManys`.
        let toManys: Range<Int>
        var uniques: [Unique] = []

        var attributeCount: Int { attributes.count }
    }

    static let types: [any StoreEntity.Type] = [
        Library.Book.self, Library.Author.self, Library.Chapter.self, Library.Cover.self, Library.Tag.self,
        Library.Shelf.self, Library.Room.self,
    ]

    // Books come first, though authors that give way make books alike.
    static let (book, author, chapter, cover, tag, shelf, room) = (0, 1, 2, 3, 4, 5, 6)

    static let entities = [
        Entity(
            name: "Book",
            attributes: ["title", "isbn", "grade"],
            toOnes: [
                ToOne(name: "author", target: author, inverse: .toMany(1)),
                ToOne(name: "cover", target: cover, inverse: .toOne(slot: 0), rule: .cascade),
            ],
            toManys: 3..<6,
            uniques: [
                Unique(name: "isbn", attribute: 1, policy: .replace),
                Unique(name: "title, author", attribute: 0, reference: 0, isOptional: false, policy: .keepExisting),
            ]
        ),
        Entity(
            name: "Author",
            attributes: ["name", "email"],
            toOnes: [ToOne(name: "mentor", target: author, inverse: .toMany(0)), ToOne(name: "rival", target: author)],
            toManys: 0..<3,
            uniques: [
                Unique(name: "email", attribute: 1, policy: .upsert),
                Unique(name: "name, rival", attribute: 0, reference: 1, isOptional: false, policy: .keepExisting),
            ]
        ),
        Entity(
            name: "Chapter",
            attributes: ["title", "mark"],
            toOnes: [ToOne(name: "book", target: book, inverse: .toMany(3), isRequired: true)],
            toManys: 6..<6,
            uniques: [Unique(name: "mark", attribute: 1, policy: .reject)]
        ),
        Entity(
            name: "Cover",
            attributes: ["color", "code"],
            toOnes: [ToOne(name: "book", target: book, inverse: .toOne(slot: 1), rule: .deny)],
            toManys: 6..<6,
            uniques: [Unique(name: "code", attribute: 1, policy: .upsert)]
        ),
        Entity(
            name: "Tag",
            attributes: ["label"],
            toOnes: [ToOne(name: "parent", target: tag, inverse: .toMany(7))],
            toManys: 6..<10,
            uniques: [Unique(name: "label", attribute: 0, isOptional: false, policy: .keepExisting)]
        ),
        Entity(
            name: "Shelf",
            attributes: ["name", "code"],
            toOnes: [
                ToOne(name: "owner", target: author, isRequired: true),
                ToOne(name: "pinned", target: book, rule: .deny),
                ToOne(name: "cover", target: cover, rule: .cascade),
                ToOne(name: "left", target: shelf, inverse: .toOne(slot: 4)),
                ToOne(name: "right", target: shelf, inverse: .toOne(slot: 3)),
                ToOne(name: "room", target: room, inverse: .toMany(12)),
            ],
            toManys: 10..<12,
            uniques: [Unique(name: "code", attribute: 1, policy: .replace)]
        ),
        Entity(name: "Room", attributes: ["number"], toOnes: [], toManys: 12..<13),
    ]

    static let toManys = [
        ToMany(name: "pupils", owners: author, members: author, inverse: .toOne(slot: 0)),
        ToMany(name: "books", owners: author, members: book, inverse: .toOne(slot: 0), rule: .cascade),
        ToMany(name: "friends", owners: author, members: author, inverse: .toMany(2)),
        ToMany(
            name: "chapters",
            owners: book,
            members: chapter,
            inverse: .toOne(slot: 0),
            rule: .cascade,
            isOrdered: true,
            maximum: 4
        ),
        ToMany(name: "tags", owners: book, members: tag, inverse: .toMany(6), isOrdered: true),
        ToMany(name: "shelves", owners: book, members: shelf, inverse: .toMany(10), isOrdered: true),
        ToMany(name: "books", owners: tag, members: book, inverse: .toMany(4), rule: .deny, maximum: 3),
        ToMany(
            name: "children",
            owners: tag,
            members: tag,
            inverse: .toOne(slot: 0),
            rule: .deny,
            isOrdered: true
        ),
        ToMany(name: "implies", owners: tag, members: tag, inverse: .toMany(9), isOrdered: true),
        ToMany(name: "impliedBy", owners: tag, members: tag, inverse: .toMany(8), rule: .cascade),
        ToMany(
            name: "items",
            owners: shelf,
            members: book,
            inverse: .toMany(5),
            rule: .cascade,
            isOrdered: true,
            minimum: 1
        ),
        ToMany(name: "near", owners: shelf, members: shelf, inverse: .toMany(11), isOrdered: true),
        ToMany(name: "shelves", owners: room, members: shelf, inverse: .toOne(slot: 5), minimum: 1),
    ]

    /// What happens to a row that refers through this to a row that is deleted: what the property at the other end says.
    static func rule(ofTargetOf toOne: ToOne) -> DeleteRule {
        switch toOne.inverse {
        case .none: toOne.isRequired ? .deny : .nullify
        case .toOne(let slot): entities[toOne.target].toOnes[slot].rule
        case .toMany(let number): toManys[number].rule
        }
    }

    /// Whose rule that is, as errors name it.
    static func name(ofRuleOf toOne: ToOne, of entity: Int) -> String {
        switch toOne.inverse {
        case .none: "\(entities[entity].name).\(toOne.name)"
        case .toOne(let slot): "\(entities[toOne.target].name).\(entities[toOne.target].toOnes[slot].name)"
        case .toMany(let number): "\(entities[toOne.target].name).\(toManys[number].name)"
        }
    }

    /// What the model has an entity's `willSave()` do.
    static func willSave(_ row: inout StoreModel.Row, of entity: Int) {
        if entity == tag { row.attributes[0] &= ~1 }
        if entity == book, row.attributes[0] == 1 { row.attributes[0] = 2 }
        if entity == shelf, row.attributes[0] == 2, row.targets[1] == 0 { row.attributes[0] = 3 }
    }

    /// Which property an entity's `validate()` refuses; empty for the object as a whole, nil for none.
    static func invalidProperty(of row: StoreModel.Row, of entity: Int) -> String? {
        if entity == author, row.attributes[0] == 0 { return "name" }
        if entity == cover, row.attributes[0] == 5, row.targets[0] == 0 { return "" }
        return nil
    }
}
