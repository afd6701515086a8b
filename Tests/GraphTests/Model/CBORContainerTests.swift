import Foundation
import Testing

@testable import Graph

/// Each method of each container that a type's own `encode(to:)` and `init(from:)` may use.
struct CBORContainerTests {
    private func encoded(_ value: some Encodable) throws -> [UInt8] {
        try CBORCoders.withEncoding(of: value) { $0 }
    }

    private func decoded<Value: Decodable>(_ bytes: [UInt8], as type: Value.Type = Value.self) throws -> Value {
        try bytes.withUnsafeBytes { bytes in
            let result = try CBORCoders.decode(type, from: bytes)
            #expect(result.isComplete)
            return result.value
        }
    }

    private func expectSame<Value: Codable & Equatable>(_ value: Value) throws {
        #expect(try decoded(encoded(value)) == value)
    }

    /// In a keyed container, by the compiler's own code.
    private struct Keyed: Codable, Equatable {
        var bool: Bool
        var text: String
        var double: Double
        var float: Float
        var int: Int
        var int8: Int8
        var int16: Int16
        var int32: Int32
        var int64: Int64
        var int128: Int128
        var uint: UInt
        var uint8: UInt8
        var uint16: UInt16
        var uint32: UInt32
        var uint64: UInt64
        var uint128: UInt128

        static let least = Keyed(
            bool: false, text: "", double: -.greatestFiniteMagnitude, float: -.greatestFiniteMagnitude, int: .min,
            int8: .min, int16: .min, int32: .min, int64: .min, int128: .min, uint: .min, uint8: .min, uint16: .min,
            uint32: .min, uint64: .min, uint128: .min)
        static let greatest = Keyed(
            bool: true, text: "e\u{301}", double: .infinity, float: .greatestFiniteMagnitude, int: .max, int8: .max,
            int16: .max, int32: .max, int64: .max, int128: .max, uint: .max, uint8: .max, uint16: .max, uint32: .max,
            uint64: .max, uint128: .max)
    }

    /// The same, each of which may be missing.
    private struct Optional: Codable, Equatable {
        var bool: Bool?
        var text: String?
        var double: Double?
        var float: Float?
        var int: Int?
        var int8: Int8?
        var int16: Int16?
        var int32: Int32?
        var int64: Int64?
        var int128: Int128?
        var uint: UInt?
        var uint8: UInt8?
        var uint16: UInt16?
        var uint32: UInt32?
        var uint64: UInt64?
        var uint128: UInt128?
        var keyed: Keyed?

        init() {}

        init(_ keyed: Keyed) {
            (bool, text, double, float) = (keyed.bool, keyed.text, keyed.double, keyed.float)
            (int, int8, int16, int32) = (keyed.int, keyed.int8, keyed.int16, keyed.int32)
            (int64, int128) = (keyed.int64, keyed.int128)
            (uint, uint8, uint16, uint32) = (keyed.uint, keyed.uint8, keyed.uint16, keyed.uint32)
            (uint64, uint128) = (keyed.uint64, keyed.uint128)
            self.keyed = keyed
        }
    }

    /// The same in an array, by the method for each type.
    private struct Unkeyed: Codable, Equatable {
        var keyed: Keyed

        init(_ keyed: Keyed) { self.keyed = keyed }

        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            #expect(list.count == 19 && list.currentIndex == 0 && !list.isAtEnd)
            keyed = Keyed(
                bool: try list.decode(Bool.self), text: try list.decode(String.self),
                double: try list.decode(Double.self), float: try list.decode(Float.self),
                int: try list.decode(Int.self), int8: try list.decode(Int8.self),
                int16: try list.decode(Int16.self), int32: try list.decode(Int32.self),
                int64: try list.decode(Int64.self), int128: try list.decode(Int128.self),
                uint: try list.decode(UInt.self), uint8: try list.decode(UInt8.self),
                uint16: try list.decode(UInt16.self), uint32: try list.decode(UInt32.self),
                uint64: try list.decode(UInt64.self), uint128: try list.decode(UInt128.self))
            #expect(list.currentIndex == 16)
            let (isNil, isNilAgain) = (try list.decodeNil(), try list.decodeNil())
            #expect(isNil && !isNilAgain && list.currentIndex == 17)
            let again = try list.decode(Keyed.self)
            let inherited = try Keyed(from: list.superDecoder())
            #expect(again == keyed && inherited == keyed && list.isAtEnd)
        }

        func encode(to encoder: any Encoder) throws {
            var list = encoder.unkeyedContainer()
            #expect(list.count == 0)
            try list.encode(keyed.bool)
            try list.encode(keyed.text)
            try list.encode(keyed.double)
            try list.encode(keyed.float)
            try list.encode(keyed.int)
            try list.encode(keyed.int8)
            try list.encode(keyed.int16)
            try list.encode(keyed.int32)
            try list.encode(keyed.int64)
            try list.encode(keyed.int128)
            try list.encode(keyed.uint)
            try list.encode(keyed.uint8)
            try list.encode(keyed.uint16)
            try list.encode(keyed.uint32)
            try list.encode(keyed.uint64)
            try list.encode(keyed.uint128)
            try list.encodeNil()
            try list.encode(keyed)
            try keyed.encode(to: list.superEncoder())
            #expect(list.count == 19)
        }
    }

    /// A value alone, by the method for its type, which that type's own code uses.
    private struct Single<Value: Codable & Equatable>: Codable, Equatable {
        let value: Value

        init(_ value: Value) { self.value = value }
        init(from decoder: any Decoder) throws { value = try Value(from: decoder) }
        func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
    }

    @Test(arguments: [true, false])
    func `values of each type come back from each kind of container`(isLeast: Bool) throws {
        let keyed = isLeast ? Keyed.least : .greatest
        try expectSame(keyed)
        try expectSame(Unkeyed(keyed))
        try expectSame(Optional(keyed))
        try expectSame(Optional())
        try expectSame(Single(keyed.bool))
        try expectSame(Single(keyed.text))
        try expectSame(Single(keyed.double))
        try expectSame(Single(keyed.float))
        try expectSame(Single(keyed.int))
        try expectSame(Single(keyed.int8))
        try expectSame(Single(keyed.int16))
        try expectSame(Single(keyed.int32))
        try expectSame(Single(keyed.int64))
        try expectSame(Single(keyed.int128))
        try expectSame(Single(keyed.uint))
        try expectSame(Single(keyed.uint8))
        try expectSame(Single(keyed.uint16))
        try expectSame(Single(keyed.uint32))
        try expectSame(Single(keyed.uint64))
        try expectSame(Single(keyed.uint128))
    }

    @Test func `a number of one type is read as another one where it fits, and refused where it does not`() throws {
        func read<Value: Codable & FixedWidthInteger>(_ type: Value.Type) throws {
            for number in [Int128(Value.min), 0, Int128(Value.max)] {
                #expect(try decoded(encoded(Single(number)), as: Single<Value>.self).value == Value(number))
            }
            for number in [Int128(Value.min) - 1, Int128(Value.max) + 1] {
                let bytes = try encoded(Single(number))
                let error = #expect(throws: DecodingError.self) { try decoded(bytes, as: Single<Value>.self) }
                guard case .dataCorrupted(let context) = error else { throw try #require(error) }
                #expect(context.debugDescription.contains("\(type)"))
            }
        }
        try read(Int8.self)
        try read(Int16.self)
        try read(Int32.self)
        try read(Int64.self)
        try read(Int.self)
        try read(UInt8.self)
        try read(UInt16.self)
        try read(UInt32.self)
        try read(UInt64.self)
        try read(UInt.self)
        let bytes = try encoded(Single(UInt128.max))
        #expect(throws: DecodingError.self) { try decoded(bytes, as: Single<Int128>.self) }
    }

    // MARK: Containers in an array

    private struct Key: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// An array of a map, of an array, and of nothing else.
    private struct Nested: Codable, Equatable {
        var name: String
        var numbers: [Int]

        init(_ name: String, _ numbers: [Int]) { (self.name, self.numbers) = (name, numbers) }

        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            let map = try list.nestedContainer(keyedBy: Key.self)
            #expect(map.allKeys.map(\.stringValue) == ["name"] && map.codingPath.last?.intValue == 0)
            name = try map.decode(String.self, forKey: Key(stringValue: "name"))
            var rest = try list.nestedUnkeyedContainer()
            numbers = []
            while !rest.isAtEnd { numbers.append(try rest.decode(Int.self)) }
            #expect(rest.codingPath.last?.intValue == 1 && rest.count == numbers.count)
        }

        func encode(to encoder: any Encoder) throws {
            var list = encoder.unkeyedContainer()
            var map = list.nestedContainer(keyedBy: Key.self)
            #expect(map.codingPath.last?.intValue == 0)
            try map.encode(name, forKey: Key(stringValue: "name"))
            var rest = list.nestedUnkeyedContainer()
            for number in numbers { try rest.encode(number) }
            #expect(rest.codingPath.last?.intValue == 1 && list.count == 2)
        }
    }

    @Test func `maps and arrays in an array come back`() throws {
        try expectSame(Nested("a", [1, 2, 3]))
        try expectSame([Nested("", []), Nested("b", [-1])])
    }

    /// Reads more elements than there are, in one way or another.
    private struct Greedy: Decodable {
        nonisolated(unsafe) static let ways: [(inout any UnkeyedDecodingContainer) throws -> Any] = [
            { try $0.decodeNil() }, { try $0.decode(Bool.self) }, { try $0.decode(String.self) },
            { try $0.decode(Int128.self) }, { try $0.decode(Nested.self) },
            { try $0.nestedContainer(keyedBy: Key.self) }, { try $0.nestedUnkeyedContainer() },
            { try $0.superDecoder() },
        ]

        init(from decoder: any Decoder) throws {
            for way in Self.ways {
                var list = try decoder.unkeyedContainer()
                while !list.isAtEnd { _ = try list.superDecoder() }
                do {
                    _ = try way(&list)
                    Issue.record("there is an element more")
                } catch DecodingError.valueNotFound(_, let context) {
                    #expect(context.codingPath.map(\.intValue) == [2] && list.currentIndex == 2)
                }
            }
        }
    }

    @Test func `behind the last element there is none`() throws {
        _ = try decoded(encoded([1, 2]), as: Greedy.self)
    }

    @Test func `what is of another kind is named, and stays to be read`() throws {
        struct Curious: Decodable {
            init(from decoder: any Decoder) throws {
                var list = try decoder.unkeyedContainer()
                let number = "a floating point number"
                for noun in ["an integer", "an integer", "a text", "an array", "a map", "nil", number] {
                    do {
                        _ = try list.decode(Bool.self)
                        Issue.record("\(noun) is a Boolean")
                    } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context) {
                        #expect(context.debugDescription.contains(noun))
                    }
                    _ = try list.superDecoder()
                }
                do {
                    _ = try list.decode(Int.self)
                    Issue.record("a Boolean is an integer")
                } catch DecodingError.typeMismatch(_, let context) {
                    #expect(context.debugDescription.contains("a Boolean"))
                }
                #expect(throws: DecodingError.self) { _ = try list.nestedUnkeyedContainer() }
                #expect(throws: DecodingError.self) { _ = try list.nestedContainer(keyedBy: Key.self) }
                let last = try list.decode(Bool.self)
                #expect(last && list.isAtEnd)
            }
        }
        struct Mixed: Encodable {
            func encode(to encoder: any Encoder) throws {
                var list = encoder.unkeyedContainer()
                try list.encode(1)
                try list.encode(Int128.min)
                try list.encode("")
                try list.encode([Int]())
                try list.encode(["": 1])
                try list.encodeNil()
                try list.encode(1.5)
                try list.encode(true)
            }
        }
        let bytes = try encoded(Mixed())
        _ = try bytes.withUnsafeBytes { try CBORCoders.decode(Curious.self, from: $0) }
    }
}
