import Foundation
import Testing

/// The guides' Swift compiles, runs, and prints what it says it prints; and the landing page leads to everything.
struct GuideTests {
    private static let folder = "Docs/Graph.docc"

    /// All guides are one module, since the compiler takes longer to start than to compile one of them. They are therefore to
    /// have different names for what they declare.
    @Test func `every guide's program runs and prints what its comments say`() throws {
        var sources = ["main.swift": ""]
        var expected: [String: [String]] = [:]
        for guide in try Self.guides() {
            let program = try DocumentedProgram(joiningBlocksOf: "\(Self.folder)/\(guide).md")
            guard !program.source.isEmpty else { continue }
            expected[guide] = program.expectedOutput
            sources["\(guide).swift"] = program.file(withFunction: "run\(guide)")
            sources["main.swift"]? += """
                print("\(Self.mark)\(guide)")
                do { try await run\(guide)() } catch { print("threw \\(error)") }

                """
        }
        #expect(expected.count > 10)
        let options = ["-wmo", "-module-name", "Guides", "-warnings-as-errors"]
        let output = Self.parts(of: try SwiftCompiler().output(of: sources, options))
        for (guide, lines) in expected.sorted(by: { $0.key < $1.key }) {
            #expect(!lines.isEmpty && output[guide] == lines, "\(guide)")
        }
    }

    /// Begins a line that says whose output follows.
    private static let mark = "== "

    private static func parts(of output: [String]) -> [String: [String]] {
        var parts: [String: [String]] = [:]
        var guide = ""
        for line in output {
            if line.hasPrefix(mark) {
                guide = String(line.dropFirst(mark.count))
            } else {
                parts[guide, default: []].append(line)
            }
        }
        return parts
    }

    private static func guides() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: DocumentedProgram.root.path + "/" + folder)
            .filter { $0.hasSuffix(".md") }.map { String($0.dropLast(3)) }.sorted()
    }

    @Test func `the landing page leads to every public symbol and every guide`() throws {
        let page = try DocumentedProgram.text(of: "\(Self.folder)/Graph.md")
        let graph = try SymbolGraph.graph.get()
        let names = graph.symbols.filter { $0.pathComponents.count == 1 }.map(\.pathComponents[0])
        #expect(names.count > 50)
        for name in names {
            #expect(page.contains("- ``\(name)``") || page.contains("- ``\(name)-"), "\(name)")
        }
        for guide in try Self.guides() {
            let isGuide = try DocumentedProgram.text(of: "\(Self.folder)/\(guide).md").hasPrefix("# ``") == false
            #expect(!isGuide || page.contains("- <doc:\(guide)>"), "\(guide)")
        }
    }

    /// Of the types whose methods do the work. What the standard library adds says so itself.
    @Test func `what does work says what it costs`() throws {
        let types: Set = [
            "Context", "ContextActor", "Coordinator", "ManagedObject", "RelatedObjects", "Snapshot",
            "SnapshotDifference", "Commit",
        ]
        let kinds: Set = ["swift.init", "swift.method", "swift.subscript", "swift.type.method"]
        let graph = try SymbolGraph.graph.get()
        let symbols = graph.symbols.filter { symbol in
            types.contains(symbol.pathComponents[0]) && kinds.contains(symbol.kind.identifier)
                && !symbol.identifier.precise.contains("::SYNTHESIZED::")
        }
        #expect(symbols.count > 80)
        for symbol in symbols {
            let name = symbol.pathComponents.joined(separator: ".")
            let isOfIdentity = ["ManagedObject.hash(into:)", "ManagedObject.==(_:_:)"].contains(name)
            let comment = symbol.docComment?.lines.map(\.text) ?? []
            #expect(isOfIdentity || comment.contains { $0.contains("Complexity: ") }, "\(name)")
        }
    }
}
