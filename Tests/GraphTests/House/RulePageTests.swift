import Foundation
import Testing

/// The page of rules has all of them, and each has tests that name it.
struct RulePageTests {
    @Test func `each rule of the page is named by tests`() throws {
        let page = try DocumentedProgram.text(of: "Docs/Design/Rules.md")
        let rules = page.split(separator: "\n").compactMap { line in
            line.hasPrefix("- **R") ? line.dropFirst(4).prefix { $0 != "*" } : nil
        }
        // A rule that came between two others has a letter behind its number.
        let numbers = rules.compactMap { Int($0.dropFirst()) }
        #expect(numbers.count >= 41 && numbers == Array(1...numbers.count))
        let folder = DocumentedProgram.root.appending(path: "Tests/GraphTests")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap {
            $0 as? URL
        }
        var named: Set<Substring> = []
        for file in files ?? [] where file.pathExtension == "swift" && file.lastPathComponent != "RulePageTests.swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            // `R1`, and not the end of another word or a longer number.
            for word in text.split(whereSeparator: { !($0.isASCII && ($0.isLetter || $0.isNumber)) }) {
                named.insert(word)
            }
        }
        #expect(rules.filter { !named.contains($0) } == [])
    }
}
