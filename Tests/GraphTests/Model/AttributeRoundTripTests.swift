import Foundation
import Testing

@testable import Graph

/// What `AttributeCodecTests` cannot ask of every value alike: URLs that come back as others, bits left in memory, and bytes
/// that are not the engine's own.
struct AttributeRoundTripTests {
    private func decoded<Value: AttributeValue>(_ value: Value) throws -> Value {
        let operations = Value.attributeCodec.operations
        var writer = ByteWriter()
        try withUnsafePointer(to: value) { try operations.encode($0, &writer) }
        return try decode(writer.bytes)
    }

    private func decode<Value: AttributeValue>(_ bytes: [UInt8], as type: Value.Type = Value.self) throws -> Value {
        try bytes.withUnsafeBytes { buffer in
            var reader = ByteReader(buffer)
            return try withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { memory in
                let address = try #require(memory.baseAddress)
                try Value.attributeCodec.operations.decode(&reader, UnsafeMutableRawPointer(address))
                let value = address.move()
                try reader.expectEnd()
                return value
            }
        }
    }

    private func isIdentical<Value: AttributeValue>(_ lhs: Value, _ rhs: Value) -> Bool {
        withUnsafePointer(to: lhs) { left in
            withUnsafePointer(to: rhs) { Value.attributeCodec.operations.isIdentical(left, $0) }
        }
    }

    @Test func `URLs come back`() throws {
        let base = try #require(URL(string: "http://example.com/a/b?c#d"))
        let urls: [URL?] = [
            base, URL(string: "x/../y", relativeTo: base), URL(string: "", relativeTo: base),
            URL(fileURLWithPath: "/folder/ä b"),
            URL(fileURLWithPath: "a b", relativeTo: URL(fileURLWithPath: "/folder/")),
            URL(string: "a b"), URL(string: "mailto:a@b"), URL(string: "?q"), URL(string: "#f", relativeTo: base),
            URL(string: "//host"), URL(string: "data:,%00"), URL(string: "http://ex%61mple.com/%7E"),
            URL(string: "http://[::1]:80/"), URL(string: "http://bücher.de/ü?ü#ü"), URL(fileURLWithPath: ""),
            URL(string: "c", relativeTo: URL(string: "b/", relativeTo: base)), URL(string: ":"), URL(string: "a:b:c"),
            URL(fileURLWithPath: "a:b"), URL(string: "%"), URL(string: "http://a/%zz"),
            base.appending(path: "x:y"), base.appending(queryItems: [URLQueryItem(name: "ä=&", value: "%")]),
            URLComponents(string: "").flatMap(\.url), URL(string: ".", relativeTo: base),
        ]
        for url in urls.compactMap({ $0 }) {
            // Nothing makes a URL of an empty string; a save says so.
            guard !url.relativeString.isEmpty || url.baseURL != nil else {
                #expect(throws: NotReadable.self) { try decoded(url) }
                continue
            }
            do {
                let copy = try decoded(url)
                let again = try decoded(copy)
                #expect(copy.absoluteString == url.absoluteString)
                #expect(copy.relativeString == url.relativeString)
                #expect(isIdentical(copy, again), "\(url.debugDescription)")
            } catch {
                Issue.record("\(url.debugDescription): \(error)")
            }
        }
    }

    @Test func `dates and floating point numbers come back bit by bit and can be printed`() throws {
        let patterns: [UInt64] = [
            0, 1 << 63, 0x7FF0_0000_0000_0001, 0x7FF8_0000_0000_0000, 0xFFF8_0000_0000_1234, 0x7FF0_0000_0000_0000,
            0xFFF0_0000_0000_0000, 1, .max, 0x7FEF_FFFF_FFFF_FFFF,
        ]
        for pattern in patterns {
            let number = Double(bitPattern: pattern)
            #expect(try decoded(number).bitPattern == pattern)
            let date = Date(timeIntervalSinceReferenceDate: number)
            #expect(try decoded(date).timeIntervalSinceReferenceDate.bitPattern == pattern)
            let short = Float(bitPattern: UInt32(truncatingIfNeeded: pattern >> 32 | pattern))
            #expect(try decoded(short).bitPattern == short.bitPattern)
            let optional: Double?? = .some(number)
            #expect(isIdentical(try decoded(optional), optional))
            _ = withUnsafePointer(to: date) { Date.attributeCodec.operations.describe($0) }
        }
        #expect(isIdentical(try decoded(Double??.some(nil)), .some(nil)))
        #expect(!isIdentical(Double??.none, .some(nil)))
    }

    @Test func `optional values of types that use all their bits come back as what they were`() throws {
        for fill: UInt8 in [0, 1, 0xFF] {
            litter(fill)
            #expect(try decoded(Int?.some(5)) == 5)
            litter(fill)
            #expect(
                try decoded(Date?.some(Date(timeIntervalSinceReferenceDate: 7)))?.timeIntervalSinceReferenceDate == 7)
            litter(fill)
            #expect(try decoded(UUID?.some(UUID())) != nil)
            litter(fill)
            #expect(try decoded(Double??.some(.some(2))) == 2)
            litter(fill)
            #expect(try decoded([Int128?.some(3), nil, 4]) == [3, nil, 4])
        }
    }

    /// Leaves bytes on the stack where a decoder may find them.
    @inline(never)
    private func litter(_ byte: UInt8) {
        withUnsafeTemporaryAllocation(byteCount: 900, alignment: 16) { memory in
            _ = memory.initializeMemory(as: UInt8.self, repeating: byte)
        }
    }

    @Test func `text that is no decimal number or URL is refused without a trap`() {
        var texts = [
            "", "-", "+", ".", "e", "1e", "1e999999999", "1e-999999999", "1e99999999999999999999999",
            String(repeating: "9", count: 256), "0." + String(repeating: "0", count: 250) + "1", "--1", "1.2.3", "nan",
            "NaN", "inf", "0x10", " 1", "1 ", "\u{0}", "١", "1e+", "1e128", "1e127", "1e-128", "1e-127", "12e126",
        ]
        var generator = SeededGenerator(seed: 3)
        let letters = Array("0123456789.eE+-:/?#[]@%a ")
        for _ in 0..<3_000 {
            texts.append(
                String(
                    (0..<Int.random(in: 0...60, using: &generator)).map { _ in letters.randomElement(using: &generator)!
                    }))
        }
        for text in texts {
            var writer = ByteWriter()
            writer.appendString(text)
            if let number = try? decode(writer.bytes, as: Decimal.self) {
                #expect((try? decoded(number)).map { isIdentical($0, number) } == true, "\(text)")
            }
            writer.appendString("http://a/")
            if let url = try? decode(writer.bytes, as: URL.self) {
                #expect((try? decoded(url)).map { isIdentical($0, url) } == true, "\(text)")
            }
            var plain = ByteWriter()
            plain.appendString(text)
            plain.appendString("")
            if let url = try? decode(plain.bytes, as: URL.self) {
                #expect((try? decoded(url)).map { isIdentical($0, url) } == true, "\(text)")
            }
        }
    }
}
