import Foundation
import Testing

@testable import Graph

/// Each type's values, to text and back.
struct ExchangedValueTests {
    /// The bytes of a record, to JSON and back, or to a field of CSV and back.
    private func check<Value>(_ sample: AttributeSample<Value>, _ values: [Value]) throws {
        let kind = try #require(AttributeKind(sample.codec.operations.kind))
        for value in values {
            let bytes = try sample.encode(value)
            let stored = try bytes.withUnsafeBytes { bytes in
                var reader = ByteReader(bytes)
                let stored = try kind.storedValue(from: &reader)
                try reader.expectEnd()
                return stored
            }
            var json: [UInt8] = []
            stored.appendJSON(to: &json)
            var writer = ByteWriter()
            try kind.encode(try JSONReader.read(json), to: &writer)
            #expect(try sample.encode(sample.decode(writer.bytes).value) == bytes, "\(stored)")
            #expect(writer.bytes == bytes, "\(stored)")
            #expect(throws: Never.self) {
                try JSONSerialization.jsonObject(with: Data(json), options: .fragmentsAllowed)
            }

            var csv: [UInt8] = []
            CSVField.append(stored, isPlain: kind.isPlain, to: &csv)
            let fields = try CSVField.read(csv[...])
            #expect(fields.count == 1)
            let field = try RecordReader.value(of: fields[0], .attribute(kind))
            var again = ByteWriter()
            try kind.encode(field, to: &again)
            #expect(again.bytes == bytes, "\(stored)")
        }
    }

    private func check<Value: AttributeValue>(_ values: [Value]) throws {
        try checkBoth(AttributeSample(), values)
        try checkBoth(AttributeSample<Value?>(), values.map { $0 } + [nil])
        try checkBoth(AttributeSample<Value??>(), values.map { $0 } + [.some(nil), nil])
        try checkBoth(AttributeSample<[Value]>(), [values, []] + values.map { [$0] })
        try checkBoth(AttributeSample<[Value?]>(), [values + [nil]])
        try checkBoth(AttributeSample<[Value?]??>(), [[], [nil], .some(nil), nil])
        try checkBoth(AttributeSample<[String: Value]>(), values.map { ["": $0, "\"é": $0] } + [[:]])
    }

    /// Also whether what is shown of values differs where their bytes do, and only there.
    private func checkBoth<Value>(_ sample: AttributeSample<Value>, _ values: [Value]) throws {
        try check(sample, values)
        var bytes: [[UInt8]: StoredValue] = [:]
        for value in values {
            let shown = StoredValue(value as Any)
            #expect(bytes.updateValue(shown, forKey: try sample.encode(value)).map { $0 == shown } ?? true)
        }
        let texts = bytes.values.map { Array($0.description.utf8) }
        #expect(Set(texts).count == bytes.count)
        let (first, others) = (bytes.values.first, bytes.values.dropFirst())
        #expect(others.allSatisfy { $0 != first })
    }

    @Test func `sets and dictionaries are shown in one order, however they were made`() {
        let numbers: [Double] = [.nan, 1, .nan, -0.0, .nan]
        let (keys, words) = (numbers.indices.map { "\($0)" }, ["e\u{301}", "\u{E9}x", "z", "a\r\n"])
        func table(_ places: [Int]) -> [Double: String] {
            var table: [Double: String] = [:]
            for place in places { table[numbers[place]] = keys[place] }
            return table
        }
        let shown = StoredValue(table([0, 1, 2, 3, 4]) as Any)
        #expect(
            shown == StoredValue(table([4, 3, 2, 1, 0]) as Any) && shown == StoredValue(table([2, 4, 0, 3, 1]) as Any))
        #expect(StoredValue(Set(words) as Any) == StoredValue(Set(words.reversed()) as Any))
    }

    @Test func `whole numbers and truth values come back`() throws {
        var random = SeededGenerator(seed: Seeds.first)
        try check(Int.samples(&random))
        try check(Int8.samples(&random))
        try check(Int16.samples(&random))
        try check(Int32.samples(&random))
        try check(Int64.samples(&random))
        try check(Int128.samples(&random))
        try check(UInt.samples(&random))
        try check(UInt8.samples(&random).map { $0 })
        try check(UInt16.samples(&random))
        try check(UInt32.samples(&random))
        try check(UInt64.samples(&random))
        try check(UInt128.samples(&random))
        try check([true, false])
    }

    @Test func `numbers come back bit by bit`() throws {
        var random = SeededGenerator(seed: UInt64.random(in: 0 ... .max))
        let patterns = (0..<200).map { _ in random.next() }
        try check(AttributeValues.doubles + patterns.map { Double(bitPattern: $0) })
        try check(AttributeValues.floats + patterns.map { Float(bitPattern: UInt32(truncatingIfNeeded: $0)) })
        try check(AttributeValues.decimals + patterns.map { Decimal($0) / 1_000 })
    }

    @Test func `dates come back bit by bit, and are readable where they can be`() throws {
        var random = SeededGenerator(seed: UInt64.random(in: 0 ... .max))
        let near = (0..<500).map { _ in
            let range = pow(10, Double.random(in: -6...12, using: &random))
            return Date(timeIntervalSinceReferenceDate: Double.random(in: -range...range, using: &random))
        }
        try check(AttributeValues.dates + near)
        for date in near where abs(date.timeIntervalSinceReferenceDate) < 1e10 {
            guard let text = DateText.text(of: date) else { continue }
            let whole = Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate.rounded(.down))
            #expect(text.hasPrefix(whole.formatted(.iso8601).dropLast()), "\(text)")
        }
        func date(_ text: String) -> Double? { DateText.date(of: text)?.timeIntervalSinceReferenceDate }
        #expect(date("2001-01-01T00:00:00Z") == 0 && date("2001-01-01 01:00:00.25+01:00") == 0.25)
        #expect(date("2000-02-29T00:00:00-00:30") == -26_523_000)
        #expect(date("0001-01-01T00:00:00Z") == -63_113_904_000)
        for text in [
            "2001-02-29T00:00:00Z", "2001-13-01T00:00:00Z", "2001-01-01T24:00:00Z", "2001-01-01", "2001-01-01T00:00:00",
            "",
        ] {
            #expect(date(text) == nil, "\(text)")
        }
    }

    /// What a regular expression finds in a text, as a definition to compare with.
    private func date(_ text: String, _ pattern: Regex<AnyRegexOutput>) -> Date? {
        guard text.utf8.count < 64, text.utf8.allSatisfy({ $0 < 0x80 }), let match = text.wholeMatch(of: pattern) else {
            return nil
        }
        func part(_ place: Int) -> String? { match.output[place].substring.map(String.init) }
        func number(_ place: Int) -> Int { part(place).flatMap { Int($0) } ?? 0 }
        guard number(2) <= 12, number(3) <= 31, number(2) > 0, number(3) > 0, number(4) < 24, number(5) < 60,
            number(6) < 60, number(9) < 24, number(10) < 60
        else { return nil }
        // Days of a calendar without a gap in 1582.
        let (year, month) = (number(1), number(2))
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard number(3) <= lengths[month - 1] else { return nil }
        func leapDays(before year: Int) -> Int {
            year == 0 ? 0 : (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400 + 1
        }
        let days = year * 365 + leapDays(before: year) + lengths[..<(month - 1)].reduce(0, +) + number(3) - 1
        let offset = (number(9) * 60 + number(10)) * (part(8) == "-" ? -60 : 60)
        var whole = (days - 730_851) * 86_400 + number(4) * 3_600 + number(5) * 60 + number(6) - offset
        var (sign, fraction) = ("", part(7) ?? "0")
        if whole < 0 {
            sign = "-"
            if let rest = Int(fraction), rest > 0 {
                whole += 1
                let power = fraction.reduce(1) { power, _ in power * 10 }
                let text = "\(power - rest)"
                fraction = String(repeating: "0", count: fraction.utf8.count - text.utf8.count) + text
            }
        }
        return Double("\(sign)\(abs(whole)).\(fraction)").map { Date(timeIntervalSinceReferenceDate: $0) }
    }

    @Test func `dates are read as a regular expression says, and nothing else is`() throws {
        let pattern = try Regex(
            #"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,18}))?(?:[Zz]|([+-])(\d\d):(\d\d))"#)
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        func digits(_ count: Int) -> String {
            (0..<count).map { _ in "\(Int.random(in: 0...9, using: &random))" }.joined()
        }
        func two(_ range: ClosedRange<Int>) -> String {
            let number = Int.random(in: range, using: &random)
            return (number < 10 ? "0" : "") + "\(number)"
        }
        var foundCount = 0
        for _ in 0..<4_000 {
            let years = ["2000", "2001", "1900", "0000", "0001", "9999", digits(4)]
            var text = "\(years.randomElement(using: &random) ?? "")-\(two(0...13))-\(two(0...32))"
            text += ["T", "t", " "].randomElement(using: &random) ?? ""
            text += "\(two(0...24)):\(two(0...60)):\(two(0...60))"
            if random.chance(2) { text += "." + digits(Int.random(in: 1...19, using: &random)) }
            text += random.chance(2) ? "Z" : (random.chance(2) ? "+" : "-") + "\(two(0...24)):\(two(0...60))"
            if random.chance(4) {
                var characters = Array(text)
                let place = Int.random(in: characters.indices, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: characters.remove(at: place)
                case 1: characters[place] = "0:-.TzZ+ é\n٣".randomElement(using: &random) ?? "0"
                default: characters.insert("0:-.TzZ+ é\n٣".randomElement(using: &random) ?? "0", at: place)
                }
                text = String(characters)
            }
            let found = DateText.date(of: text)?.timeIntervalSinceReferenceDate.bitPattern
            #expect(found == date(text, pattern)?.timeIntervalSinceReferenceDate.bitPattern, "seed \(seed): \(text)")
            foundCount += found == nil ? 0 : 1
        }
        #expect(foundCount > 1_000)
    }

    @Test func `texts, bytes, identifiers and addresses come back`() throws {
        var random = SeededGenerator(seed: UInt64.random(in: 0 ... .max))
        let strings = (0..<100).map { _ in AttributeValues.string(&random) }
        try check(AttributeValues.strings + strings + [",", "\r\n", "a\nb", " a ", "\"", "\"\"", "[\"", "null", "1"])
        let bytes = (0..<20).map { _ in AttributeValues.bytes(&random) } + [[]]
        try check(bytes.map { Data($0) })
        try check(bytes)
        try check(AttributeValues.uuids + [UUID()])
        try check(AttributeValues.urls)
    }

    @Test func `types of a program's own come back, with what JSON has no form for`() throws {
        struct Own: Codable, Equatable, Sendable {
            var data = Data([1, 2])
            var id = UUID()
            var date = Date(timeIntervalSinceReferenceDate: 0.5)
            var whole = 2.0
            var numbers: [Double] = [.nan, -.infinity, -0.0, Double(nan: 7, signaling: false), 1e300]
            var large = [Int128.min, .max]
            var unsigned = UInt128.max
            var empty: [String: [Int]] = [:]
            var marked = ["$bytes": 1]
            var markedTwice = ["$map": ["$double": "x"]]
            var nothing: Int?
        }
        try check(AttributeSample(codec: AttributeCodec<Own>.codable()), [Own()])
        try check(AttributeSample(codec: AttributeCodec<Place>.codable()), AttributeValues.places)
        try check(AttributeSample(codec: AttributeCodec<Own?>.codable()), [Own(), nil])
        let texts =
            AttributeValues.strings + ["null", "\"x\"", "ada", "1", "true", "{}", "[\"a\"]", "[\"", ",", "a\r\nb"]
        try check(AttributeSample(codec: AttributeCodec<EncodedText>.codable()), texts.map { EncodedText($0) })
        try check(AttributeSample(codec: AttributeCodec<EncodedText?>.codable()), texts.map { EncodedText($0) } + [nil])
        try check(
            AttributeSample(codec: AttributeCodec<[EncodedText?]>.codable()),
            [texts.map { EncodedText($0) } + [nil], []])
        try check(
            AttributeSample(codec: AttributeCodec<EncodedText>.optional(.codable())),
            texts.map { EncodedText($0) } + [nil])
        try check(AttributeSample(codec: AttributeCodec<Weekday>.raw()), Weekday.allCases)
        try check(AttributeSample(codec: AttributeCodec<Priority>.optional(.raw())), Priority.allCases + [nil])
        try check(AttributeSample<[Int: [Double]]>(), [[1: [.pi], -2: []], [:]])
        try check(AttributeSample<Set<Data>>(), [[Data([1]), Data()], []])
    }

    @Test func `what a type does not have is refused`() {
        func refuses(_ kind: String, _ json: String) -> Bool {
            var writer = ByteWriter()
            guard let kind = AttributeKind(kind), let value = try? JSONReader.read(json.utf8) else { return false }
            return (try? kind.encode(value, to: &writer)) == nil
        }
        for (kind, json) in [
            ("int", "1.5"), ("int", "9223372036854775808"), ("int", "null"), ("uint8", "-1"), ("int128", "\"a\""),
            ("double", "1e400"), ("double", "\"0x7\""), ("float", "1e39"), ("bool", "1"), ("string", "1"),
            ("decimal", "0.923456789012345678901234567890123456789"), ("decimal", "1e200"), ("decimal", "\"1,5\""),
            ("date", "\"yesterday\""), ("uuid", "\"1\""), ("data", "\"*\""), ("url", "1"), ("array(int)", "1"),
            ("dictionary(int, int)", "[[1]]"), ("dictionary(string, int)", "[1]"), ("optional(optional(int))", "1"),
            ("codable", "1e400"), ("codable", "{\"$bytes\":1}"), ("codable", "400282366920938463463374607431768211456"),
        ] {
            #expect(refuses(kind, json), "\(kind) \(json)")
        }
    }
}
