import Foundation
import Testing

@testable import Graph

/// The guide's table of what a predicate may say: each operator that it names has an example here, and each example is in it.
struct PredicateTableTests {
    private let store: PredicateTests
    /// What the examples show, as lines of the table.
    private var shown: [PredicateTable.Line] = []

    init() async throws { store = try await PredicateTests() }

    private mutating func begin(_ line: String) {
        shown.append(PredicateTable.Line(what: line, code: []))
    }

    private mutating func example(
        _ code: String, _ predicate: Predicate<Piece>,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ isMet: (Piece) throws -> Bool
    ) throws {
        shown[shown.count - 1].code.append(code)
        try store.check(predicate, isMet, sourceLocation: sourceLocation)
    }

    @Test mutating func `each operator in the guide's table has an example`() throws {
        try showPlainOperators()
        try showOptionals()
        try showTextsAndRanges()
        try showCollections()
        try showRelationships()
        #expect(shown == (try PredicateTable.read()))
    }

    private mutating func showPlainOperators() throws {
        let grade = Grade.middle
        begin("comparisons, also with captured enumerations that are `Codable`")
        try example("$0.age >= 30", #Predicate { $0.number >= 30 }) { $0.number >= 30 }
        try example("$0.grade == grade", #Predicate { $0.grade == grade }) { $0.grade == .middle }
        try example("$0.nickname != nil", #Predicate { $0.note != nil }) { $0.note != nil }

        begin("logic, which stops where the answer is known")
        try example("&&", #Predicate { $0.number > 7 && 100 / ($0.number - 7) > 9 }) {
            (8...17).contains($0.number)
        }
        try example("||", #Predicate { $0.number <= 7 || 100 / ($0.number - 7) > 9 }) {
            $0.number <= 17
        }
        try example("!", #Predicate { !($0.number == 7) }) { $0.number != 7 }
        try example("a ? b : c", #Predicate { $0.number == 0 ? $0.isNew : 100 / $0.number > 9 }) {
            $0.number == 0 ? $0.isNew : $0.number <= 10
        }
        let (least, most) = (1, 9)
        let branches = #Predicate<Piece> {
            if let note = $0.note { return note.count > least } else { return $0.number > most }
        }
        try example("if let … { return … } else { return … }", branches) {
            $0.note.map { $0.count > 1 } ?? ($0.number > 9)
        }

        begin("arithmetic")
        try example("+", #Predicate { $0.number + $0.count > 20 }) { $0.number + $0.count > 20 }
        try example("-", #Predicate { $0.number - $0.count < 0 }) { $0.number - $0.count < 0 }
        try example("*", #Predicate { $0.number * 2 == 8 }) { $0.number * 2 == 8 }
        try example("/", #Predicate { $0.number / $0.count == 4 }) { $0.number / $0.count == 4 }
        try example("%", #Predicate { $0.number % 5 == 2 }) { $0.number % 5 == 2 }
        try example("-x", #Predicate { -$0.number < -30 }) { $0.number > 30 }
    }

    private mutating func showOptionals() throws {
        let one: Int8? = 1
        begin("optionals")
        try example("??", #Predicate { ($0.note ?? "a") == "a" }) { $0.note == nil || $0.note == "a" }
        try example("?.", #Predicate { $0.note?.count == 2 }) { $0.note?.count == 2 }
        try example("!", #Predicate { $0.note != nil && $0.note!.count > 1 }) {
            ($0.note?.count ?? 0) > 1
        }
        try example("flatMap", #Predicate { $0.note.flatMap { $0.count } == 1 }) { $0.note?.count == 1 }
        try example("as?", #Predicate { ($0.small as Any) as? Int8 == one }) { $0.small == 1 }
        try example("as!", #Predicate { ($0.number as Any) as! Int > 30 }) { $0.number > 30 }
        try example("is", #Predicate { ($0.note as Any) is String }) { $0.note != nil }
    }

    private mutating func showTextsAndRanges() throws {
        let (regex, same, names) = (/^a.*c$/, ComparisonResult.orderedSame, ["a", "ab"])
        begin("texts")
        try example("starts(with:)", #Predicate { $0.name.starts(with: "a") }) {
            $0.name.hasPrefix("a")
        }
        try example("contains", #Predicate { $0.name.contains("b") }) { $0.name.contains("b") }
        try example("<", #Predicate { $0.name < "b" }) { $0.name < "b" }
        try example("a regular expression", #Predicate { $0.name.contains(regex) }) { $0.name == "abc" }
        try example("localizedStandardContains", #Predicate { $0.name.localizedStandardContains("E") }) {
            $0.name.localizedStandardContains("E")
        }
        try example("caseInsensitiveCompare", #Predicate { $0.name.caseInsensitiveCompare("A") == same }) {
            $0.name == "a"
        }

        begin("ranges and sets")
        try example("(3..<9).contains($0.age)", #Predicate { (3..<9).contains($0.number) }) {
            (3..<9) ~= $0.number
        }
        try example("names.contains($0.name)", #Predicate { names.contains($0.name) }) {
            ["a", "ab"].contains($0.name)
        }
    }

    private mutating func showCollections() throws {
        begin("collections")
        try example("contains", #Predicate { $0.tags.contains(2) }) { $0.tags.contains(2) }
        try example("contains { }", #Predicate { $0.tags.contains { $0 > 2 } }) {
            $0.tags.contains { $0 > 2 }
        }
        try example("allSatisfy { }", #Predicate { $0.tags.allSatisfy { $0 > 0 } }) {
            $0.tags.allSatisfy { $0 > 0 }
        }
        try example("filter { }.count", #Predicate { $0.tags.filter { $0 > 0 }.count == 1 }) {
            $0.tags.count { $0 > 0 } == 1
        }
        try example("count", #Predicate { $0.tags.count == 2 }) { $0.tags.count == 2 }
        try example("isEmpty", #Predicate { $0.marks.isEmpty }) { $0.marks.isEmpty }
        try example("first", #Predicate { $0.tags.first == 2 }) { $0.tags.first == 2 }
        try example("max()", #Predicate { $0.tags.max() == 3 }) { $0.tags.max() == 3 }
        try example("min()", #Predicate { $0.tags.min() == 0 }) { $0.tags.min() == 0 }
        try example(
            "subscripts, also of dictionaries",
            #Predicate { $0.points["a"] == 1 && !$0.tags.isEmpty && $0.tags[0] > 0 }
        ) { $0.points["a"] == 1 && ($0.tags.first ?? 0) > 0 }
    }

    private mutating func showRelationships() throws {
        let store = store
        func crate(_ piece: Piece) -> Crate? { store.crate(piece) }
        let id = try #require(store.snapshot.fetchIDs(\Crate.code, equals: "C1").first)
        begin("a reference")
        try example("$0.team == nil", #Predicate { $0.crate == nil }) { $0.crate.id == nil }
        try example("$0.team == id", #Predicate { $0.crate == id }) { $0.crate.id == id }
        try example("$0.team.name == \"Analysts\"", #Predicate { $0.crate.code == "C1" }) {
            crate($0)?.code == "C1"
        }
        try example("$0.team.id == id", #Predicate { $0.crate.id == id }) { $0.crate.id == id }

        begin("members")
        try example(
            "$0.members.contains { $0.age > 30 }", #Predicate { $0.crate.pieces.contains { $0.number > 37 } }
        ) { crate($0)?.code == "C2" }
        try example(".allSatisfy { }", #Predicate { $0.crate.pieces.allSatisfy { $0.number != 5 } }) {
            crate($0)?.code != "C1"
        }
        try example(".filter { }.count", #Predicate { $0.crate.pieces.filter { $0.number < 5 }.count == 2 }) {
            crate($0)?.code == "C0"
        }
        try example(".count", #Predicate { $0.crate.pieces.count == 10 }) { $0.crate.id != nil }
        try example(".isEmpty", #Predicate { $0.crate.pieces.isEmpty }) { $0.crate.id == nil }
    }
}

/// The table of the guide about queries.
private enum PredicateTable {
    struct Line: Equatable {
        let what: String
        /// What the second column names, with or without marks of code.
        var code: [String]
    }

    static func read() throws -> [Line] {
        let lines = try DocumentedProgram.text(of: "Docs/Graph.docc/Queries.md").components(
            separatedBy: "\n")
        let section = lines.drop { $0 != "### What a predicate may say" }.drop { !$0.hasPrefix("|") }
        return section.prefix { $0.hasPrefix("|") }.dropFirst(2).map { line in
            let columns = line.replacing("\\|", with: "\u{0}").split(separator: "|")
                .map { $0.replacing("\u{0}", with: "|").trimmingCharacters(in: .whitespaces) }
            let parts = columns[1].components(separatedBy: "`")
                .map { $0.trimmingCharacters(in: CharacterSet(charactersIn: ", ")) }
            return Line(what: columns[0], code: parts.filter { !$0.isEmpty })
        }
    }
}
