/// The few calls of the operating system that the journal needs; everything it does to a disk goes through here.
///
/// Each call maps to one system call. Loops over short transfers and interruptions belong to the callers
/// (`StoreFile+Transfer.swift`), so that a simulated disk can show them.
protocol StoreFileSystem: Sendable {
    /// The process the files belong to; a child of `fork` sees another number than its parent.
    var processID: Int32 { get }

    /// The absolute path without symbolic links of something that exists.
    func resolve(_ path: StorePath) throws(IOError) -> StorePath

    /// Never follows a symbolic link in the last component, never waits for the other end of a FIFO.
    func open(_ path: StorePath) throws(IOError) -> any StoreFile

    /// A new file for its owner only; `.exists` if the name is taken.
    func create(_ path: StorePath) throws(IOError) -> any StoreFile

    /// About the name itself, should it be a symbolic link.
    func status(_ path: StorePath) throws(IOError) -> FileStatus

    /// The part of the status that every write asks for.
    func extent(_ path: StorePath) throws(IOError) -> FileExtent

    /// Gives a file another name; `.exists` if that is taken, by whatever it is.
    func rename(_ path: StorePath, to newPath: StorePath) throws(IOError)

    func unlink(_ path: StorePath) throws(IOError)

    /// The names in a folder, in no order, without `.` and `..`.
    func list(_ directory: StorePath) throws(IOError) -> [StorePath]

    /// Makes earlier creations, renamings and removals in the folder durable.
    func syncDirectory(_ directory: StorePath) throws(IOError)
}

/// One open file, closed when the last reference goes away if not before.
protocol StoreFile: Sendable {
    /// Takes the lock on the file that one opener at a time can have, in this process or another; false if somebody has it.
    /// Never waits. `close` gives it back.
    func lock() throws(IOError) -> Bool

    /// May read less than asked for; zero bytes mean the end of the file.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(IOError) -> Int

    /// May write less than asked for.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(IOError) -> Int

    func truncate(to lengthBytes: UInt64) throws(IOError)

    /// Makes contents and length durable.
    func dataSync() throws(IOError)

    /// Makes contents, length and everything else about the file durable, but not its name.
    func sync() throws(IOError)

    func status() throws(IOError) -> FileStatus

    func extent() throws(IOError) -> FileExtent

    /// The first offset from the given one on that may hold anything but zeros; nil if there is none. A file without holes,
    /// or a system that does not tell, returns the given offset.
    func dataOffset(from offset: UInt64) -> UInt64?

    /// A second call does nothing, and in the child of a `fork` the parent's lock stays.
    func close()
}

/// How long a file is, how many names it has, and which file it is.
struct FileExtent: Sendable, Equatable {
    var lengthBytes: UInt64
    var linkCount: UInt64
    var identity: FileIdentity
}

/// What tells a file from all others that exist at the same time, whatever their names.
struct FileIdentity: Sendable, Hashable {
    var device: UInt64
    var inode: UInt64
}

extension StoreFile {
    func dataOffset(from offset: UInt64) -> UInt64? { offset }
}

struct FileStatus: Sendable, Equatable {
    enum Kind: Sendable {
        case regular
        case directory
        case symbolicLink
        case other
    }

    var kind: Kind
    var lengthBytes: UInt64
    var linkCount: UInt64
    /// The nine permission bits.
    var permissions: UInt16
    var modifiedNanoseconds: Int64
}
