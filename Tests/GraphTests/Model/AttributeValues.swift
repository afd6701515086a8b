import Foundation

@testable import Graph

/// One value of some attribute type with the codec that a schema would give it, so that tests can go through many types
/// in one loop.
struct AttributeSample<Value: Sendable> {
    let codec: AttributeCodec<Value>

    func encode(_ value: Value) throws -> [UInt8] {
        var writer = ByteWriter()
        try withUnsafePointer(to: value) { try codec.operations.encode($0, &writer) }
        return writer.bytes
    }

    /// The value that the bytes begin with, and how many they are.
    func decode(_ bytes: [UInt8]) throws -> (value: Value, length: Int) {
        try bytes.withUnsafeBytes { buffer in
            var reader = ByteReader(buffer)
            let value = try withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { memory in
                try codec.operations.decode(&reader, UnsafeMutableRawPointer(memory.baseAddress!))
                return memory.moveElement(from: 0)
            }
            return (value, reader.offset)
        }
    }

    func areIdentical(_ lhs: Value, _ rhs: Value) -> Bool {
        withUnsafePointer(to: lhs) { left in
            withUnsafePointer(to: rhs) { codec.operations.isIdentical(left, $0) }
        }
    }

    func describe(_ value: Value) -> String {
        withUnsafePointer(to: value) { codec.operations.describe($0) }
    }

    func key(_ value: Value) -> (bytes: [UInt8], isValue: Bool)? {
        guard let key = codec.operations.key else { return nil }
        var writer = ByteWriter()
        let isValue = withUnsafePointer(to: value) { key.append($0, &writer) }
        return (writer.bytes, isValue)
    }

    func precedes(_ lhs: Value, _ rhs: Value) -> Bool {
        withUnsafePointer(to: lhs) { left in
            withUnsafePointer(to: rhs) { codec.operations.key?.precedes(left, $0) ?? false }
        }
    }
}

extension AttributeSample where Value: AttributeValue {
    init() { codec = Value.attributeCodec }
}

enum Weekday: String, CaseIterable, Sendable {
    case monday
    case friday
    case none = ""
}

enum Priority: Int8, CaseIterable, Sendable {
    case low = -128
    case normal = 0
    case high = 127
}

/// Stored as what it encodes.
struct Place: Codable, Equatable, Sendable {
    var name: String
    var latitude: Double
    var tags: [String?]
    var counts: [String: Int]

    /// Whether all stored bits are the same, which `==` does not ask.
    func isSame(as other: Place) -> Bool {
        func utf8(_ texts: [String?]) -> [[UInt8]?] { texts.map { $0.map { Array($0.utf8) } } }
        return Array(name.utf8) == Array(other.name.utf8) && latitude.bitPattern == other.latitude.bitPattern
            && utf8(tags) == utf8(other.tags) && counts == other.counts
            && utf8(counts.keys.sorted()) == utf8(other.counts.keys.sorted())
    }
}

/// Two of these are equal if they have the same number, whatever else they hold.
struct Chapter: Codable, Equatable, Sendable {
    var number: Int
    var text: String

    static func == (lhs: Chapter, rhs: Chapter) -> Bool { lhs.number == rhs.number }
}

/// Values worth trying and random ones, for each type that may be an attribute.
enum AttributeValues {
    static func string(_ random: inout SeededGenerator) -> String {
        let alphabet: [Unicode.Scalar] = [
            "\0", "\u{1}", "a", "b", "\u{7F}", "é", "e", "\u{301}", "\u{FFFF}", "😀", "\u{10FFFF}",
        ]
        var string = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...5, using: &random) { string.append(alphabet.randomElement(using: &random)!) }
        return String(string)
    }

    static func bytes(_ random: inout SeededGenerator) -> [UInt8] {
        (0..<Int.random(in: 0...5, using: &random)).map { _ in [0, 1, 2, 254, 255].randomElement(using: &random)! }
    }

    static let strings = [
        "", "\0", "\0\0", "\u{1}", "a", "a\0", "a\0b", "a\u{1}", "ab", "é", "e\u{301}", "😀", "\u{FFFF}",
    ]

    static let doubles: [Double] = [
        0, -0.0, 1, -1, .infinity, -.infinity, .nan, -.nan, .signalingNaN, Double(nan: 0x1234, signaling: false),
        Double(bitPattern: 0xFFF8_0000_0000_BEEF), .leastNonzeroMagnitude, -.leastNonzeroMagnitude,
        .greatestFiniteMagnitude, -.greatestFiniteMagnitude, .leastNormalMagnitude, .pi,
    ]

    static let floats: [Float] = [
        0, -0.0, 1, -1, .infinity, -.infinity, .nan, -.nan, .signalingNaN, Float(bitPattern: 0xFFC0_1234),
        .leastNonzeroMagnitude, .greatestFiniteMagnitude, -.greatestFiniteMagnitude, .pi,
    ]

    static let dates = doubles.map { Date(timeIntervalSinceReferenceDate: $0) } + [.distantPast, .distantFuture]

    static let places = [
        Place(name: "", latitude: 0, tags: [], counts: [:]),
        Place(name: "\0/\"é", latitude: .infinity, tags: [nil, "", "x"], counts: ["b": 2, "a": .min, "": .max]),
        Place(name: "x", latitude: .leastNonzeroMagnitude, tags: [nil], counts: ["": 0]),
        Place(name: "x", latitude: .nan, tags: [], counts: [:]),
        Place(name: "x", latitude: -.nan, tags: [], counts: [:]),
        Place(name: "x", latitude: 0, tags: [], counts: [:]),
        Place(name: "x", latitude: -0.0, tags: [], counts: [:]),
        Place(name: "x", latitude: 0, tags: ["é"], counts: [:]),
        Place(name: "x", latitude: 0, tags: ["e\u{301}"], counts: [:]),
        Place(name: "é", latitude: 0, tags: [], counts: ["é": 1]),
        Place(name: "e\u{301}", latitude: 0, tags: [], counts: ["é": 1]),
        Place(name: "é", latitude: 0, tags: [], counts: ["e\u{301}": 1]),
    ]

    static let chapters = [
        Chapter(number: 1, text: "old"), Chapter(number: 1, text: "new"), Chapter(number: 2, text: "old"),
    ]

    static let decimals: [Decimal] = [
        0, 1, -1, Decimal(string: "0.1")!, Decimal(string: "-123.4500")!, .greatestFiniteMagnitude,
        .leastFiniteMagnitude, .leastNonzeroMagnitude, .leastNormalMagnitude, .nan, .pi,
        Decimal(sign: .minus, exponent: -128, significand: Decimal(UInt64.max)),
        Decimal(sign: .plus, exponent: 127, significand: .pi),
    ]

    static let urls: [URL] = [
        URL(string: "https://example.com/a%20b?q=1#f")!, URL(string: "mailto:a@b.c")!, URL(string: "relative/path")!,
        URL(string: "b?x", relativeTo: URL(string: "https://example.com/a/"))!,
        URL(string: "../up", relativeTo: URL(string: "file:///folder/dir/"))!,
        URL(string: "#part", relativeTo: URL(string: "https://example.com/page"))!,
        URL(fileURLWithPath: "/folder/with space/ü%.txt"), URL(fileURLWithPath: "/"),
        URL(string: "https://bücher.example/ü")!,
    ]

    static let uuids = [
        UUID(uuidString: "00000000-0000-0000-0000-000000000000")!,
        UUID(uuidString: "00000000-0000-0001-0000-000000000000")!,
        UUID(uuidString: "7FFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF")!,
        UUID(uuidString: "80000000-0000-0000-0000-000000000000")!,
        UUID(uuidString: "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF")!,
    ]
}

extension FixedWidthInteger {
    /// Extremes, small numbers and random bits.
    static func samples(_ random: inout SeededGenerator) -> [Self] {
        let near: [Self] = [.min, .min + 1, 0, 1, 2, 127, .max - 1, .max]
        return near
            + (0..<20).map { _ in
                Self.random(in: .min ... .max, using: &random) >> Int.random(in: 0..<8, using: &random)
            }
    }
}
