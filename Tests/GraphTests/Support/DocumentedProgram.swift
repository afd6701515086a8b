import Foundation

/// The Swift in a Markdown file of the repository: a program that compiles, runs, and prints what its comments say.
struct DocumentedProgram {
    let source: String

    /// What stands behind `// prints` in the source, line by line.
    var expectedOutput: [String] {
        source.split(separator: "\n").compactMap { line in
            line.range(of: "// prints ").map { String(line[$0.upperBound...]) }
        }
    }

    /// The repository's.
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    static func text(of path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// Each block as a program of its own.
    static func blocks(of path: String) throws -> [DocumentedProgram] {
        try text(of: path).components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "\n```").first }.map { DocumentedProgram(source: $0) }
    }

    /// All blocks of a file, one after another, as one program.
    init(joiningBlocksOf path: String) throws {
        source = try Self.blocks(of: path).map(\.source).joined(separator: "\n\n")
    }

    private init(source: String) {
        self.source = source
    }
}

extension DocumentedProgram {
    /// The same program as a file with a function, to be compiled beside others: what it declares, and then the function, which
    /// does what stands at the top level of the program. As that does, it runs on the main actor.
    func file(withFunction name: String) -> String {
        var (declarations, statements): ([String], [String]) = ([], [])
        var part: [Substring] = []
        func endPart() {
            guard !part.isEmpty, !Self.isOnlyIntroduction(part) else { return }
            let text = part.joined(separator: "\n")
            if Self.isDeclaration(part) { declarations.append(text) } else { statements.append(text) }
            part = []
        }
        for line in source.split(separator: "\n", omittingEmptySubsequences: false) {
            if let first = line.first, first != " ", first != "}", first != ")" { endPart() }
            part.append(line)
        }
        endPart()
        let body = (statements + part.map(String.init)).joined(separator: "\n")
        return declarations.joined(separator: "\n") + "\n\n@MainActor func \(name)() async throws {\n\(body)\n}\n"
    }

    /// Comments, and attributes on lines of their own, belong to what follows.
    private static func isOnlyIntroduction(_ part: [Substring]) -> Bool {
        part.allSatisfy { line in
            line.isEmpty || line.hasPrefix("//") || (line.hasPrefix("@") && keyword(of: line).isEmpty)
        }
    }

    private static func isDeclaration(_ part: [Substring]) -> Bool {
        let keywords = part.lazy.filter { !$0.hasPrefix("//") }.map(keyword).first { !$0.isEmpty }
        return ["import", "struct", "enum", "class", "actor", "protocol", "extension"].contains(keywords)
    }

    /// The first word that is no attribute and no modifier.
    private static func keyword(of line: Substring) -> Substring {
        var line = line
        while line.first == "@" {
            let bracket = line.firstIndex { $0 == "(" || $0 == " " } ?? line.endIndex
            if bracket < line.endIndex, line[bracket] == "(" {
                line = line[(line.lastIndex(of: ")") ?? bracket)...].dropFirst()
            } else {
                line = line[bracket...]
            }
            line = line.drop { $0 == " " }
        }
        let words = line.split { !$0.isLetter }
        return words.first { !["final", "nonisolated", "private", "public"].contains($0) } ?? ""
    }
}
