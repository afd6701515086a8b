@testable import Graph

/// A simulated disk with something before its writes and syncs; everything else goes straight through.
protocol InterposedDisk: StoreFileSystem {
    var disk: SimulatedDisk { get }
    func willWrite() throws(IOError)
    func willSync()
}

extension InterposedDisk {
    func willWrite() throws(IOError) {}
    func willSync() {}

    var processID: Int32 { disk.processID }
    func resolve(_ path: String) throws(IOError) -> String { try disk.resolve(path) }
    func open(_ path: String) throws(IOError) -> any StoreFile { InterposedFile(file: try disk.open(path), disk: self) }
    func create(_ path: String) throws(IOError) -> any StoreFile {
        InterposedFile(file: try disk.create(path), disk: self)
    }
    func status(_ path: String) throws(IOError) -> FileStatus { try disk.status(path) }
    func rename(_ path: String, to newPath: String) throws(IOError) { try disk.rename(path, to: newPath) }
    func unlink(_ path: String) throws(IOError) { try disk.unlink(path) }
    func list(_ directory: String) throws(IOError) -> [String] { try disk.list(directory) }
    func syncDirectory(_ directory: String) throws(IOError) { try disk.syncDirectory(directory) }
    func lock(_ path: String) throws(IOError) -> LockOutcome { try disk.lock(path) }
}

private struct InterposedFile: StoreFile {
    let file: any StoreFile
    let disk: any InterposedDisk

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(IOError) -> Int {
        try file.read(into: buffer, at: offset)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(IOError) -> Int {
        try disk.willWrite()
        return try file.write(bytes, at: offset)
    }

    func truncate(to lengthBytes: UInt64) throws(IOError) { try file.truncate(to: lengthBytes) }

    func dataSync() throws(IOError) {
        disk.willSync()
        try file.dataSync()
    }

    func sync() throws(IOError) { try file.sync() }
    func status() throws(IOError) -> FileStatus { try file.status() }
    func close() { file.close() }
}
