import Dispatch
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// This computer's disk. No other file names a platform.
struct PosixFileSystem: StoreFileSystem {
    var processID: Int32 { getpid() }

    /// The wall clock, for information only: nothing depends on its order.
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

    func resolve(_ path: StorePath) throws(IOError) -> StorePath {
        guard let resolved = path.withCString({ realpath($0, nil) }) else { throw .current(.resolve) }
        defer { free(resolved) }
        return StorePath(copying: resolved)
    }

    func open(_ path: StorePath) throws(IOError) -> any StoreFile {
        PosixFile(descriptor: try openDescriptor(path, O_RDWR | O_NONBLOCK, .open))
    }

    func openForReading(_ path: StorePath) throws(IOError) -> any StoreFile {
        PosixFile(descriptor: try openDescriptor(path, O_RDONLY | O_NONBLOCK, .open))
    }

    func create(_ path: StorePath) throws(IOError) -> any StoreFile {
        PosixFile(descriptor: try openDescriptor(path, O_RDWR | O_CREAT | O_EXCL, .create))
    }

    func status(_ path: StorePath) throws(IOError) -> FileStatus {
        FileStatus(try linkStatus(path))
    }

    func extent(_ path: StorePath) throws(IOError) -> FileExtent {
        #if canImport(Glibc)
            if let extent = try path.withCString({ FileExtent.withoutTimes(AT_FDCWD, $0, AT_SYMLINK_NOFOLLOW) })?.get()
            {
                return extent
            }
        #endif
        return FileExtent(try linkStatus(path))
    }

    private func linkStatus(_ path: StorePath) throws(IOError) -> stat {
        var information = stat()
        guard path.withCString({ lstat($0, &information) }) == 0 else { throw .current(.status) }
        return information
    }

    /// Where the system or the file system cannot rename without replacing, the new name is checked first.
    func rename(_ path: StorePath, to newPath: StorePath) throws(IOError) {
        let exclusive = path.withCString { old in newPath.withCString { new in renameExclusively(old, new) } }
        if exclusive == 0 { return }
        guard exclusive == nil || errno == EINVAL || errno == ENOSYS || errno == ENOTSUP else {
            throw .current(.rename)
        }
        do throws(IOError) {
            _ = try status(newPath)
            throw IOError(operation: .rename, reason: .exists, code: EEXIST)
        } catch {
            guard error.reason == .missing else { throw error }
        }
        try rename(path, over: newPath)
    }

    func rename(_ path: StorePath, over existingPath: StorePath) throws(IOError) {
        let result = path.withCString { old in
            existingPath.withCString { new in
                #if canImport(Darwin)
                    Darwin.rename(old, new)
                #elseif canImport(Musl)
                    Musl.rename(old, new)
                #else
                    Glibc.rename(old, new)
                #endif
            }
        }
        guard result == 0 else { throw .current(.rename) }
    }

    func link(_ path: StorePath, to newPath: StorePath) throws(IOError) {
        let result = path.withCString { old in
            newPath.withCString { new in
                #if canImport(Darwin)
                    Darwin.link(old, new)
                #elseif canImport(Musl)
                    Musl.link(old, new)
                #else
                    Glibc.link(old, new)
                #endif
            }
        }
        guard result == 0 else { throw .current(.link) }
    }

    func unlink(_ path: StorePath) throws(IOError) {
        let result = path.withCString { path in
            #if canImport(Darwin)
                Darwin.unlink(path)
            #elseif canImport(Musl)
                Musl.unlink(path)
            #else
                Glibc.unlink(path)
            #endif
        }
        guard result == 0 else { throw .current(.unlink) }
    }

    func availableBytes(in directory: StorePath) -> UInt64? {
        var status = statvfs()
        guard directory.withCString({ statvfs($0, &status) }) == 0, status.f_blocks > 0 else { return nil }
        let (bytes, isMore) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return isMore ? .max : bytes
    }

    func list(_ directory: StorePath) throws(IOError) -> [StorePath] {
        guard let stream = directory.withCString({ opendir($0) }) else { throw .current(.list) }
        defer { closedir(stream) }
        var names: [StorePath] = []
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
            let name = StorePath(copying: start.assumingMemoryBound(to: CChar.self))
            if name != StorePath("."), name != StorePath("..") { names.append(name) }
        }
    }

    func syncDirectory(_ directory: StorePath) throws(IOError) {
        let descriptor = try openDescriptor(directory, O_RDONLY | O_DIRECTORY, .syncDirectory)
        defer { closeDescriptor(descriptor) }
        guard fullSync(descriptor) == 0 else { throw .current(.syncDirectory) }
    }

    func watch(
        _ path: StorePath, in directory: StorePath, _ onChange: @escaping @Sendable () -> Void
    ) -> (any StoreWatch)? {
        #if canImport(Darwin) || canImport(Glibc)
            PosixWatch(path, in: directory, onChange)
        #else
            nil
        #endif
    }

    /// Leaves descriptors 0 to 2 to the host's streams, which would otherwise write into the journal.
    private func openDescriptor(
        _ path: StorePath, _ flags: Int32, _ operation: IOError.Operation
    ) throws(IOError) -> Int32 {
        let first = path.withCString { path in
            #if canImport(Darwin)
                Darwin.open(path, flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
            #elseif canImport(Musl)
                Musl.open(path, flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
            #else
                Glibc.open(path, flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
            #endif
        }
        guard first >= 0 else { throw .current(operation) }
        if first > 2 { return first }
        let second = fcntl(first, F_DUPFD_CLOEXEC, 3)
        if second < 0, flags & O_EXCL != 0 { try? unlink(path) }
        closeDescriptor(first)
        // Where three is beyond the limit, the system says that it is no number.
        guard second > 2 else { throw IOError(operation: operation, reason: .other, code: EMFILE) }
        return second
    }
}

/// An open file of this computer.
private final class PosixFile: StoreFile {
    /// The descriptor, or -1 once closed; the call that swaps it out closes it.
    private let slot: Atomic<Int32>
    /// The process that locked the file; 0 if none did.
    private let lockingProcess = Atomic<Int32>(0)

    var descriptor: Int32 { slot.load(ordering: .acquiring) }

    init(descriptor: Int32) {
        slot = Atomic(descriptor)
    }

    deinit {
        close()
    }

    /// `flock` belongs to the open file, not to the process: a second opener in this process is refused too, and
    /// code that opens and closes the same file elsewhere does not drop it.
    func lock() throws(IOError) -> Bool {
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            if errno == EWOULDBLOCK { return false }
            throw .current(.lock)
        }
        lockingProcess.store(getpid(), ordering: .releasing)
        return true
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

    func setPermissions(_ permissions: UInt16) throws(IOError) {
        guard fchmod(descriptor, mode_t(permissions & 0o777)) == 0 else { throw .current(.status) }
    }

    func extent() throws(IOError) -> FileExtent {
        #if canImport(Glibc)
            // The flag is AT_EMPTY_PATH.
            if let extent = try FileExtent.withoutTimes(descriptor, "", 0x1000)?.get() { return extent }
        #endif
        var information = stat()
        guard fstat(descriptor, &information) == 0 else { throw .current(.status) }
        return FileExtent(information)
    }

    func dataOffset(from offset: UInt64) -> UInt64? {
        // The modules lack the name, or have it only with extensions switched on.
        #if canImport(Darwin)
            let seekData: Int32 = 4
        #else
            let seekData: Int32 = 3
        #endif
        // Nothing here uses the file position, which this moves.
        let found = lseek(descriptor, off_t(clamping: offset), seekData)
        if found >= 0 { return UInt64(found) }
        return errno == ENXIO ? nil : offset
    }

    /// Unlocks only in the process that locked. A child that another thread has just started shares the open file, and with it
    /// the lock, until it becomes another program; so closing alone does not unlock, and the child must not.
    func close() {
        let descriptor = slot.exchange(-1, ordering: .acquiringAndReleasing)
        guard descriptor >= 0 else { return }
        if lockingProcess.load(ordering: .acquiring) == getpid() { _ = flock(descriptor, LOCK_UN) }
        closeDescriptor(descriptor)
    }
}

#if canImport(Glibc)
    /// Watches by inotify: the folder for names, and the file, which another one may replace, for its contents.
    private final class PosixWatch: StoreWatch {
        /// Dispatch guards it: a source may be cancelled from any thread, and nothing else happens to this one after `init`.
        private nonisolated(unsafe) let source: any DispatchSourceRead

        /// nil if the system has no more watches.
        init?(_ path: StorePath, in directory: StorePath, _ onChange: @escaping @Sendable () -> Void) {
            let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
            guard descriptor >= 0 else { return nil }
            let names = UInt32(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)
            guard directory.withCString({ inotify_add_watch(descriptor, $0, names) }) >= 0 else {
                closeDescriptor(descriptor)
                return nil
            }
            // Without effect if the file is watched already, or is not there.
            @Sendable func watchFile() {
                _ = path.withCString { inotify_add_watch(descriptor, $0, UInt32(IN_MODIFY)) }
            }
            watchFile()
            source = DispatchSource.makeReadSource(
                fileDescriptor: descriptor, queue: DispatchQueue(label: "graph.watch"))
            source.setEventHandler {
                // What has happened does not matter.
                withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 8) { buffer in
                    while read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
                }
                // Before anybody reads the file.
                watchFile()
                onChange()
            }
            source.setCancelHandler { closeDescriptor(descriptor) }
            source.activate()
        }

        deinit { cancel() }

        func cancel() { source.cancel() }
    }
#elseif canImport(Darwin)
    /// Watches by kqueue: the folder for names, and the file, which another one may replace, for its contents.
    ///
    /// `queue` guards the source of the file.
    private final class PosixWatch: StoreWatch, @unchecked Sendable {
        private let queue = DispatchQueue(label: "graph.watch")
        private let path: StorePath
        private let onChange: @Sendable () -> Void
        private var folder: (any DispatchSourceFileSystemObject)?
        private var file: (any DispatchSourceFileSystemObject)?
        private var inode: ino_t = 0

        /// nil if the folder cannot be opened.
        init?(_ path: StorePath, in directory: StorePath, _ onChange: @escaping @Sendable () -> Void) {
            (self.path, self.onChange) = (path, onChange)
            let descriptor = directory.withCString { open($0, O_EVTONLY | O_CLOEXEC) }
            guard descriptor >= 0 else { return nil }
            queue.sync {
                folder = watch(descriptor, .write)
                watchFile()
            }
        }

        private func watch(
            _ descriptor: Int32, _ events: DispatchSource.FileSystemEvent
        ) -> any DispatchSourceFileSystemObject {
            let source = DispatchSource.makeFileSystemObjectSource(
                fileDescriptor: descriptor, eventMask: events, queue: queue)
            source.setEventHandler { [weak self] in
                // Before anybody reads the file.
                self?.watchFile()
                self?.onChange()
            }
            source.setCancelHandler { closeDescriptor(descriptor) }
            source.activate()
            return source
        }

        /// Called on the queue.
        private func watchFile() {
            guard folder != nil else { return }
            let descriptor = path.withCString { open($0, O_EVTONLY | O_CLOEXEC) }
            guard descriptor >= 0 else { return }
            var information = stat()
            guard fstat(descriptor, &information) == 0, file == nil || information.st_ino != inode else {
                return closeDescriptor(descriptor)
            }
            file?.cancel()
            inode = information.st_ino
            file = watch(descriptor, [.write, .extend])
        }

        deinit {
            folder?.cancel()
            file?.cancel()
        }

        func cancel() {
            queue.sync {
                folder?.cancel()
                file?.cancel()
                (folder, file) = (nil, nil)
            }
        }
    }
#endif

#if canImport(Glibc)
    extension FileExtent {
        private typealias Statx =
            @convention(c) (Int32, UnsafePointer<CChar>, Int32, UInt32, UnsafeMutableRawPointer?) -> Int32

        /// The Glibc module lacks it; so do C libraries before version 2.28.
        private static let statx = dlsym(nil, "statx").map { unsafeBitCast($0, to: Statx.self) }

        /// Gets length, link count and number alone; nil if that does not work here.
        ///
        /// From version 6.13 on, Linux notes a request for a file's times, and gives its next write a time of its own, which
        /// the sync must write too: by measurement, that makes a sync take half as long again.
        fileprivate static func withoutTimes(
            _ descriptor: Int32, _ path: UnsafePointer<CChar>, _ flags: Int32
        ) -> Result<FileExtent, IOError>? {
            guard let statx else { return nil }
            // Flags and layout are part of the kernel's interface (`include/uapi/linux/stat.h`, `fcntl.h`).
            let wanted: UInt32 = 0x4 | 0x100 | 0x200
            return withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { memory in
                guard statx(descriptor, path, flags, wanted, memory.baseAddress) == 0 else {
                    return errno == ENOSYS || errno == EINVAL ? nil : .failure(.current(.status))
                }
                guard memory.load(as: UInt32.self) & wanted == wanted else { return nil }
                let major = UInt64(memory.load(fromByteOffset: 136, as: UInt32.self))
                let minor = UInt64(memory.load(fromByteOffset: 140, as: UInt32.self))
                // Combined as `fstat` does.
                let device =
                    (major & 0xFFFF_F000) << 32 | (major & 0xFFF) << 8 | (minor & 0xFFFF_FF00) << 12 | minor & 0xFF
                return .success(
                    FileExtent(
                        lengthBytes: memory.load(fromByteOffset: 40, as: UInt64.self),
                        linkCount: UInt64(memory.load(fromByteOffset: 16, as: UInt32.self)),
                        identity: FileIdentity(
                            device: device,
                            inode: memory.load(fromByteOffset: 32, as: UInt64.self)
                        )
                    )
                )
            }
        }
    }
#endif

/// Renames without replacing a file with the new name; nil where the system has no such call.
private func renameExclusively(_ path: UnsafePointer<CChar>, _ newPath: UnsafePointer<CChar>) -> Int32? {
    #if canImport(Darwin)
        return renamex_np(path, newPath, UInt32(RENAME_EXCL))
    #elseif canImport(Glibc)
        // The flag is RENAME_NOREPLACE (`include/uapi/linux/fs.h`).
        return renameat2.map { $0(AT_FDCWD, path, AT_FDCWD, newPath, 1) }
    #else
        return nil
    #endif
}

#if canImport(Glibc)
    private typealias RenameAt2 =
        @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32

    /// The Glibc module lacks it; so do C libraries before version 2.28.
    private let renameat2 = dlsym(nil, "renameat2").map { unsafeBitCast($0, to: RenameAt2.self) }
#endif

/// On Darwin `fsync` leaves the data in the drive's cache, which the drive writes in any order; `F_FULLFSYNC` flushes that too.
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

extension FileExtent {
    fileprivate init(_ information: stat) {
        lengthBytes = UInt64(clamping: information.st_size)
        linkCount = UInt64(clamping: information.st_nlink)
        identity = FileIdentity(
            device: UInt64(truncatingIfNeeded: information.st_dev),
            inode: UInt64(truncatingIfNeeded: information.st_ino))
    }
}

extension IOError {
    /// The system's words for an `errno`, and the number: `No space left on device (28)`. Unlike `strerror`, `strerror_r` may be
    /// called on all threads at once.
    static func words(for code: Int32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let start = buffer.baseAddress, strerror_r(code, start, buffer.count) == 0 else {
                return "error \(code)"
            }
            return "\(String(cString: start)) (\(code))"
        }
    }

    /// The error of the call that has just failed on this thread.
    fileprivate static func current(_ operation: Operation) -> IOError {
        let code = errno
        return IOError(operation: operation, reason: Reason(errno: code), code: code)
    }
}

extension IOError.Reason {
    init(errno code: Int32) {
        self =
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
    }
}
