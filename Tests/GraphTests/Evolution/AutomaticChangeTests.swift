import Foundation
import Testing

@testable import Graph

/// What a program may change in its schema without a plan: each is tried on a file that an older version of the engine wrote.
/// The changes are made in the text of the file's schema, and the store is opened with that.
struct AutomaticChangeTests {
    /// A change of the schema, and what is expected of it.
    struct Change: CustomTestStringConvertible, Sendable {
        let name: String
        /// The lines of the guide's tables that it proves, by their first columns.
        var lines: [String] = []
        /// What an earlier version of the program changed, if that has to come first.
        var first: @Sendable (inout SchemaRecord) throws -> Void = { _ in }
        let change: @Sendable (inout SchemaRecord) throws -> Void
        /// What the program declares and no record says: original names and defaults.
        var declare: @Sendable (inout SchemaAssembly) -> Void = { _ in }
        /// What opening the file says of it.
        let summaries: [String]
        var dropping: [String] = []
        /// Properties that only one of the two schemas has, or that read differently, as `Entity.property` or `Entity`.
        var touched: Set<String> = []
        /// Checks what has become of them.
        var check: @Sendable (_ old: PlainState, _ new: PlainState) throws -> Void = { _, _ in }

        var testDescription: String { name }

        /// What the program declares that has changed the record.
        func schema(_ record: SchemaRecord) throws -> Schema {
            var assembly = SchemaAssembly(record)
            declare(&assembly)
            assembly.join()
            return try Schema(assembly)
        }
    }

    static let changes: [Change] = [
        Change(
            name: "an optional property added",
            lines: ["an attribute added that is optional or has a default"],
            change: { try $0.add("isbn13", .attribute(kind: "optional(string)", .none), to: "Book") },
            summaries: ["Book.isbn13: added"], touched: ["Book.isbn13"],
            check: { _, new in #expect(new["Book", "isbn13"].allSatisfy { $0.value == "nil" }) }
        ),
        Change(
            name: "an entity added, with a relationship to an old one",
            lines: ["an entity added"],
            change: { record in
                let publisher = try record.number(of: "Publisher")
                record.entities.append(
                    .init(
                        name: "Prize",
                        properties: [
                            .init(name: "name", role: .attribute(kind: "string", .unique)),
                            .init(
                                name: "donor",
                                role: .toOne(target: publisher, rule: .nullify, inverse: nil, counts: .any)),
                        ], compounds: []))
            },
            summaries: ["Prize: added"]
        ),
        Change(
            name: "a property removed",
            lines: ["a property removed"],
            change: { record in
                let (entity, place) = (try record.number(of: "Author"), try record.place(of: "motto", of: "Author"))
                record.entities[entity].properties.remove(at: place)
                // Numbers of properties behind it are one less now.
                record = try record.renumbering(entity, after: place)
            },
            summaries: ["Author.motto: removed"], touched: ["Author.motto"]
        ),
        Change(
            name: "properties in another order",
            lines: ["properties or entities in another order"],
            change: { record in
                let entity = try record.number(of: "Author")
                record.entities[entity].properties.swapAt(
                    try record.place(of: "email", of: "Author"), try record.place(of: "score", of: "Author"))
            },
            summaries: ["Author: the properties have another order"]
        ),
        Change(
            name: "an attribute is optional now",
            lines: ["an attribute made optional"],
            change: { try $0.change("score", of: "Author", to: .attribute(kind: "optional(int32)", .none)) },
            summaries: ["Author.score: int32 becomes optional(int32)"]
        ),
        Change(
            name: "wider integers",
            lines: ["an integer made wider", "`@Indexed` set or taken away, also over several properties"],
            change: { record in
                try record.change("stock", of: "Book", to: .attribute(kind: "int", .none))
                try record.change("copies", of: "Book", to: .attribute(kind: "int32", .none))
                try record.change("sold", of: "Book", to: .attribute(kind: "optional(uint64)", .none))
                try record.change("pages", of: "Book", to: .attribute(kind: "int128", .indexed))
                try record.change("followers", of: "Author", to: .attribute(kind: "uint128", .none))
            },
            summaries: [
                "Author.followers: uint8 becomes uint128", "Book.pages: indexed", "Book.pages: int32 becomes int128",
                "Book.stock: int8 becomes int",
                "Book.copies: uint16 becomes int32", "Book.sold: optional(uint32) becomes optional(uint64)",
            ]
        ),
        Change(
            name: "integers and Float become Double",
            lines: ["an integer of up to 64 bits made a `Double` or a `Float`", "a `Float` made a `Double`"],
            change: { record in
                try record.change("score", of: "Author", to: .attribute(kind: "double", .none))
                try record.change("rating", of: "Author", to: .attribute(kind: "double", .none))
                try record.change("awards", of: "Author", to: .attribute(kind: "float", .none))
            },
            summaries: [
                "Author.awards: int8 becomes float", "Author.rating: float becomes double",
                "Author.score: int32 becomes double",
            ],
            touched: ["Author.score", "Author.rating", "Author.awards"],
            check: { old, new in
                for (row, score) in old["Author", "score"] {
                    #expect(Double(new["Author", "score"][row] ?? "") == Double(score))
                }
                for (row, awards) in old["Author", "awards"] {
                    #expect(Float(new["Author", "awards"][row] ?? "") == Float(awards))
                }
                for (row, rating) in old["Author", "rating"] {
                    #expect(Double(new["Author", "rating"][row] ?? "").map { Float($0) } == Float(rating))
                }
            }
        ),
        Change(
            name: "an index added and one removed",
            lines: ["`@Indexed` set or taken away, also over several properties"],
            change: { record in
                try record.change("title", of: "Book", to: .attribute(kind: "string", .indexed))
                try record.change("name", of: "Author", to: .attribute(kind: "string", .none))
                record = try record.editing([("entity 1 \"Author\" index 5 1\n", "entity 1 \"Author\"\n")])
            },
            summaries: [
                "Author: no longer (country, name) indexed", "Author.name: no longer indexed", "Book.title: indexed",
            ]
        ),
        Change(
            name: "uniqueness added where values are",
            lines: ["`@Unique` set, also over several properties"],
            change: { try $0.change("token", of: "Book", to: .attribute(kind: "uuid", .unique)) },
            summaries: ["Book.token: unique"]
        ),
        Change(
            name: "delete rules and counts",
            lines: ["a delete rule", "a minimum or a maximum"],
            change: { record in
                record = try record.editing([
                    ("to-many 2 32 deny\n", "to-many 2 32 cascade\n"), (" maximum 5\n", " maximum 50\n"),
                ])
            },
            summaries: ["Book.tags: at most 5 becomes at most 50", "Shelf.books: deny becomes cascade"]
        ),
        Change(
            name: "an unordered relationship becomes ordered",
            lines: ["an unordered relationship made ordered"],
            change: { record in
                for (name, entity) in [("students", "Author"), ("books", "Tag"), ("books", "Shelf")] {
                    guard
                        case .toMany(let source, let inverse, let rule, _, let counts) = try record.role(
                            of: name, of: entity)
                    else { throw CancellationError() }
                    try record.change(
                        name, of: entity,
                        to: .toMany(source: source, inverse: inverse, rule: rule, isOrdered: true, counts: counts))
                }
            },
            summaries: [
                "Author.students: becomes ordered", "Tag.books: becomes ordered", "Shelf.books: becomes ordered",
            ],
            check: { old, new in
                for name in ["Author.students", "Tag.books", "Shelf.books"] {
                    // By owner, then in the order of insertion, which numbers show.
                    let pairs = { (state: PlainState) in
                        (state.links[name] ?? []).map { $0.split(separator: " → ").compactMap { UInt64($0) } }
                    }
                    #expect(pairs(new) == pairs(old).sorted { $0.lexicographicallyPrecedes($1) }, "\(name)")
                }
            }
        ),
        Change(
            name: "a to-one relationship becomes to-many, one to many",
            lines: ["a to-one relationship made to-many"],
            change: { record in
                let book = try record.number(of: "Book")
                let sequel = try record.place(of: "sequel", of: "Book")
                try record.change(
                    "prequel", of: "Book",
                    to: .toMany(source: book, inverse: sequel, rule: .nullify, isOrdered: false, counts: .any))
                try record.change(
                    "sequel", of: "Book", to: .toOne(target: book, rule: .nullify, inverse: nil, counts: .any))
            },
            summaries: ["Book.prequel: to-one becomes to-many"]
        ),
        Change(
            name: "a to-one relationship becomes to-many, many to many",
            lines: ["a to-one relationship made to-many"],
            change: { record in
                let (book, publisher) = (try record.number(of: "Book"), try record.number(of: "Publisher"))
                let (one, many) = (
                    try record.place(of: "publisher", of: "Book"), try record.place(of: "books", of: "Publisher")
                )
                try record.change(
                    "publisher", of: "Book",
                    to: .toMany(source: publisher, inverse: many, rule: .nullify, isOrdered: false, counts: .any))
                try record.change(
                    "books", of: "Publisher",
                    to: .toMany(source: book, inverse: one, rule: .nullify, isOrdered: true, counts: .any))
            },
            summaries: ["Book.publisher: to-one becomes to-many"]
        ),
        Change(
            name: "a reference without an inverse becomes many to many, with a new one",
            lines: ["a to-one relationship made to-many", "a to-many inverse added to a `ToOne` that had no inverse"],
            change: { record in
                let (book, draft) = (try record.number(of: "Book"), try record.number(of: "Draft"))
                let many = try record.place(of: "draft", of: "Book")
                try record.add(
                    "books", .toMany(source: book, inverse: many, rule: .nullify, isOrdered: true, counts: .any),
                    to: "Draft")
                let place = try record.place(of: "books", of: "Draft")
                try record.change(
                    "draft", of: "Book",
                    to: .toMany(source: draft, inverse: place, rule: .nullify, isOrdered: false, counts: .any))
            },
            summaries: ["Book.draft: to-one becomes to-many", "Draft.books: added"], touched: ["Draft.books"]
        ),
        Change(
            name: "an entity without objects removed, and the relationships to it",
            lines: ["an entity without objects removed"],
            change: { record in
                record = try record.removing("Draft")
            },
            summaries: ["Author.drafts: removed", "Book.draft: removed", "Draft: removed"],
            touched: ["Author.drafts", "Book.draft", "Draft"]
        ),
        Change(
            name: "an entity with objects removed",
            lines: ["an entity removed"],
            change: { record in record = try record.removing("Shelf") },
            summaries: ["Book.shelf: removed", "Shelf: removed with its 6 objects"],
            dropping: ["Shelf"], touched: ["Book.shelf", "Shelf"]
        ),
        Change(
            name: "a property removed and another one of its kind added, which is no renaming",
            lines: ["a property removed, and another of the same kind added to the same entity"],
            change: { record in
                let entity = try record.number(of: "Reader")
                let place = try record.place(of: "nickname", of: "Reader")
                record.entities[entity].properties[place] = .init(
                    name: "city", role: .attribute(kind: "optional(string)", .none))
            },
            summaries: ["Reader.city: added", "Reader.nickname: removed"],
            dropping: ["Reader.nickname"], touched: ["Reader.city", "Reader.nickname"],
            check: { _, new in #expect(new["Reader", "city"].allSatisfy { $0.value == "nil" }) }
        ),
    ]

    private static let changedStores = (changes + guideChanges).flatMap { change in
        [GoldenStore.library, .libraryCompacted, .libraryIndexed].map { (change, $0) }
    }

    @Test(arguments: changedStores)
    func `a change that needs no plan`(_ change: Change, _ store: GoldenStore) async throws {
        let folder = try store.copy()
        var record = try store.record
        try change.first(&record)
        let earlier = try Schema(record)
        let before = try await Coordinator.open(earlier, folder.file())
        let old = PlainState(before.snapshot)
        try await before.close()
        try FileManager.default.removeOldFiles(in: folder)
        try change.change(&record)
        let schema = try change.schema(record)
        var (states, isReplaced): ([PlainState], Bool) = ([], false)
        for round in 0..<3 {
            let coordinator = try await Coordinator.open(
                schema, folder.file(), dropping: round == 0 ? change.dropping : [])
            let found = coordinator.diagnostics.filter { [.recordedChange, .convertedChange].contains($0.kind) }
            #expect(found.map(\.message) == (round == 0 ? change.summaries : []))
            if round == 0 { try GuideTable.expect(found, of: change.lines) }
            if found.contains(where: { $0.kind == .convertedChange }) { isReplaced = true }
            #expect(coordinator.check() == [])
            states.append(PlainState(coordinator.snapshot))
            // The last one reads a compacted file.
            if round == 1 { try await coordinator.compact() }
            try await coordinator.close()
        }
        let new = states[0]
        #expect(states[1] == new && states[2] == new)
        try Self.compare(old, new, besides: change.touched)
        try change.check(old, new)
        // The old file is there if it was replaced, and opens as before.
        let kept = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.contains(".schema-") }
        #expect(kept.count == (isReplaced ? 1 : 0))
        if let name = kept.first {
            let path = (folder.path as NSString).appendingPathComponent(name)
            let coordinator = try await Coordinator.open(earlier, path)
            #expect(PlainState(coordinator.snapshot) == old)
            try await coordinator.close()
        }
    }

    /// Everything but what was touched is as before, row by row.
    private static func compare(_ old: PlainState, _ new: PlainState, besides touched: Set<String>) throws {
        let entities = { (name: String) in !touched.contains(String(name.prefix { $0 != "/" })) }
        #expect(Set(old.rows.keys.filter(entities)) == Set(new.rows.keys.filter(entities)))
        #expect(old.versions.filter { entities($0.key) } == new.versions.filter { entities($0.key) })
        for (row, values) in old.rows where entities(row) {
            let entity = row.prefix { $0 != "/" }
            let others = try #require(new.rows[row])
            for (property, value) in values where !touched.contains("\(entity).\(property)") {
                #expect(others[property] == value, "\(row).\(property)")
            }
        }
        let isTouched = { (name: String) in
            touched.contains(name) || touched.contains(String(name.prefix { $0 != "." }))
        }
        for name in Set(old.links.keys).union(new.links.keys) where !isTouched(name) {
            #expect(Set(old.links[name] ?? []) == Set(new.links[name] ?? []), "\(name)")
        }
    }

    // MARK: Refusals

    /// Why a changed schema is refused, after checking that the file is as before and alone.
    private static func refusal(of change: Change) async throws -> (GraphError?, Schema) {
        let folder = try GoldenStore.library.copy()
        let before = FileManager.default.contents(atPath: folder.file())
        var record = try GoldenStore.library.record
        try change.change(&record)
        let schema = try change.schema(record)
        let error = await #expect(throws: GraphError.self) { try await Coordinator.open(schema, folder.file()) }
        #expect(FileManager.default.contents(atPath: folder.file()) == before)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.allSatisfy { !$0.contains(".new-") && !$0.contains(".schema-") })
        return (error, schema)
    }

    static let refusals: [Change] = [
        Change(
            name: "a property without a default added",
            lines: ["a required attribute added"],
            change: { try $0.add("edition", .attribute(kind: "int", .none), to: "Book") },
            summaries: [
                """
                Book.edition: added, but nothing says what it is in the 48 objects of the file: declare a default, or make it \
                optional
                """
            ]
        ),
        Change(
            name: "a property that may have been renamed",
            lines: ["a property removed, and another of the same kind added to the same entity"],
            change: { record in
                let entity = try record.number(of: "Reader")
                let place = try record.place(of: "nickname", of: "Reader")
                record.entities[entity].properties[place] = .init(
                    name: "pseudonym", role: .attribute(kind: "optional(string)", .none))
            },
            summaries: [
                """
                Reader.pseudonym: added, perhaps renamed from 'nickname': say so with originalName: "nickname", or open with \
                dropping: ["Reader.nickname"]
                """
            ]
        ),
        Change(
            name: "an entity with objects removed, without a word",
            lines: ["an entity removed"],
            change: { record in record = try record.removing("Shelf") },
            summaries: ["Shelf: removed, but the file has 6 objects: open with dropping: [\"Shelf\"] to delete them"]
        ),
        Change(
            name: "narrowed, and kinds that have nothing to do with each other",
            change: { record in
                try record.change("score", of: "Author", to: .attribute(kind: "int16", .none))
                try record.change("pages", of: "Book", to: .attribute(kind: "uint64", .none))
                try record.change("title", of: "Book", to: .attribute(kind: "data", .none))
            },
            summaries: [
                "Author.score: int32 becomes int16: this needs a migration plan",
                "Book.title: string becomes data: this needs a migration plan",
                "Book.pages: int32 becomes uint64: this needs a migration plan",
            ]
        ),
        Change(
            name: "an attribute becomes a relationship, and the reverse",
            change: { record in
                let publisher = try record.number(of: "Publisher")
                try record.change(
                    "publisherName", of: "Book",
                    to: .toOne(target: publisher, rule: .nullify, inverse: nil, counts: .any))
                try record.change("draft", of: "Book", to: .attribute(kind: "optional(int)", .none))
            },
            summaries: [
                "Book.publisherName: an attribute becomes a relationship: this needs a migration plan",
                "Book.draft: a relationship becomes an attribute: this needs a migration plan",
            ]
        ),
        Change(
            name: "to-many becomes to-one, and ordered unordered",
            change: { record in
                let (book, author) = (try record.number(of: "Book"), try record.number(of: "Author"))
                let (editors, edited) = (
                    try record.place(of: "editors", of: "Book"), try record.place(of: "edited", of: "Author")
                )
                try record.change(
                    "editors", of: "Book", to: .toOne(target: author, rule: .nullify, inverse: nil, counts: .any))
                try record.change(
                    "edited", of: "Author",
                    to: .toMany(source: book, inverse: editors, rule: .nullify, isOrdered: false, counts: .any))
                guard
                    case .toMany(let source, let inverse, let rule, _, let counts) = try record.role(
                        of: "wishes", of: "Reader")
                else { throw CancellationError() }
                try record.change(
                    "wishes", of: "Reader",
                    to: .toMany(source: source, inverse: inverse, rule: rule, isOrdered: false, counts: counts))
            },
            summaries: [
                "Book.editors: to-many becomes to-one: this needs a migration plan",
                "Reader.wishes: an ordered relationship becomes an unordered one: this needs a migration plan",
            ]
        ),
        Change(
            name: "another inverse, and another target",
            change: { record in
                let tag = try record.number(of: "Tag")
                // `books` and `translations` change places at the other end.
                let books = try record.role(of: "books", of: "Author")
                try record.change("books", of: "Author", to: record.role(of: "translations", of: "Author"))
                try record.change("translations", of: "Author", to: books)
                try record.change(
                    "draft", of: "Book", to: .toOne(target: tag, rule: .nullify, inverse: nil, counts: .any))
            },
            summaries: [
                "Author.books: has another inverse: this needs a migration plan",
                "Author.translations: has another inverse: this needs a migration plan",
                "Book.author: has another inverse: this needs a migration plan",
                "Book.translator: has another inverse: this needs a migration plan",
                "Book.draft: leads to Tag instead of Draft: this needs a migration plan",
            ]
        ),
    ]

    @Test(arguments: refusals)
    func `a change that is refused names every reason, and leaves the file alone`(_ change: Change) async throws {
        let (error, schema) = try await Self.refusal(of: change)
        guard case .schemaMismatch(_, let differences)? = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(Set(differences) == Set(change.summaries))
        // Nothing is refused where there is nothing to lose, but for what only a plan can say.
        let empty = try GoldenStore.libraryEmpty.copy()
        let needsPlan = change.summaries.contains { $0.hasSuffix("plan") }
        if needsPlan {
            await #expect(throws: GraphError.self) { try await Coordinator.open(schema, empty.file()) }
        } else {
            let coordinator = try await Coordinator.open(schema, empty.file())
            #expect(coordinator.check() == [])
            try await coordinator.close()
        }
    }

    /// Objects that a new rule does not allow, and how many are told.
    static let violations: [Change] = [
        Change(
            name: "uniqueness",
            lines: ["`@Unique` set, also over several properties"],
            change: { try $0.change("country", of: "Author", to: .attribute(kind: "string", .unique)) },
            summaries: ["Author/p", ".country: has the same value as Author/p"]
        ),
        Change(
            name: "uniqueness, with the file written anew",
            change: { record in
                try record.change("country", of: "Author", to: .attribute(kind: "string", .unique))
                try record.add("more", .attribute(kind: "optional(int)", .none), to: "Author")
            },
            summaries: ["Author/p", ".country: has the same value as Author/p"]
        ),
        Change(
            name: "counts",
            lines: ["a minimum or a maximum"],
            change: { record in record = try record.editing([(" maximum 5\n", " maximum 1\n")]) },
            summaries: ["Book/p", ".tags: has ", "at most 1"]
        ),
        Change(
            name: "nil without a default",
            lines: ["an optional attribute made required"],
            change: { try $0.change("surname", of: "Author", to: .attribute(kind: "string", .none)) },
            summaries: ["Author/p", ".surname: is nil, and there is no default"]
        ),
        Change(
            name: "an inexact number",
            lines: ["an integer of up to 64 bits made a `Double` or a `Float`"],
            change: { try $0.change("number", of: "Card", to: .attribute(kind: "float", .unique)) },
            summaries: ["Card/p", ".number: ", "is not exact as a float"]
        ),
    ]

    @Test(arguments: violations + guideViolations)
    func `objects that do not fit are listed, and the file is left alone`(_ change: Change) async throws {
        let (error, _) = try await Self.refusal(of: change)
        guard case .migrationFailed(_, let failures)? = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(!failures.isEmpty && failures.count <= 101)
        for failure in failures {
            for text in change.summaries { #expect(failure.description.contains(text), "\(failure)") }
        }
    }
}

extension SchemaRecord {
    /// The schema after a property was taken out, with numbers of properties behind it counted anew.
    func renumbering(_ entity: Int, after place: Int) throws -> SchemaRecord {
        func moved(_ property: Int, of target: Int) -> Int {
            target == entity && property > place ? property - 1 : property
        }
        var result = self
        for number in entities.indices {
            let old = entities[number]
            result.entities[number] = Entity(
                name: old.name,
                properties: old.properties.map { property in
                    switch property.role {
                    case .attribute:
                        property
                    case .toOne(let target, let rule, let inverse, let counts):
                        Property(
                            name: property.name,
                            role: .toOne(
                                target: target, rule: rule, inverse: inverse.map { moved($0, of: target) },
                                counts: counts))
                    case .toMany(let source, let inverse, let rule, let isOrdered, let counts):
                        Property(
                            name: property.name,
                            role: .toMany(
                                source: source, inverse: moved(inverse, of: source), rule: rule, isOrdered: isOrdered,
                                counts: counts))
                    }
                },
                compounds: old.compounds.map {
                    Compound(isUnique: $0.isUnique, properties: $0.properties.map { moved($0, of: number) })
                }
            )
        }
        return result
    }

    /// The schema without an entity, which is the last one or has only relationships from one side, and what leads to it.
    func removing(_ name: String) throws -> SchemaRecord {
        var result = self
        let removed = try number(of: name)
        for entity in entities.indices where entity != removed {
            while let place = result.entities[entity].properties.firstIndex(where: { property in
                switch property.role {
                case .attribute: false
                case .toOne(let target, _, _, _): target == removed
                case .toMany(let source, _, _, _, _): source == removed
                }
            }) {
                result.entities[entity].properties.remove(at: place)
                result = try result.renumbering(entity, after: place)
            }
        }
        result.entities.remove(at: removed)
        func moved(_ entity: Int) -> Int { entity > removed ? entity - 1 : entity }
        for number in result.entities.indices {
            for (place, property) in result.entities[number].properties.enumerated() {
                let role: Role =
                    switch property.role {
                    case .attribute: property.role
                    case .toOne(let target, let rule, let inverse, let counts):
                        .toOne(target: moved(target), rule: rule, inverse: inverse, counts: counts)
                    case .toMany(let source, let inverse, let rule, let isOrdered, let counts):
                        .toMany(
                            source: moved(source), inverse: inverse, rule: rule, isOrdered: isOrdered, counts: counts)
                    }
                result.entities[number].properties[place] = Property(name: property.name, role: role)
            }
        }
        return result
    }
}
