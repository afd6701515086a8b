import Foundation
import Testing

@testable import Graph

/// Changes for lines of the guide's table that `AutomaticChangeTests.changes` has none for, or only a part of.
extension AutomaticChangeTests {
    static let guideChanges: [Change] = [
        Change(
            name: "an entity and a property renamed",
            lines: ["an entity or a property renamed, with `originalName:`"],
            change: { record in
                record = try record.editing([("\"Publisher\"", "\"House\"")])
                try record.rename("name", of: "House", to: "title")
            },
            declare: { assembly in
                assembly.rename("House", from: "Publisher")
                assembly.rename("title", of: "House", from: "name")
            },
            summaries: ["House: renamed from 'Publisher'", "House.title: renamed from 'name'"],
            touched: ["Publisher", "House"],
            check: { old, new in
                let names = old["Publisher", "name"].map { ($0.key.replacing("Publisher", with: "House"), $0.value) }
                #expect(new["House", "title"] == Dictionary(uniqueKeysWithValues: names))
                #expect(new.links["House.books"] == old.links["Publisher.books"])
            }
        ),
        Change(
            name: "a property removed, and another one that was it",
            lines: ["a property removed, and another of the same kind added to the same entity"],
            change: { try $0.rename("nickname", of: "Reader", to: "pseudonym") },
            declare: { $0.rename("pseudonym", of: "Reader", from: "nickname") },
            summaries: ["Reader.pseudonym: renamed from 'nickname'"],
            touched: ["Reader.nickname", "Reader.pseudonym"],
            check: { old, new in #expect(new["Reader", "pseudonym"] == old["Reader", "nickname"]) }
        ),
        Change(
            name: "an index over several properties",
            lines: ["`@Indexed` set or taken away, also over several properties"],
            change: { try $0.addCompound(["title", "pages"], to: "Book", isUnique: false) },
            summaries: ["Book: (title, pages) indexed"]
        ),
        Change(
            name: "uniqueness over several properties",
            lines: ["`@Unique` set, also over several properties"],
            change: { try $0.addCompound(["title", "token"], to: "Book", isUnique: true) },
            summaries: ["Book: (title, token) unique"]
        ),
        Change(
            name: "uniqueness taken away",
            lines: ["`@Unique` taken away, also over several properties"],
            change: { record in
                try record.change("isbn", of: "Book", to: .attribute(kind: "string", .none))
                try record.change("number", of: "Card", to: .attribute(kind: "int64", .indexed))
                record = try record.editing([("\"Chapter\" unique 5 1\n", "\"Chapter\"\n")])
            },
            summaries: [
                "Book.isbn: no longer unique", "Chapter: no longer (book, number) unique", "Card.number: indexed",
            ]
        ),
        Change(
            name: "narrower counts",
            lines: ["a minimum or a maximum"],
            change: { record in
                try record.limit("books", of: "Author", MemberCounts(minimum: 1, maximum: 3))
                try record.limit("books", of: "Tag", MemberCounts(minimum: 4))
                try record.limit("tags", of: "Book", MemberCounts(maximum: 3))
            },
            summaries: [
                "Author.books: any number becomes 1 to 3", "Book.tags: at most 5 becomes at most 3",
                "Tag.books: any number becomes at least 4",
            ]
        ),
        Change(
            name: "attributes with a default added",
            lines: ["an attribute added that is optional or has a default", "a required attribute added"],
            change: { record in
                try record.add("edition", .attribute(kind: "int", .indexed), to: "Book")
                try record.add("series", .attribute(kind: "optional(string)", .none), to: "Book")
            },
            declare: { assembly in
                assembly.setDefault(of: "edition", of: "Book", 7)
                assembly.setDefault(of: "series", of: "Book", "none" as String?)
            },
            summaries: ["Book.edition: added with its default", "Book.series: added with its default"],
            touched: ["Book.edition", "Book.series"],
            check: { old, new in
                #expect(new["Book", "edition"].count == old["Book", "title"].count)
                #expect(Set(new["Book", "edition"].values) == ["7"])
                #expect(Set(new["Book", "series"].values).count == 1 && !new["Book", "series"].values.contains("nil"))
            }
        ),
        Change(
            name: "relationships added, of each kind",
            lines: ["a relationship added"],
            change: { record in
                let (author, publisher, tag) = (
                    try record.number(of: "Author"), try record.number(of: "Publisher"), try record.number(of: "Tag")
                )
                let any = MemberCounts.any
                try record.add(
                    "head", .toOne(target: author, rule: .nullify, inverse: nil, counts: any), to: "Publisher")
                let head = try record.place(of: "head", of: "Publisher")
                try record.add(
                    "houses",
                    .toMany(source: publisher, inverse: head, rule: .deny, isOrdered: true, counts: any), to: "Author")
                let fans = record.entities[tag].properties.count
                try record.add(
                    "likes", .toMany(source: tag, inverse: fans, rule: .nullify, isOrdered: false, counts: any),
                    to: "Author")
                let likes = try record.place(of: "likes", of: "Author")
                try record.add(
                    "fans", .toMany(source: author, inverse: likes, rule: .nullify, isOrdered: true, counts: any),
                    to: "Tag")
            },
            summaries: ["Author.houses: added", "Author.likes: added", "Tag.fans: added", "Publisher.head: added"],
            touched: ["Author.houses", "Author.likes", "Tag.fans", "Publisher.head"],
            check: { _, new in
                for name in ["Author.houses", "Author.likes", "Tag.fans", "Publisher.head"] {
                    #expect(new.links[name] == nil)
                }
            }
        ),
        Change(
            name: "a to-many relationship removed, and its inverse stays",
            lines: ["a property removed"],
            change: { try $0.remove("books", of: "Shelf") },
            summaries: ["Shelf.books: removed"], touched: ["Shelf.books"]
        ),
        Change(
            name: "a to-many inverse added, ordered",
            lines: ["a to-many inverse added to a `ToOne` that had no inverse"],
            first: { record in
                try record.remove("books", of: "Shelf")
                try record.remove("books", of: "Author")
            },
            change: { record in
                for entity in ["Shelf", "Author"] {
                    let (book, one) = (
                        try record.number(of: "Book"), try record.place(of: entity.lowercased(), of: "Book")
                    )
                    try record.add(
                        "books",
                        .toMany(
                            source: book, inverse: one, rule: .deny, isOrdered: entity == "Author", counts: .any),
                        to: entity)
                }
            },
            summaries: ["Author.books: added", "Shelf.books: added"], touched: ["Shelf.books", "Author.books"],
            check: { old, new in
                for entity in ["Shelf", "Author"] {
                    let pairs = (old.links["Book.\(entity.lowercased())"] ?? []).map {
                        $0.components(separatedBy: " → ").reversed().joined(separator: " → ")
                    }
                    #expect(pairs.count > 10 && Set(new.links["\(entity).books"] ?? []) == Set(pairs))
                }
            }
        ),
        Change(
            name: "entities in another order",
            lines: ["properties or entities in another order"],
            change: { record in record = record.reversingEntities() },
            summaries: ["Draft: the entities have another order"]
        ),
        Change(
            name: "optional attributes made required, with nils and a default, and without nils",
            lines: [
                "an optional attribute made required", "`@Indexed` set or taken away, also over several properties",
            ],
            change: { record in
                try record.change("surname", of: "Author", to: .attribute(kind: "string", .indexed))
                try record.change("language", of: "Author", to: .attribute(kind: "string", .none))
            },
            declare: { $0.setDefault(of: "surname", of: "Author", "nobody") },
            summaries: [
                "Author.surname: indexed", "Author.surname: optional(string) becomes string",
                "Author.language: optional(string) becomes string",
            ],
            touched: ["Author.surname"],
            check: { old, new in
                #expect(old["Author", "surname"].values.contains("nil"))
                for (row, surname) in old["Author", "surname"] {
                    let text = new["Author", "surname"][row] ?? ""
                    #expect(surname == "nil" ? text.contains("nobody") : text == surname)
                }
            }
        ),
    ]

    static let guideViolations: [Change] = [
        Change(
            name: "uniqueness over several properties",
            lines: ["`@Unique` set, also over several properties"],
            change: { try $0.addCompound(["title", "publisherName"], to: "Book", isUnique: true) },
            summaries: ["Book/p", ".title, publisherName: has the same value as Book/p"]
        ),
        Change(
            name: "a minimum that objects fall short of",
            lines: ["a minimum or a maximum"],
            change: { try $0.limit("tags", of: "Book", MemberCounts(minimum: 1, maximum: 5)) },
            summaries: ["Book/p", ".tags: has 0", "at least 1"]
        ),
        Change(
            name: "a relationship that has to lead somewhere",
            lines: ["a relationship added"],
            change: { record in
                let author = try record.number(of: "Author")
                let counts = MemberCounts(minimum: 1)
                try record.add(
                    "head", .toOne(target: author, rule: .deny, inverse: nil, counts: counts), to: "Publisher")
            },
            summaries: ["Publisher/p", ".head: must not be nil"]
        ),
        Change(
            name: "nil without a default, among what is recorded",
            lines: ["an optional attribute made required"],
            change: { record in
                try record.change("formerRank", of: "Author", to: .attribute(kind: "int", .none))
                try record.addCompound(["title", "pages"], to: "Book", isUnique: false)
            },
            summaries: ["Author/p", ".formerRank: is nil, and there is no default"]
        ),
    ]
}

// MARK: Declaring

extension SchemaAssembly {
    /// As `originalName:` does.
    fileprivate mutating func rename(_ entity: String, from name: String) {
        let number = entities.firstIndex { $0.name == entity }!
        entities[number].originalNames = [name]
    }

    fileprivate mutating func rename(_ property: String, of entity: String, from name: String) {
        declare(property, of: entity) { Property($0, at: $0.offset, originalNames: [name]) }
    }

    /// As an initial value does.
    fileprivate mutating func setDefault<Value: Sendable>(of property: String, of entity: String, _ value: Value) {
        declare(property, of: entity) { property in
            precondition(property.valueType == Value.self)
            return Property(property, at: property.offset) { $0.initializeMemory(as: Value.self, to: value) }
        }
    }

    private mutating func declare(_ property: String, of entity: String, _ change: (Property) -> Property) {
        let number = entities.firstIndex { $0.name == entity }!
        let place = entities[number].properties.firstIndex { $0.name == property }!
        entities[number].properties[place] = change(entities[number].properties[place])
    }
}

extension SchemaRecord {
    fileprivate mutating func rename(_ property: String, of entity: String, to name: String) throws {
        let (number, place) = (try number(of: entity), try place(of: property, of: entity))
        entities[number].properties[place] = Property(name: name, role: try role(of: property, of: entity))
    }

    fileprivate mutating func remove(_ property: String, of entity: String) throws {
        let (number, place) = (try number(of: entity), try place(of: property, of: entity))
        entities[number].properties.remove(at: place)
        self = try renumbering(number, after: place)
    }

    fileprivate mutating func addCompound(_ properties: [String], to entity: String, isUnique: Bool) throws {
        let number = try number(of: entity)
        let compound = Compound(isUnique: isUnique, properties: try properties.map { try place(of: $0, of: entity) })
        let old = entities[number]
        entities[number] = Entity(
            name: old.name, properties: old.properties, compounds: old.compounds + [compound])
    }

    fileprivate mutating func limit(_ property: String, of entity: String, _ counts: MemberCounts) throws {
        guard case .toMany(let source, let inverse, let rule, let isOrdered, _) = try role(of: property, of: entity)
        else { throw NotThere(text: property) }
        try change(
            property, of: entity,
            to: .toMany(source: source, inverse: inverse, rule: rule, isOrdered: isOrdered, counts: counts))
    }

    /// The same entities, the last one first.
    fileprivate func reversingEntities() -> SchemaRecord {
        func moved(_ number: Int) -> Int { entities.count - 1 - number }
        let reversed = entities.reversed().map { entity in
            Entity(
                name: entity.name,
                properties: entity.properties.map { property in
                    let role: Role =
                        switch property.role {
                        case .attribute: property.role
                        case .toOne(let target, let rule, let inverse, let counts):
                            .toOne(target: moved(target), rule: rule, inverse: inverse, counts: counts)
                        case .toMany(let source, let inverse, let rule, let isOrdered, let counts):
                            .toMany(
                                source: moved(source), inverse: inverse, rule: rule, isOrdered: isOrdered,
                                counts: counts)
                        }
                    return Property(name: property.name, role: role)
                },
                compounds: entity.compounds)
        }
        return SchemaRecord(entities: reversed, version: version, earlier: earlier)
    }
}

extension FileManager {
    /// Removes what migrations left beside a store.
    func removeOldFiles(in folder: TemporaryFolder) throws {
        for name in try contentsOfDirectory(atPath: folder.path) where name.contains(".schema-") {
            try removeItem(atPath: folder.file(name))
        }
    }
}
