import Foundation
import Testing

/// Links from one page of the repository to another, or to a file, lead somewhere.
struct LinkTests {
    @Test func `every relative link leads to a file, and to a heading that it has`() throws {
        var count = 0
        for page in try Self.pages() {
            let folder = DocumentedProgram.root.appendingPathComponent(page).deletingLastPathComponent()
            for link in Self.links(in: try DocumentedProgram.text(of: page)) {
                count += 1
                let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
                let file =
                    parts[0].isEmpty
                    ? DocumentedProgram.root.appendingPathComponent(page) : folder.appendingPathComponent(parts[0])
                try #require(FileManager.default.fileExists(atPath: file.path), "\(page): \(link)")
                if parts.count == 2 {
                    let headings = Self.anchors(in: try String(contentsOf: file, encoding: .utf8))
                    #expect(headings.contains(parts[1]), "\(page): \(link)")
                }
            }
        }
        #expect(count > 40)
    }

    /// From the repository's root.
    private static func pages() throws -> [String] {
        let manager = FileManager.default
        let top = try manager.contentsOfDirectory(atPath: DocumentedProgram.root.path)
        let docs = try manager.subpathsOfDirectory(atPath: DocumentedProgram.root.appendingPathComponent("Docs").path)
        return (top + docs.map { "Docs/\($0)" }).filter { $0.hasSuffix(".md") }.sorted()
    }

    /// What `[text](target)` leads to, without targets that are addresses of the web.
    private static func links(in text: String) -> [String] {
        prose(of: text).joined(separator: "\n").components(separatedBy: "](").dropFirst()
            .compactMap { $0.split(separator: ")", omittingEmptySubsequences: false).first.map(String.init) }
            .filter { !$0.contains("://") }
    }

    /// The names by which GitHub knows a page's headings.
    private static func anchors(in text: String) -> [String] {
        prose(of: text).filter { $0.hasPrefix("#") }.map { heading in
            heading.drop { $0 == "#" || $0 == " " }.lowercased()
                .filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" }
                .replacingOccurrences(of: " ", with: "-")
        }
    }

    /// The lines outside of code.
    private static func prose(of text: String) -> [String] {
        let blocks = text.components(separatedBy: "\n```")
        return blocks.indices.filter { $0.isMultiple(of: 2) }.flatMap {
            blocks[$0].split(separator: "\n").map(String.init)
        }
    }
}
