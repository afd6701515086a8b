import Foundation
import Testing

/// The folders of `Sources/Graph` are layers: what is in one knows the types of its own folder and of those below, as
/// `Docs/Design/Architecture.md` draws them.
struct LayerTests {
    /// From the bottom up.
    static let layers = [
        "Support", "Model", "Rows", "Evolution", "Query", "Changes", "Journal", "Records", "Observation",
        "Coordinator", "Following", "Context", "Exchange", "Inspection",
    ]

    /// What cannot be helped. Three lines at most.
    static let exceptions: Set<String> = [
        // `@Model` types name the class of their objects.
        "Model/Entity.swift uses ManagedObject of Context"
    ]

    private struct File {
        let name: String
        let layer: Int
        /// The types that it declares, nested ones too.
        let types: [(name: Substring, isNested: Bool)]
        /// The types that it names, other than as a part of another one.
        let names: Set<Substring>

        init(name: String, layer: Int, text: String) {
            (self.name, self.layer) = (name, layer)
            let code = LayerTests.code(in: text)
            types = code.matches(of: /(?m)^( *)[^\n(="{]*?\b(?:struct|class|enum|actor|protocol|typealias) +(\w+)/)
                .map { ($0.2, !$0.1.isEmpty) }
            names = Set(code.matches(of: /(?:^|[^.\w])([A-Z]\w*)/).map(\.1))
        }
    }

    private static func files() throws -> [File] {
        let sources = URL(fileURLWithPath: #filePath).appending(path: "../../../../Sources/Graph").standardized
        return try layers.enumerated().flatMap { layer, folder in
            let paths = FileManager.default.enumerator(atPath: sources.appending(path: folder).path)
            let names = (paths?.allObjects as? [String] ?? []).filter { $0.hasSuffix(".swift") }
            return try names.map { name in
                let text = try String(contentsOf: sources.appending(path: "\(folder)/\(name)"), encoding: .utf8)
                return File(name: "\(folder)/\(name)", layer: layer, text: text)
            }
        }
    }

    /// Without comments, and without texts, of which only what is interpolated is code.
    private static func code(in text: String) -> String {
        text.replacing(/\/\/[^\n]*/, with: "").split(separator: "\n").map { line in
            guard line.utf8.contains(UInt8(ascii: "\"")) else { return String(line) }
            // What is between quotation marks is code only between the parentheses of interpolations.
            return String(line).replacing(/"(?:[^"\\]|\\.)*"/) { text in
                text.output.matches(of: /\\\(([^"]*?)\)/).map { "(\($0.1))" }.joined(separator: " ")
            }
        }.joined(separator: "\n")
    }

    @Test func `no file uses a type of a folder above its own`() throws {
        let files = try Self.files()
        #expect(files.count > 100)
        var homes: [Substring: Int] = [:]
        for file in files { for type in file.types where !type.isNested { homes[type.name] = file.layer } }
        #expect(homes["Snapshot"] == 2)
        var arrows: Set<String> = []
        for file in files {
            for name in file.names.subtracting(file.types.map(\.name)) {
                guard let home = homes[name], home > file.layer else { continue }
                arrows.insert("\(file.name) uses \(name) of \(Self.layers[home])")
            }
        }
        #expect(arrows.subtracting(Self.exceptions) == [])
        #expect(Self.exceptions.subtracting(arrows) == [], "no longer needed")
    }

    @Test func `every folder is a layer`() throws {
        let sources = URL(fileURLWithPath: #filePath).appending(path: "../../../../Sources/Graph").standardized
        #expect(try FileManager.default.contentsOfDirectory(atPath: sources.path).sorted() == Self.layers.sorted())
    }
}
