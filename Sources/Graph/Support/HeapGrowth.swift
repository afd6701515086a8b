/// Has the heap grow in larger steps than it would by itself.
///
/// glibc lets the heap of every thread but the main one grow by no more than a request takes, in pages of 4 KiB, each time with a
/// system call. It keeps what is freed at the heap's end, up to 128 KiB; so a large piece that is taken and given back makes room
/// for the small ones that follow. Elsewhere this does nothing.
enum HeapGrowth {
    private static let stepBytes = 96 << 10

    @inline(never)
    static func prepare() {
        #if os(Linux)
            let step = UnsafeMutableRawPointer.allocate(byteCount: stepBytes, alignment: 16)
            step.deallocate()
        #endif
    }
}
