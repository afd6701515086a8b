/// Room on the heap for many small pieces of memory that one thread is about to allocate.
///
/// glibc lets the heap of each thread but the first grow by no more than is asked for, with a call of `mprotect` for each page or
/// two. A large piece that was taken and given back stays with such a heap for what comes next, unless it is so large that the
/// system has it back at once, from 128 KiB on.
struct HeapRoom {
    private static let pieceBytes = 120 << 10

    private var rest = 0

    /// Comes before pieces of so many bytes in all. An estimate is enough.
    mutating func take(_ byteCount: Int) {
        rest -= byteCount
        guard rest < 0 else { return }
        UnsafeMutableRawPointer.allocate(byteCount: Self.pieceBytes, alignment: 16).deallocate()
        rest = Self.pieceBytes
    }
}
