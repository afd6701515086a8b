import Foundation
import Testing

@testable import Graph

/// What opening says about files that are none, and about a system that does not let it.
struct JournalOpeningTests {
    private func expectNotAStore(_ bytes: [UInt8], _ reason: String) {
        let disk = SimulatedDisk()
        disk.setContents(bytes, at: JournalFixture.path)
        #expect(throws: GraphError.notAStore(path: JournalFixture.path, reason: reason)) {
            try JournalFixture.open(disk)
        }
        #expect(disk.contents(JournalFixture.path) == bytes)
    }

    @Test func `an empty, short or foreign file is refused and stays as it was`() throws {
        expectNotAStore([], "the file is empty")
        let bytes = try JournalFixture.bytes(closed: true)
        expectNotAStore(Array(bytes[..<8_191]), "the file is shorter than a header")
        expectNotAStore([UInt8](repeating: 0, count: 10_000), "the file does not begin like a journal")
        // What a transfer in text mode does: CR LF becomes LF.
        let mangled = bytes[..<4] + bytes[5..<4_100] + bytes[4_101...]
        expectNotAStore(Array(mangled), "the file does not begin like a journal")
    }

    @Test func `a newer major version is refused even if its header looks different`() throws {
        var bytes = try JournalFixture.bytes(closed: true)
        for start in [0, 4_096] {
            bytes[start + 8] = 2
            bytes[start + 200] = 9
        }
        let error = GraphError.unsupportedVersion(
            path: JournalFixture.path, found: "version 2", supported: "version 1")
        #expect(throws: error) { try JournalFixture.open(bytes: bytes) }
    }

    @Test func `two damaged headers are refused, and so are two that differ`() throws {
        var bytes = try JournalFixture.bytes(closed: true)
        bytes[100] ^= 1
        bytes[5_000] ^= 1
        #expect(throws: GraphError.self) { try JournalFixture.open(bytes: bytes) }
        let disk = SimulatedDisk()
        _ = try JournalFixture.open(disk, options: JournalFixture.options(seed: 99))
        let other = try #require(disk.contents(JournalFixture.path))
        bytes = Array(try JournalFixture.bytes(closed: true)[..<4_096]) + other[4_096...]
        do throws(GraphError) {
            _ = try JournalFixture.open(bytes: bytes)
            Issue.record("opened")
        } catch {
            guard case .corrupt(_, 4_096, 0, _) = error else { throw error }
        }
    }

    @Test func `folders, devices, hard links and links to nothing are refused without a lock file`() throws {
        let disk = SimulatedDisk()
        disk.setContents(try JournalFixture.bytes(closed: true), at: JournalFixture.path)
        disk.change(JournalFixture.path) { $0.linkCount = 2 }
        disk.setContents([], at: "/data/fifo")
        disk.change("/data/fifo") { $0.kind = .other }
        disk.addSymbolicLink("/data/link", to: "/data/nothing")
        for path in [JournalFixture.path, "/data/fifo", "/data/link", "/data", "", "a\0b", "/data/missing/"] {
            do throws(GraphError) {
                _ = try JournalFixture.open(disk, at: path)
                Issue.record("\(path) opened")
            } catch {
                guard case .unusableFile = error else {
                    Issue.record("\(path): \(error)")
                    continue
                }
            }
        }
        #expect(!disk.names.contains { $0.hasSuffix(".lock") })
        #expect(throws: GraphError.directoryMissing(path: "/data/missing")) {
            try JournalFixture.open(disk, at: "/data/missing/store")
        }
    }

    @Test func `a symbolic link and its target share one lock`() throws {
        let disk = SimulatedDisk()
        _ = try JournalFixture.open(disk)
        disk.killProcess()
        disk.addSymbolicLink("/data/link", to: JournalFixture.path)
        let held = try JournalFixture.open(disk, at: "/data/link")
        #expect(held.opened.location.text == JournalFixture.path)
        #expect(throws: JournalFixture.alreadyOpen(by: 101)) {
            try JournalFixture.open(disk)
        }
    }

    @Test func `a new file is locked before it has the name that others open`() throws {
        let disk = SimulatedDisk()
        _ = try JournalFixture.open(disk)
        let renamed = try #require(disk.trace.lastIndex { $0.hasPrefix("rename") })
        let locks = disk.trace.indices.filter { disk.trace[$0].hasPrefix("lock") }
        // The lock file's, and its own.
        #expect(locks.count == 2 && locks.allSatisfy { $0 < renamed }, "\(disk.trace)")
    }

    @Test func `a system that refuses is reported with what it refused`() throws {
        let reference = SimulatedDisk()
        _ = try JournalFixture.open(reference)
        for (index, line) in reference.trace.enumerated() {
            let disk = SimulatedDisk()
            disk.fail(operation: index, with: .error(.permission, 13))
            // Leftovers and nothing else may be overlooked.
            if line.hasPrefix("list") { continue }
            do throws(GraphError) {
                _ = try JournalFixture.open(disk)
                Issue.record("\(line) may fail")
            } catch {
                let operation = String(line.prefix { $0 != " " })
                let possible = ["", ".lock"].map { suffix in
                    GraphError.permissionDenied(path: JournalFixture.path + suffix, operation: operation)
                }
                #expect(possible.contains(error), "\(line): \(error)")
            }
        }
    }

    @Test func `a file that others may write is opened with a remark`() throws {
        let disk = SimulatedDisk()
        disk.setContents(try JournalFixture.bytes(closed: true), at: JournalFixture.path)
        disk.change(JournalFixture.path) { $0.permissions = 0o664 }
        #expect(try JournalFixture.open(disk).opened.diagnostics.map(\.kind) == [.writableByOthers])
    }

    /// A disk on which somebody puts a file where a new one is to have its name.
    private final class CrowdedDisk: InterposedDisk {
        let disk = SimulatedDisk()
        let name: String
        let bytes: [UInt8]

        init(_ name: String, _ bytes: [UInt8]) {
            self.name = name
            self.bytes = bytes
        }

        func willRename(_ path: StorePath, to newPath: StorePath) {
            if newPath.text == name, disk.contents(name) == nil { disk.setContents(bytes, at: name) }
        }
    }

    @Test func `a file put there while the store is made is not replaced`() throws {
        let disk = CrowdedDisk(JournalFixture.path, [1, 2, 3])
        do throws(GraphError) {
            _ = try JournalFixture.open(disk)
            Issue.record("opened")
        } catch {
            guard case .unusableFile(JournalFixture.path, _) = error else { throw error }
        }
        #expect(disk.disk.contents(JournalFixture.path) == [1, 2, 3])
        #expect(disk.disk.names == [JournalFixture.path, JournalFixture.path + ".lock"])
    }

    @Test func `a lock file that another opener makes at the same time is used`() throws {
        let path = JournalFixture.path + ".lock"
        let disk = CrowdedDisk(path, JournalLock.header(of: .init(processID: 7, since: 8)))
        let found = try JournalFixture.open(disk)
        #expect(found.opened.wasCreated)
        #expect(disk.disk.names == [JournalFixture.path, path])
        #expect(throws: JournalFixture.alreadyOpen(by: 100)) { try JournalFixture.open(disk) }
    }

    @Test func `a file replaced between its opening and its lock is not taken`() throws {
        let bytes = try JournalFixture.bytes(closed: true)
        let names = [JournalFixture.path, JournalFixture.path + ".lock"]
        for (index, name) in names.enumerated() {
            let disk = ReplacingDisk(name, bytes)
            disk.disk.setContents(bytes, at: JournalFixture.path)
            disk.disk.setContents([], at: names[1])
            if index == 0 {
                #expect(throws: GraphError.self) { try JournalFixture.open(disk) }
                #expect(disk.disk.contents(name) == bytes)
            } else {
                // The next attempt finds what is no lock file.
                #expect(throws: GraphError.self) { try JournalFixture.open(disk) }
                #expect(disk.disk.contents(name) == bytes)
            }
        }
    }

    /// A disk on which somebody replaces a file as soon as it is open.
    private final class ReplacingDisk: InterposedDisk {
        let disk = SimulatedDisk()
        let name: String
        let bytes: [UInt8]

        init(_ name: String, _ bytes: [UInt8]) {
            self.name = name
            self.bytes = bytes
        }

        func didOpen(_ path: StorePath) {
            guard path.text == name else { return }
            disk.setContents(bytes, at: name + ".other")
            disk.move(name + ".other", to: name)
        }
    }

    @Test func `renaming never replaces anything`() throws {
        let folder = try TemporaryFolder()
        let fileSystem = PosixFileSystem()
        for name in ["a", "b"] { try fileSystem.create(folder.file(name)).writeFully(Array(name.utf8), at: 0) }
        #expect(throws: IOError(operation: .rename, reason: .exists, code: EEXIST)) {
            try fileSystem.rename(folder.file("a"), to: folder.file("b"))
        }
        #expect(FileManager.default.contents(atPath: folder.file("b")) == Data("b".utf8))
        try fileSystem.rename(folder.file("a"), to: folder.file("c"))
        #expect(FileManager.default.contents(atPath: folder.file("c")) == Data("a".utf8))
        #expect(throws: IOError(operation: .rename, reason: .missing, code: ENOENT)) {
            try fileSystem.rename(folder.file("a"), to: folder.file("d"))
        }
    }
}
