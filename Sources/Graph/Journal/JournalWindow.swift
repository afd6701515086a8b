/// A piece of a file in memory, moved along as the file is read.
///
/// It owns its memory: nothing else frees or moves it, and the pointers that it returns are valid until the next call. It never
/// takes more than the larger of `pieceBytes` and the longest range requested, which ends inside the file.
struct JournalWindow: ~Copyable {
    static let pieceBytes = 256 << 10

    private let file: any StoreFile
    let lengthBytes: UInt64
    private let pieceBytes: Int
    private var memory: UnsafeMutableRawBufferPointer
    private var start: UInt64 = 0
    private var filled = 0
    /// Of long payloads in the window, by the offsets of their records, as far as they are known.
    var checksums: [UInt64: UInt32] = [:]

    /// - Parameter pieceBytes: how much is read at once, where the file has as much.
    init(file: any StoreFile, lengthBytes: UInt64, pieceBytes: Int = Self.pieceBytes) {
        self.file = file
        self.lengthBytes = lengthBytes
        self.pieceBytes = pieceBytes
        let capacity = Int(min(lengthBytes, UInt64(pieceBytes)))
        memory = .allocate(byteCount: capacity, alignment: JournalFormat.alignment)
    }

    deinit {
        memory.deallocate()
    }

    /// The bytes from `offset` on; the range must lie inside the file, as that was when the window was made.
    ///
    /// - Throws: also `.noProgress`, if the file has been cut before the range's end since.
    mutating func bytes(at offset: UInt64, count: Int) throws(IOError) -> UnsafeRawBufferPointer {
        precondition(offset <= lengthBytes && UInt64(count) <= lengthBytes - offset, "range beyond the file")
        if let held = held(at: offset, count: count) { return held }
        try fill(at: offset, count: count)
        let position = Int(offset - start)
        return UnsafeRawBufferPointer(rebasing: memory[position..<(position + count)])
    }

    /// The bytes from `offset` on, if the window has them.
    func held(at offset: UInt64, count: Int) -> UnsafeRawBufferPointer? {
        guard offset >= start, offset - start <= UInt64(filled), count <= filled - Int(offset - start) else {
            return nil
        }
        let position = Int(offset - start)
        return UnsafeRawBufferPointer(rebasing: memory[position..<(position + count)])
    }

    /// Has the next bytes read again.
    mutating func forget() { (filled, checksums) = (0, [:]) }

    /// The first offset from the given one on that may hold anything but zeros; nil if there is none.
    func dataOffset(from offset: UInt64) -> UInt64? { file.dataOffset(from: offset) }

    private mutating func fill(at offset: UInt64, count: Int) throws(IOError) {
        if count > memory.count {
            memory.deallocate()
            memory = .allocate(byteCount: count, alignment: JournalFormat.alignment)
        }
        forget()
        start = offset
        let wanted = Int(min(lengthBytes - offset, UInt64(max(count, min(pieceBytes, memory.count)))))
        // A program may have cut off what it had reserved behind its records.
        filled = try file.read(
            count, into: UnsafeMutableRawBufferPointer(rebasing: memory[..<wanted]), at: offset)
    }
}
