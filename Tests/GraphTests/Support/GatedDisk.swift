import Dispatch
import Synchronization

@testable import Graph

/// A simulated disk whose writes or syncs can be held up, so that a test decides what happens while a save is under way.
final class GatedDisk: StoreFileSystem {
    enum Stage {
        case write
        case sync
    }

    let disk = SimulatedDisk()
    private let stage: Stage
    private let isHolding = Mutex(false)
    private let gate = DispatchSemaphore(value: 0)
    private let arrivals: AsyncStream<Void>
    private let arrival: AsyncStream<Void>.Continuation

    /// - Parameter stage: which calls wait while the disk is held.
    init(holdingAt stage: Stage = .write) {
        self.stage = stage
        (arrivals, arrival) = AsyncStream.makeStream()
    }

    /// The next calls wait, each for one `release`.
    func hold() { isHolding.withLock { $0 = true } }

    /// Returns when a call has come to wait.
    func waitForArrival() async {
        for await _ in arrivals { return }
    }

    /// Lets the waiting call go on; later ones do not wait.
    func release() {
        isHolding.withLock { $0 = false }
        gate.signal()
    }

    /// Lets the waiting write find the disk full.
    func fill() { disk.fail(operation: disk.operationCount, with: .error(.diskFull, 28)) }

    fileprivate func pass(_ stage: Stage) {
        guard stage == self.stage, isHolding.withLock({ $0 }) else { return }
        arrival.yield()
        gate.wait()
    }

    // MARK: StoreFileSystem

    var processID: Int32 { disk.processID }
    func resolve(_ path: String) throws(IOError) -> String { try disk.resolve(path) }
    func open(_ path: String) throws(IOError) -> any StoreFile { GatedFile(file: try disk.open(path), gate: self) }
    func create(_ path: String) throws(IOError) -> any StoreFile { GatedFile(file: try disk.create(path), gate: self) }
    func status(_ path: String) throws(IOError) -> FileStatus { try disk.status(path) }
    func rename(_ path: String, to newPath: String) throws(IOError) { try disk.rename(path, to: newPath) }
    func unlink(_ path: String) throws(IOError) { try disk.unlink(path) }
    func list(_ directory: String) throws(IOError) -> [String] { try disk.list(directory) }
    func syncDirectory(_ directory: String) throws(IOError) { try disk.syncDirectory(directory) }
    func lock(_ path: String) throws(IOError) -> LockOutcome { try disk.lock(path) }
}

private struct GatedFile: StoreFile {
    let file: any StoreFile
    let gate: GatedDisk

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(IOError) -> Int {
        try file.read(into: buffer, at: offset)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(IOError) -> Int {
        gate.pass(.write)
        return try file.write(bytes, at: offset)
    }

    func truncate(to lengthBytes: UInt64) throws(IOError) { try file.truncate(to: lengthBytes) }
    func dataSync() throws(IOError) {
        gate.pass(.sync)
        try file.dataSync()
    }

    func sync() throws(IOError) { try file.sync() }
    func status() throws(IOError) -> FileStatus { try file.status() }
    func close() { file.close() }
}

extension Coordinator {
    /// A store of teams and people on a disk of the test's.
    static func people(on disk: any StoreFileSystem, seed: UInt64 = 1) async throws(GraphError) -> Coordinator {
        let schema = try Schema([EntityDescription(Team.self), EntityDescription(Person.self)])
        let options = JournalFixture.options(seed: seed)
        return try await Coordinator(schema, path: JournalFixture.path, fileSystem: disk, options: options)
    }
}
