import Testing

@testable import Graph

struct JournalFormatTests {
    private let header = JournalHeader(
        storeID: StoreID(high: 0x0011_2233_4455_6677, low: 0x8899_AABB_CCDD_EEFF),
        fileID: StoreID(high: 0x0102_0304_0506_0708, low: 9), generation: 3, baseCommit: CommitNumber(77),
        previousFileChain: 0xAABB_CCDD, schemaFingerprint: [UInt8](repeating: 5, count: 32),
        createdNanoseconds: 1_234)

    private func decode(_ bytes: [UInt8]) -> JournalHeader.Copy {
        bytes.withUnsafeBytes { JournalHeader.decode($0) }
    }

    /// The header's bytes after a change, with a checksum that fits again.
    private func resealed(_ change: (inout [UInt8]) -> Void) -> [UInt8] {
        var bytes = Array(header.encoded().dropLast(4))
        change(&bytes)
        let checksum = CRC32C.checksum(bytes)
        return bytes + (0..<4).map { UInt8(truncatingIfNeeded: checksum >> (UInt32($0) * 8)) }
    }

    @Test func `a header comes back as it went`() throws {
        let bytes = header.encoded()
        #expect(bytes.count == 4_096)
        #expect(Array(bytes[32..<36]) == [0x00, 0x11, 0x22, 0x33])
        #expect(Array(bytes[48..<52]) == [1, 2, 3, 4])
        #expect(header.salt == 0x0403_0201)
        guard case .valid(header, let checksum) = decode(bytes) else {
            Issue.record("not valid")
            return
        }
        #expect(CRC32C.checksum(Array(bytes[..<4_092])) == checksum)
        #expect(header.storeID.description == "00112233-4455-6677-8899-aabbccddeeff")
    }

    @Test func `a header says why it cannot be used`() {
        #expect(decode(resealed { $0[0] = 0x88 }) == .foreign)
        #expect(decode(resealed { $0[8] = 2 }) == .otherVersion(major: 2))
        #expect(decode(resealed { $0[12] = 1 }) == .unsupported(found: "header of 4097 bytes"))
        #expect(decode(resealed { $0[16] = 2 }) == .unsupported(found: "features 2 and 0"))
        #expect(decode(resealed { $0[20] = 2 }) == .unsupported(found: "features 0 and 2"))
        #expect(decode(resealed { $0[24] = 2 }) == .unsupported(found: "checksum algorithm 2"))
        for undefined in [25, 31, 84, 87, 128, 4_091] {
            #expect(decode(resealed { $0[undefined] = 1 }) == .unsupported(found: "undefined bytes in the header"))
        }
        var flipped = header.encoded()
        flipped[70] ^= 4
        #expect(decode(flipped) == .damaged("wrong checksum"))
        guard case .valid = decode(resealed { $0[10] = 9 }) else {
            Issue.record("a newer minor version without new features is the same format")
            return
        }
    }

    @Test func `a frame comes back as it went, at every length of padding`() throws {
        for count in 0...17 {
            let record = Journal.Record(kind: .mark, payload: [UInt8](repeating: 7, count: count))
            var writer = ByteWriter()
            let chain = JournalFrame.append(
                record, sequence: JournalSequence(9), durableThrough: JournalSequence(4), chain: 0x0102_0304,
                salt: 0x55, to: &writer)
            #expect(writer.count == JournalFormat.frameBytes(payloadBytes: count) && writer.count % 8 == 0)
            let parsed = writer.bytes.withUnsafeBytes { JournalFrame($0, salt: 0x55) }
            let frame = try #require(parsed)
            #expect(frame.kind == 6 && frame.flags == 0 && frame.reserved == 0)
            #expect(
                frame.payloadBytes == UInt32(count) && frame.sequence.number == 9 && frame.durableThrough.number == 4)
            #expect(frame.chain == 0x0102_0304 && frame.payloadChecksum == chain)
            #expect(CRC32C.checksum(record.payload, seed: frame.headerChecksum) == chain)
            #expect(writer.bytes.withUnsafeBytes { JournalFrame($0, salt: 0x54) } == nil)
        }
    }

    @Test func `the end in a lock file comes back as it went, or not at all`() {
        let end = JournalEnd(
            fileID: StoreID(high: 0x0102_0304_0506_0708, low: 9), sequence: JournalSequence(77), offset: 9_216,
            chain: 0xAABB_CCDD,
            isClosed: true)
        let bytes = end.encoded()
        #expect(
            bytes.count == 64 && Array(bytes[..<4]) == [0xE7, 0x47, 0x52, 0x45] && Array(bytes[8..<12]) == [1, 2, 3, 4])
        #expect(bytes.withUnsafeBytes { JournalEnd(slot: $0) } == end)
        for bit in 0..<(64 * 8) {
            var damaged = bytes
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(damaged.withUnsafeBytes { JournalEnd(slot: $0) } == nil, "\(bit)")
        }
        #expect([UInt8](repeating: 0, count: 64).withUnsafeBytes { JournalEnd(slot: $0) } == nil)
        #expect(bytes[..<63].withUnsafeBytes { JournalEnd(slot: $0) } == nil)
    }

    @Test func `random identifiers are version 4 and differ`() {
        var generator = SeededGenerator(seed: 4)
        let identifiers = (0..<50).map { _ in StoreID { generator.next() } }
        #expect(Set(identifiers).count == 50)
        for text in identifiers.map(\.description) {
            let characters = Array(text)
            #expect(characters.count == 36 && characters[14] == "4" && "89ab".contains(characters[19]))
        }
    }
}
