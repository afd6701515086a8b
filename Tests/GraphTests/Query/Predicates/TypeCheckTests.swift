import Foundation
import Testing

/// The compiler has about as much work with a `#Predicate` where Graph is imported as with the same one over plain structs.
///
/// An overload of what the macro expands to is the danger: one of `build_Arg` or `build_KeyPath` makes every predicate of every
/// importing file several times slower to check, four of them fifty times. What is counted is how many possibilities the type
/// checker tries, which is the same on every machine, whatever else it does. It takes 3 microseconds or so for each.
struct TypeCheckTests {
    @Test func `predicates are hardly more work for the compiler than without Graph`() throws {
        let ratio = try Self.ratio(adding: "")
        #expect(ratio < Self.limit)
    }

    @Test func `one overload of what the macro expands to would be noticed`() throws {
        let ratio = try Self.ratio(
            adding: """
                extension PredicateExpressions {
                    static func build_Arg<E: Entity>(_ id: PersistentID<E>) -> PredicateExpressions.Value<PersistentID<E>> {
                        .init(id)
                    }
                }
                """)
        #expect(ratio > Self.limit)
    }

    /// It is 2.1 because of overloads of `build_contains` and the like, which cost nothing in other predicates; with one overload of
    /// `build_Arg` it is 6.
    private static let limit = 3.0

    /// How many times as many possibilities the compiler tries with Graph.
    private static func ratio(adding overloads: String) throws -> Double {
        let compiler = try SwiftCompiler()
        let without = try compiler.triedPossibilities(of: plain + predicates + plainSorts)
        let with = try compiler.triedPossibilities(of: entities + predicates + sorts + overloads)
        return Double(with) / Double(without)
    }

    private static let plain = """
        import FoundationEssentials

        struct Team { var name = ""; var city: String? = nil; var members: [Person] = [] }
        struct Person {
            var name = ""; var age = 0; var email: String? = nil; var joined = Date(timeIntervalSince1970: 0); var team: Team? = nil
        }

        """

    private static let entities = """
        import FoundationEssentials
        import Graph

        @Entity struct Team {
            var name = ""; var city: String? = nil
            @Relationship(inverse: \\Person.team) var members: ToMany<Person> = []
        }
        @Entity struct Person {
            var name = ""; var age = 0; var email: String? = nil; var joined = Date(timeIntervalSince1970: 0)
            var team: ToOne<Team> = nil
        }

        """

    /// The same text on both sides, but for the reference, whose members an optional has behind a question mark.
    private static let predicates = """
        func four(_ name: String, _ age: Int, _ date: Date) -> Predicate<Person> {
            #Predicate { $0.name == name && $0.age >= age && $0.age < 65 && $0.joined > date }
        }
        func either(_ name: String, _ email: String) -> Predicate<Person> {
            #Predicate { $0.name.starts(with: name) || $0.email == email || $0.email == nil }
        }
        func members(_ age: Int) -> Predicate<Team> {
            #Predicate { $0.name != "" && $0.members.contains { $0.age > age && $0.name == "Ada" } }
        }
        func all(_ age: Int) -> Predicate<Team> {
            #Predicate { $0.members.allSatisfy { $0.age > age } && $0.city != nil }
        }
        func elements(_ names: [String], _ ages: Range<Int>) -> Predicate<Person> {
            #Predicate { names.contains($0.name) && ages.contains($0.age) && !($0.age == 20) }
        }

        """

    private static let plainSorts = """
        func through(_ name: String, _ city: String, _ age: Int) -> Predicate<Person> {
            #Predicate { $0.team?.name == name && $0.team?.city == city && $0.age > age && $0.name != name }
        }
        func sorts() -> [SortDescriptorLike<Person>] {
            [.ascending(\\.team?.name), .descending(\\.age), .ascending(\\.name)]
        }
        struct SortDescriptorLike<Root> {
            let keyPath: PartialKeyPath<Root>
            static func ascending<V: Comparable>(_ keyPath: KeyPath<Root, V>) -> Self { Self(keyPath: keyPath) }
            static func ascending<V: Comparable>(_ keyPath: KeyPath<Root, V?>) -> Self { Self(keyPath: keyPath) }
            static func descending<V: Comparable>(_ keyPath: KeyPath<Root, V>) -> Self { Self(keyPath: keyPath) }
        }

        """

    private static let sorts = """
        func through(_ name: String, _ city: String, _ age: Int) -> Predicate<Person> {
            #Predicate { $0.team.name == name && $0.team.city == city && $0.age > age && $0.name != name }
        }
        func sorts() -> [Ordering<Person>] {
            [.ascending(\\.team, \\.name), .descending(\\.age), .ascending(\\.name)]
        }

        """
}

extension SwiftCompiler {
    /// How many scopes the type checker has opened to try something out.
    fileprivate func triedPossibilities(of source: String) throws -> Int {
        let folder = try TemporaryFolder()
        let statistics = folder.file("statistics")
        try FileManager.default.createDirectory(atPath: statistics, withIntermediateDirectories: true)
        let options = ["-typecheck", "-parse-as-library", "-stats-output-dir", statistics]
        let outcome = try compile(["snippet.swift": source], options, in: folder)
        guard outcome.succeeded else { throw Missing(description: outcome.output) }
        // A file for each process that took part, with a number for each thing counted.
        for file in try FileManager.default.contentsOfDirectory(atPath: statistics) {
            let data = try Data(contentsOf: URL(fileURLWithPath: statistics + "/" + file))
            let numbers = try JSONSerialization.jsonObject(with: data) as? [String: Any]
            if let count = numbers?["Sema.NumConstraintScopes"] as? Int, count > 0 { return count }
        }
        throw Missing(description: "the compiler has not counted what it tried")
    }
}
