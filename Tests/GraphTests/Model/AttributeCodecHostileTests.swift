import Foundation
import Testing

@testable import Graph

/// Bytes that nobody vouches for: decoding them gives a value or throws, and never does anything else.
struct AttributeCodecHostileTests {
    private func attack<Value>(_ sample: AttributeSample<Value>, _ values: [Value], seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var inputs: [[UInt8]] = []
        for value in values {
            let bytes = try sample.encode(value)
            for _ in 0..<60 {
                var bytes = bytes
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    let position = Int.random(in: 0...bytes.count, using: &random)
                    let byte = [0, 1, 0x7F, 0x80, 0xFF, UInt8.random(in: 0...255, using: &random)]
                        .randomElement(using: &random)!
                    switch Int.random(in: 0..<4, using: &random) {
                    case 0: bytes.insert(byte, at: position)
                    case 1: bytes.removeSubrange(position..<min(bytes.count, position + 2))
                    default: if position < bytes.count { bytes[position] = byte }
                    }
                }
                inputs.append(bytes)
            }
        }
        for _ in 0..<60 {
            inputs.append(
                (0..<Int.random(in: 0...40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            )
        }
        inputs.append(Array(repeating: 0xFF, count: 30))
        inputs.append(Array(repeating: 0x80, count: 30))
        for bytes in inputs {
            guard let (value, length) = try? sample.decode(bytes) else { continue }
            #expect(length <= bytes.count)
            #expect(sample.areIdentical(value, value))
            #expect(sample.areIdentical(try sample.decode(try sample.encode(value)).value, value), "\(bytes)")
            _ = sample.key(value)
            _ = sample.describe(value)
        }
    }

    private func attack<Value: AttributeValue>(_ values: [Value], seed: UInt64) throws {
        try attack(AttributeSample<Value>(), values, seed: seed)
    }

    @Test(arguments: UInt64(0)..<3)
    func `numbers`(seed: UInt64) throws {
        try attack([0, .min, .max] as [Int], seed: seed)
        try attack([0, 255] as [UInt8], seed: seed)
        try attack([0, .min, .max] as [Int32], seed: seed)
        try attack([0, .max] as [UInt64], seed: seed)
        try attack([0, .max] as [Int128], seed: seed)
        try attack([true], seed: seed)
        try attack(AttributeValues.doubles, seed: seed)
        try attack(AttributeValues.dates, seed: seed)
        try attack(AttributeValues.decimals, seed: seed)
        try attack(AttributeValues.uuids, seed: seed)
    }

    @Test(arguments: UInt64(0)..<3)
    func `texts, bytes and URLs`(seed: UInt64) throws {
        try attack(AttributeValues.strings, seed: seed)
        try attack([[], [0, 255], Array(0...200)] as [[UInt8]], seed: seed)
        try attack([Data(), Data([0, 255])], seed: seed)
        try attack(AttributeValues.urls, seed: seed)
    }

    @Test(arguments: UInt64(0)..<3)
    func `collections, enumerations and types of one's own`(seed: UInt64) throws {
        try attack([nil, .some(nil), .some("x")] as [String??], seed: seed)
        try attack([[1, nil, 3], []] as [[Int?]], seed: seed)
        try attack([["a", "b", "é"], []] as [Set<String>], seed: seed)
        try attack([["a": [1.5], "b": []], [:]] as [[String: [Double]]], seed: seed)
        try attack([[[[]]], []] as [[[[Bool]]]], seed: seed)
        try attack(AttributeSample(codec: AttributeCodec<Weekday>.raw()), Weekday.allCases, seed: seed)
        try attack(AttributeSample(codec: AttributeCodec<Place>.codable()), AttributeValues.places, seed: seed)
    }

    @Test(arguments: [UInt64(1) << 20, 1 << 32, 1 << 62, 1 << 63, .max])
    func `a count that the bytes cannot hold is refused before anything is allocated`(count: UInt64) {
        var writer = ByteWriter()
        writer.appendVarint(count)
        let bytes = writer.bytes + [0, 0, 0]
        #expect(throws: ByteReader.Failure.self) { try AttributeSample<String>().decode(bytes) }
        #expect(throws: ByteReader.Failure.self) { try AttributeSample<Data>().decode(bytes) }
        #expect(throws: ByteReader.Failure.self) { try AttributeSample<[UInt8]>().decode(bytes) }
        #expect(throws: ByteReader.Failure.self) { try AttributeSample<[Bool?]>().decode(bytes) }
        #expect(throws: ByteReader.Failure.self) { try AttributeSample<Set<Int>>().decode(bytes) }
        #expect(throws: ByteReader.Failure.self) { try AttributeSample<[Int: Int]>().decode(bytes) }
        #expect(throws: ByteReader.Failure.self) {
            try AttributeSample(codec: AttributeCodec<Place>.codable()).decode(bytes)
        }
    }

    @Test func `JSON nested without end is refused`() {
        let json = Array(repeating: UInt8(ascii: "["), count: 20_000)
        var writer = ByteWriter()
        writer.appendVarint(UInt64(json.count))
        writer.append(contentsOf: json)
        #expect(throws: ByteReader.Failure.self) {
            try AttributeSample(codec: AttributeCodec<Place>.codable()).decode(writer.bytes)
        }
    }
}
