@testable import Graph

/// A simulated disk with something before or after some of its calls; everything else goes straight through.
protocol InterposedDisk: StoreFileSystem {
    var disk: SimulatedDisk { get }
    func willWrite() throws(IOError)
    /// Before each look at a file's bytes or length.
    func willRead()
    func willSync()
    func willRename(_ path: StorePath, to newPath: StorePath)
    func didOpen(_ path: StorePath)
}

extension InterposedDisk {
    func willWrite() throws(IOError) {}
    func willRead() {}
    func willSync() {}
    func willRename(_ path: StorePath, to newPath: StorePath) {}
    func didOpen(_ path: StorePath) {}

    var processID: Int32 { disk.processID }
    func resolve(_ path: StorePath) throws(IOError) -> StorePath { try disk.resolve(path) }
    func open(_ path: StorePath) throws(IOError) -> any StoreFile {
        defer { didOpen(path) }
        return InterposedFile(file: try disk.open(path), disk: self)
    }
    func openForReading(_ path: StorePath) throws(IOError) -> any StoreFile {
        InterposedFile(file: try disk.openForReading(path), disk: self)
    }
    func interposed(_ file: any StoreFile) -> any StoreFile { InterposedFile(file: file, disk: self) }
    func create(_ path: StorePath) throws(IOError) -> any StoreFile {
        InterposedFile(file: try disk.create(path), disk: self)
    }
    func status(_ path: StorePath) throws(IOError) -> FileStatus { try disk.status(path) }
    func extent(_ path: StorePath) throws(IOError) -> FileExtent { try disk.extent(path) }
    func rename(_ path: StorePath, to newPath: StorePath) throws(IOError) {
        willRename(path, to: newPath)
        try disk.rename(path, to: newPath)
    }
    func rename(_ path: StorePath, over existingPath: StorePath) throws(IOError) {
        willRename(path, to: existingPath)
        try disk.rename(path, over: existingPath)
    }
    func link(_ path: StorePath, to newPath: StorePath) throws(IOError) { try disk.link(path, to: newPath) }
    func unlink(_ path: StorePath) throws(IOError) { try disk.unlink(path) }
    func list(_ directory: StorePath) throws(IOError) -> [StorePath] { try disk.list(directory) }
    func availableBytes(in directory: StorePath) -> UInt64? { disk.availableBytes(in: directory) }
    func syncDirectory(_ directory: StorePath) throws(IOError) { try disk.syncDirectory(directory) }
}

private struct InterposedFile: StoreFile {
    let file: any StoreFile
    let disk: any InterposedDisk

    func lock() throws(IOError) -> Bool { try file.lock() }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(IOError) -> Int {
        disk.willRead()
        return try file.read(into: buffer, at: offset)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(IOError) -> Int {
        // What a lock file remembers of a journal's end is no part of what a test holds up or lets fail.
        if offset != JournalEnd.slotOffset { try disk.willWrite() }
        return try file.write(bytes, at: offset)
    }

    func truncate(to lengthBytes: UInt64) throws(IOError) { try file.truncate(to: lengthBytes) }

    func dataSync() throws(IOError) {
        disk.willSync()
        try file.dataSync()
    }

    func sync() throws(IOError) { try file.sync() }
    func status() throws(IOError) -> FileStatus {
        disk.willRead()
        return try file.status()
    }

    func setPermissions(_ permissions: UInt16) throws(IOError) { try file.setPermissions(permissions) }
    func extent() throws(IOError) -> FileExtent {
        disk.willRead()
        return try file.extent()
    }
    func close() { file.close() }
}
