import Foundation
import Testing

@testable import GraphMacros

/// Declarations and what `@Entity` makes of them, in pairs of files: `X.declaration` and `X.expansion`.
///
/// A declaration may be preceded by comments, of which `// in: public extension Outer {}` says what encloses it, outermost
/// first. An expansion is the text that the compiler gets, or the problems: each a line of `line:column: message`.
struct ExpansionTests {
    @Test(arguments: try ExpansionPair.all(in: "Accepted"))
    func `what is written for a declaration`(_ pair: ExpansionPair) {
        let expansion = pair.expand()
        #expect(expansion.problems.isEmpty)
        #expect(expansion.source?.replacing(EntityMacro.module, with: "Graph::") == pair.expected)
    }

    @Test(arguments: try ExpansionPair.all(in: "Rejected"))
    func `what the author of a declaration is told`(_ pair: ExpansionPair) {
        #expect(pair.problems() == pair.expected)
    }

    @Test func `there are enough of them`() throws {
        #expect(try ExpansionPair.all(in: "Accepted").count + ExpansionPair.all(in: "Rejected").count >= 80)
    }
}

struct ExpansionPair: CustomTestStringConvertible {
    let testDescription: String
    let declaration: String
    /// Without a line end at the end.
    let expected: String

    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Expansions")

    static func all(in name: String) throws -> [ExpansionPair] {
        let folder = folder.appendingPathComponent(name)
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
            $0.hasSuffix(".declaration")
        }
        return try files.sorted().map { file in
            let url = folder.appendingPathComponent(file)
            let expansion = url.deletingPathExtension().appendingPathExtension("expansion")
            let expected = try String(contentsOf: expansion, encoding: .utf8)
            return ExpansionPair(
                testDescription: url.deletingPathExtension().lastPathComponent,
                declaration: try String(contentsOf: url, encoding: .utf8),
                expected: expected.hasSuffix("\n") ? String(expected.dropLast()) : expected
            )
        }
    }

    /// What encloses the declaration, from the innermost out.
    private var contexts: [String] {
        declaration.split(separator: "\n").prefix { $0.hasPrefix("//") }.filter { $0.hasPrefix("// in: ") }
            .map { String($0.dropFirst(7)) }.reversed()
    }

    func expand() -> Expansion {
        let name = contexts.reversed().map { $0.split(separator: " ").dropLast().last.map(String.init) ?? "" }
        let own = (try? DeclarationReader.read(SourceText(declaration)).name.source) ?? ""
        return Expansion(
            of: ExpansionRequest(
                macro: "EntityMacro",
                role: "extension",
                attribute: SourceText("@Entity"),
                declaration: SourceText(declaration),
                extendedType: (name + [own]).joined(separator: "."),
                lexicalContext: contexts.map { SourceText($0) }
            )
        )
    }

    /// Each problem with its place.
    func problems() -> String {
        expand().problems.map { problem in
            let before = Array(declaration.utf8.prefix(problem.range.lowerBound))
            let line = before.count { $0 == UInt8(ascii: "\n") } + 1
            let column = before.reversed().prefix { $0 != UInt8(ascii: "\n") }.count + 1
            return "\(line):\(column): \(problem.message)"
        }.joined(separator: "\n")
    }
}
