import Testing

@testable import Graph

struct ChecksumTests {
    @Test func `CRC32C gives the published values`() {
        #expect(CRC32C.checksum(Array("123456789".utf8)) == 0xE306_9283)
        // RFC 3720, B.4.
        #expect(CRC32C.checksum([UInt8](repeating: 0, count: 32)) == 0x8A91_36AA)
        #expect(CRC32C.checksum([UInt8](repeating: 0xFF, count: 32)) == 0x62A8_AB43)
        #expect(CRC32C.checksum(Array(0..<32)) == 0x46DD_794E)
        #expect(CRC32C.checksum([]) == 0)
    }

    @Test func `CRC32C continues from a seed at every split`() {
        let bytes = (0..<100).map { UInt8(truncatingIfNeeded: $0 &* 73) }
        let whole = CRC32C.checksum(bytes)
        for split in 0...bytes.count {
            let first = CRC32C.checksum(Array(bytes[..<split]))
            #expect(CRC32C.checksum(Array(bytes[split...]), seed: first) == whole)
        }
    }

    /// The sanity buffer of the reference implementation, and what that makes of it.
    @Test func `XXH64 gives the published values`() {
        var (buffer, generator): ([UInt8], UInt64) = ([], 2_654_435_761)
        for _ in 0..<222 {
            buffer.append(UInt8(generator >> 56))
            generator &*= 11_400_714_785_074_694_797
        }
        let seed: UInt64 = 2_654_435_761
        let expected: [(length: Int, seed: UInt64, hash: UInt64)] = [
            (0, 0, 0xEF46_DB37_51D8_E999), (0, seed, 0xAC75_FDA2_929B_17EF), (1, 0, 0xE934_A84A_DB05_2768),
            (1, seed, 0x5014_6076_43A9_B4C3), (4, 0, 0x9136_A0DC_A574_57EE), (4, seed, 0xCAAB_286B_D8E9_FDB5),
            (14, 0, 0x8282_DCC4_994E_35C8), (14, seed, 0xC3BD_6BF6_3DEB_6DF0), (222, 0, 0xB641_AE8C_B691_C174),
            (222, seed, 0x20CB_8AB7_AE10_C14A),
        ]
        for (length, seed, hash) in expected {
            #expect(buffer[..<length].withUnsafeBytes { XXH64.hash($0, seed: seed) } == hash)
        }
        #expect(Array("abc".utf8).withUnsafeBytes { XXH64.hash($0) } == 0x44BC_2CF5_AD77_0999)
    }

    @Test func `SHA-256 gives the published values`() {
        func text(_ message: String) -> String {
            SHA256.digest(Array(message.utf8)).map { byte in
                (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }.joined()
        }
        #expect(text("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(text("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")
                == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
        #expect(
            text(String(repeating: "a", count: 1_000))
                == "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3")
    }
}
