import Testing

@testable import Graph

/// Which of its methods the compiler takes for a statement of a schema.
struct EntitySchemaTests {
    @Test func `an inverse is of either kind, named with its entity or without`() {
        let schema = EntitySchema<Author>("Author") {
            $0.toOne("one", \.one)
            $0.toOne("one", \.one, deleteRule: .cascade, minimum: 1, originalName: "x")
            $0.toOne("one", \.one, inverse: \Work.one)
            $0.toOne("one", \.one, inverse: \.one)
            $0.toOne("one", \.one, inverse: \Work.many)
            $0.toOne("one", \.one, inverse: \.many, deleteRule: .deny, minimum: 1, originalName: "x")
            $0.toMany("many", \.many)
            $0.toMany("many", \.many, deleteRule: .deny, ordered: true, minimum: 1, maximum: 2, originalName: "x")
            $0.toMany("many", \.many, inverse: \Work.one)
            $0.toMany("many", \.many, inverse: \.one)
            $0.toMany("many", \.many, inverse: \Work.many)
            $0.toMany("many", \.many, inverse: \.many, deleteRule: .cascade, minimum: 1, maximum: 2)
        }
        let inverses = schema.properties.map { $0.relationship?.inverse.map { $0 as AnyKeyPath } }
        let (one, many): (AnyKeyPath, AnyKeyPath) = (\Work.one, \Work.many)
        #expect(inverses == [nil, nil, one, one, many, many, nil, nil, one, one, many, many])

        let rules = schema.properties.map { $0.relationship?.rule.rawValue.first }
        #expect(rules == ["n", "c", "n", "n", "n", "d", "n", "d", "n", "n", "n", "c"])
        let counts = schema.properties.map { property in
            "\(property.relationship?.counts.minimum ?? 0)…\(property.relationship?.counts.maximum?.description ?? "")"
        }
        #expect(
            counts == ["0…", "1…", "0…", "0…", "0…", "1…", "0…", "1…2", "0…", "0…", "0…", "1…2"])
        #expect(schema.properties.map { $0.originalNames.first ?? "" }.joined(separator: ",") == ",x,,,,x,,x,,,,")
        #expect(schema.properties.indices.filter { schema.properties[$0].relationship?.isOrdered == true } == [7])
    }

    static let noInverses = [
        #"toOne("one", \.one, inverse: \Work.title)"#,
        #"toOne("one", \.one, inverse: \Work.next, minimum: 1)"#,
        #"toOne("one", \.one, inverse: \Work.others, deleteRule: .deny, originalName: "x")"#,
        #"toOne("one", \.one, inverse: \Author.one)"#,
        #"toMany("many", \.many, inverse: \Work.title, ordered: true)"#,
        #"toMany("many", \.many, inverse: \Work.next, maximum: 3)"#,
        #"toMany("many", \.many, inverse: \Work.others, minimum: 1, originalName: "x")"#,
        #"toMany("many", \.many, inverse: \Author.many)"#,
    ]

    static let noOrders = [
        #"attribute("tags", \.tags, unique: true)"#,
        #"attribute("tags", \.tags, unique: true, onConflict: .upsert)"#,
        #"attribute("tags", \.tags, unique: true, onConflict: .upsert, indexed: true, originalName: "x")"#,
        #"attribute("tags", \.tags, indexed: true)"#,
    ]

    @Test func `what cannot be an inverse or has no order is told so`() throws {
        var source = """
            import Graph
            struct Work: Entity {
                var title = ""
                var next: ToOne<Work> = nil
                var others: ToMany<Work> = []
                static let schema = EntitySchema<Work>("Work") { _ = $0 }
            }
            struct Author: Entity {
                var tags: [String] = []
                var one: ToOne<Work> = nil
                var many: ToMany<Work> = []
                static let schema = EntitySchema<Author>("Author") { _ = $0 }
            }

            """
        let statements =
            Self.noInverses.map { ($0, "the inverse of a relationship is a ToOne or ToMany of the other entity") }
            + Self.noOrders.map { ($0, "an attribute that is unique or indexed has an order") }
        for (number, statement) in statements.enumerated() {
            source += #"func statement\#(number)() { _ = EntitySchema<Author>("A") { $0.\#(statement.0) } }\#n"#
        }
        let diagnostics = try SwiftCompiler().diagnostics(of: source).filter { $0.contains("snippet.swift:") }
        #expect(diagnostics.count == statements.count, "\(diagnostics)")
        let first = source.split(separator: "\n", omittingEmptySubsequences: false).count - statements.count
        for (number, statement) in statements.enumerated() {
            let place = "snippet.swift:\(first + number):"
            #expect(
                diagnostics.contains { $0.contains(place) && $0.contains("is unavailable: \(statement.1)") },
                "\(statement.0)\n\(diagnostics)")
        }
    }
}

private struct Author: Entity {
    var one: ToOne<Work> = nil
    var many: ToMany<Work> = []

    static let schema = EntitySchema<Author>("Author") {
        $0.toOne("one", \.one)
        $0.toMany("many", \.many)
    }
}

private struct Work: Entity {
    var one: ToOne<Author> = nil
    var many: ToMany<Author> = []

    static let schema = EntitySchema<Work>("Work") {
        $0.toOne("one", \.one)
        $0.toMany("many", \.many)
    }
}
