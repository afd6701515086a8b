import Foundation
import Testing

@testable import Graph

/// What may lie where a store's lock file belongs, and what becomes of it.
struct LockFileTests {
    private static let lockPath = JournalFixture.path + ".lock"

    private func disk(lock bytes: [UInt8]) throws -> SimulatedDisk {
        let disk = SimulatedDisk()
        disk.setContents(try JournalFixture.bytes(closed: true), at: JournalFixture.path)
        disk.setContents(bytes, at: Self.lockPath)
        return disk
    }

    @Test func `a lock file names its holder in the form that the specification gives`() throws {
        let disk = SimulatedDisk()
        _ = try JournalFixture.open(disk)
        let bytes = try #require(disk.contents(Self.lockPath))
        #expect(bytes.count == 512)
        #expect(Array(bytes[..<16]) == [0x89, 0x47, 0x52, 0x4C, 0x0D, 0x0A, 0x1A, 0x0A, 1, 0, 0, 0, 0, 0, 0, 0])
        #expect(Array(bytes[16..<24]) == [100, 0, 0, 0, 0, 0, 0, 0])
        #expect(Array(bytes[24..<32]) == [0xE8, 3, 0, 0, 0, 0, 0, 0])
        #expect(bytes[32...].allSatisfy { $0 == 0 })
    }

    @Test func `a lock file keeps what follows its header`() throws {
        let disk = SimulatedDisk()
        _ = try JournalFixture.open(disk)
        disk.killProcess()
        let slot = (0..<64).map { UInt8($0) }
        let slotEnd = JournalLock.headerBytes + JournalEnd.slotBytes
        disk.change(Self.lockPath) { $0.write(slot, at: slotEnd) }
        let found = try JournalFixture.open(disk)
        let bytes = try #require(disk.contents(Self.lockPath))
        #expect(bytes[16] == 101 && Array(bytes[slotEnd...]) == slot)
        // In between is the end of the journal, which the first open had no reason to write.
        #expect(bytes[512..<slotEnd].withUnsafeBytes { JournalEnd(slot: $0) }?.sequence.number == 2)
        #expect(try JournalLock.content(of: found.opened.lock.file) == .header(.init(processID: 101, since: 1_000)))
    }

    @Test func `an empty lock file is written, and so is one of earlier versions and one of which a crash left zeros`()
        throws
    {
        for bytes in [[], [UInt8](repeating: 0, count: 600), Array("4711\n".utf8), JournalLock.magic + [1, 0]] {
            let disk = try disk(lock: bytes)
            let found = try JournalFixture.open(disk)
            #expect(JournalFixture.commits(in: found.records).count == 4)
            #expect(try #require(disk.contents(Self.lockPath)).starts(with: JournalLock.magic))
            #expect(throws: JournalFixture.alreadyOpen(by: 100)) { try JournalFixture.open(disk) }
        }
    }

    @Test func `anything else in its place is refused, and stays as it was`() throws {
        let foreign = [
            Array("dear diary".utf8), Array("12a\n".utf8), Array("99999999999\n".utf8), Array("\n".utf8), [0, 0, 1],
            [UInt8](repeating: 0, count: 4_097), Array("4711".utf8), try JournalFixture.bytes(closed: true),
        ]
        for bytes in foreign {
            let disk = try disk(lock: bytes)
            do throws(GraphError) {
                _ = try JournalFixture.open(disk)
                Issue.record("\(bytes.prefix(10)) was taken for a lock file")
            } catch {
                guard case .unusableFile(Self.lockPath, _) = error else { throw error }
            }
            #expect(disk.contents(Self.lockPath) == bytes)
            disk.remove(Self.lockPath)
            #expect(JournalFixture.commits(in: try JournalFixture.open(disk).records).count == 4)
        }
    }

    @Test func `a lock file of a newer version is refused as such`() throws {
        var bytes = JournalLock.header(of: .init(processID: 7, since: 8))
        bytes[8] = 2
        let disk = try disk(lock: bytes)
        let error = GraphError.unsupportedVersion(
            path: Self.lockPath, found: "lock file of version 2", supported: "version 1")
        #expect(throws: error) { try JournalFixture.open(disk) }
        #expect(disk.contents(Self.lockPath) == bytes)
    }

    @Test func `what has another name elsewhere, or is no plain file, is refused before anything is written`() throws {
        let changes: [(inout Medium.Inode) -> Void] = [
            { $0.linkCount = 2 }, { $0.kind = .directory }, { $0.kind = .other }, { $0.kind = .symbolicLink },
        ]
        for change in changes {
            let disk = try disk(lock: [])
            disk.change(Self.lockPath, change)
            do throws(GraphError) {
                _ = try JournalFixture.open(disk)
                Issue.record("opened")
            } catch {
                guard case .unusableFile(Self.lockPath, _) = error else { throw error }
            }
            #expect(disk.contents(Self.lockPath) == [])
            #expect(!disk.trace.contains { $0.hasPrefix("write") })
        }
    }

    @Test func `a file beside a store is not destroyed by an opening that fails`() async throws {
        let folder = try TemporaryFolder()
        let files = FileManager.default
        let precious = Data("precious".utf8)
        try precious.write(to: URL(fileURLWithPath: folder.file("notes")))
        try files.linkItem(atPath: folder.file("notes"), toPath: folder.file("a.lock"))
        try files.copyItem(atPath: folder.file("notes"), toPath: folder.file("b.lock"))
        try files.createSymbolicLink(atPath: folder.file("c.lock"), withDestinationPath: folder.file("notes"))
        #expect(mkfifo(folder.file("d.lock"), 0o600) == 0)
        try files.createDirectory(atPath: folder.file("e.lock"), withIntermediateDirectories: false)
        for name in ["a", "b", "c", "d", "e"] {
            let error = await #expect(throws: GraphError.self) {
                _ = try await Coordinator(for: Team.self, Person.self, at: folder.file(name))
            }
            guard case .unusableFile(let path, _)? = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(path.hasSuffix("/\(name).lock"))
            #expect(!files.fileExists(atPath: folder.file(name)))
        }
        for name in ["notes", "a.lock", "b.lock"] {
            #expect(files.contents(atPath: folder.file(name)) == precious)
        }
    }

    // MARK: While the store is open

    @Test func `a lock file that is removed, moved, replaced or linked ends writing`() throws {
        let other = Self.lockPath + ".other"
        let interferences: [(SimulatedDisk) -> Void] = [
            { $0.remove(Self.lockPath) },
            { $0.move(Self.lockPath, to: other) },
            {
                $0.setContents([], at: other)
                $0.move(other, to: Self.lockPath)
            },
            { $0.change(Self.lockPath) { $0.linkCount = 2 } },
            { $0.remove(JournalFixture.path) },
            { $0.move(JournalFixture.path, to: other) },
            { disk in
                disk.setContents(disk.contents(JournalFixture.path) ?? [], at: other)
                disk.move(other, to: JournalFixture.path)
            },
            { $0.change(JournalFixture.path) { $0.linkCount = 2 } },
        ]
        for (index, interference) in interferences.enumerated() {
            let disk = SimulatedDisk()
            let opened = try JournalFixture.open(disk).opened
            var writer = opened.writer
            try writer.write([JournalFixture.commit(1)])
            interference(disk)
            let operations = disk.trace.count
            for _ in 0..<2 {
                do throws(GraphError) {
                    try writer.write([JournalFixture.commit(2)])
                    Issue.record("interference \(index) went unnoticed")
                } catch {
                    guard case .storeFailed(JournalFixture.path, _) = error else { throw error }
                }
            }
            try writer.close([1])
            #expect(!disk.trace[operations...].contains { $0.hasPrefix("write") || $0.hasPrefix("sync") })
        }
    }

    @Test func `zeros ahead never end where another writer's do that opened the file before`() throws {
        for choices in [2, 16] as [UInt64] {
            for seed in 0..<64 as Range<UInt64> {
                var options = JournalFixture.options(seed: seed)
                options.allocationChoices = choices
                let disk = SimulatedDisk()
                var first = try JournalFixture.open(disk, options: options).opened.writer
                try first.write([JournalFixture.commit(1)])
                // As if there were no locks.
                disk.killProcess()
                var second = try JournalFixture.open(disk, options: options).opened.writer
                for number in 0..<10 {
                    try second.write([JournalFixture.commit(number)])
                    #expect(second.fileEnd.isMultiple(of: 4_096))
                    #expect(second.fileEnd / 4_096 % choices != first.fileEnd / 4_096 % choices)
                }
            }
        }
    }
}
