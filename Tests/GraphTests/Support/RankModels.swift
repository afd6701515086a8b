import Foundation

@testable import Graph

/// A row with an index of every kind: of one property, of several, unique, on what may be nil, on raw values, renamed.
@Entity(unique: [["serial", "color"]], indexed: [["text", "number", "day"], ["plain", "text"], ["color", "plain"]])
struct Ranked {
    @Indexed var number: Double?
    @Indexed @Attribute(originalName: "label") var text: String
    @Indexed var color: Color?
    @Indexed var day: Date
    @Unique var code: String?
    @Unique var serial: Int
    var plain: Int
    var isShown: Bool

    enum Color: String, CaseIterable {
        case red
        case green
        case blue = "\u{e9}"
    }

    static func random(_ serial: Int, _ random: inout SeededGenerator) -> Ranked {
        Ranked(
            number: [nil, nil, .nan, -.nan, -0.0, 0, 1, -1, .infinity].randomElement(using: &random)!,
            // Of the letters with accents, some are written as one scalar and some as two.
            text: [
                "", "a", "A", "AB", "\u{c9}", "a\0", "a\0b", "ab", "\u{e9}", "e\u{301}", "\u{c5}", "\u{1F600}",
                "\u{FFFF}",
            ]
            .randomElement(using: &random)!,
            color: (Color.allCases + [nil]).randomElement(using: &random)!,
            day: Date(timeIntervalSinceReferenceDate: [-0.0, 0, -1.5, 7e8].randomElement(using: &random)!),
            code: Bool.random(using: &random)
                ? nil
                : String(UInt32(truncatingIfNeeded: serial &* 0x9E37_79B9), radix: 16, uppercase: serial % 3 == 0),
            serial: serial,
            plain: Int.random(in: -2...2, using: &random),
            isShown: Int.random(in: 0..<4, using: &random) > 0
        )
    }
}

/// A property, a direction, and what they mean without a word of the engine.
struct RankCriterion: Sendable, CustomStringConvertible {
    let name: String
    let isDescending: Bool
    let ordering: Ordering<Ranked>
    /// Whether a row comes before another one.
    let precedes: @Sendable (Ranked, Ranked) -> Bool

    var description: String { "\(name) \(isDescending ? "descending" : "ascending")" }

    private init(
        _ name: String, _ isDescending: Bool, _ ordering: Ordering<Ranked>,
        _ precedes: @escaping @Sendable (Ranked, Ranked) -> Bool
    ) {
        (self.name, self.isDescending, self.ordering, self.precedes) = (name, isDescending, ordering, precedes)
    }

    private static func both<V: OrderedAttributeValue>(
        _ name: String,
        _ keyPath: any KeyPath<Ranked, V> & Sendable,
        _ precedes: @escaping @Sendable (Ranked, Ranked) -> Bool
    ) -> [RankCriterion] {
        [
            RankCriterion(name, false, .ascending(keyPath), precedes),
            RankCriterion(name, true, .descending(keyPath)) { precedes($1, $0) },
        ]
    }

    /// The other way around of nil than usual.
    private static func otherNils<V>(
        _ name: String, _ value: @escaping @Sendable (Ranked) -> V?, _ ascending: Ordering<Ranked>,
        _ descending: Ordering<Ranked>, _ precedes: @escaping @Sendable (V, V) -> Bool
    ) -> [RankCriterion] {
        [
            RankCriterion("\(name), nil last", false, ascending) { lhs, rhs in
                guard let left = value(lhs) else { return false }
                return value(rhs).map { precedes(left, $0) } ?? true
            },
            RankCriterion("\(name), nil first", true, descending) { lhs, rhs in
                guard let right = value(rhs) else { return false }
                return value(lhs).map { precedes(right, $0) } ?? true
            },
        ]
    }

    private static let colors: [RankCriterion] = [
        RankCriterion("color", false, .ascending(\.color)) { isBefore($0.color?.rawValue, $1.color?.rawValue, text) },
        RankCriterion("color", true, .descending(\.color)) { isBefore($1.color?.rawValue, $0.color?.rawValue, text) },
    ]

    private static let ignoringCase: [RankCriterion] = [
        RankCriterion("text, ignoring case", false, .ascending(\.text, ignoringCase: true)) {
            text($0.text.lowercased(), $1.text.lowercased())
        },
        RankCriterion("code, ignoring case", true, .descending(\.code, ignoringCase: true)) {
            isBefore($1.code?.lowercased(), $0.code?.lowercased(), text)
        },
        RankCriterion("text, not ignoring case", true, .descending(\.text, ignoringCase: false)) {
            text($1.text, $0.text)
        },
    ]

    /// Those that an index may have.
    static let indexed =
        both("number", \.number) { isBefore($0.number, $1.number, total) }
        + both("text", \.text) { text($0.text, $1.text) }
        + both("day", \.day) { total($0.day.timeIntervalSinceReferenceDate, $1.day.timeIntervalSinceReferenceDate) }
        + both("code", \.code) { isBefore($0.code, $1.code, text) }
        + both("serial", \.serial) { $0.serial < $1.serial }
        + both("plain", \.plain) { $0.plain < $1.plain } + colors

    static let all =
        indexed + ignoringCase
        + otherNils(
            "number", \.number, .ascending(\.number, nils: .last), .descending(\.number, nils: .first), total)
        + otherNils("code", \.code, .ascending(\.code, nils: .last), .descending(\.code, nils: .first), text)
        + otherNils(
            "color", { $0.color?.rawValue }, .ascending(\.color, nils: .last), .descending(\.color, nils: .first), text)

    /// Whether a row comes before another one, if they do not count as equal.
    static func order(_ lhs: Ranked, _ rhs: Ranked, by criteria: [RankCriterion]) -> Bool? {
        for criterion in criteria {
            if criterion.precedes(lhs, rhs) { return true }
            if criterion.precedes(rhs, lhs) { return false }
        }
        return nil
    }

    /// A stable sort of the rows, which are in the order of their insertion.
    static func sort<ID>(_ rows: [(id: ID, value: Ranked)], by criteria: [RankCriterion]) -> [(id: ID, value: Ranked)] {
        rows.enumerated().sorted { lhs, rhs in
            order(lhs.element.value, rhs.element.value, by: criteria) ?? (lhs.offset < rhs.offset)
        }.map(\.element)
    }

    /// One or several properties, often those of an index in one direction.
    static func random(_ random: inout SeededGenerator) -> [RankCriterion] {
        let indexes = [["text", "number", "day"], ["plain", "text"], ["serial", "color"], ["color", "plain"]]
        guard Int.random(in: 0..<3, using: &random) == 0 else {
            return Array(all.shuffled(using: &random).prefix([1, 1, 1, 2, 3].randomElement(using: &random)!))
        }
        let (names, isDescending) = (indexes.randomElement(using: &random)!, Bool.random(using: &random))
        return names.prefix(Int.random(in: 1...3, using: &random)).compactMap { name in
            indexed.first { $0.name == name && $0.isDescending == isDescending }
        }
    }
}

private func isBefore<V>(_ lhs: V?, _ rhs: V?, _ precedes: (V, V) -> Bool) -> Bool {
    guard let rhs else { return false }
    return lhs.map { precedes($0, rhs) } ?? true
}

private func total(_ lhs: Double, _ rhs: Double) -> Bool {
    !rhs.isTotallyOrdered(belowOrEqualTo: lhs)
}

/// Texts that are canonically equivalent are equal.
private func text(_ lhs: String, _ rhs: String) -> Bool {
    if lhs.utf8.allSatisfy({ $0 < 0x80 }), rhs.utf8.allSatisfy({ $0 < 0x80 }) {
        return lhs.utf8.lexicographicallyPrecedes(rhs.utf8)
    }
    let (lhs, rhs) = (lhs.precomposedStringWithCanonicalMapping, rhs.precomposedStringWithCanonicalMapping)
    return Array(lhs.utf8).lexicographicallyPrecedes(Array(rhs.utf8))
}
