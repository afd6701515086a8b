import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The disk of this computer, in the only file that names a platform.
struct PosixFileSystem: StoreFileSystem {
    var processID: Int32 { getpid() }

    /// The wall clock, for information only: nothing is ordered by it.
    static func nanosecondsSince1970() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UInt64(clamping: Int64(time.tv_sec)) &* 1_000_000_000 &+ UInt64(clamping: Int64(time.tv_nsec))
    }

    static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// Writes a line to standard error, in one piece.
    static func writeToStandardError(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = bytes.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    func resolve(_ path: String) throws(IOError) -> String {
        guard let resolved = realpath(path, nil) else { throw .current(.resolve) }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    func open(_ path: String) throws(IOError) -> any StoreFile {
        PosixFile(descriptor: try openDescriptor(path, O_RDWR | O_NONBLOCK, .open))
    }

    func create(_ path: String) throws(IOError) -> any StoreFile {
        PosixFile(descriptor: try openDescriptor(path, O_RDWR | O_CREAT | O_EXCL, .create))
    }

    func status(_ path: String) throws(IOError) -> FileStatus {
        var information = stat()
        guard lstat(path, &information) == 0 else { throw .current(.status) }
        return FileStatus(information)
    }

    func rename(_ path: String, to newPath: String) throws(IOError) {
        #if canImport(Darwin)
            let result = Darwin.rename(path, newPath)
        #elseif canImport(Musl)
            let result = Musl.rename(path, newPath)
        #else
            let result = Glibc.rename(path, newPath)
        #endif
        guard result == 0 else { throw .current(.rename) }
    }

    func unlink(_ path: String) throws(IOError) {
        #if canImport(Darwin)
            let result = Darwin.unlink(path)
        #elseif canImport(Musl)
            let result = Musl.unlink(path)
        #else
            let result = Glibc.unlink(path)
        #endif
        guard result == 0 else { throw .current(.unlink) }
    }

    func list(_ directory: String) throws(IOError) -> [String] {
        guard let stream = opendir(directory) else { throw .current(.list) }
        defer { closedir(stream) }
        var names: [String] = []
        // The offset is that of a stored property of an imported struct, which is never nil.
        let nameOffset = MemoryLayout<dirent>.offset(of: \dirent.d_name)!
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                if errno != 0 { throw .current(.list) }
                return names
            }
            // The entry lives until the next readdir, and its name ends with a zero byte.
            let start = UnsafeRawPointer(entry) + nameOffset
            let name = String(cString: start.assumingMemoryBound(to: CChar.self))
            if name != ".", name != ".." { names.append(name) }
        }
    }

    func syncDirectory(_ directory: String) throws(IOError) {
        let descriptor = try openDescriptor(directory, O_RDONLY | O_DIRECTORY, .syncDirectory)
        defer { closeDescriptor(descriptor) }
        guard fullSync(descriptor) == 0 else { throw .current(.syncDirectory) }
    }

    /// `flock` belongs to the open file, not to the process: a second opener in this process is refused too, and
    /// code that opens and closes the same file elsewhere does not drop it.
    func lock(_ path: String) throws(IOError) -> LockOutcome {
        let file = PosixFile(descriptor: try openDescriptor(path, O_RDWR | O_CREAT | O_NONBLOCK, .lock))
        guard try file.status().kind == .regular else { throw IOError(operation: .lock, reason: .other, code: EINVAL) }
        guard flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 else {
            if errno == EWOULDBLOCK { return .held(processID: holder(of: file)) }
            throw .current(.lock)
        }
        // Without these lines nothing is lost but the number in a message, so their failure is no failure of the lock.
        try? file.truncate(to: 0)
        try? file.writeFully(Array("\(getpid())\n".utf8), at: 0)
        return .acquired(file)
    }

    private func holder(of file: PosixFile) -> Int32? {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = bytes.withUnsafeMutableBytes { (try? file.read(into: $0, at: 0)) ?? 0 }
        let digits = bytes[..<count].prefix { (0x30...0x39).contains($0) }
        return Int32(String(decoding: digits, as: UTF8.self))
    }

    /// Descriptors 0 to 2 are left to the streams of the host, which would otherwise write into the journal.
    private func openDescriptor(_ path: String, _ flags: Int32, _ operation: IOError.Operation) throws(IOError) -> Int32
    {
        #if canImport(Darwin)
            let first = Darwin.open(path, flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
        #elseif canImport(Musl)
            let first = Musl.open(path, flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
        #else
            let first = Glibc.open(path, flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
        #endif
        guard first >= 0 else { throw .current(operation) }
        if first > 2 { return first }
        let second = fcntl(first, F_DUPFD_CLOEXEC, 3)
        let failure = IOError.current(operation)
        closeDescriptor(first)
        guard second > 2 else { throw failure }
        return second
    }
}

/// An open file of this computer; as a lock it holds the `flock` of its descriptor.
private final class PosixFile: StoreFile, StoreLock {
    /// The descriptor, or -1 once closed; whoever swaps it out is the one who closes it.
    private let slot: Atomic<Int32>

    var descriptor: Int32 { slot.load(ordering: .acquiring) }

    init(descriptor: Int32) {
        slot = Atomic(descriptor)
    }

    deinit {
        close()
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(IOError) -> Int {
        let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(clamping: offset))
        guard count >= 0 else { throw .current(.read) }
        return count
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(IOError) -> Int {
        let count = pwrite(descriptor, bytes.baseAddress, bytes.count, off_t(clamping: offset))
        guard count >= 0 else { throw .current(.write) }
        return count
    }

    func truncate(to lengthBytes: UInt64) throws(IOError) {
        guard ftruncate(descriptor, off_t(clamping: lengthBytes)) == 0 else { throw .current(.truncate) }
    }

    func dataSync() throws(IOError) {
        #if canImport(Darwin)
            let result = fullSync(descriptor)
        #else
            let result = fdatasync(descriptor)
        #endif
        guard result == 0 else { throw .current(.sync) }
    }

    func sync() throws(IOError) {
        guard fullSync(descriptor) == 0 else { throw .current(.sync) }
    }

    func status() throws(IOError) -> FileStatus {
        var information = stat()
        guard fstat(descriptor, &information) == 0 else { throw .current(.status) }
        return FileStatus(information)
    }

    #if canImport(Glibc)
        func extent() throws(IOError) -> FileExtent {
            if let extent = FileExtent(withoutTimesOf: descriptor) { return extent }
            return try status().extent
        }
    #endif

    func close() {
        let descriptor = slot.exchange(-1, ordering: .acquiringAndReleasing)
        if descriptor >= 0 { closeDescriptor(descriptor) }
    }

    /// Closes and never unlocks: in a child of `fork`, unlocking would take the lock from the parent.
    func release() {
        close()
    }
}

#if canImport(Glibc)
    extension FileExtent {
        private typealias Statx =
            @convention(c) (Int32, UnsafePointer<CChar>, Int32, UInt32, UnsafeMutableRawPointer?) -> Int32

        /// The Glibc module leaves it out; so do C libraries before version 2.28.
        private static let statx = dlsym(nil, "statx").map { unsafeBitCast($0, to: Statx.self) }

        /// Asks for length and link count alone; nil if that does not work here.
        ///
        /// Linux notes from version 6.13 on that somebody has asked for a file's times, and gives its next write a time of its
        /// own, which the sync then has to write too: measured, that makes a sync take half as long again.
        fileprivate init?(withoutTimesOf descriptor: Int32) {
            guard let statx = Self.statx else { return nil }
            // Flags and layout are part of the kernel's interface (`include/uapi/linux/stat.h`, `fcntl.h`).
            let (emptyPath, linkCountAndLength): (Int32, UInt32) = (0x1000, 0x4 | 0x200)
            let extent = withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { memory -> FileExtent? in
                guard statx(descriptor, "", emptyPath, linkCountAndLength, memory.baseAddress) == 0,
                    memory.load(as: UInt32.self) & linkCountAndLength == linkCountAndLength
                else { return nil }
                let linkCount = memory.load(fromByteOffset: 16, as: UInt32.self)
                return FileExtent(
                    lengthBytes: memory.load(fromByteOffset: 40, as: UInt64.self),
                    linkCount: UInt64(linkCount)
                )
            }
            guard let extent else { return nil }
            self = extent
        }
    }
#endif

/// On Darwin `fsync` leaves the data in the drive's cache, whose order is the drive's; `F_FULLFSYNC` flushes that too.
private func fullSync(_ descriptor: Int32) -> Int32 {
    #if canImport(Darwin)
        let result = fcntl(descriptor, F_FULLFSYNC)
        return result != -1 || errno != ENOTSUP ? result : fsync(descriptor)
    #else
        return fsync(descriptor)
    #endif
}

/// After an interrupted `close` the descriptor is gone on Linux, so it is never tried again.
private func closeDescriptor(_ descriptor: Int32) {
    #if canImport(Darwin)
        _ = Darwin.close(descriptor)
    #elseif canImport(Musl)
        _ = Musl.close(descriptor)
    #else
        _ = Glibc.close(descriptor)
    #endif
}

extension FileStatus {
    fileprivate init(_ information: stat) {
        switch information.st_mode & S_IFMT {
        case S_IFREG: kind = .regular
        case S_IFDIR: kind = .directory
        case S_IFLNK: kind = .symbolicLink
        default: kind = .other
        }
        lengthBytes = UInt64(clamping: information.st_size)
        linkCount = UInt64(clamping: information.st_nlink)
        permissions = UInt16(information.st_mode & 0o777)
        #if canImport(Darwin)
            let time = information.st_mtimespec
        #else
            let time = information.st_mtim
        #endif
        modifiedNanoseconds = Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

extension IOError {
    /// The error of the call that has just failed on this thread.
    fileprivate static func current(_ operation: Operation) -> IOError {
        let code = errno
        let reason: Reason =
            switch code {
            case ENOENT: .missing
            case EEXIST: .exists
            case EACCES, EPERM, EROFS: .permission
            case ENOSPC, EDQUOT, EFBIG: .diskFull
            case EINTR: .interrupted
            case ELOOP: .symbolicLink
            case ENOTDIR: .notDirectory
            default: .other
            }
        return IOError(operation: operation, reason: reason, code: code)
    }
}
