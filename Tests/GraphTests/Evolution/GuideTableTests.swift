import Foundation
import Testing

@testable import Graph

/// The tables of the guide about changes of the schema: each line is what a test on a golden file shows.
struct GuideTableTests {
    @Test func `each line of what needs no plan is a change that a golden file opens with`() throws {
        let lines = try GuideTable.read(under: "What needs no plan")
        let changes = AutomaticChangeTests.changes + AutomaticChangeTests.guideChanges
        let violations = AutomaticChangeTests.violations + AutomaticChangeTests.guideViolations
        #expect(lines.count > 15)
        for line in lines {
            #expect(changes.contains { $0.lines.contains(line.change) }, "no change proves: \(line.change)")
            // What is listed and refused is tried, too.
            let isRefused = line.columns[2].contains("refused") || line.columns[2].contains("checked")
            #expect(violations.contains { $0.lines.contains(line.change) } == isRefused, "\(line.change)")
        }
    }

    @Test func `each line of what a program has to say is refused without it, and opens with it`() throws {
        let lines = try GuideTable.read(under: "What you have to say")
        let changes = AutomaticChangeTests.changes + AutomaticChangeTests.guideChanges
        #expect(lines.count > 2)
        for line in lines {
            #expect(changes.contains { $0.lines.contains(line.change) }, "no change proves: \(line.change)")
            #expect(AutomaticChangeTests.refusals.contains { $0.lines.contains(line.change) }, "\(line.change)")
        }
    }

    @Test func `no change names a line that the guide does not have`() throws {
        let lines = Set(try GuideTable.all.map(\.change))
        let changes =
            AutomaticChangeTests.changes + AutomaticChangeTests.guideChanges + AutomaticChangeTests.refusals
            + AutomaticChangeTests.violations + AutomaticChangeTests.guideViolations
        for change in changes {
            for line in change.lines { #expect(lines.contains(line), "\(change.name): \(line)") }
        }
    }
}

/// A table of the guide, by lines.
enum GuideTable {
    struct Line {
        let columns: [String]
        var change: String { columns[0] }
    }

    private static let guide = DocumentedProgram.root.appendingPathComponent("Docs/Graph.docc/ChangingTheSchema.md")

    static var all: [Line] {
        get throws { try read(under: "What needs no plan") + read(under: "What you have to say") }
    }

    /// The table under a heading, without its head.
    static func read(under heading: String) throws -> [Line] {
        let lines = try String(contentsOf: guide, encoding: .utf8).components(separatedBy: "\n")
        let section = lines.drop { $0 != "### " + heading }.dropFirst().prefix { !$0.hasPrefix("#") }
        return section.filter { $0.hasPrefix("|") }.dropFirst(2).map { line in
            Line(columns: line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) })
        }
    }

    /// Checks that what an opening has done is what the second column says of the lines.
    static func expect(_ found: [StoreDiagnostic], of changes: [String]) throws {
        let table = try read(under: "What needs no plan")
        let handlings = changes.compactMap { change in table.first { $0.change == change }?.columns[1] }
        guard handlings.count == changes.count else { return }
        let expected = handlings.map { $0 == "recorded" ? StoreDiagnostic.Kind.recordedChange : .convertedChange }
        #expect(Set(found.map(\.kind)) == Set(expected), "\(changes)")
    }
}
