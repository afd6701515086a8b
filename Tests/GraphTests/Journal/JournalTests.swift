import Foundation
import Testing

@testable import Graph

/// The actor, on files of the computer that runs the tests.
struct JournalTests {
    private static let schema = Array("schema".utf8)

    /// A folder that goes away with the value.
    private final class Folder: Sendable {
        let path: String

        init() throws {
            let url = FileManager.default.temporaryDirectory.appendingPathComponent("graph-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
            path = try PosixFileSystem().resolve(url.path)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func file(_ name: String = "a.graph") -> String { path + "/" + name }

        var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }
    }

    private func open(
        _ path: String, executor: any SerialExecutor = JournalExecutor(), options: JournalOptions = JournalOptions()
    ) async throws(GraphError) -> (journal: Journal, state: [[UInt8]]) {
        try await Journal.open(
            at: path, schema: Self.schema, seal: [1], executor: executor, options: options, into: [[UInt8]]()
        ) { state, entry in
            if entry.kind == .commit { state.append(Array(entry.payload)) }
        }
    }

    private func size(_ path: String) throws -> Int {
        Int(try PosixFileSystem().status(path).lengthBytes)
    }

    @Test func `commits come back after close, and the file is as short as its records`() async throws {
        let folder = try Folder()
        let (journal, state) = try await open(folder.file())
        #expect(journal.wasCreated && state.isEmpty && journal.path == folder.file())
        try await journal.write([.init(kind: .commit, payload: [1]), .init(kind: .commit, payload: [2, 3])])
        try await journal.write([])
        try await journal.write([.init(kind: .commit, payload: [])])
        try await journal.mark([5])
        #expect(try size(folder.file()) > 256 << 10)
        try await journal.close([4])
        try await journal.close([4])
        #expect(try size(folder.file()) == Int(await journal.lengthBytes))
        #expect(try size(folder.file()) < 9_000)
        await #expect(throws: GraphError.closed(path: folder.file())) { try await journal.write([]) }
        let again = try await open(folder.file())
        #expect(again.state == [[1], [2, 3], []] && again.journal.storeID == journal.storeID)
        #expect(!again.journal.wasCreated && again.journal.diagnostics.isEmpty)
        #expect(folder.names == ["a.graph", "a.graph.lock"])
        for name in folder.names {
            #expect(try PosixFileSystem().status(folder.file(name)).permissions == 0o600)
        }
    }

    @Test func `a journal that goes away without close gives back its lock and loses nothing`() async throws {
        let folder = try Folder()
        var lengths: [Int] = []
        for round in 0..<3 {
            let (journal, state) = try await open(folder.file())
            #expect(state.count == round)
            try await journal.write([.init(kind: .commit, payload: [UInt8(round)])])
            lengths.append(try size(folder.file()))
        }
        #expect(lengths.allSatisfy { $0 > 256 << 10 })
    }

    @Test func `a second opener is refused with the process that has the file, by any name`() async throws {
        let folder = try Folder()
        let (journal, _) = try await open(folder.file())
        try FileManager.default.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: folder.file())
        func expectRefusal(_ name: String) async {
            let error = await #expect(throws: GraphError.self) { _ = try await open(folder.file(name)) }
            guard case .alreadyOpen(folder.file(), PosixFileSystem().processID, let since?)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(abs(since.timeIntervalSinceNow) < 3_600)
        }
        await expectRefusal("a.graph")
        await expectRefusal("link")
        // Code that opens and closes the same files does not drop the lock.
        _ = try Data(contentsOf: URL(fileURLWithPath: folder.file("a.graph.lock")))
        _ = try Data(contentsOf: URL(fileURLWithPath: folder.file()))
        await expectRefusal("a.graph")
        try await journal.close([])
        let (again, _) = try await open(folder.file("link"))
        #expect(again.path == folder.file())
    }

    @Test func `another process sees the lock`() async throws {
        let tool = "/usr/bin/flock"
        guard FileManager.default.isExecutableFile(atPath: tool) else { return }
        let folder = try Folder()
        let (journal, _) = try await open(folder.file())
        func canLock() throws -> Bool {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: tool)
            process.arguments = ["-n", folder.file("a.graph.lock"), "true"]
            try process.run()
            process.waitUntilExit()
            return process.terminationStatus == 0
        }
        #expect(try !canLock())
        try await journal.close([])
        #expect(try canLock())
    }

    @Test func `what is no plain file is refused`() async throws {
        let folder = try Folder()
        let (journal, _) = try await open(folder.file())
        try await journal.close([])
        try FileManager.default.linkItem(atPath: folder.file(), toPath: folder.file("second"))
        #expect(mkfifo(folder.file("fifo"), 0o600) == 0)
        try FileManager.default.createSymbolicLink(atPath: folder.file("dangling"), withDestinationPath: "nowhere")
        for path in [folder.file(), folder.file("second"), folder.file("fifo"), folder.file("dangling"), folder.path] {
            do throws(GraphError) {
                _ = try await open(path)
                Issue.record("\(path) opened")
            } catch {
                guard case .unusableFile = error else {
                    Issue.record("\(error)")
                    continue
                }
            }
        }
        await #expect(throws: GraphError.directoryMissing(path: folder.file("none"))) {
            _ = try await open(folder.file("none/a.graph"))
        }
        await #expect(throws: GraphError.directoryMissing(path: folder.file())) {
            _ = try await open(folder.file("a.graph/b"))
        }
        try FileManager.default.createSymbolicLink(atPath: folder.file("circle"), withDestinationPath: "circle")
        await #expect(
            throws: GraphError.unusableFile(
                path: folder.file("circle"), reason: "its symbolic links form a loop: correct where they lead")
        ) { _ = try await open(folder.file("circle")) }
        _ = FileManager.default.createFile(atPath: folder.file("empty"), contents: nil)
        await #expect(throws: GraphError.notAStore(path: folder.file("empty"), reason: "the file is empty")) {
            _ = try await open(folder.file("empty"))
        }
    }

    @Test func `a file that somebody removed, cut or extended takes no more commits`() async throws {
        for interference in 0..<3 {
            let folder = try Folder()
            let (journal, _) = try await open(folder.file())
            try await journal.write([.init(kind: .commit, payload: [1])])
            switch interference {
            case 0: try PosixFileSystem().unlink(folder.file())
            case 1: try PosixFileSystem().open(folder.file()).truncate(to: 8_192)
            default: try PosixFileSystem().open(folder.file()).writeFully([1], at: UInt64(size(folder.file())))
            }
            for _ in 0..<2 {
                do throws(GraphError) {
                    try await journal.write([.init(kind: .commit, payload: [2])])
                    Issue.record("written")
                } catch {
                    guard case .storeFailed = error else { throw error }
                }
            }
            try await journal.close([])
        }
    }

    @Test func `a record beyond the limit is refused before anything is written`() async throws {
        let folder = try Folder()
        var options = JournalOptions()
        options.transactionLimitBytes = 100
        let (journal, _) = try await open(folder.file(), options: options)
        let before = try size(folder.file())
        let long = Journal.Record(kind: .commit, payload: [UInt8](repeating: 1, count: 101))
        await #expect(throws: GraphError.transactionTooLarge(lengthBytes: 101, limitBytes: 100)) {
            try await journal.write([.init(kind: .commit, payload: [1]), long])
        }
        #expect(try size(folder.file()) == before)
        try await journal.write([.init(kind: .commit, payload: [UInt8](repeating: 1, count: 100))])
        try await journal.close([])
        // A file is read whatever the next program's limit is.
        options.transactionLimitBytes = 10
        #expect(try await open(folder.file(), options: options).state.count == 1)
    }

    @Test func `zeros ahead double up to their limit`() async throws {
        let folder = try Folder()
        var options = JournalOptions()
        options.allocationMinimumBytes = 4_096
        options.allocationMaximumBytes = 65_536
        options.allocationChoices = 2
        let (journal, _) = try await open(folder.file(), options: options)
        var sizes: [Int] = []
        for _ in 0..<40 {
            try await journal.write([.init(kind: .commit, payload: [UInt8](repeating: 1, count: 10_000))])
            if try sizes.last != size(folder.file()) { sizes.append(try size(folder.file())) }
        }
        let steps = zip(sizes, sizes.dropFirst()).map { $1 - $0 }
        #expect(sizes.count < 12 && steps.allSatisfy { $0 <= 65_536 + 16_384 })
    }

    @Test func `files stay private whatever the umask, and descriptors stay above the standard streams`() async throws {
        let folder = try Folder()
        let fileSystem = PosixFileSystem()
        let created = try fileSystem.create(folder.file("new"))
        #expect(try created.status().permissions & 0o177 == 0)
        #expect(throws: IOError.self) { try fileSystem.create(folder.file("new")) }
        try created.writeFully([1, 2, 3], at: 0)
        created.close()
        created.close()
        #expect(throws: IOError.self) { try created.status() }
        var bytes = [UInt8](repeating: 0, count: 4)
        let reopened = try fileSystem.open(folder.file("new"))
        let end = bytes.withUnsafeMutableBytes { buffer in
            #expect(throws: IOError(operation: .read, reason: .noProgress, code: 0)) {
                try reopened.readFully(into: buffer, at: 0)
            }
            return try? reopened.read(into: buffer, at: 3)
        }
        #expect(end == 0 && bytes == [1, 2, 3, 0])
    }

    @Test func `a device that is always full is reported as such`() throws {
        guard let full = try? PosixFileSystem().open("/dev/full") else { return }
        do throws(IOError) {
            try full.writeFully([1], at: 0)
            Issue.record("written")
        } catch {
            #expect(error.reason == .diskFull && error.operation == .write)
        }
    }

    @Test func `a child process of the owner may neither write nor unlock`() async throws {
        let disk = SimulatedDisk()
        let (journal, _) = try await Journal.open(
            at: JournalFixture.path, schema: Self.schema, seal: [], fileSystem: disk, into: 0
        ) { _, _ in }
        disk.killProcess()
        let operations = disk.operationCount
        await #expect(
            throws: GraphError.storeFailed(
                path: JournalFixture.path,
                reason: "process 100 opened it, and only that process may save, not its children")
        ) { try await journal.write([]) }
        try await journal.close([])
        #expect(disk.operationCount == operations)
    }

    @Test func `blocking calls run on the executor that was given`() async throws {
        let folder = try Folder()
        let executor = JournalExecutor(label: "graph.test")
        let (journal, state) = try await Journal.open(
            at: folder.file(), schema: Self.schema, seal: [], executor: executor, into: 0
        ) { _, _ in }
        #expect(state == 0)
        try await journal.close([])
        let again = try await Journal.open(
            at: folder.file(), schema: Self.schema, seal: [], executor: executor, into: 0
        ) { count, _ in
            executor.checkIsolated()
            count += 1
        }
        #expect(again.state == 3)
    }
}
