import Foundation

@testable import Graph

/// A simulated disk whose syncs wait until the test lets them through, so that a save can be held in flight.
final class GatedDisk: StoreFileSystem {
    let disk = SimulatedDisk()
    let gate = Gate()

    /// Open at first. Blocks the journal's own thread while it is shut, never a thread of the cooperative pool.
    final class Gate: @unchecked Sendable {
        // Guarded by the condition's lock.
        private let condition = NSCondition()
        private var isOpen = true
        private var waitingCount = 0

        func shut() {
            condition.withLock { isOpen = false }
        }

        func open() {
            condition.withLock {
                isOpen = true
                condition.broadcast()
            }
        }

        fileprivate func pass() {
            condition.withLock {
                waitingCount += 1
                while !isOpen { condition.wait() }
                waitingCount -= 1
            }
        }

        var isHoldingSomebody: Bool { condition.withLock { !isOpen && waitingCount > 0 } }
    }

    /// Returns when a sync has come to the shut gate.
    func waitForSync() async {
        while !gate.isHoldingSomebody { await Task.yield() }
    }

    var processID: Int32 { disk.processID }

    func resolve(_ path: String) throws(IOError) -> String { try disk.resolve(path) }
    func open(_ path: String) throws(IOError) -> any StoreFile { GatedFile(file: try disk.open(path), gate: gate) }
    func create(_ path: String) throws(IOError) -> any StoreFile { GatedFile(file: try disk.create(path), gate: gate) }
    func status(_ path: String) throws(IOError) -> FileStatus { try disk.status(path) }
    func rename(_ path: String, to newPath: String) throws(IOError) { try disk.rename(path, to: newPath) }
    func unlink(_ path: String) throws(IOError) { try disk.unlink(path) }
    func list(_ directory: String) throws(IOError) -> [String] { try disk.list(directory) }
    func syncDirectory(_ directory: String) throws(IOError) { try disk.syncDirectory(directory) }
    func lock(_ path: String) throws(IOError) -> LockOutcome { try disk.lock(path) }
}

private struct GatedFile: StoreFile {
    let file: any StoreFile
    let gate: GatedDisk.Gate

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(IOError) -> Int {
        try file.read(into: buffer, at: offset)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(IOError) -> Int {
        try file.write(bytes, at: offset)
    }

    func truncate(to lengthBytes: UInt64) throws(IOError) { try file.truncate(to: lengthBytes) }

    func dataSync() throws(IOError) {
        gate.pass()
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
