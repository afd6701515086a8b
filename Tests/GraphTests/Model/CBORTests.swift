import Foundation
import Testing

@testable import Graph

/// The bytes of `Codable` values: deterministic CBOR, RFC 8949.
struct CBORTests {
    private func encoded(_ value: some Encodable) throws -> [UInt8] {
        try CBORCoders.withEncoding(of: value) { $0 }
    }

    private func decoded<Value: Decodable>(_ bytes: [UInt8], as type: Value.Type = Value.self) throws -> Value {
        try bytes.withUnsafeBytes { try CBORCoders.decode(type, from: $0) }.value
    }

    private func hex(_ value: some Encodable) throws -> String {
        try encoded(value).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private func bytes(_ hex: String) -> [UInt8] {
        var digits = hex[...]
        var bytes: [UInt8] = []
        while !digits.isEmpty {
            bytes.append(UInt8(digits.prefix(2), radix: 16)!)
            digits = digits.dropFirst(2)
        }
        return bytes
    }

    // MARK: What a type does not read

    /// Whether a type reads all of what another one has written.
    private func isComplete<Value: Decodable>(_ type: Value.Type, from value: some Encodable) throws -> Bool {
        try encoded(value).withUnsafeBytes { try CBORCoders.decode(type, from: $0) }.isComplete
    }

    private struct Less: Codable, Hashable {
        var text = ""
        var note: String?
    }

    private struct More: Codable, Hashable {
        var text = ""
        var note: String?
        var color: Int?
        var parts: [Int] = []
    }

    private enum Figure: Codable, Hashable {
        case empty
        case round(radius: Double)
        case named(String, less: Less)
    }

    private struct Chooser: Decodable {
        let isThere: Bool

        private enum CodingKeys: String, CodingKey { case text }

        init(from decoder: any Decoder) throws {
            isThere = try decoder.container(keyedBy: CodingKeys.self).contains(.text)
        }
    }

    private struct First: Decodable {
        let number: Int

        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            number = try container.decode(Int.self)
        }
    }

    private struct Tolerant: Codable {
        var text = ""
        var note: Int?

        private enum CodingKeys: String, CodingKey { case text, note }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            text = try container.decode(String.self, forKey: .text)
            note = try? container.decode(Int.self, forKey: .note)
        }
    }

    @Test func `what it fails to read is not read`() throws {
        #expect(try !isComplete(Tolerant.self, from: Less(text: "a", note: "b")))
        #expect(try isComplete(Tolerant.self, from: ["text": "a"]))
    }

    @Test func `what a type has written itself it reads completely`() throws {
        for less in [Less(), Less(text: "a", note: "b")] {
            #expect(try isComplete(Less.self, from: less))
            #expect(try isComplete([Less].self, from: [less, less]))
            #expect(try isComplete([String: Less].self, from: ["x": less, "y": less]))
            #expect(try isComplete([Int: [Less?]].self, from: [1: [less, nil], 2: []]))
            #expect(try isComplete(Less?.self, from: Less?.some(less)))
            #expect(try isComplete(Figure.self, from: Figure.named("n", less: less)))
            #expect(try isComplete(Set<Less>.self, from: Set([less])))
        }
        #expect(try isComplete(More.self, from: More(text: "a", note: nil, color: 1, parts: [1, 2])))
        #expect(
            try isComplete(Figure.self, from: Figure.empty) && isComplete(Figure.self, from: Figure.round(radius: 1)))
        #expect(try isComplete(Less?.self, from: Less?.none))
        let url = try #require(URL(string: "b", relativeTo: URL(string: "https://example.org/a/")))
        #expect(try isComplete(URL.self, from: url) && isComplete(UUID.self, from: UUID()))
        #expect(try isComplete([Data].self, from: [Data([1, 2])]) && isComplete([[UInt8]].self, from: [[1], []]))
        #expect(try isComplete(Decimal.self, from: Decimal(1.5)) && isComplete([Date].self, from: [Date()]))
        let many = Dictionary(uniqueKeysWithValues: (0..<40).map { ("key \($0)", $0) })
        #expect(try isComplete([String: Int].self, from: many))
    }

    @Test func `what it passes over is noticed, wherever it is`() throws {
        let more = More(text: "a", note: "b", color: 1, parts: [1])
        #expect(try !isComplete(Less.self, from: more))
        #expect(try !isComplete(Less.self, from: More(text: "a", note: "b", color: nil, parts: [])))
        #expect(try !isComplete([Less].self, from: [more]))
        #expect(try !isComplete([String: Less].self, from: ["x": more]))
        #expect(try !isComplete([String: [Less?]].self, from: ["x": [nil, more]]))
        #expect(try !isComplete(Chooser.self, from: Less(text: "a")))
        #expect(try !isComplete(First.self, from: [1, 2]) && isComplete(First.self, from: [1]))
        // In a value that was decoded before, nothing of it is left.
        #expect(try isComplete(Less.self, from: Less(text: "a", note: "b")))
    }

    // MARK: Known bytes

    @Test func `integers have the bytes of RFC 8949, appendix A`() throws {
        let known: [(UInt64, String)] = [
            (0, "00"), (1, "01"), (10, "0a"), (23, "17"), (24, "1818"), (25, "1819"), (100, "1864"), (1000, "1903e8"),
            (1_000_000, "1a000f4240"), (1_000_000_000_000, "1b000000e8d4a51000"),
            (18_446_744_073_709_551_615, "1bffffffffffffffff"),
        ]
        for (number, text) in known {
            #expect(try hex(number) == text)
            #expect(try decoded(bytes(text)) == number)
        }
        #expect(try [hex(-1), hex(-10), hex(-100), hex(-1000)] == ["20", "29", "3863", "3903e7"])
        #expect(try hex(Int64.min) == "3b7fffffffffffffff")
        #expect(try hex(Int128(UInt64.max) + 1) == "c249010000000000000000")
        #expect(try hex(-Int128(UInt64.max) - 1) == "3bffffffffffffffff")
        #expect(try hex(-Int128(UInt64.max) - 2) == "c349010000000000000000")
        for number in [Int128.min, .max, -1, 0, Int128(Int64.min), Int128(UInt64.max), -Int128(UInt64.max) - 2] {
            #expect(try decoded(encoded(number)) == number)
        }
        for number in [UInt128.max, 0, UInt128(UInt64.max) + 1] { #expect(try decoded(encoded(number)) == number) }
    }

    @Test func `floating point has the shortest of its widths`() throws {
        let known: [(Double, String)] = [
            (0, "f90000"), (-0.0, "f98000"), (1, "f93c00"), (1.1, "fb3ff199999999999a"), (1.5, "f93e00"),
            (65504, "f97bff"), (100_000, "fa47c35000"), (3.4028234663852886e+38, "fa7f7fffff"),
            (1.0e+300, "fb7e37e43c8800759c"), (5.960464477539063e-8, "f90001"), (0.00006103515625, "f90400"),
            (-4, "f9c400"), (-4.1, "fbc010666666666666"), (.infinity, "f97c00"), (.nan, "f97e00"),
            (-.infinity, "f9fc00"),
        ]
        for (number, text) in known {
            #expect(try hex(number) == text, "\(number)")
            #expect(try decoded(bytes(text), as: Double.self).bitPattern == number.bitPattern, "\(number)")
        }
    }

    @Test(arguments: UInt64(0)..<4)
    func `every pattern of bits comes back, and every number of 16 bits takes three bytes`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for half in UInt16.min ... .max where UInt64(half) % 4 == seed {
            let single = CBOR.single(half: half)
            #expect(CBOR.half(single) == half)
            #expect(CBOR.single(CBOR.double(single: single)) == single)
            #expect(try encoded(Float(bitPattern: single)).count == 3)
        }
        for _ in 0..<500 {
            // Patterns whose lower bits are zero are those that may be shorter.
            let bits = UInt64.random(in: 0 ... .max, using: &random) << UInt64.random(in: 0..<64, using: &random)
            let special = bits | [0, 0x7FF0_0000_0000_0000, 0x3F10_0000_0000_0000][Int(seed) % 3]
            for bits in [bits, special] {
                #expect(try decoded(encoded(Double(bitPattern: bits)), as: Double.self).bitPattern == bits)
                let single = UInt32(truncatingIfNeeded: bits >> 32)
                #expect(try decoded(encoded(Float(bitPattern: single)), as: Float.self).bitPattern == single)
            }
        }
    }

    private struct Everything: Codable, Equatable {
        var z: [Bool?]
        var text: String
        var b: Data
        var aa: [String: Int]
    }

    @Test func `texts, blocks, arrays and maps have their bytes, keys in the order of theirs`() throws {
        #expect(try [hex(""), hex("a"), hex("ü"), hex("水")] == ["60", "6161", "62c3bc", "63e6b0b4"])
        #expect(try hex([UInt8]([1, 2, 3, 4])) == "4401020304" && hex(Data()) == "40")
        #expect(try hex([Int]()) == "80" && hex([1, 2, 3]) == "83010203" && hex([String: Int]()) == "a0")
        #expect(try hex(Int?.none) == "f6" && hex([true, nil, false]) == "83f5f6f4")
        let value = Everything(z: [true, nil], text: "é", b: Data([7]), aa: ["b": 1, "aa": 2, "": 3])
        #expect(try hex(value) == "a461624107617a82f5f6626161a3600361620162616102647465787462c3a9")
        #expect(try decoded(encoded(value)) == value)
    }

    @Test func `types of Foundation have forms of their own`() throws {
        #expect(try hex(Date(timeIntervalSinceReferenceDate: 1.5)) == "f93e00")
        #expect(
            try hex(UUID(uuidString: "00010203-0405-0607-0809-0A0B0C0D0E0F")!)
                == "50000102030405060708090a0b0c0d0e0f")
        #expect(try hex(URL(string: "a:b")!) == "63613a62")
        #expect(try hex(URL(string: "x", relativeTo: URL(string: "a:/b")!)!) == "82617864613a2f62")
        #expect(try hex(Decimal(string: "-1.50")!) == "642d312e35")
        struct Holder: Codable {
            var urls: [URL]
            var decimals: [Decimal]
            var uuids: [UUID]
            var dates: [Date]
            var blocks: [Data]
        }
        let holder = Holder(
            urls: AttributeValues.urls, decimals: AttributeValues.decimals, uuids: AttributeValues.uuids,
            dates: AttributeValues.dates, blocks: [Data(), Data([9, 1, 2])[1...]])
        let copy: Holder = try decoded(encoded(holder))
        #expect(try encoded(copy) == encoded(holder))
        #expect(copy.urls.map(\.absoluteString) == holder.urls.map(\.absoluteString))
        #expect(copy.urls.map(\.relativeString) == holder.urls.map(\.relativeString))
        #expect(copy.decimals.map(\.description) == holder.decimals.map(\.description))
        #expect(copy.uuids == holder.uuids && copy.blocks == holder.blocks)
        #expect(
            copy.dates.map(\.timeIntervalSinceReferenceDate.bitPattern)
                == holder.dates.map(\.timeIntervalSinceReferenceDate.bitPattern))
    }

    // MARK: Sets and dictionaries

    private struct Bag: Codable, Equatable {
        var strings: Set<String> = []
        var table: [Double: [String]] = [:]
        var names: [String: Int] = [:]
        var numbers: [Int: Set<Int>] = [:]
        var nested: Set<Set<Int>> = []
    }

    @Test(arguments: UInt64(0)..<20)
    func `R1: equal sets and dictionaries inside have equal bytes, however they came about`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        func bag(_ items: [String]) -> Bag {
            var bag = Bag(strings: Set(minimumCapacity: Int.random(in: 0...500, using: &random)))
            for item in items {
                bag.strings.insert(item)
                bag.table[Double(item.utf8.count)] = []
                bag.names[item] = item.utf8.count
                bag.numbers[item.utf8.count, default: []].formUnion(0..<item.utf8.count)
                bag.nested.insert(Set(0..<item.utf8.count))
            }
            return bag
        }
        let items = (0..<20).map { _ in AttributeValues.string(&random) }
        let unique = items.filter { item in items.first { $0 == item }.map { Array($0.utf8) } == Array(item.utf8) }
        let (lhs, rhs) = (bag(unique.shuffled(using: &random)), bag(unique.shuffled(using: &random)))
        #expect(lhs == rhs)
        #expect(try encoded(lhs) == encoded(rhs))
        #expect(AttributeSample(codec: AttributeCodec<Bag>.codable()).areIdentical(lhs, rhs))
        #expect(try decoded(encoded(lhs)) == lhs)
        let sets = Set(unique.map { Label(text: $0) })
        #expect(try encoded(sets) == encoded(Set(sets.shuffled(using: &random))))
    }

    private struct Label: Codable, Hashable { var text: String }

    // MARK: What conformances may do

    private class Base: Codable {
        var name = "base"
        init() {}
    }

    private final class Derived: Base {
        var size = 3
        var parts: [Int] = []

        private enum CodingKeys: CodingKey { case size, parts }

        override init() { super.init() }

        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            size = try container.decode(Int.self, forKey: .size)
            var parts = try container.nestedUnkeyedContainer(forKey: .parts)
            while !parts.isAtEnd {
                var pair = try parts.nestedUnkeyedContainer()
                self.parts.append(try pair.decode(Int.self) - pair.decode(Int.self))
            }
            try super.init(from: container.superDecoder())
        }

        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            let superEncoder = container.superEncoder()
            var parts = container.nestedUnkeyedContainer(forKey: .parts)
            for part in self.parts {
                var pair = parts.nestedUnkeyedContainer()
                try pair.encode(part + 1)
                #expect(pair.count == 1 && parts.count >= 1)
                try pair.encode(1)
            }
            // By turns with the containers above, and a key twice: the last value counts.
            try container.encode(0, forKey: .size)
            try super.encode(to: superEncoder)
            try container.encode(size, forKey: .size)
        }
    }

    @Test func `containers may be nested, written by turns, and passed to a superclass`() throws {
        let object = Derived()
        object.name = "é"
        object.size = -7
        object.parts = [4, 5]
        #expect(try hex(object) == "a36473697a652665706172747382820501820601657375706572a1646e616d6562c3a9")
        let copy: Derived = try decoded(encoded(object))
        #expect(copy.name == "é" && copy.size == -7 && copy.parts == [4, 5])
    }

    private enum Shape: Codable, Equatable {
        case none
        case circle(Double)
        indirect case group([Shape], name: String?)
    }

    @Test func `enumerations with values come back`() throws {
        let shape = Shape.group([.none, .circle(0.1), .group([], name: nil)], name: "x")
        #expect(try decoded(encoded(shape)) == shape)
        #expect(try hex(Shape.none) == "a1646e6f6e65a0")
    }

    private struct Wide: Codable, Equatable {
        var values: [String: Int]
    }

    @Test func `large maps come back, and what is missing in them is missing`() throws {
        let wide = Wide(values: Dictionary(uniqueKeysWithValues: (0..<1_000).map { ("key \($0)", $0) }))
        #expect(try decoded(encoded(wide)) == wide)
        let some: [String: Int] = Dictionary(uniqueKeysWithValues: (0..<40).map { ("k\($0)", $0) })
        #expect(throws: DecodingError.self) { try decoded(encoded(some), as: Wide.self) }
        #expect(try decoded(encoded(some), as: Wide2.self) == Wide2(k7: 7, k39: 39, missing: nil))
    }

    private struct Wide2: Codable, Equatable {
        var k7: Int
        var k39: Int
        var missing: Int?
    }

    private struct Twice: Codable {
        var isContainer: Bool

        func encode(to encoder: any Encoder) throws {
            if isContainer {
                var container = encoder.unkeyedContainer()
                try container.encode(1)
                _ = encoder.container(keyedBy: CodingKeys.self)
            } else {
                var container = encoder.singleValueContainer()
                try container.encode(1)
                try container.encode(2)
            }
        }

        enum CodingKeys: CodingKey { case isContainer }
    }

    @Test func `what encodes two things at one place is refused`() {
        #expect(throws: EncodingError.self) { try encoded(Twice(isContainer: true)) }
        #expect(throws: EncodingError.self) { try encoded(Twice(isContainer: false)) }
    }

    private struct Silent: Codable, Equatable {
        func encode(to encoder: any Encoder) throws {}
        init() {}
        init(from decoder: any Decoder) throws {}
    }

    @Test func `what encodes nothing is an empty map`() throws {
        #expect(try hex(Silent()) == "a0" && hex([Silent()]) == "81a0")
        #expect(try decoded(encoded([Silent(), Silent()])) == [Silent(), Silent()])
    }

    /// Keeps what it should not keep.
    private struct Keeper: Codable, Equatable {
        nonisolated(unsafe) static var decoder: (any Decoder)?
        nonisolated(unsafe) static var encoder: (any Encoder)?
        var number = 1

        init(number: Int) { self.number = number }

        init(from decoder: any Decoder) throws {
            Self.decoder = decoder
            number = try decoder.singleValueContainer().decode(Int.self)
        }

        func encode(to encoder: any Encoder) throws {
            Self.encoder = encoder
            var container = encoder.singleValueContainer()
            try container.encode(number)
        }
    }

    @Test func `a coder that is kept for too long is nobody else's`() throws {
        let first = try encoded(Keeper(number: 5))
        #expect(try decoded(first) == Keeper(number: 5))
        let (decoder, encoder) = (Keeper.decoder, Keeper.encoder)
        #expect(try decoded(encoded("another")) == "another")
        #expect(try decoder?.singleValueContainer().decode(Int.self) == 5)
        #expect(throws: EncodingError.self) {
            var container = encoder?.singleValueContainer()
            try container?.encode("more")
        }
        (Keeper.decoder, Keeper.encoder) = (nil, nil)
    }

    // MARK: Depth

    private indirect enum Chain: Codable, Equatable {
        case end
        case link(Chain)

        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            self = container.isAtEnd ? .end : .link(try container.decode(Chain.self))
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            if case .link(let chain) = self { try container.encode(chain) }
        }

        static func levels(_ count: Int) -> Chain { (1..<count).reduce(.end) { chain, _ in .link(chain) } }
    }

    @Test func `values lie 32 levels deep, and no deeper`() throws {
        #expect(try decoded(encoded(Chain.levels(32))) == Chain.levels(32))
        #expect(try encoded(Chain.levels(32)).count == 32)
        #expect(throws: EncodingError.self) { try encoded(Chain.levels(33)) }
        #expect(throws: EncodingError.self) { try encoded(Chain.levels(1_000)) }
        let deep = Array(repeating: UInt8(0x81), count: 32) + [0x80]
        #expect(throws: CBORDecoding.Malformed.self) { try decoded(deep, as: Chain.self) }
        #expect(throws: CBORDecoding.Malformed.self) {
            try decoded(Array(repeating: UInt8(0x81), count: 1_000_000), as: Chain.self)
        }
    }

    // MARK: Bytes that nobody vouches for

    @Test(arguments: [
        "", "18", "1817", "190017", "1900ff", "1a0000ffff", "1b00000000ffffffff", "1c", "1f", "3817", "41", "61",
        "5818",
        "61ff00", "81", "9f", "9fff", "82 01", "a1", "a161", "a16161", "a10101", "a2616101616102", "a2616201616102",
        "bf", "c0", "c100", "c24101", "c249000000000000000001", "c251010000000000000000000000000000000000", "e0", "f7",
        "f818", "f820", "fa47c35000ff", "fa3fc00000", "fb3ff8000000000000", "fb7ff8000000000000", "ff", "0000",
        "9bffffffffffffffff",
        "bbffffffffffffffff", "7bffffffffffffffff", "5bffffffffffffffff", "9a00100000", "d9d9f700",
    ])
    func `what is not the one form of a value is refused`(text: String) {
        #expect(throws: (any Error).self) { try decoded(bytes(text.replacing(" ", with: "")), as: Anything.self) }
    }

    /// Takes whatever there is.
    private indirect enum Anything: Decodable {
        case items([Anything])
        case members([String: Anything])
        case single(String)

        init(from decoder: any Decoder) throws {
            if let container = try? decoder.container(keyedBy: CBORKey.self) {
                var members: [String: Anything] = [:]
                for key in container.allKeys {
                    members[key.stringValue] = try container.decode(Anything.self, forKey: key)
                }
                self = .members(members)
            } else if var container = try? decoder.unkeyedContainer() {
                var items: [Anything] = []
                while !container.isAtEnd { items.append(try container.decode(Anything.self)) }
                self = .items(items)
            } else {
                let container = try decoder.singleValueContainer()
                if container.decodeNil() {
                    self = .single("nil")
                } else if let number = try? container.decode(Double.self) {
                    self = .single("\(number)")
                } else if let flag = try? container.decode(Bool.self) {
                    self = .single("\(flag)")
                } else if let data = try? container.decode(Data.self) {
                    self = .single("\(data.count)")
                } else if let number = try? container.decode(Int128.self) {
                    self = .single("\(number)")
                } else {
                    self = .single(try container.decode(String.self))
                }
            }
        }
    }

    @Test(arguments: UInt64(0)..<8)
    func `random bytes and damaged values give a value or an error`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let value = Everything(z: [true, nil], text: "é", b: Data([7]), aa: ["b": 1, "aa": 2, "": 3])
        let shape = Shape.group([.none, .circle(0.1), .group([], name: nil)], name: "x")
        let good = try [encoded(value), encoded(shape), encoded(AttributeValues.places), encoded(Int128.min)]
        for _ in 0..<500 {
            var bytes = good.randomElement(using: &random)!
            if random.chance(10) {
                bytes = (0..<Int.random(in: 0...20, using: &random)).map { _ in .random(in: 0...255, using: &random) }
            }
            for _ in 0..<Int.random(in: 1...3, using: &random) where !bytes.isEmpty {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes.remove(at: place)
                case 1: bytes.insert(.random(in: 0...255, using: &random), at: place)
                default: bytes[place] = .random(in: 0...255, using: &random)
                }
            }
            _ = try? decoded(bytes, as: Anything.self)
            if let value = try? decoded(bytes, as: Everything.self) { #expect(try decoded(encoded(value)) == value) }
            if let shape = try? decoded(bytes, as: Shape.self) {
                _ = try encoded(shape)
            }
            _ = try? decoded(bytes, as: [Place].self)
            _ = try? decoded(bytes, as: Int128.self)
        }
    }

    @Test func `errors say where in a value something is wrong`() throws {
        do {
            _ = try decoded(bytes("a1616183a1616201a1616202a16162f5"), as: [String: [[String: Int]]].self)
            Issue.record("no error")
        } catch DecodingError.typeMismatch(let type, let context) {
            #expect(type == Int.self && context.codingPath.map(\.stringValue) == ["a", "2", "b"])
        }
        struct Refusing: Encodable {
            func encode(to encoder: any Encoder) throws {
                throw EncodingError.invalidValue(0, .init(codingPath: encoder.codingPath, debugDescription: ""))
            }
        }
        do {
            _ = try encoded(["long key of more than 24 bytes, in fact": [[Refusing]](), "b": [[], [Refusing()]]])
            Issue.record("no error")
        } catch EncodingError.invalidValue(_, let context) {
            #expect(context.codingPath.map(\.stringValue) == ["b", "1", "0"])
        }
    }

    @Test func `numbers whose type was changed are read where they fit`() throws {
        #expect(try decoded(encoded(7), as: Double.self) == 7 && decoded(encoded(-7), as: Float.self) == -7)
        #expect(try decoded(encoded(7.0), as: Int.self) == 7 && decoded(encoded(UInt64.max), as: Double.self) == 0x1p64)
        #expect(try decoded(encoded(Int8.min), as: Int64.self) == -128)
        #expect(try decoded(encoded(0.1), as: Float.self) == 0.1)
        #expect(throws: DecodingError.self) { try decoded(encoded(7.5), as: Int.self) }
        #expect(throws: DecodingError.self) { try decoded(encoded(300), as: UInt8.self) }
        #expect(throws: DecodingError.self) { try decoded(encoded(-1), as: UInt.self) }
        #expect(throws: DecodingError.self) { try decoded(encoded(1e300), as: Float.self) }
        #expect(throws: DecodingError.self) { try decoded(encoded(Double.nan), as: Int.self) }
        #expect(throws: DecodingError.self) { try decoded(encoded(UInt64.max), as: Int64.self) }
        #expect(throws: DecodingError.self) { try decoded(encoded(Int128.min), as: Int64.self) }
    }
}
