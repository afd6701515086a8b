import Foundation
import Synchronization
import Testing

@testable import Graph

/// A file that a coordinator reads and leaves alone.
struct ReadOnlyTests {
    private let folder: TemporaryFolder
    private var path: String { folder.file() }

    init() throws {
        folder = try TemporaryFolder()
    }

    private func open(_ path: String? = nil) async throws(GraphError) -> Coordinator {
        try await Coordinator(for: Team.self, Person.self, at: path ?? self.path)
    }

    private func read(_ path: String? = nil) async throws(GraphError) -> Coordinator {
        try await Coordinator(for: Team.self, Person.self, at: path ?? self.path, readOnly: true)
    }

    private func add(_ name: String, to coordinator: Coordinator) async throws {
        try await coordinator.transaction { _ = $0.insert(Team(name: name)) }
    }

    /// All files of the folder.
    private func files() throws -> [String: Data] {
        var files: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            files[name] = try Data(contentsOf: URL(fileURLWithPath: folder.file(name)))
        }
        return files
    }

    @Test(arguments: [true, false])
    func `a file is read as opening would find it, and nothing is created or changed`(hasLockFile: Bool) async throws {
        let writer = try await open()
        for name in ["a", "b", "c"] { try await add(name, to: writer) }
        try await writer.compact()
        try await add("d", to: writer)
        try await writer.close()
        if !hasLockFile { try FileManager.default.removeItem(atPath: path + ".lock") }
        let before = try files()
        let reader = try await read()
        #expect(PlainState(reader.snapshot) == PlainState(writer.snapshot))
        #expect(reader.snapshot.commit == writer.snapshot.commit)
        #expect(reader.storeID == writer.storeID && reader.diagnostics == [] && reader.check() == [])
        let second = try await read()
        #expect(try files() == before)
        // A writer may open the file meanwhile.
        try await open().close()
        try await second.close()
        try await reader.close()
        try await reader.close()
    }

    @Test func `saves are refused, and whatever changes nothing is not`() async throws {
        let writer = try await open()
        try await add("a", to: writer)
        let reader = try await read()
        let context = Context(reader)
        let id = try await context.transaction { try #require(try $0.fetch(Team.self).first).id }
        try await context.save()
        await context.perform { context in
            context.undoLimit = 5
            context[id]?.name = "b"
        }
        let refusal = GraphError.readOnly(path: writer.path)
        await #expect(throws: refusal) { try await context.save() }
        await #expect(throws: refusal) { try await reader.transaction { _ = $0.insert(Person(name: "Ada")) } }
        await #expect(throws: refusal) { try await context.save(mergePolicy: .overwrite) }
        await #expect(throws: refusal) { try await reader.compact() }
        #expect(await context.perform { $0[id]?.name } == "b")
        #expect(await context.undo().isEmpty)
        try await context.save()
        #expect(reader.snapshot.value(for: id)?.name == "a" && reader.snapshot.count(of: Person.self) == 0)
        #expect(
            refusal.description.hasSuffix(
                "the store was opened read-only, so nothing was saved or compacted; open it for writing"))
        await context.perform { context in
            context.autosave = .zero
            context[id]?.name = "c"
        }
        while await context.perform({ $0.autosaveError }) == nil { await Task.yield() }
        #expect(await context.perform { $0.autosaveError } == refusal)
        try await reader.close(discardingChanges: true)
        await #expect(throws: GraphError.closed(path: writer.path)) { try await context.save() }
        try await writer.close()
    }

    @Test func `what is no file of a store is refused`() async throws {
        func refusal(_ path: String?) async -> GraphError? {
            await #expect(throws: GraphError.self) {
                try await Coordinator(for: Team.self, Person.self, at: path, readOnly: true)
            }
        }
        guard case .unusableFile(_, "there is no file") = await refusal(path) else { throw Unexpected() }
        guard case .unusableFile(_, "this is a folder: name a file") = await refusal(folder.path) else {
            throw Unexpected()
        }
        guard case .unusableFile("memory", _) = await refusal(nil) else { throw Unexpected() }
        guard case .unusableFile = await refusal("") else { throw Unexpected() }
        guard case .directoryMissing = await refusal(folder.file("no/where")) else { throw Unexpected() }
        try Data("text".utf8).write(to: URL(fileURLWithPath: path))
        guard case .notAStore = await refusal(path) else { throw Unexpected() }
        mkfifo(folder.file("pipe"), 0o600)
        let device = "this is a device, FIFO or socket: name a regular file"
        guard case .unusableFile(_, device) = await refusal(folder.file("pipe")) else {
            throw Unexpected()
        }
        guard case .unusableFile(_, device) = await refusal("/dev/null") else { throw Unexpected() }
        #expect(Set(try FileManager.default.contentsOfDirectory(atPath: folder.path)) == ["store.graph", "pipe"])
    }

    private struct Unexpected: Error {}

    @Test func `all names of a file can be read`() async throws {
        let writer = try await open()
        try await add("a", to: writer)
        try await writer.close()
        try FileManager.default.linkItem(atPath: path, toPath: folder.file("second"))
        try FileManager.default.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: path)
        for name in [path, folder.file("second"), folder.file("link")] {
            #expect(try await read(name).snapshot.count(of: Team.self) == 1)
        }
    }

    @Test func `a file whose mode forbids writing is read by a program without privileges`() async throws {
        let writer = try StoreProcess()
        #expect(try await writer.run("open \(path)") == "opened 0")
        for number in 1...3 { #expect(try await writer.run("save \(number)") == "saved") }
        #expect(try await writer.run("close") == "closed")
        for (name, mode) in [(path, 0o444), (path + ".lock", 0o444), (folder.path, 0o555)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: name)
        }
        defer { try? FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path) }
        let program = try StoreProcess("unprivileged")
        #expect(try await program.run("read \(path)") == "read 3")
        #expect(try await program.run("open \(path)").hasPrefix("refused permissionDenied "))
    }

    // MARK: What is durable

    @Test(arguments: [GatedDisk.Stage.write, .sync])
    func `what a writer has not made durable is not read`(stage: GatedDisk.Stage) async throws {
        let disk = GatedDisk(holdingAt: stage)
        func read() async throws(GraphError) -> Coordinator {
            let schema = try Schema([EntityDescription(Team.self), EntityDescription(Person.self)])
            return try await Coordinator(
                schema, path: JournalFixture.path, fileSystem: disk.disk, options: JournalFixture.options(),
                readOnly: true)
        }
        let writer = try await Coordinator.people(on: disk)
        // The first group of a file, the first one after a compaction, and a later one.
        for round in 0..<4 {
            if round == 1 { try await writer.compact() }
            disk.hold()
            let save = Task { try await add("\(round)", to: writer) }
            await disk.waitForArrival()
            #expect(try await read().snapshot.count(of: Team.self) == round)
            disk.release()
            try await save.value
            #expect(try await read().snapshot.count(of: Team.self) == round + 1)
        }
        disk.disk.killProcess()
        #expect(try await read().snapshot.count(of: Team.self) == 4)
        try? await writer.close()
    }

    /// A journal of a commit that is durable and one that is written and not synced, as in the midst of a group.
    private static func unsynced() throws -> SimulatedDisk {
        let disk = SimulatedDisk()
        var writer = try JournalFixture.open(disk).opened.writer
        try writer.write([JournalFixture.commit(1)])
        try writer.write([JournalFixture.commit(2)], durably: false)
        return disk
    }

    @Test(arguments: ["closed to others", "emptied", "of version 2", "of digits"])
    func `a lock file that says nothing says that somebody may be writing`(kind: String) throws {
        let disk = try Self.unsynced()
        disk.change(JournalFixture.path + ".lock") { file in
            switch kind {
            case "emptied": file.current = []
            case "of version 2": file.current[8] = 2
            case "of digits": file.current = Array("100\n".utf8)
            default: break
            }
        }
        // Only a later record tells that the first one is durable.
        let isClosed = kind == "closed to others"
        let other = HookedDisk(
            disk,
            afterLookingForLock: { _ throws(IOError) in
                if isClosed { throw IOError(operation: .open, reason: .permission, code: 13) }
            })
        #expect(JournalFixture.commits(in: try JournalFixture.read(other)).count == 1)
        // A copy, to which nobody writes.
        disk.removeLockFile(of: JournalFixture.path)
        #expect(JournalFixture.commits(in: try JournalFixture.read(disk)).count == 2)
    }

    @Test func `a file that is made between two looks has a writer`() throws {
        let disk = HookedDisk(afterLookingForLock: { disk throws(IOError) in
            guard disk.contents(JournalFixture.path) == nil, var writer = try? JournalFixture.open(disk).opened.writer
            else { return }
            try? writer.write([JournalFixture.commit(1)], durably: false)
        })
        #expect(JournalFixture.commits(in: try JournalFixture.read(disk)).isEmpty)
    }

    @Test func `what is left out although it may be durable is told`() async throws {
        let disk = SimulatedDisk()
        let writer = try await Coordinator.people(on: disk)
        for name in ["a", "b"] { try await add(name, to: writer) }
        disk.killProcess()
        // As a power cut may leave it: the lock file knows nothing of this file.
        disk.change(JournalFixture.path + ".lock") { file in for place in 512..<576 { file.current[place] = 0 } }
        let reader = try await Coordinator(
            writer.snapshot.schema, path: JournalFixture.path, fileSystem: disk, options: JournalFixture.options(),
            readOnly: true)
        #expect(reader.snapshot.count(of: Team.self) == 1 && reader.diagnostics.map(\.kind) == [.unfinishedWrite])
        #expect(try await Coordinator.people(on: disk).snapshot.count(of: Team.self) == 2)
    }

    @Test func `the mark of an idle second is not worth a word, whether it is durable or not`() throws {
        let disk = SimulatedDisk()
        var writer = try JournalFixture.open(disk).opened.writer
        try writer.write([JournalFixture.commit(1)])
        try writer.write([Journal.Record(kind: .mark, payload: [])], durably: false)
        #expect(try Self.diagnostics(disk) == [])
        disk.killProcess()
        #expect(try Self.diagnostics(disk) == [])
    }

    private static func diagnostics(_ disk: any StoreFileSystem) throws -> [StoreDiagnostic.Kind] {
        let opening = JournalOpening(fileSystem: disk, options: JournalFixture.options())
        return try opening.read(at: JournalFixture.path, into: 0, replay: { _, _ in }).0.diagnostics.map(\.kind)
    }

    @Test func `there is nothing to say of a file that is being written, but of its permissions`() throws {
        let found = Mutex<[StoreDiagnostic.Kind]>([])
        let disk = HookedDisk(beforeWriting: { disk in
            if let kinds = try? Self.diagnostics(disk) { found.withLock { $0 += kinds } }
        })
        var writer = try JournalFixture.open(disk).opened.writer
        for number in 1...3 { try writer.write([JournalFixture.commit(number)]) }
        // The group is there before the zeros ahead of the next one.
        #expect(found.withLock { Set($0) }.isSubset(of: [.unfinishedWrite]))
        disk.disk.change(JournalFixture.path) { $0.permissions = 0o666 }
        #expect(try Self.diagnostics(disk.disk) == [.writableByOthers])
    }

    @Test func `features that forbid writing do not forbid reading`() throws {
        let disk = SimulatedDisk()
        var writer = try JournalFixture.open(disk).opened.writer
        try writer.write([JournalFixture.commit(1)])
        disk.killProcess()
        disk.change(JournalFixture.path) { file in
            var header = Array(file.current[..<4_096])
            header[20] = 1
            let checksum = JournalHeader.checksum(of: header)
            for place in 0..<4 { header[4_092 + place] = UInt8(truncatingIfNeeded: checksum >> UInt32(8 * place)) }
            file.current.replaceSubrange(..<8_192, with: header + header)
        }
        // The first record's chain is the header's checksum, so that there is no more to read.
        let error = #expect(throws: GraphError.self) { try JournalFixture.read(disk) }
        guard case .corrupt(_, 8_192, _, _) = error else { throw Unexpected() }
        let opening = #expect(throws: GraphError.self) { try JournalFixture.open(disk) }
        guard case .unsupportedVersion = opening else { throw Unexpected() }
    }

    @Test func `only reads reach the disk`() async throws {
        let disk = SimulatedDisk()
        let writer = try await Coordinator.people(on: disk)
        try await add("a", to: writer)
        let (start, schema) = (disk.trace.count, writer.snapshot.schema)
        _ = try await Coordinator(
            schema, path: JournalFixture.path, fileSystem: disk, options: JournalFixture.options(), readOnly: true)
        let operations = Set(disk.trace.dropFirst(start).compactMap { $0.split(separator: " ").first.map(String.init) })
        #expect(operations == ["resolve", "open", "status", "read"])
        try await writer.close()
    }

    @Test func `an unfinished write and a damaged header are told and left as they are`() async throws {
        let disk = SimulatedDisk()
        let writer = try await Coordinator.people(on: disk)
        try await add("a", to: writer)
        disk.fail(next: .write, with: .errorAfterHalf(.other, 5))
        await #expect(throws: GraphError.self) { try await add("b", to: writer) }
        disk.killProcess()
        disk.change(JournalFixture.path) { $0.current[4_100] ^= 1 }
        let before = disk.contents(JournalFixture.path)
        let reader = try await Coordinator(
            writer.snapshot.schema, path: JournalFixture.path, fileSystem: disk, options: JournalFixture.options(),
            readOnly: true)
        #expect(reader.snapshot.count(of: Team.self) == 1)
        #expect(Set(reader.diagnostics.map(\.kind)) == [.unfinishedWrite, .damagedHeader])
        #expect(disk.contents(JournalFixture.path) == before)
        #expect(disk.names == [JournalFixture.path, JournalFixture.path + ".lock"])
        disk.change(JournalFixture.path) { $0.current[8_300] ^= 1 }
        let error = await #expect(throws: GraphError.self) {
            try await Coordinator(
                writer.snapshot.schema, path: JournalFixture.path, fileSystem: disk,
                options: JournalFixture.options(), readOnly: true)
        }
        guard case .corrupt = error else { throw Unexpected() }
    }

    // MARK: Other schemas

    @Test func `a file of an earlier schema is converted in memory`() async throws {
        let folder = try GoldenStore.library.copy()
        let before = FileManager.default.contents(atPath: folder.file())
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        let reader = try await LibraryV2.open(folder.file(), readOnly: true)
        #expect(reader.diagnostics.contains { $0.kind == .convertedChange } && reader.check() == [])
        #expect(FileManager.default.contents(atPath: folder.file()) == before)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == names)
        let writer = try await LibraryV2.open(folder.file())
        // The default of that one is another value each time.
        func state(_ coordinator: Coordinator) -> PlainState {
            var state = PlainState(coordinator.snapshot)
            for row in state.rows.keys { state.rows[row]?["token"] = nil }
            return state
        }
        #expect(state(reader) == state(writer))
        try await writer.close()
        // That program has changed more than to add something.
        await #expect(throws: GraphError.self) { try await LibraryV1.open(folder.file(), readOnly: true) }
    }

    @Test func `an older program reads a file to which a newer one has only added something`() async throws {
        let folder = try GoldenStore.library.copy()
        var record = try GoldenStore.library.record
        let first = try Schema(record)
        try record.add("note", .attribute(kind: "optional(string)", .indexed), to: "Tag")
        let second = try Schema(record)
        let old = try await Coordinator.open(first, folder.file())
        try await old.close()
        try await Coordinator.open(second, folder.file()).close()
        await #expect(throws: GraphError.self) { try await Coordinator.open(first, folder.file()) }
        let reader = try await Coordinator.open(first, folder.file(), readOnly: true)
        // Its copy would lack the rest.
        let refusal = await #expect(throws: GraphError.self) { try await reader.copy(to: folder.file("copy")) }
        guard case .schemaMismatch = refusal else { throw Unexpected() }
        #expect(PlainState(reader.snapshot).rows == PlainState(old.snapshot).rows && reader.check() == [])
    }

    @Test func `what cannot be read is as it is for writers`() async throws {
        let writer = try await open()
        try await add("a", to: writer)
        try await writer.close()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[8_300] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
        var texts: [String] = []
        for readOnly in [true, false] {
            do {
                _ = try await Coordinator(for: Team.self, Person.self, at: path, readOnly: readOnly)
            } catch {
                texts.append("\(error)")
            }
        }
        #expect(texts.count == 2 && texts[0] == texts[1])
    }
}
