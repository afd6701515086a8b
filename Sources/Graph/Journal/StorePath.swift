/// A file name as the system has it: bytes, which need not be UTF-8 and are compared byte by byte.
///
/// Strings are compared by characters: `é` composed and decomposed are one string and two files, and a slash before a combining
/// mark is no slash.
struct StorePath: Sendable, Hashable {
    /// The bytes and a terminating zero for system calls; there is no other zero.
    private let terminated: [UInt8]

    var bytes: ArraySlice<UInt8> { terminated.dropLast() }

    /// For messages; invalid UTF-8 is repaired.
    var text: String { String(decoding: bytes, as: UTF8.self) }

    init(_ text: String) {
        self.init(bytes: text.utf8)
    }

    /// - Precondition: none of the bytes is zero.
    init(bytes: some Sequence<UInt8>) {
        terminated = Array(bytes) + [0]
    }

    /// Copies the bytes before the zero.
    init(copying name: UnsafePointer<CChar>) {
        var bytes: [UInt8] = []
        var next = name
        while next.pointee != 0 {
            bytes.append(UInt8(bitPattern: next.pointee))
            next += 1
        }
        self.init(bytes: bytes)
    }

    /// The pointer is valid only during the call.
    func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
        terminated.withUnsafeBytes { body($0.baseAddress!.assumingMemoryBound(to: CChar.self)) }
    }

    func appending(_ suffix: String) -> StorePath {
        StorePath(bytes: bytes + Array(suffix.utf8))
    }

    /// The path of a name in this folder.
    func appending(component name: StorePath) -> StorePath {
        StorePath(bytes: bytes == [Self.slash] ? bytes + name.bytes : bytes + [Self.slash] + name.bytes)
    }

    /// The part before the last slash, or `/` or `.` if that is empty, and the part after it.
    func split() -> (directory: StorePath, name: StorePath) {
        guard let slash = bytes.lastIndex(of: Self.slash) else { return (StorePath("."), self) }
        let directory = slash == bytes.startIndex ? StorePath("/") : StorePath(bytes: bytes[..<slash])
        return (directory, StorePath(bytes: bytes[(slash + 1)...]))
    }

    /// The rest after the prefix; nil if the name does not begin with it.
    func suffix(after prefix: StorePath) -> ArraySlice<UInt8>? {
        bytes.starts(with: prefix.bytes) ? bytes.dropFirst(prefix.bytes.count) : nil
    }

    private static let slash = UInt8(ascii: "/")
}

extension StorePath: Comparable {
    static func < (lhs: StorePath, rhs: StorePath) -> Bool { lhs.bytes.lexicographicallyPrecedes(rhs.bytes) }
}
