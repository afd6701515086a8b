import Foundation
import Testing

@testable import GraphMacros

/// A declaration and what becomes of it, in two files: `X.declaration` and `X.expansion`.
///
/// A declaration may be preceded by comments, of which `// in: public extension Outer {}` says what encloses it, outermost
/// first. What follows a line `// with:` is there for the compiler, not for the macro. An expansion is the text that the
/// compiler gets, or the problems: each a line of `line:column: message`.
struct ExpansionPair: CustomTestStringConvertible, Sendable {
    enum Folder: String {
        /// What the compiler takes, the expansion included.
        case accepted = "Accepted"
        /// What is only read: programs that would need more than themselves, or another compiler.
        case read = "Read"
        case rejected = "Rejected"
    }

    let name: String
    /// With what encloses it, as comments.
    let declaration: String
    /// What else a program needs that has the declaration in it.
    let support: String
    /// Without a line end at the end.
    let expected: String

    var testDescription: String { name }

    static func all(in folder: Folder) throws -> [ExpansionPair] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Expansions").appendingPathComponent(folder.rawValue)
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        return try files.filter { $0.hasSuffix(".declaration") }.sorted().map { file in
            let url = folder.appendingPathComponent(file).deletingPathExtension()
            return ExpansionPair(
                name: url.lastPathComponent,
                text: try String(contentsOf: url.appendingPathExtension("declaration"), encoding: .utf8),
                expected: try String(contentsOf: url.appendingPathExtension("expansion"), encoding: .utf8)
            )
        }
    }

    private init(name: String, text: String, expected: String) {
        self.name = name
        let parts = text.components(separatedBy: "// with:\n")
        declaration = parts[0]
        support = parts.dropFirst().joined()
        self.expected = expected.hasSuffix("\n") ? String(expected.dropLast()) : expected
    }

    /// The openings of what encloses the declaration, such as `public extension Outer {`, outermost first.
    var contexts: [String] {
        declaration.split(separator: "\n").prefix { $0.hasPrefix("//") }.filter { $0.hasPrefix("// in: ") }
            .map { String($0.dropFirst("// in: ".count).dropLast()) }
    }

    /// The name by which a program reaches the declared type.
    var typeName: String {
        let outer = contexts.compactMap { $0.split(separator: " ").dropLast().last.map(String.init) }
        let own = try? DeclarationReader.read(source).name.source
        return (outer + [own ?? ""]).joined(separator: ".")
    }

    // MARK: What the macros say

    private var source: SourceText { SourceText(declaration) }

    /// What is written into the struct, and beside it.
    func text() -> String {
        ["member", "extension"].compactMap { expansion(role: $0).source }.joined(separator: "\n\n")
            .replacing(EntityMembers.module, with: "Graph::")
    }

    private func expansion(role: String) -> Expansion {
        let inherited = (try? DeclarationReader.read(source))?.inherited ?? []
        return Expansion(
            of: ExpansionRequest(
                macro: "EntityMacro",
                role: role,
                attribute: SourceText("@Entity"),
                declaration: source,
                extendedType: typeName,
                addsConformance: !inherited.contains { source[$0].hasSuffix("Entity") },
                lexicalContext: contexts.reversed().map { SourceText($0 + "}") }
            )
        )
    }

    /// The errors that the compiler shows, each with its place, in the order of the source.
    func problems() -> String {
        var problems: [Problem] = []
        if (try? DeclarationReader.read(source))?.attributes.contains(where: { $0.name == "Entity" }) ?? true {
            problems = ["member", "extension"].flatMap { expansion(role: $0).problems }
        }
        problems += propertyProblems()
        return problems.filter { !$0.isWarning }.sorted { $0.range.lowerBound < $1.range.lowerBound }.map { problem in
            let before = Array(declaration.utf8.prefix(problem.range.lowerBound))
            let line = before.count { $0 == UInt8(ascii: "\n") } + 1
            let column = before.reversed().prefix { $0 != UInt8(ascii: "\n") }.count + 1
            return "\(line):\(column): \(problem.message)"
        }.joined(separator: "\n")
    }

    /// Those of `@Unique` and its like.
    private func propertyProblems() -> [Problem] {
        let members = (try? DeclarationReader.read(source))?.members ?? []
        let attributes = members.flatMap { member -> [Attribute] in
            if case .variable(let variable) = member { variable.attributes } else { [] }
        }
        return attributes.filter { ["Unique", "Indexed", "Transient", "Relationship"].contains($0.name) }
            .flatMap { attribute in
                let request = ExpansionRequest(
                    macro: "PropertyMacro",
                    role: "peer",
                    attribute: SourceText(source[attribute.range]),
                    declaration: SourceText("var x: Int"),
                    lexicalContext: [source]
                )
                return Expansion(of: request).problems.map { problem in
                    let start = attribute.range.lowerBound
                    return Problem(
                        message: problem.message,
                        range: start + problem.range.lowerBound..<start + problem.range.upperBound
                    )
                }
            }
    }
}
