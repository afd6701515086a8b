import Foundation
import Testing

/// `.ci/campaign bugs` plants what is listed; here each of it is only looked for.
struct PlantedBugTests {
    private let bugs: [PlantedBug]

    init() throws {
        bugs = try PlantedBug.list(try DocumentedProgram.text(of: "Tests/PlantedBugs.txt"))
    }

    @Test func `each bug that can be planted has its place, and one place has one bug`() throws {
        #expect(bugs.count >= 90 && Set(bugs.map(\.name)).count == bugs.count)
        for (file, bugs) in Dictionary(grouping: bugs, by: \.file) {
            let source = try DocumentedProgram.text(of: "Sources/Graph/" + file)
            #expect(throws: Never.self) { try PlantedBug.plant(bugs, in: source) { _ in "false" } }
        }
    }

    @Test func `each test that is to find a bug exists`() throws {
        let tests = FileManager.default.enumerator(
            at: DocumentedProgram.root.appending(path: "Tests/GraphTests"), includingPropertiesForKeys: nil)
        let files = Set((tests?.compactMap { $0 as? URL } ?? []).map { $0.deletingPathExtension().lastPathComponent })
        for bug in bugs where bug.finder[0] == "test" {
            #expect(bug.finder[1].split(separator: "|").allSatisfy { files.contains(String($0)) }, "\(bug.name)")
        }
    }

    @Test func `a bug is planted in its place, and a text that is not there once is an error`() throws {
        let bugs = try PlantedBug.list("a\nb.swift\n- x()\n+ if !BUG { x() }\n> test C\n\n# D\n\n")
        #expect(try PlantedBug.plant(bugs, in: "1 x() 2") { $0.name } == "1 if !a { x() } 2")
        for text in ["1", "x() x()"] {
            #expect(throws: PlantedBug.Malformed.self) { try PlantedBug.plant(bugs, in: text) { _ in "" } }
        }
        #expect(throws: PlantedBug.Malformed.self) { try PlantedBug.plant(bugs + bugs, in: "x()") { _ in "" } }
        #expect(throws: PlantedBug.Malformed.self) { try PlantedBug.list("a\nb.swift\n- x()\n+ y()\n> test C") }
    }
}
