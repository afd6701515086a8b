import Testing

@testable import Graph

struct ByteReaderTests {
    private func read(_ utf8: [UInt8]) throws -> String {
        var writer = ByteWriter()
        writer.appendVarint(UInt64(utf8.count))
        writer.append(contentsOf: utf8)
        return try writer.bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            return try reader.readString()
        }
    }

    @Test func `texts of every length come back`() throws {
        for text in ["", "a", "ä", "person 12", "ada.lovelace@example.com", "\u{FFFD}", "👩🏽‍🚀", "\u{FEFF}mark", "a\0b"] {
            #expect(try Array(read(Array(text.utf8)).utf8) == Array(text.utf8))
        }
    }

    /// Among them sequences that are as long as the character that stands for what is not valid.
    @Test(
        arguments: [
            [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF0, 0x9F, 0x98], [0x41, 0xE2, 0x82], [0xF4, 0x90, 0x80, 0x80],
            [0x80], Array("a long text with an end that is not valid: ".utf8) + [0xE2, 0x82],
        ] as [[UInt8]])
    func `what is not UTF-8 is refused`(bytes: [UInt8]) {
        #expect(throws: ByteReader.Failure.self) { try read(bytes) }
    }
}
