import Foundation

/// What a file of Graph consists of, as Docs/Design/JournalFormat.md says.
struct CompactedFile {
    /// How much of it is entries of indexes.
    private(set) var entryBytes = 0.0

    init(_ path: String) throws {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path), options: .mappedIfSafe)
        bytes.withUnsafeBytes { bytes in
            var offset = 8_192
            while offset + 48 <= bytes.count {
                guard bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self).bigEndian == 0xE747_524A else {
                    break
                }
                let length = Int(bytes.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self).littleEndian)
                let end = offset + 40 + (length + 7) / 8 * 8
                let (isPart, isOfEntries) = (bytes[offset + 8] == 3, bytes[offset + 40] == 3)
                if isPart, isOfEntries { entryBytes += Double(end - offset) }
                offset = end
            }
        }
        guard entryBytes > 0 else { throw Failure() }
    }

    private struct Failure: Error, CustomStringConvertible {
        let description = "the compacted file has no entries of indexes, or none where this program looks for them"
    }
}
