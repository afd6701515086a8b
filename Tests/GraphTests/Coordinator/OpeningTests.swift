import Foundation
import Testing

@testable import Graph

/// Files that a coordinator must refuse, each with an error of its own and without touching them.
struct OpeningTests {
    @Entity fileprivate struct Other {
        var title = ""
    }

    /// The file was opened, or refused with another error.
    private struct Unexpected: Error {}

    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// What opening the file gives, after checking that the file is as before.
    private func refusal(of file: String) async throws -> GraphError? {
        let before = FileManager.default.contents(atPath: file)
        var refusal: GraphError?
        do {
            try await Coordinator(for: Team.self, Person.self, at: file).close()
        } catch {
            refusal = error
        }
        if refusal != nil { #expect(FileManager.default.contents(atPath: file) == before) }
        return refusal
    }

    private func makeStore() async throws -> String {
        let coordinator = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        try await Context(coordinator).transaction { _ = $0.insert(Person(name: "Ada")) }
        try await coordinator.close()
        return folder.file()
    }

    @Test func `a file of another kind`() async throws {
        let file = folder.file("letter.txt")
        try Data(repeating: 0x41, count: 20_000).write(to: URL(fileURLWithPath: file))
        guard case .notAStore(let path, _)? = try await refusal(of: file) else {
            throw Unexpected()
        }
        #expect(path.hasSuffix("letter.txt"))
    }

    @Test func `an empty file`() async throws {
        let file = folder.file("empty.graph")
        try Data().write(to: URL(fileURLWithPath: file))
        guard case .notAStore? = try await refusal(of: file) else {
            throw Unexpected()
        }
    }

    @Test func `a newer format`() async throws {
        let file = try await makeStore()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: file))
        for copy in [0, 4096] {
            bytes[copy + 8] = 2
            let checksum = bytes[copy..<(copy + 4092)].withUnsafeBytes { CRC32C.checksum($0) }
            withUnsafeBytes(of: checksum.littleEndian) {
                bytes.replaceSubrange((copy + 4092)..<(copy + 4096), with: $0)
            }
        }
        try bytes.write(to: URL(fileURLWithPath: file))
        guard case .unsupportedVersion(_, let found, _)? = try await refusal(of: file) else {
            throw Unexpected()
        }
        #expect(found.contains("2"))
    }

    @Test func `a file with objects that the program does not know`() async throws {
        let file = folder.file("other.graph")
        let coordinator = try await Coordinator(for: Other.self, at: file)
        try await Context(coordinator).transaction { _ = $0.insert(Other()) }
        try await coordinator.close()
        guard case .schemaMismatch(_, let differences)? = try await refusal(of: file) else {
            throw Unexpected()
        }
        #expect(
            Array(differences) == [
                "Other: removed, but the file has 1 object: open with dropping: [\"Other\"] to delete them"
            ])
    }

    @Test func `a folder that does not exist`() async throws {
        let file = folder.file("missing/store.graph")
        guard case .directoryMissing(let path)? = try await refusal(of: file) else {
            throw Unexpected()
        }
        #expect(path.hasSuffix("/missing"))
    }

    @Test func `a folder in the file's place`() async throws {
        guard case .unusableFile(_, let reason)? = try await refusal(of: folder.path) else {
            throw Unexpected()
        }
        #expect(reason == "this is a folder: name a file")
    }

    @Test func `a file that is open already, until it is closed`() async throws {
        let file = try await makeStore()
        let first = try await Coordinator(for: Team.self, Person.self, at: file)
        guard case .alreadyOpen(_, let process, _)? = try await refusal(of: file) else {
            throw Unexpected()
        }
        #expect(process == ProcessInfo.processInfo.processIdentifier)
        try await first.close()
        #expect(try await refusal(of: file) == nil)
    }

    @Test func `a coordinator that is released without closing gives back its file`() async throws {
        let file = try await makeStore()
        do {
            let coordinator = try await Coordinator(for: Team.self, Person.self, at: file)
            try await Context(coordinator).transaction { _ = $0.insert(Person(name: "Eve")) }
        }
        let reopened = try await Coordinator(for: Team.self, Person.self, at: file)
        #expect(reopened.snapshot.count(of: Person.self) == 2)
        try await reopened.close()
    }

    @Test func `no permission to read the file`() async throws {
        let disk = SimulatedDisk()
        try await Coordinator.people(on: disk).close()
        let before = disk.contents(JournalFixture.path)
        var refusals = 0
        for operation in 0..<12 {
            disk.fail(operation: disk.operationCount + operation, with: .error(.permission, 13))
            do {
                try await Coordinator.people(on: disk).close()
            } catch .permissionDenied(let path, _) {
                #expect(path == JournalFixture.path)
                refusals += 1
            } catch {
                Issue.record(error)
            }
            disk.stopFailing()
            if refusals > 0 { break }
        }
        #expect(refusals == 1)
        #expect(disk.contents(JournalFixture.path) == before)
    }

    @Test func `a full disk when the file is created`() async throws {
        let disk = SimulatedDisk()
        disk.failForEver(from: 0, with: .error(.diskFull, 28))
        await #expect(throws: GraphError.diskFull(path: JournalFixture.path)) { try await Coordinator.people(on: disk) }
        disk.stopFailing()
        try await Coordinator.people(on: disk).close()
    }

    @Test func `a damaged record names its place`() async throws {
        let file = try await makeStore()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: file))
        bytes[8192 + 60] ^= 1
        try bytes.write(to: URL(fileURLWithPath: file))
        guard case .corrupt(_, let offset, let sequence, _)? = try await refusal(of: file) else {
            throw Unexpected()
        }
        #expect(offset == 8192)
        #expect(sequence == 1)
    }
}
