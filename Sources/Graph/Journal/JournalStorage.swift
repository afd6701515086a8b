/// The few system calls that the journal needs, the only way for it to reach a disk.
///
/// Each call maps to one system call. Loops over short transfers and interruptions belong to the callers
/// (`StoreFile+Transfer.swift`), so that a simulated disk can show them.
protocol StoreFileSystem: Sendable {
    /// The current process; a child of `fork` gets another number than its parent.
    var processID: Int32 { get }

    /// The absolute path, without symbolic links, of an existing file or folder.
    func resolve(_ path: StorePath) throws(IOError) -> StorePath

    /// Never follows a symbolic link in the last component, never waits for the other end of a FIFO.
    func open(_ path: StorePath) throws(IOError) -> any StoreFile

    /// As `open`, for calls that change nothing.
    func openForReading(_ path: StorePath) throws(IOError) -> any StoreFile

    /// A new file for its owner only; `.exists` if the name is taken.
    func create(_ path: StorePath) throws(IOError) -> any StoreFile

    /// The status of the name itself if it is a symbolic link.
    func status(_ path: StorePath) throws(IOError) -> FileStatus

    /// The part of the status that every write checks.
    func extent(_ path: StorePath) throws(IOError) -> FileExtent

    /// Renames a file; `.exists` if anything has the new name.
    func rename(_ path: StorePath, to newPath: StorePath) throws(IOError)

    /// Renames a file; a file that has the new name loses it.
    func rename(_ path: StorePath, over existingPath: StorePath) throws(IOError)

    /// Gives a file a second name; `.exists` if anything has it.
    func link(_ path: StorePath, to newPath: StorePath) throws(IOError)

    func unlink(_ path: StorePath) throws(IOError)

    /// The names in a folder, in no order, without `.` and `..`.
    func list(_ directory: StorePath) throws(IOError) -> [StorePath]

    /// How much a user without privileges may still write to the folder's disk; nil where the system does not tell.
    func availableBytes(in directory: StorePath) -> UInt64?

    /// Makes earlier creations, renamings and removals in the folder durable.
    func syncDirectory(_ directory: StorePath) throws(IOError)

    /// Calls a closure soon after a file's contents, or the names in its folder, have changed, until the watch is cancelled or
    /// released. It may call it without a change. nil where the system does not tell.
    func watch(
        _ path: StorePath, in directory: StorePath, _ onChange: @escaping @Sendable () -> Void
    ) -> (any StoreWatch)?
}

extension StoreFileSystem {
    func watch(
        _ path: StorePath, in directory: StorePath, _ onChange: @escaping @Sendable () -> Void
    ) -> (any StoreWatch)? { nil }
}

/// What calls when a file changes.
protocol StoreWatch: Sendable {
    /// A second call does nothing.
    func cancel()
}

/// One open file, closed at the latest when the last reference is released.
protocol StoreFile: Sendable {
    /// Takes the file's exclusive lock, which only one opener in any process can have; false if another has it. Never waits.
    /// `close` releases it.
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

    /// - Parameter permissions: the nine permission bits.
    func setPermissions(_ permissions: UInt16) throws(IOError)

    func extent() throws(IOError) -> FileExtent

    /// The first offset from the given one on that may hold anything but zeros; nil if there is none. For a file without holes,
    /// or where the system does not tell, returns the given offset.
    func dataOffset(from offset: UInt64) -> UInt64?

    /// A second call does nothing, and in the child of a `fork` the parent's lock stays.
    func close()
}

/// A file's length, its number of names, and its identity.
struct FileExtent: Sendable, Equatable {
    var lengthBytes: UInt64
    var linkCount: UInt64
    var identity: FileIdentity
}

/// Distinguishes a file from all others that exist at the same time, whatever their names.
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
