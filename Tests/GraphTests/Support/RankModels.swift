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
            text: ["", "a", "a\0", "a\0b", "ab", "\u{e9}", "e\u{301}", "\u{c5}", "\u{1F600}", "\u{FFFF}"]
                .randomElement(using: &random)!,
            color: (Color.allCases + [nil]).randomElement(using: &random)!,
            day: Date(timeIntervalSinceReferenceDate: [-0.0, 0, -1.5, 7e8].randomElement(using: &random)!),
            code: Bool.random(using: &random) ? nil : "\(UInt32(truncatingIfNeeded: serial &* 0x9E37_79B9))",
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
    /// Whether a row comes before another one in ascending order.
    private let precedes: @Sendable (Ranked, Ranked) -> Bool

    var description: String { "\(name) \(isDescending ? "descending" : "ascending")" }

    private static func both<V: OrderedAttributeValue>(
        _ name: String,
        _ keyPath: any KeyPath<Ranked, V> & Sendable,
        _ precedes: @escaping @Sendable (Ranked, Ranked) -> Bool
    ) -> [RankCriterion] {
        [
            RankCriterion(name: name, isDescending: false, ordering: .ascending(keyPath), precedes: precedes),
            RankCriterion(name: name, isDescending: true, ordering: .descending(keyPath), precedes: precedes),
        ]
    }

    private static func colors(_ isDescending: Bool) -> RankCriterion {
        RankCriterion(
            name: "color", isDescending: isDescending,
            ordering: isDescending ? .descending(\.color) : .ascending(\.color),
            precedes: { isBefore($0.color?.rawValue, $1.color?.rawValue) { text($0, $1) } })
    }

    static let all =
        both("number", \.number) { isBefore($0.number, $1.number, total) }
        + both("text", \.text) { text($0.text, $1.text) }
        + both("day", \.day) { total($0.day.timeIntervalSinceReferenceDate, $1.day.timeIntervalSinceReferenceDate) }
        + both("code", \.code) { isBefore($0.code, $1.code, text) }
        + both("serial", \.serial) { $0.serial < $1.serial }
        + both("plain", \.plain) { $0.plain < $1.plain } + [colors(false), colors(true)]

    /// A stable sort of the rows, which are in the order of their insertion.
    static func sort<ID>(_ rows: [(id: ID, value: Ranked)], by criteria: [RankCriterion]) -> [(id: ID, value: Ranked)] {
        rows.enumerated().sorted { lhs, rhs in
            for criterion in criteria {
                let (left, right) =
                    criterion.isDescending
                    ? (rhs.element.value, lhs.element.value) : (lhs.element.value, rhs.element.value)
                if criterion.precedes(left, right) { return true }
                if criterion.precedes(right, left) { return false }
            }
            return lhs.offset < rhs.offset
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
            all.first { $0.name == name && $0.isDescending == isDescending }
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
