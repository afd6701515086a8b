import Foundation
import Testing

@testable import Graph

/// The texts that a program keeps with a store.
struct MetadataTests {
    fileprivate enum Older {
        @Entity struct Note { var text: String }
    }

    fileprivate enum Renamed {
        @Entity struct Note { @Attribute(originalName: "text") var words: String }
    }

    fileprivate enum Newer {
        @Entity struct Note {
            @Attribute(originalName: "words") var text: String
            var rank = 0
        }
    }

    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file()
    }

    private static let texts = [
        "empty": "", "quotes": #""a" \u{41} \"#, "lines": "a\nb\r\n\u{0}\u{1F}\u{7F}\u{85}\u{2028}", "#": "\u{301}x",
        "\u{301}": "é e\u{301} 🇩🇪", "version \"1\"": "earlier 00",
    ]

    private func keepTexts(in store: Coordinator) async throws {
        for (key, text) in Self.texts { try await store.setMetadata(text, for: key) }
    }

    @Test func `metadata survive reopening, compacting, copying, renaming and migrating`() async throws {
        var store = try await Coordinator(for: Older.Note.self, at: path)
        #expect(await store.metadata == [:])
        try await store.transaction { _ = $0.insert(Older.Note(text: "a")) }
        try await keepTexts(in: store)
        try await store.transaction { _ = $0.insert(Older.Note(text: "b")) }
        try await store.setMetadata("gone soon", for: "old")
        try await store.setMetadata(nil, for: "old")
        try await store.setMetadata(nil, for: "never there")
        #expect(await store.metadata == Self.texts)
        try await store.copy(to: folder.file("copy"))
        try await store.close()
        store = try await Coordinator(for: Older.Note.self, at: path)
        #expect(await store.metadata == Self.texts && store.diagnostics == [])
        try await store.compact()
        try await store.setMetadata("after", for: "compaction")
        try await store.close()
        var expected = Self.texts
        expected["compaction"] = "after"
        let renamed = try await Coordinator(for: Renamed.Note.self, at: path)
        #expect(await renamed.metadata == expected && renamed.snapshot.count(of: Renamed.Note.self) == 2)
        try await renamed.close()
        let newer = try await Coordinator(for: Newer.Note.self, at: path)
        #expect(await newer.metadata == expected)
        try await newer.close()
        let copy = try await Coordinator(for: Older.Note.self, at: folder.file("copy"), readOnly: true)
        #expect(await copy.metadata == Self.texts)
        let inspection = try await StoreInspection(reading: path)
        #expect(Dictionary(uniqueKeysWithValues: inspection.metadata.map { ($0.key, $0.text) }) == expected)
        #expect(try await StoreLog(reading: path).commits.map(\.number) == [1, 2, 3])
        guard PythonReader.isThere else { return }
        let line = try #require(try PythonReader.read(path).lines.dropFirst().first)
        let read = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: [String: String]]
        #expect(read == ["metadata": expected])
    }

    @Test func `what is set during a compaction is in the new file`() async throws {
        let disk = GatedDisk()
        let store = try await Coordinator.people(on: disk)
        try await store.transaction { _ = $0.insert(Team(name: "red")) }
        disk.holdOne()
        async let compaction: Void = store.compact()
        await disk.waitForArrival()
        try await store.setMetadata("1", for: "number")
        disk.release()
        try await compaction
        try await store.close()
        let again = try await Coordinator.people(on: disk)
        #expect(await again.metadata == ["number": "1"] && again.snapshot.check() == [])
        #expect(try await #require(again.journal).generation == 2)
    }

    @Test func `what is set again and again beside a compaction is in the new file`() async throws {
        let disk = GatedDisk()
        let store = try await Coordinator.people(on: disk)
        try await store.transaction { _ = $0.insert(Team(name: "red")) }
        disk.hold()
        async let compaction: Void = store.compact()
        await disk.waitForArrival()
        disk.release()
        for number in 0..<20 { try await store.setMetadata("\(number)", for: "number") }
        try await compaction
        try await store.close()
        let again = try await Coordinator.people(on: disk)
        #expect(await again.metadata == ["number": "19"] && again.snapshot.check() == [])
        #expect(try await #require(again.journal).generation == 2)
    }

    @Test func `a text is durable, and makes commits before it durable`() async throws {
        let disk = SimulatedDisk()
        let store = try await Coordinator(
            Schema([EntityDescription(Team.self), EntityDescription(Person.self)]), path: JournalFixture.path,
            fileSystem: disk, options: JournalFixture.options(), durability: .relaxed)
        try await store.transaction { _ = $0.insert(Team(name: "red")) }
        try await store.setMetadata("1", for: "a")
        let remains = SimulatedDisk(
            disk.medium.crashed(keeps: { _ in false }, fill: .zeros, keepsLength: false, namesKept: 0))
        let again = try await Coordinator.people(on: remains)
        #expect(await again.metadata == ["a": "1"] && again.snapshot.commit.number == 1)
        #expect(await store.syncedCommit.number == 1)
    }

    @Test func `too long texts, a full disk, a closed and a read-only store are errors, and the text stays`()
        async throws
    {
        let disk = SimulatedDisk()
        let store = try await Coordinator.people(on: disk)
        try await store.setMetadata("1", for: "a")
        await #expect(throws: GraphError.metadataTooLarge(key: "a", lengthBytes: 65_541, limitBytes: 65_536)) {
            try await store.setMetadata(String(repeating: "x", count: 65_540), for: "a")
        }
        try await store.setMetadata(String(repeating: "x", count: 65_530), for: "b")
        try await store.setMetadata(nil, for: "b")
        disk.fail(next: .write, with: .error(.diskFull, 28))
        await #expect(throws: GraphError.diskFull(path: JournalFixture.path)) {
            try await store.setMetadata("2", for: "a")
        }
        #expect(await store.metadata == ["a": "1"])
        try await store.setMetadata("3", for: "a")
        disk.fail(next: .sync, with: .syncFailure(reverts: true))
        await #expect(throws: GraphError.self) { try await store.setMetadata("4", for: "a") }
        await #expect(throws: GraphError.self) { try await store.transaction { _ = $0.insert(Team(name: "red")) } }
        try await store.close()
        await #expect(throws: GraphError.self) { try await store.setMetadata("5", for: "a") }
        let again = try await Coordinator.people(on: disk)
        #expect(["3", "4"].contains(await again.metadata["a"]))
        try await again.close()
        let memory = try await Coordinator(for: Team.self, Person.self)
        try await memory.setMetadata("1", for: "a")
        #expect(await memory.metadata == ["a": "1"])
        let file = try await Coordinator(for: Older.Note.self, at: path)
        try await file.close()
        let readOnly = try await Coordinator(for: Older.Note.self, at: path, readOnly: true)
        await #expect(throws: GraphError.readOnly(path: readOnly.path)) {
            try await readOnly.setMetadata("5", for: "a")
        }
    }

    @Test(arguments: [
        "metadata \"a\" \"1\"\nmetadata \"a\" \"2\"", "metadata \"\" \"1\"", "metadata \"a\"", "metadata \"a\" \"1\" ",
        "metadata \"a\" \"1\"\nentity 2 \"B\"", "version \"1\"\nmetadata \"a\" \"1\"", "metadata \"a\" \"\\x\"",
        "metadata \"e\u{301}\" \"1\"\nmetadata \"é\" \"2\"",
    ]) func `unsound lines are refused`(lines: String) {
        #expect(throws: SchemaRecord.Malformed.self) {
            _ = try Array("graph schema 1\nentity 1 \"A\"\n\(lines)\n".utf8).withUnsafeBytes {
                try SchemaRecord(reading: $0)
            }
        }
    }
}
