@testable import Graph

/// Paths as tests write them.
extension StoreFileSystem {
    func resolve(_ path: String) throws(IOError) -> String { try resolve(StorePath(path)).text }
    func open(_ path: String) throws(IOError) -> any StoreFile { try open(StorePath(path)) }
    func create(_ path: String) throws(IOError) -> any StoreFile { try create(StorePath(path)) }
    func status(_ path: String) throws(IOError) -> FileStatus { try status(StorePath(path)) }
    func unlink(_ path: String) throws(IOError) { try unlink(StorePath(path)) }
    func rename(_ path: String, to newPath: String) throws(IOError) {
        try rename(StorePath(path), to: StorePath(newPath))
    }
}
