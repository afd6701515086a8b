import Foundation
import Testing

@testable import Graph

/// Stores that are removed.
struct DestroyTests {
    private let folder: TemporaryFolder
    private var path: String { folder.file() }

    init() throws {
        folder = try TemporaryFolder()
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    private func makeStore(_ name: String = "store.graph") async throws {
        let store = try await Coordinator(for: Team.self, Person.self, at: folder.file(name))
        try await store.transaction { _ = $0.insert(Team(name: "a")) }
        try await store.close()
    }

    @Test func `all files of a store go, and those of others stay`() async throws {
        for name in ["store.graph", "store.graph2", "other"] { try await makeStore(name) }
        for name in ["torn-7", "torn-70", "new-0123456789abcdef"] {
            try Data([1]).write(to: URL(fileURLWithPath: path + "." + name))
        }
        // Those of a person, whatever they are called.
        let others = ["store.graph.torn-x", "store.graph.schema-1", "store.graph.new-1", "store.graph.backup"]
        for name in others { try Data([1]).write(to: URL(fileURLWithPath: folder.file(name))) }
        let store = try await Coordinator(for: Team.self, Person.self, at: path)
        try await store.close()
        try await Coordinator.destroy(at: path)
        #expect(try names() == (others + ["store.graph2", "store.graph2.lock", "other", "other.lock"]).sorted())
        try await makeStore()
        #expect(try await Coordinator(for: Team.self, Person.self, at: path).snapshot.count(of: Team.self) == 1)
    }

    @Test func `the file that a migration has kept goes with its store`() async throws {
        let folder = try GoldenStore.library.copy()
        try await LibraryV2.open(folder.file()).close()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).contains { $0.contains(".schema-") })
        try await Coordinator.destroy(at: folder.file())
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }

    @Test func `what is open, missing or no store stays`() async throws {
        func refusal(_ path: String) async -> GraphError? {
            await #expect(throws: GraphError.self) { try await Coordinator.destroy(at: path) }
        }
        guard case .unusableFile(_, "there is no file") = await refusal(path) else { throw Unexpected() }
        guard case .unusableFile(_, "this is a folder: name a file") = await refusal(folder.path) else {
            throw Unexpected()
        }
        guard case .directoryMissing = await refusal(folder.file("no/where")) else { throw Unexpected() }
        #expect(try names() == [])
        let store = try await Coordinator(for: Team.self, Person.self, at: path)
        guard case .alreadyOpen = await refusal(path) else { throw Unexpected() }
        try await store.transaction { _ = $0.insert(Team(name: "a")) }
        try await store.close()
        try FileManager.default.linkItem(atPath: path, toPath: folder.file("second"))
        guard
            case .unusableFile(_, "the file has 2 hard links: remove the others, or open a copy of it") = await refusal(
                path)
        else { throw Unexpected() }
        try Data("text".utf8).write(to: URL(fileURLWithPath: folder.file("text")))
        guard case .notAStore = await refusal(folder.file("text")) else { throw Unexpected() }
        try Data().write(to: URL(fileURLWithPath: folder.file("empty")))
        guard case .notAStore = await refusal(folder.file("empty")) else { throw Unexpected() }
        #expect(try names() == ["empty", "second", "store.graph", "store.graph.lock", "text"])
    }

    private static func remove(on disk: any StoreFileSystem) async throws(GraphError) {
        try await Journal.remove(JournalFixture.path, fileSystem: disk, options: JournalFixture.options())
    }

    private static func closedStore() async throws -> SimulatedDisk {
        let disk = SimulatedDisk()
        let store = try await Coordinator.people(on: disk)
        try await store.transaction { _ = $0.insert(Team(name: "a")) }
        try await store.close()
        return disk
    }

    @Test func `the second name that an interrupted migration left goes, too`() async throws {
        let disk = try await Self.closedStore()
        try disk.link(StorePath(JournalFixture.path), to: StorePath(JournalFixture.path + ".schema-1"))
        try await Self.remove(on: disk)
        #expect(disk.names == [])
    }

    @Test func `a file that is put there meanwhile stays`() async throws {
        let disk = try await Self.closedStore()
        disk.setContents(Array("text".utf8), at: "/data/text")
        let other = HookedDisk(
            disk,
            afterOpening: { disk, path in
                if path.text == JournalFixture.path { disk.move("/data/text", to: JournalFixture.path) }
            })
        await #expect(throws: GraphError.self) { try await Self.remove(on: other) }
        #expect(disk.contents(JournalFixture.path) == Array("text".utf8))
    }

    @Test func `a file that cannot be read stays`() async throws {
        let disk = try await Self.closedStore()
        disk.fail(next: .read, with: .error(.other, 5))
        await #expect(throws: GraphError.self) { try await Self.remove(on: disk) }
        #expect(disk.names.contains(JournalFixture.path))
    }

    @Test func `a lock file that cannot be removed does no harm`() async throws {
        let disk = try await Self.closedStore()
        disk.fail(next: .unlink, skipping: 1, with: .error(.other, 5))
        try await Self.remove(on: disk)
        #expect(disk.names == [JournalFixture.path + ".lock"])
        #expect(try await Coordinator.people(on: disk).snapshot.count(of: Team.self) == 0)
    }

    @Test func `a damaged store and one of a newer version can be removed`() async throws {
        // In a record, in both copies of the header, and of their version.
        for places in [[8_200], [100, 4_196], [8, 4_104]] {
            try await makeStore()
            var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            for place in places { bytes[place] ^= 2 }
            try bytes.write(to: URL(fileURLWithPath: path))
            try await Coordinator.destroy(at: path)
            #expect(try names() == [])
        }
    }

    @Test func `an interruption leaves all of the store, or nothing that opens`() async throws {
        let disk = try await Self.closedStore()
        disk.startRecording()
        try await Self.remove(on: disk)
        #expect(disk.names == [])
        var found = [0, 0]
        for (number, moment) in disk.moments.enumerated() {
            for mask in moment.medium.nameMasks {
                let remains = SimulatedDisk(PowerCut(mask: 0, nameMask: mask).remains(of: moment.medium))
                let again = try await Coordinator.people(on: remains)
                let count = again.snapshot.count(of: Team.self)
                found[count] += 1
                #expect(count == 0 || number < disk.moments.count - 1)
            }
        }
        #expect(found.allSatisfy { $0 > 0 }, "\(found)")
    }

    @Test func `every operation may fail, and a second attempt removes the rest`() async throws {
        func makeDisk() async throws -> SimulatedDisk {
            let disk = try await Self.closedStore()
            disk.setContents([1], at: JournalFixture.path + ".torn-3")
            return disk
        }
        let reference = try await makeDisk()
        let start = reference.operationCount
        try await Self.remove(on: reference)
        for index in start..<reference.operationCount {
            let disk = try await makeDisk()
            disk.fail(operation: index, with: .error(.other, 5))
            do {
                try await Self.remove(on: disk)
            } catch {
                disk.killProcess()
                let isThere = disk.names.contains(JournalFixture.path)
                let store = try await Coordinator.people(on: disk)
                #expect(store.snapshot.count(of: Team.self) == (isThere ? 1 : 0))
                try await store.close()
                try await Self.remove(on: disk)
            }
            #expect(!disk.names.contains(JournalFixture.path), "operation \(index)")
        }
    }

    private struct Unexpected: Error {}
}
