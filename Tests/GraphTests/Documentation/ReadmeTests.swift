import Foundation
import Testing

/// The Swift in the README is a program that compiles, runs, and prints what it says it prints.
struct ReadmeTests {
    @Test func `the README's program runs and prints what its comments say`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
        let programs = Self.swiftBlocks(of: readme)
        try #require(!programs.isEmpty)
        for program in programs {
            let expected = program.split(separator: "\n").compactMap { line in
                line.range(of: "// prints ").map { String(line[$0.upperBound...]) }
            }
            try #require(!expected.isEmpty)
            #expect(try SwiftCompiler().output(of: program) == expected)
        }
    }

    private static func swiftBlocks(of text: String) -> [String] {
        text.components(separatedBy: "```swift\n").dropFirst().compactMap { $0.components(separatedBy: "\n```").first }
    }
}
