import Foundation
import Testing

@testable import GraphMacros

/// What the real compiler makes of all the pairs' declarations, with the plugin as it is built.
struct CompilationTests {
    /// Opening a coordinator compares each schema with the layout that the compiler gave the struct.
    @Test func `the schemas are those of the structs`() throws {
        let pairs = try ExpansionPair.all(in: .accepted)
        var sources = ["main.swift": "import Foundation\n"]
        for (number, pair) in pairs.enumerated() {
            sources["\(pair.name).swift"] = pair.program(andOpenIn: "open\(number)")
            sources["main.swift"]? += """
                do { try await open\(number)() } catch { print("\(pair.name): \\(error)") }

                """
        }
        sources["main.swift"]? += "print(\"ok\")\n"
        let output = try SwiftCompiler().output(of: sources, Self.options)
        #expect(output == ["ok"])
    }

    private static let options = ["-wmo", "-module-name", "Corpus", "-package-name", "Corpus"]

    @Test func `the compiler shows each problem at its place`() throws {
        let pairs = try ExpansionPair.all(in: .rejected)
        var sources: [String: String] = [:]
        for pair in pairs { sources["\(pair.name).swift"] = pair.program() }
        let outcome = try SwiftCompiler().compile(sources, Self.options + ["-typecheck"], in: TemporaryFolder())
        #expect(!outcome.succeeded)
        for pair in pairs {
            for line in pair.expected.split(separator: "\n") {
                let place = line.prefix { $0 != " " }
                let problem = "/\(pair.name).swift:\(place) error: \(line.dropFirst(place.count + 1))"
                #expect(outcome.output.components(separatedBy: problem).count == 2, "\(problem)")
            }
        }
    }

    /// Under which a module's methods are the main actor's unless they say otherwise, or stay with their caller.
    static let isolations = [
        [],
        ["-default-isolation", "MainActor"],
        ["-enable-upcoming-feature", "NonisolatedNonsendingByDefault"],
        [
            "-default-isolation", "MainActor", "-enable-upcoming-feature", "NonisolatedNonsendingByDefault",
            "-enable-upcoming-feature", "InferIsolatedConformances",
        ],
    ]

    @Test(arguments: isolations)
    func `saves call willSave and validate, however a module is isolated`(_ options: [String]) throws {
        let program = """
            import Graph

            @Entity struct Team {
                var wins = 0
                var isSound: Bool { wins < 3 }
                static let limit = 2
                func validate() throws { if !isSound, wins > Self.limit { throw ValidationError(\\Self.wins, "too many") } }
                mutating func willSave() { count() }
                mutating func count() { wins += 1 }
            }

            @Entity public struct Player {
                public var goals = 0
                public func validate() throws { if goals > 2 { throw ValidationError(\\Self.goals, "too many") } }
                public mutating func willSave() { goals += 1 }
            }

            @Entity struct Coach { var age = 0 }

            extension Coach {
                func validate() throws { if isOld { throw ValidationError(\\Self.age, "too many") } }
                mutating func willSave() { age += 1 }
                var isOld: Bool { age > 2 }
            }

            let context = Context(try await Coordinator(for: Team.self, Player.self, Coach.self))
            let ids = try await context.transaction { context in
                (context.insert(Team()).id, context.insert(Player()).id, context.insert(Coach()).id)
            }
            let saved = context.coordinator.snapshot
            let counts = [saved.value(for: ids.0)?.wins, saved.value(for: ids.1)?.goals, saved.value(for: ids.2)?.age]
            print(counts.map { $0 ?? 0 })
            do {
                try await context.transaction { context in
                    context[ids.0]?.wins = 2
                    context[ids.1]?.goals = 2
                    context[ids.2]?.age = 2
                }
            } catch {
                let text = "\\(error)"
                for name in ["Team", "Player", "Coach"] { print(name, text.contains("\\(name)/p1")) }
            }
            """
        let output = try SwiftCompiler().output(of: ["main.swift": program], options)
        #expect(output == ["[1, 1, 1]", "Team true", "Player true", "Coach true"])
    }
}

extension ExpansionPair {
    /// A file with the declaration at its lines and columns, and with a function that opens a coordinator.
    func program(andOpenIn function: String? = nil) -> String {
        var program = declaration
        for context in contexts { program = program.replacing("// in: \(context)}", with: context) }
        program += contexts.map { _ in "}\n" }.joined() + support + "\nimport Graph\n"
        guard let function else { return program }
        let others = support.split(separator: "\n").compactMap { line in
            line.hasPrefix("// opens: ") ? String(line.dropFirst("// opens: ".count)) : nil
        }
        let types = ([typeName] + others).map { "\($0).self" }.joined(separator: ", ")
        return program + "func \(function)() async throws { _ = try await Graph.Coordinator(for: \(types)) }\n"
    }
}
