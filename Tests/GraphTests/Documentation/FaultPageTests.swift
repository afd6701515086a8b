import Foundation
import Testing

/// The page of faults names the cases that there are, and the tests that show them.
struct FaultPageTests {
    private let rows: [[String]]

    init() throws {
        let page = try DocumentedProgram.text(of: "Docs/Design/Faults.md")
        rows = page.split(separator: "\n").filter { $0.hasPrefix("| ") }
            .map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
            .filter { Int($0[0]) != nil }
    }

    @Test func `faults are numbered without gaps`() {
        #expect(rows.count > 40 && rows.map { Int($0[0]) } == (1...rows.count).map { $0 })
    }

    @Test func `every interference is on the page, in order, with what becomes of both programs`() {
        #expect(rows.filter { $0.count == 5 }.map { $0[1] } == Interference.all.map(\.testDescription))
        for (row, interference) in zip(rows, Interference.all) {
            #expect(row[2] == (interference.firstSaves ? "goes on" : "stops"), "\(row)")
            let second =
                switch interference.second {
                case .alreadyOpen: ["`.alreadyOpen`"]
                case .unusable: ["`.unusableFile`", "`.directoryMissing`"]
                case .opens(count: 0): ["a new store"]
                case .opens: ["opens the copy"]
                }
            #expect(second.contains(row[3]), "\(row)")
        }
    }

    @Test func `every test of bytes, values and saves that the page names exists`() throws {
        let page = try DocumentedProgram.text(of: "Docs/Design/Faults.md")
        let part = page.components(separatedBy: "## Bytes, values and saves")[1].components(separatedBy: "\n## ")[0]
        let lines = part.split(separator: "\n").filter { $0.hasPrefix("| ") && $0.hasSuffix("* |") }
        #expect(lines.count > 20 && lines.count == part.split(separator: "\n").count { $0.hasPrefix("| ") } - 1)
        let folder = DocumentedProgram.root.appending(path: "Tests/GraphTests")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        let sources = try (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }
        for line in lines {
            for name in line.split(separator: "|").last?.matches(of: /\*([^*]+)\*/).map(\.1) ?? [] {
                #expect(sources.contains { $0.contains("func `\(name)`") }, "\(name)")
            }
        }
    }

    @Test func `every test that the page names exists, and every test with programs is named`() throws {
        let folder = "Tests/GraphTests/Processes"
        let files = try FileManager.default.contentsOfDirectory(atPath: DocumentedProgram.root.path + "/" + folder)
        let tests = try files.flatMap { file in
            try DocumentedProgram.text(of: "\(folder)/\(file)").components(separatedBy: "func `").dropFirst()
                .compactMap { $0.split(separator: "`").first.map(String.init) }
        }
        let named = rows.filter { $0.count == 4 }.map { $0[3].trimmingCharacters(in: ["*"]) }
        let ofInterference = "one program at a time writes, and nothing that it was told to be saved is lost"
        #expect(Set(named).union([ofInterference]) == Set(tests))
    }
}
