import Foundation
import Testing

@testable import Graph

/// Index keys: bytes whose order is the order of the values, none of which begins with another.
struct AttributeKeyTests {
    private func check<Value>(
        _ sample: AttributeSample<Value>,
        _ values: [Value],
        isNil: (Value) -> Bool = { _ in false },
        isSame: ((Value, Value) -> Bool)? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let keys = try values.map { try #require(sample.key($0), sourceLocation: sourceLocation) }
        for (lhs, left) in zip(values, keys) {
            #expect(left.isValue == !isNil(lhs), "\(sample.describe(lhs))", sourceLocation: sourceLocation)
            for (rhs, right) in zip(values, keys) {
                let isLess = left.bytes.lexicographicallyPrecedes(right.bytes)
                #expect(
                    sample.precedes(lhs, rhs) == isLess, "\(sample.describe(lhs)) and \(sample.describe(rhs))",
                    sourceLocation: sourceLocation)
                let isSame = isSame?(lhs, rhs) ?? sample.areIdentical(lhs, rhs)
                #expect(
                    (left.bytes == right.bytes) == isSame, "\(sample.describe(lhs)) and \(sample.describe(rhs))",
                    sourceLocation: sourceLocation)
                if !isSame {
                    #expect(
                        !right.bytes.starts(with: left.bytes), "\(sample.describe(lhs)) and \(sample.describe(rhs))",
                        sourceLocation: sourceLocation)
                }
            }
        }
    }

    private func check<Value: OrderedAttributeValue>(
        _ values: [Value],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        try check(AttributeSample(), values, sourceLocation: sourceLocation)
        try check(
            AttributeSample(),
            values.map { Optional($0) } + [nil],
            isNil: { $0 == nil },
            sourceLocation: sourceLocation
        )
    }

    /// Whether bytes and `precedes` agree with an order that the language knows.
    private func check<Value: OrderedAttributeValue & Comparable>(comparable values: [Value]) throws {
        try check(values)
        let sample = AttributeSample<Value>()
        for lhs in values {
            for rhs in values {
                #expect(sample.precedes(lhs, rhs) == (lhs < rhs), "\(sample.describe(lhs)) and \(sample.describe(rhs))")
            }
        }
    }

    @Test(arguments: UInt64(0)..<3)
    func `numbers by value`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        try check(comparable: Int.samples(&random))
        try check(comparable: Int8.samples(&random))
        try check(comparable: Int16.samples(&random))
        try check(comparable: Int32.samples(&random))
        try check(comparable: Int64.samples(&random))
        try check(comparable: Int128.samples(&random))
        try check(comparable: UInt.samples(&random))
        try check(comparable: UInt8.samples(&random))
        try check(comparable: UInt16.samples(&random))
        try check(comparable: UInt32.samples(&random))
        try check(comparable: UInt64.samples(&random))
        try check(comparable: UInt128.samples(&random))
        try check([false, true])
    }

    @Test(arguments: UInt64(0)..<3)
    func `decimal numbers by value, NaN first`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let numbers = (0..<80).map { number in
            Decimal(
                sign: Bool.random(using: &random) ? .plus : .minus,
                exponent: Int.random(in: number < 40 ? -4...4 : -127...100, using: &random),
                significand: number < 40
                    ? Decimal(Int.random(in: 0...2000, using: &random))
                    : Decimal(UInt64.random(in: 0 ... .max, using: &random))
                        * (number.isMultiple(of: 3) ? 1 : Decimal(UInt64.random(in: 1 ... .max, using: &random)))
            )
        }
        // Numbers that are equal although they are written otherwise have one key.
        let same = [Decimal(string: "1.50"), Decimal(string: "1.5"), Decimal(string: "150e-2")].compactMap { $0 }
        try check(comparable: AttributeValues.decimals + numbers + same)
        #expect(AttributeSample<Decimal>().precedes(.nan, -.greatestFiniteMagnitude))
    }

    @Test(arguments: UInt64(0)..<3)
    func `floating point by IEEE 754's total order`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let bits = (0..<40).map { _ in UInt64.random(in: 0 ... .max, using: &random) }
        let doubles = AttributeValues.doubles + bits.map { Double(bitPattern: $0) }
        let floats = AttributeValues.floats + bits.map { Float(bitPattern: UInt32(truncatingIfNeeded: $0)) }
        try check(doubles)
        try check(floats)
        try check(doubles.map { Date(timeIntervalSinceReferenceDate: $0) })
        let sample = AttributeSample<Double>()
        for lhs in doubles {
            for rhs in doubles where lhs.bitPattern != rhs.bitPattern {
                #expect(
                    sample.precedes(lhs, rhs) == lhs.isTotallyOrdered(belowOrEqualTo: rhs),
                    "\(sample.describe(lhs)) and \(sample.describe(rhs))")
            }
        }
        #expect(sample.precedes(-0.0, 0.0) && sample.precedes(.infinity, .nan) && sample.precedes(-.nan, -.infinity))
    }

    /// Letters that compose with each other, marks in several orders, syllables, what is never composed, and plain letters.
    private static let composing: [Unicode.Scalar] = [
        "\0", "a", "e", "z", "o", "é", "\u{301}", "\u{300}", "\u{323}", "\u{307}", "\u{1EB7}", "\u{1E9B}", "\u{17F}",
        "\u{1100}", "\u{1161}", "\u{11A8}", "\u{AC00}", "\u{212B}", "\u{C5}", "\u{2126}", "\u{3A9}", "\u{958}",
        "\u{915}",
        "\u{93C}", "\u{FB1D}", "\u{5D9}", "\u{5B4}", "\u{1D15E}", "\u{1F600}", "\u{2FF}", "\u{10FFFF}",
        "\u{FFFF}", "\u{AC01}", "\u{1109A}", "\u{11099}", "\u{110BA}", "\u{7FF}", "\u{800}", "\u{D7A3}",
    ]

    @Test(arguments: UInt64(0)..<10)
    func `strings as Swift compares them, canonically equivalent ones being one key`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let composed = (0..<60).map { _ in
            var scalars = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0...12, using: &random) {
                scalars.append(Self.composing.randomElement(using: &random)!)
            }
            return String(scalars)
        }
        let strings = AttributeValues.strings + composed + (0..<30).map { _ in AttributeValues.string(&random) }
        try check(AttributeSample<String>(), strings, isSame: ==)
        let sample = AttributeSample<String>()
        for lhs in strings {
            for rhs in strings {
                let precedes = sample.precedes(lhs, rhs)
                #expect(precedes == lhs._nfcCodeUnits.lexicographicallyPrecedes(rhs._nfcCodeUnits))
                // Swift 6.3 finds no order between some texts of which one begins with the other's normal form.
                let isOrdered = lhs < rhs || rhs < lhs || lhs == rhs
                #expect(!isOrdered || precedes == (lhs < rhs), "\(lhs.debugDescription) and \(rhs.debugDescription)")
            }
        }
    }

    @Test func `every scalar's key is that of its decompositions`() throws {
        let sample = AttributeSample<String>()
        let ranges: [ClosedRange<UInt32>] = [
            0x80...0x1FFF, 0x2000...0x33FF, 0xAC00...0xACFF, 0xF900...0xFB4F, 0x1_1080...0x1_1DFF, 0x1_D100...0x1_D1FF,
            0x2_F800...0x2_FA1F,
        ]
        for scalar in ranges.joined().compactMap({ Unicode.Scalar($0) }) {
            let composed = "x" + String(scalar)
            let decomposed = composed.decomposedStringWithCanonicalMapping
            // Foundation and the standard library need not know the same version of Unicode.
            guard composed == decomposed else { continue }
            let (key, other) = (try #require(sample.key(composed)), try #require(sample.key(decomposed)))
            guard key.bytes != other.bytes else { continue }
            Issue.record("U+\(String(scalar.value, radix: 16))")
        }
    }

    @Test(arguments: UInt64(0)..<10)
    func `data by their bytes, with zeros and beginnings of one another`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        try check((0..<40).map { _ in Data(AttributeValues.bytes(&random)) } + [Data([9, 0, 1])[1...]])
    }

    @Test(arguments: UInt64(0)..<10)
    func `a key followed by any row number keeps its order`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let sample = AttributeSample<String?>()
        let rows: [UInt64] = [1, 0xFF, 0x01FF, 1 << 56, .max, 0x00FF_0000_0000_0001]
        let entries = try (0..<60).map { _ in
            let value: String? = Int.random(in: 0..<8, using: &random) == 0 ? nil : AttributeValues.string(&random)
            let row = rows.randomElement(using: &random)!
            var writer = ByteWriter()
            writer.append(contentsOf: try #require(sample.key(value)).bytes)
            writer.appendBigEndian(row)
            return (value: value, row: row, bytes: writer.bytes)
        }
        for lhs in entries {
            for rhs in entries {
                let isLess =
                    lhs.value == rhs.value
                    ? lhs.row < rhs.row : sample.precedes(lhs.value, rhs.value)
                #expect(lhs.bytes.lexicographicallyPrecedes(rhs.bytes) == isLess, "\(lhs) and \(rhs)")
            }
        }
    }

    @Test func `UUIDs as their text, enumerations as their raw values`() throws {
        try check(AttributeValues.uuids)
        let sample = AttributeSample<UUID>()
        for lhs in AttributeValues.uuids {
            for rhs in AttributeValues.uuids {
                #expect(sample.precedes(lhs, rhs) == (lhs.uuidString < rhs.uuidString))
            }
        }
        try check(AttributeSample(codec: AttributeCodec<Weekday>.raw()), Weekday.allCases)
        try check(AttributeSample(codec: AttributeCodec<Priority>.raw()), Priority.allCases)
        let weekdays = AttributeSample(codec: AttributeCodec<Weekday>.raw())
        #expect(weekdays.precedes(.friday, .monday) && weekdays.precedes(.none, .friday))
    }

    @Test func `nil comes before everything, at every level, and is no value`() throws {
        let values: [Int??] = [nil, .some(nil), .some(.min), .some(0), .some(.max)]
        let sample = AttributeSample<Int??>()
        try check(sample, values, isNil: { ($0 ?? nil) == nil })
        for (lhs, rhs) in zip(values, values.dropFirst()) { #expect(sample.precedes(lhs, rhs)) }
    }

    @Test func `types without an order have no key`() {
        #expect(AttributeSample<URL>().key(AttributeValues.urls[0]) == nil)
        #expect(AttributeSample<[Int]>().key([1]) == nil)
        #expect(AttributeSample<URL?>().key(nil) == nil)
    }
}
