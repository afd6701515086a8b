/// Ascending entries of an index in few bytes: of each key only what differs from the one before, as front coding does (Witten,
/// Moffat and Bell, *Managing Gigabytes*, 1999, section 4.1).
///
/// | an entry | encoding |
/// |---|---|
/// | how many bytes its key begins with that the one before begins with too, as many as possible | varint |
/// | how many follow, and these | length, bytes |
/// | the row | varint |
struct FrontCodedEntries {
    /// The last entry: a key, and eight bytes with the row number.
    private(set) var entry: [UInt8] = []

    private var keyCount: Int { max(0, entry.count - MemoryLayout<RowNumber>.size) }

    /// - Precondition: the entry ends with a row number.
    mutating func append(_ next: UnsafeRawBufferPointer, to writer: inout ByteWriter) {
        let key = KeyBytes(next).prefix(next.count - MemoryLayout<RowNumber>.size)
        let shared = entry.withUnsafeBytes { KeyBytes($0).prefix(keyCount).sharedCount(with: key) }
        writer.appendVarint(UInt64(shared))
        writer.appendVarint(UInt64(key.count - shared))
        writer.append(contentsOf: key.dropFirst(shared).buffer)
        writer.appendVarint(KeyBytes(next).row)
        entry.removeLast(entry.count - shared)
        entry.append(contentsOf: UnsafeRawBufferPointer(rebasing: next[shared...]))
    }

    /// Reads the next entry into `entry`. Returns whether its key is the one before.
    mutating func read(_ reader: inout ByteReader) throws(ByteReader.Failure) -> Bool {
        let shared = Int(truncatingIfNeeded: try reader.readVarint())
        let rest = try reader.take(try reader.readCount(minimumBytes: 1))
        let (row, last, isFirst) = (try reader.readVarint(), keyCount, entry.isEmpty)
        guard shared >= 0, shared <= last, shared == last || rest.first != entry[shared] else {
            throw reader.failure("a key that shares \(shared) bytes with the one before")
        }
        let count = shared + rest.count + MemoryLayout<RowNumber>.size
        if entry.count > count { entry.removeLast(entry.count - count) }
        if entry.count < count { entry.append(contentsOf: repeatElement(0, count: count - entry.count)) }
        entry.withUnsafeMutableBytes { entry in
            UnsafeMutableRawBufferPointer(rebasing: entry[shared...]).copyMemory(from: rest)
            entry.storeBytes(of: row.bigEndian, toByteOffset: shared + rest.count, as: RowNumber.self)
        }
        return !isFirst && rest.isEmpty && shared == last
    }
}
