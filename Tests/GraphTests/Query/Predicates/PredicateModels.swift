import Foundation

@testable import Graph

enum Grade: String, Codable, Sendable, CaseIterable { case low, middle, high }

/// A part of a value of a type of its own.
struct Size: Codable, Equatable, Sendable {
    var width: Int
    var label: String
}

/// A row with properties of every kind that predicates treat in a way of its own; some have an index.
@Entity(indexed: [["group", "rank", "name"], ["name", "group"]])
struct Piece {
    @Indexed var number: Int
    var count: Int
    @Indexed var small: Int8?
    @Indexed var name: String
    var label: String
    @Indexed var note: String?
    @Indexed var weight: Double
    var share: Double?
    @Indexed var grade: Grade
    @Indexed var isNew: Bool
    @Indexed var made: Date
    @Unique var serial: Int
    @Unique var code: UUID?
    @Indexed var token: UUID
    var marks: Set<Int>
    var tags: [Int]
    var words: [String]
    var points: [String: Int]
    var size: Size
    var group: Int
    var rank: Int
    var crate: ToOne<Crate> = nil

    /// A property that rows do not store.
    var doubled: Int { count &* 2 }

    static let texts = [
        "", "a", "ab", "abc", "b", "ba", "e\u{301}", "\u{E9}", "\u{E9}x", "a\r\n", "a\r", "\u{1F468}\u{200D}\u{1F469}",
    ]

    static let tokens = (0..<6).map { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, $0)) }

    static func random(_ random: inout SeededGenerator) -> Piece {
        func one<Value>(_ values: [Value]) -> Value { values[Int.random(in: 0..<values.count, using: &random)] }
        let weights = [-1, -0.0, 0, 0.5, 1, 2, .infinity, .nan]
        let tags = (0..<Int.random(in: 0...3, using: &random)).map { _ in Int.random(in: -2...4, using: &random) }
        // Drawn aside, so that the examples of plans stay as they are.
        var copy = random
        var aside = SeededGenerator(seed: copy.next())
        func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &aside) }
        func uuid() -> UUID { UUID(uuid: unsafeBitCast((aside.next(), aside.next()), to: uuid_t.self)) }
        return Piece(
            number: .random(in: -3...12, using: &random), count: .random(in: -2...5, using: &random),
            small: one([nil, -128, -1, 0, 1, 127]), name: one(texts), label: one(texts), note: one(texts + [nil]),
            weight: one(weights), share: one(weights + [nil]), grade: one(Grade.allCases),
            isNew: .random(using: &random), made: Date(timeIntervalSinceReferenceDate: one([-1, -0.0, 0, 1, 1e9])),
            serial: number(0..<1_000_000_000), code: number(0..<2) == 0 ? nil : uuid(),
            token: tokens[number(0..<tokens.count)], marks: Set((0..<number(0..<4)).map { _ in number(-2..<5) }),
            tags: tags, words: (0..<tags.count).map { _ in one(texts) },
            points: one([[:], ["a": 1], ["a": 2, "b": 3]]),
            size: Size(width: .random(in: 0...3, using: &random), label: one(texts)),
            group: .random(in: 0...3, using: &random), rank: .random(in: 0...5, using: &random))
    }
}

@Entity
struct Crate {
    @Indexed var code: String
    var level: Int
    var remark: String?
    var owner: ToOne<Piece> = nil
    @Relationship(inverse: \Piece.crate) var pieces: ToMany<Piece> = []
    @Relationship(inverse: \Crate.below) var above: ToMany<Crate> = []
    var below: ToMany<Crate> = []

    static func random(_ random: inout SeededGenerator) -> Crate {
        let texts = Piece.texts
        func text() -> String { texts[Int.random(in: 0..<texts.count, using: &random)] }
        return Crate(
            code: text(), level: .random(in: -1...4, using: &random), remark: Bool.random(using: &random) ? nil : text()
        )
    }
}
