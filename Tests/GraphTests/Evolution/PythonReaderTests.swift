import Foundation
import Testing

@testable import Graph

/// A reader in another language, written from `JournalFormat.md` alone, finds the same in a file.
@Suite(.enabled(if: PythonReader.isThere, "this machine has no python3"))
struct PythonReaderTests {
    @Test(arguments: GoldenStore.allCases)
    func `it reads the same from golden files as the version that wrote them`(_ store: GoldenStore) throws {
        let outcome = try PythonReader.read(store.file.path)
        #expect(outcome.status == 0 && outcome.errors == "")
        expect(outcome, try store.expectedLines)
    }

    @Test func `it reads values in JSON, as files have them from before CBOR`() throws {
        let folder = DocumentedProgram.root.appendingPathComponent("Tests/GraphTests/Model/Golden")
        let outcome = try PythonReader.read(folder.appendingPathComponent("json-values.graph").path)
        #expect(outcome.status == 0 && outcome.lines.count == 4)
    }

    @Test(arguments: 1...4)
    func `it reads the same from random stores, open, closed and compacted`(_ seed: UInt64) async throws {
        let folder = try TemporaryFolder()
        let path = folder.file()
        var store = try await Coordinator(for: Node.self, at: path)
        for round in UInt64(0)..<3 {
            try await change(store, seed &* 1_000 &+ round &* 100)
            if round > 0 { try await store.compact() }
            expect(try PythonReader.read(path), try rows(of: store.snapshot))
            try await change(store, seed &* 1_000 &+ round &* 100 &+ 50)
            let rows = try rows(of: store.snapshot)
            expect(try PythonReader.read(path), rows)
            try await store.close()
            expect(try PythonReader.read(path), rows)
            store = try await Coordinator(for: Node.self, at: path)
        }
        try await store.close()
    }

    @Test func `it reads a file whose history a migration has written anew`() async throws {
        let folder = try TemporaryFolder()
        var store = try await Coordinator(for: Node.self, at: folder.file(), compaction: .manual)
        try await change(store, 7)
        try await store.close()
        store = try await Coordinator(
            for: Person.self, Team.self, Node.self, at: folder.file(), compaction: .manual)
        let rows = try rows(of: store.snapshot)
        let count = store.snapshot.commit.number
        try await store.compact()
        try await store.close()
        expect(try PythonReader.read(folder.file()), rows)
        #expect(try await StoreLog(reading: folder.file()).commits.map(\.number) == Array(1...count))
    }

    /// What a file for forgeries has behind it.
    enum Past: CaseIterable { case none, compaction, migration }

    /// The payloads of forged files have right checksums and wrong contents. Whatever they say of the past, it can be read or is refused.
    @Test(arguments: Past.allCases)
    func `it takes the same forged files as the engine`(past: Past) async throws {
        let (folder, seed) = (try TemporaryFolder(), Seeds.first)
        func open(_ path: String, isNew: Bool = true) async throws(GraphError) -> Coordinator {
            guard past == .migration, isNew else { return try await Coordinator(for: Node.self, at: path) }
            return try await Coordinator(for: Team.self, Person.self, Node.self, at: path)
        }
        var store = try await open(folder.file(), isNew: false)
        try await change(store, seed)
        if past == .compaction { try await store.compact() }
        if past == .migration {
            try await store.close()
            store = try await open(folder.file())
            #expect(await store.statistics.file?.oldest.commit == CommitNumber.none)
        }
        try await change(store, seed &+ 50)
        try await store.close()
        let forging = ["forge", "30", "\(seed)", folder.file(), folder.path]
        let outcome = try PythonReader.run("damage.py", arguments: forging)
        #expect(outcome.status == 0, "\(outcome.errors)")
        for number in 0..<30 {
            let read = try? String(contentsOfFile: folder.file("\(number).jsonl"), encoding: .utf8)
            do {
                let forged = try await open(folder.file("\(number).graph"))
                let rows = try rows(of: forged.snapshot)
                do {
                    for try await commit in forged.history() {
                        _ = try await forged.snapshot(at: commit.token).check()
                    }
                } catch GraphError.invalidRecord {
                } catch GraphError.valueNotReadable {
                } catch {
                    Issue.record("file \(number), seed \(seed): \(error)")
                }
                try await forged.close()
                #expect(read == rows.map { $0 + "\n" }.joined(), "file \(number), seed \(seed)")
            } catch GraphError.schemaMismatch {
                // The reader takes any schema.
            } catch {
                #expect(read == nil, "file \(number), seed \(seed): \(error)")
            }
        }
    }

    /// Random transactions. Each third one is undone, which brings back what it deleted.
    private func change(_ store: Coordinator, _ seed: UInt64) async throws {
        let context = Context(store, author: "Zoë \(seed)")
        await context.perform { $0.undoLimit = 10 }
        for step in 0..<UInt64(15) {
            // What breaks a rule is not saved.
            let isSaved = (try? await context.transaction { $0.changeNodes(seed &+ step) }) != nil
            guard isSaved, step % 3 == 0 else { continue }
            _ = await context.undo()
            do { try await context.save() } catch { await context.rollback() }
        }
    }

    private func rows(of snapshot: Snapshot) throws -> [String] {
        var rows = PlainRows(snapshot)
        try rows.append(
            Node.self, of: snapshot,
            [
                Members("children", \Node.children, isOrdered: true),
                Members("follows", \Node.follows, isOrdered: true),
                Members("followers", \Node.followers, isOrdered: true),
                Members("friends", \Node.friends, isOrdered: true),
            ])
        return rows.lines
    }

    @Test func `it leaves out an unfinished write, and says so`() throws {
        let folder = try GoldenStore.libraryUnclean.copy()
        let bytes = try Data(contentsOf: GoldenStore.libraryUnclean.file)
        try (bytes + Data(repeating: 0, count: 4_096)).write(to: URL(fileURLWithPath: folder.file()))
        #expect(try PythonReader.read(folder.file()).errors == "")
        try (bytes + Data([1, 2, 3])).write(to: URL(fileURLWithPath: folder.file()))
        let outcome = try PythonReader.read(folder.file())
        #expect(outcome.errors.contains("an unfinished write at \(bytes.count) is left out"))
        expect(outcome, try GoldenStore.libraryUnclean.expectedLines)
    }

    @Test func `it refuses what is no store, and what the lock file knows to be cut`() async throws {
        let folder = try GoldenStore.library.copy()
        let store = try await GoldenStore.library.open(folder.file())
        try await store.close()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: folder.file()))
        // Without the close record, and the copy that says so.
        try bytes.dropLast(8).write(to: URL(fileURLWithPath: folder.file()))
        var outcome = try PythonReader.read(folder.file())
        #expect(outcome.status == 1 && outcome.output == "" && outcome.errors.contains("which the lock file remembers"))
        try FileManager.default.removeItem(atPath: folder.file() + ".lock")
        expect(try PythonReader.read(folder.file()), try GoldenStore.library.expectedLines)
        for contents in [Data(), Data("something else".utf8), Data(repeating: 0, count: 20_000)] {
            try contents.write(to: URL(fileURLWithPath: folder.file()))
            outcome = try PythonReader.read(folder.file())
            #expect(outcome.status == 1 && outcome.errors.hasSuffix("not a store\n"))
            #expect(outcome.errors.split(separator: "\n").count == 1)
        }
        #expect(try PythonReader.read(folder.file("nothing")).status == 1)
    }

    @Test func `no damage makes it fail otherwise, or read what was never saved`() throws {
        let paths = GoldenStore.allCases.map(\.file.path)
        let outcome = try PythonReader.run(
            "damage.py", arguments: ["\(Sweep.isWhole ? 30 : 5)", "\(Seeds.first)"] + paths)
        #expect(outcome.status == 0 && outcome.lines.count == paths.count, "\(outcome.errors)")
    }

    private func expect(
        _ outcome: PythonReader.Outcome, _ rows: [String], sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(outcome.status == 0, "\(outcome.errors)", sourceLocation: sourceLocation)
        let isSame = outcome.lines.elementsEqual(rows) { $0.utf8.elementsEqual($1.utf8) }
        let first = zip(outcome.lines, rows).first { !$0.utf8.elementsEqual($1.utf8) }
        #expect(
            isSame, "\(outcome.lines.count) lines, \(rows.count) expected; \(String(describing: first))",
            sourceLocation: sourceLocation)
    }
}
