import Synchronization

@testable import Graph

/// A disk in memory that forgets what was not synced, as a worst case that POSIX allows.
///
/// - A write changes what programs read at once, and the disk sector by sector at the next successful sync.
/// - A sync of a file makes its contents and length durable, but not its name; names become durable when their folder is
///   synced, and before that any of their changes may, in any order.
/// - A failed sync reports once; its pages then count as clean, so that the next sync succeeds without writing them.
/// - Bytes cut off by a truncation stay on the medium and may show up in a later extension, and those of a file that was removed
///   in a new one.
/// - Sectors of which a write changes only some bytes keep the others (powersafe overwrite).
final class SimulatedDisk: StoreFileSystem {
    static let sectorBytes = 512

    enum Fault {
        case error(IOError.Reason, Int32)
        /// Half of the transfer happens before the error.
        case errorAfterHalf(IOError.Reason, Int32)
        case short
        case zero
        /// The sync fails; programs see the new contents (false) or the old ones (true) afterwards.
        case syncFailure(reverts: Bool)
    }

    /// What a crash may find, and what had been acknowledged by then.
    struct Moment {
        let medium: Medium
        let acknowledged: Int
        let operation: String
    }

    fileprivate struct State {
        var medium = Medium()
        var directories: Set<StorePath> = [StorePath("/"), StorePath("/data")]
        var symbolicLinks: [StorePath: StorePath] = [:]
        /// The inodes that somebody has locked.
        var locks: Set<Int> = []
        var process: Int32 = 100
        var acknowledged = -1
        var operationCount = 0
        var faults: [Int: Fault] = [:]
        var faultForEver: (from: Int, fault: Fault)?
        var faultsOfKinds: [(operation: IOError.Operation, skipping: Int, fault: Fault)] = []
        var trace: [String] = []
        var availableBytes: UInt64?
        var records = false
        var moments: [Moment] = []
    }

    private let state: Mutex<State>

    init(_ medium: Medium = Medium()) {
        var state = State()
        state.medium = medium
        self.state = Mutex(state)
    }

    /// A disk of which one operation fails, or all from that one on.
    convenience init(_ medium: Medium = Medium(), failingAt index: Int, with fault: Fault, forEver: Bool) {
        self.init(medium)
        if forEver {
            failForEver(from: index, with: fault)
        } else {
            fail(operation: index, with: fault)
        }
    }

    // MARK: Control

    var operationCount: Int { state.withLock { $0.operationCount } }
    var trace: [String] { state.withLock { $0.trace } }
    var moments: [Moment] { state.withLock { $0.moments } }
    var medium: Medium { state.withLock { $0.medium } }
    var names: [String] { state.withLock { $0.medium.names.keys.map(\.text).sorted() } }

    func startRecording() { state.withLock { $0.records = true } }

    func fail(operation index: Int, with fault: Fault) { state.withLock { $0.faults[index] = fault } }

    /// - Parameter skipping: so many operations of that kind go well before.
    func fail(next operation: IOError.Operation, skipping: Int = 0, with fault: Fault) {
        state.withLock { $0.faultsOfKinds.append((operation, skipping, fault)) }
    }

    func failForEver(from index: Int, with fault: Fault) { state.withLock { $0.faultForEver = (index, fault) } }

    func stopFailing() {
        state.withLock {
            $0.faults = [:]
            $0.faultsOfKinds = []
            $0.faultForEver = nil
        }
    }

    /// Becomes what another disk was at a moment, for those that have files open here. Both have the same files by number.
    func show(_ medium: Medium) { state.withLock { $0.medium = medium } }

    /// Notes in history and trace that the program was told so many commits are safe.
    func acknowledge(_ count: Int) {
        state.withLock {
            $0.acknowledged = count
            $0.trace.append("acknowledge \(count)")
        }
    }

    /// The process dies, the system goes on: locks are gone, unsynced contents are not.
    func killProcess() {
        state.withLock {
            $0.process += 1
            $0.locks = []
        }
    }

    /// Copied to another place, a file is without its lock file.
    func removeLockFile(of path: String) {
        state.withLock { state in
            state.medium.names[StorePath(path + ".lock")] = nil
            state.medium.durableNames[StorePath(path + ".lock")] = nil
        }
    }

    func contents(_ path: String) -> [UInt8]? {
        state.withLock { state in state.medium.names[StorePath(path)].map { state.medium.inodes[$0].current } }
    }

    /// Puts a durable file there, as if it had always been.
    func setContents(_ bytes: [UInt8], at path: String) {
        state.withLock { $0.medium.place(bytes, at: StorePath(path)) }
    }

    func change(_ path: String, _ body: (inout Medium.Inode) -> Void) {
        state.withLock { state in
            if let inode = state.medium.names[StorePath(path)] { body(&state.medium.inodes[inode]) }
        }
    }

    func addSymbolicLink(_ path: String, to target: String) {
        state.withLock { $0.symbolicLinks[StorePath(path)] = StorePath(target) }
    }

    /// As another program does it, without being counted.
    func move(_ path: String, to newPath: String) {
        state.withLock { _ = $0.medium.rename(StorePath(path), to: StorePath(newPath)) }
    }

    /// As another program does it, without being counted.
    func remove(_ path: String) { state.withLock { _ = $0.medium.unlink(StorePath(path)) } }

    // MARK: StoreFileSystem

    var processID: Int32 { state.withLock { $0.process } }

    func resolve(_ path: StorePath) throws(IOError) -> StorePath {
        try perform(.resolve, path.text) { state, _ throws(IOError) in
            let target = state.symbolicLinks[path] ?? path
            guard state.medium.names[target] != nil || state.directories.contains(target) else {
                throw IOError(operation: .resolve, reason: .missing, code: 2)
            }
            return target
        }
    }

    func openForReading(_ path: StorePath) throws(IOError) -> any StoreFile { try open(path) }

    func open(_ path: StorePath) throws(IOError) -> any StoreFile {
        try perform(.open, path.text) { state, _ throws(IOError) in
            guard let inode = state.medium.names[path] else {
                throw IOError(operation: .open, reason: .missing, code: 2)
            }
            return SimulatedFile(disk: self, inode: inode, process: state.process)
        }
    }

    func create(_ path: StorePath) throws(IOError) -> any StoreFile {
        try perform(.create, path.text) { state, _ throws(IOError) in
            guard state.medium.names[path] == nil else {
                throw IOError(operation: .create, reason: .exists, code: 17)
            }
            let inode = state.medium.create(path, modified: Int64(state.operationCount))
            return SimulatedFile(disk: self, inode: inode, process: state.process)
        }
    }

    func status(_ path: StorePath) throws(IOError) -> FileStatus {
        try perform(.status, path.text) { state, _ throws(IOError) in
            if state.symbolicLinks[path] != nil {
                return FileStatus(
                    kind: .symbolicLink, lengthBytes: 0, linkCount: 1, permissions: 0o777, modifiedNanoseconds: 0)
            }
            if state.directories.contains(path) {
                return FileStatus(
                    kind: .directory, lengthBytes: 0, linkCount: 2, permissions: 0o700, modifiedNanoseconds: 0)
            }
            guard let inode = state.medium.names[path] else {
                throw IOError(operation: .status, reason: .missing, code: 2)
            }
            return state.medium.inodes[inode].status
        }
    }

    func extent(_ path: StorePath) throws(IOError) -> FileExtent {
        try perform(.status, path.text) { state, _ throws(IOError) in
            guard let inode = state.medium.names[path] else {
                throw IOError(operation: .status, reason: .missing, code: 2)
            }
            return state.medium.extent(of: inode)
        }
    }

    func rename(_ path: StorePath, to newPath: StorePath) throws(IOError) {
        try perform(.rename, "\(path.text) \(newPath.text)") { state, _ throws(IOError) in
            // In the order in which Linux looks.
            guard state.medium.names[path] != nil else {
                throw IOError(operation: .rename, reason: .missing, code: 2)
            }
            guard state.medium.names[newPath] == nil else {
                throw IOError(operation: .rename, reason: .exists, code: 17)
            }
            _ = state.medium.rename(path, to: newPath)
        }
    }

    func rename(_ path: StorePath, over existingPath: StorePath) throws(IOError) {
        try perform(.rename, "\(path.text) over \(existingPath.text)") { state, _ throws(IOError) in
            guard state.medium.rename(path, to: existingPath) else {
                throw IOError(operation: .rename, reason: .missing, code: 2)
            }
        }
    }

    func link(_ path: StorePath, to newPath: StorePath) throws(IOError) {
        try perform(.link, "\(path.text) \(newPath.text)") { state, _ throws(IOError) in
            guard state.medium.names[newPath] == nil else {
                throw IOError(operation: .link, reason: .exists, code: 17)
            }
            guard state.medium.link(path, to: newPath) else {
                throw IOError(operation: .link, reason: .missing, code: 2)
            }
        }
    }

    func unlink(_ path: StorePath) throws(IOError) {
        try perform(.unlink, path.text) { state, _ throws(IOError) in
            guard state.medium.unlink(path) else {
                throw IOError(operation: .unlink, reason: .missing, code: 2)
            }
        }
    }

    func availableBytes(in directory: StorePath) -> UInt64? { state.withLock { $0.availableBytes } }

    /// What it says of its room; nil for nothing. It takes any number of bytes all the same.
    func setAvailableBytes(_ bytes: UInt64?) { state.withLock { $0.availableBytes = bytes } }

    func list(_ directory: StorePath) throws(IOError) -> [StorePath] {
        try perform(.list, directory.text) { state, _ throws(IOError) in
            state.medium.names.keys.sorted().compactMap { path in
                let (parent, name) = path.split()
                return parent == directory ? name : nil
            }
        }
    }

    func syncDirectory(_ directory: StorePath) throws(IOError) {
        try perform(.syncDirectory, directory.text) { state, _ throws(IOError) in state.medium.syncNames() }
    }

    // MARK: Operations

    /// Counts the operation, lets it fail if that was asked for, and remembers the moment after it.
    fileprivate func perform<Result>(
        _ operation: IOError.Operation, _ detail: String, process: Int32? = nil,
        _ body: (inout State, Fault?) throws(IOError) -> Result
    ) throws(IOError) -> Result {
        let outcome = state.withLock { state -> Swift.Result<Result, IOError> in
            let index = state.operationCount
            state.operationCount += 1
            state.trace.append("\(operation.rawValue) \(detail)")
            var fault = state.faults[index]
            if let forEver = state.faultForEver, index >= forEver.from { fault = forEver.fault }
            if let next = state.faultsOfKinds.firstIndex(where: { $0.operation == operation }) {
                if state.faultsOfKinds[next].skipping == 0 {
                    fault = state.faultsOfKinds.remove(at: next).fault
                } else {
                    state.faultsOfKinds[next].skipping -= 1
                }
            }
            if let process, process != state.process {
                return .failure(IOError(operation: operation, reason: .other, code: 9))
            }
            if case .error(let reason, let code) = fault, operation != .sync {
                return .failure(IOError(operation: operation, reason: reason, code: code))
            }
            let result: Swift.Result<Result, IOError>
            do throws(IOError) {
                result = .success(try body(&state, fault))
            } catch {
                result = .failure(error)
            }
            if state.records {
                let moment = Moment(
                    medium: state.medium, acknowledged: state.acknowledged, operation: state.trace.last ?? "")
                state.moments.append(moment)
            }
            return result
        }
        return try outcome.get()
    }

    fileprivate func lock(_ inode: Int, process: Int32) throws(IOError) -> Bool {
        try perform(.lock, "\(inode)", process: process) { state, _ throws(IOError) in
            state.locks.insert(inode).inserted
        }
    }

    fileprivate func dataOffset(_ inode: Int, from offset: UInt64) -> UInt64? {
        state.withLock { $0.medium.inodes[inode].dataOffset(from: Int(offset)).map { UInt64($0) } }
    }

    /// In the trace.
    fileprivate func label(_ inode: Int) -> String {
        state.withLock { $0.medium.inodes[inode].isLock ? "lock" : "\(inode)" }
    }

    fileprivate func unlock(_ inode: Int, process: Int32) {
        state.withLock { state in
            if state.process == process { state.locks.remove(inode) }
        }
    }

    fileprivate func transfer(
        _ operation: IOError.Operation, _ inode: Int, _ label: String, count: Int, offset: UInt64, process: Int32,
        _ body: (inout Medium.Inode, _ count: Int) -> Int
    ) throws(IOError) -> Int {
        try perform(operation, "\(label) \(count) at \(offset)", process: process) { state, fault throws(IOError) in
            var allowed = count
            switch fault {
            case .short: allowed = max(1, count / 2)
            case .zero: allowed = 0
            case .errorAfterHalf(let reason, let code):
                _ = body(&state.medium.inodes[inode], count / 2)
                throw IOError(operation: operation, reason: reason, code: code)
            default: break
            }
            return body(&state.medium.inodes[inode], allowed)
        }
    }

    fileprivate func sync(_ inode: Int, _ label: String, process: Int32) throws(IOError) {
        try perform(.sync, label, process: process) { state, fault throws(IOError) in
            switch fault {
            case .error(let reason, let code), .errorAfterHalf(let reason, let code):
                state.medium.inodes[inode].failSync(reverts: false)
                throw IOError(operation: .sync, reason: reason, code: code)
            case .syncFailure(let reverts):
                state.medium.inodes[inode].failSync(reverts: reverts)
                throw IOError(operation: .sync, reason: .other, code: 5)
            default:
                state.medium.inodes[inode].sync()
            }
        }
    }
}

private final class SimulatedFile: StoreFile {
    private let disk: SimulatedDisk
    private let inode: Int
    private let process: Int32
    private let holdsLock = Atomic(false)

    init(disk: SimulatedDisk, inode: Int, process: Int32) {
        self.disk = disk
        self.inode = inode
        self.process = process
    }

    deinit { close() }

    func lock() throws(IOError) -> Bool {
        let isLocked = try disk.lock(inode, process: process)
        if isLocked { holdsLock.store(true, ordering: .sequentiallyConsistent) }
        return isLocked
    }

    private var label: String { disk.label(inode) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(IOError) -> Int {
        try disk.transfer(.read, inode, label, count: buffer.count, offset: offset, process: process) { inode, count in
            inode.read(into: buffer, count: count, at: Int(offset))
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(IOError) -> Int {
        try disk.transfer(.write, inode, label, count: bytes.count, offset: offset, process: process) { inode, count in
            inode.write(Array(bytes[..<count]), at: Int(offset))
            return count
        }
    }

    func truncate(to lengthBytes: UInt64) throws(IOError) {
        try disk.perform(.truncate, "\(inode) to \(lengthBytes)", process: process) { state, _ throws(IOError) in
            state.medium.inodes[inode].truncate(to: Int(lengthBytes))
        }
    }

    func dataSync() throws(IOError) { try disk.sync(inode, label, process: process) }

    func sync() throws(IOError) { try disk.sync(inode, label, process: process) }

    func status() throws(IOError) -> FileStatus {
        try disk.perform(.status, "\(inode)", process: process) { state, _ throws(IOError) in
            state.medium.inodes[inode].status
        }
    }

    func setPermissions(_ permissions: UInt16) throws(IOError) {
        try disk.perform(.status, "\(inode)", process: process) { state, _ throws(IOError) in
            state.medium.inodes[inode].permissions = permissions
        }
    }

    func extent() throws(IOError) -> FileExtent {
        try disk.perform(.status, "\(inode)", process: process) { state, _ throws(IOError) in
            state.medium.extent(of: inode)
        }
    }

    func dataOffset(from offset: UInt64) -> UInt64? { disk.dataOffset(inode, from: offset) }

    func close() {
        if holdsLock.exchange(false, ordering: .sequentiallyConsistent) { disk.unlock(inode, process: process) }
    }
}
