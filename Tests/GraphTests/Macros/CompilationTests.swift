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
