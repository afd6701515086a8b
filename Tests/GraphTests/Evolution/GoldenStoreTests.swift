import Foundation
import Testing

@testable import Graph

/// Files that older versions wrote open, and have in them what those versions read. See `Golden/README.md`.
struct GoldenStoreTests {
    @Test(arguments: GoldenStore.allCases)
    func `a golden file opens, and holds what its writer read from it`(_ store: GoldenStore) async throws {
        let folder = try store.copy()
        let expected = try store.expectedLines
        for isReading in [true, false] {
            let coordinator = try await store.open(folder.file(), readOnly: isReading)
            #expect(coordinator.check() == [])
            // That a file was not closed is said where no lock file is beside it.
            #expect(coordinator.diagnostics.count == (store == .libraryUnclean ? 1 : 0))
            let lines = try await store.lines(of: coordinator)
            if store == .libraryShared, !isReading {
                // The program joins the ones that have written the file, which is a commit.
                expect(Array(lines.dropFirst()), Array(expected.dropFirst()))
                #expect(Int(lines[0]) == Int(expected[0]).map { $0 + 1 })
            } else {
                expect(lines, expected)
            }
            try await coordinator.close()
        }
    }

    @Test(arguments: GoldenStore.allCases)
    func `a golden file can be changed, compacted and opened again`(_ store: GoldenStore) async throws {
        let folder = try store.copy()
        var coordinator = try await store.open(folder.file())
        if store.isWide {
            let ids = try coordinator.snapshot.fetchIDs(LibraryV1.Wide.self)
            try await coordinator.transaction { context in
                for id in ids { context[id]?.optionalString = "changed" }
                context[ids[0]]?.delete()
            }
        } else {
            try await coordinator.transaction { context in
                let books = try context.fetch(LibraryV1.Book.self)
                books.first?.delete()
                for book in books.dropFirst() { book.tags = [context.insert(LibraryV1.Tag(name: "new", weight: 1))] }
            }
        }
        /// Without the number of the commit where it becomes another one each time the file is opened.
        func rows() throws -> [String] {
            let rows = try store.rows(of: coordinator.snapshot)
            return store == .libraryShared ? Array(rows.dropFirst()) : rows
        }
        let changed = try rows()
        try await coordinator.close()
        coordinator = try await store.open(folder.file())
        expect(try rows(), changed)
        try await coordinator.compact()
        try await coordinator.close()
        coordinator = try await store.open(folder.file())
        #expect(coordinator.check() == [])
        expect(try rows(), changed)
        try await coordinator.close()
    }

    @Test func `nobody has edited a golden file`() throws {
        let list = try String(contentsOf: GoldenStore.digestsFile, encoding: .utf8)
        #expect(try GoldenStore.digests() == list.split(separator: "\n").map(String.init))
    }

    // MARK: What files have beside rows

    @Test func `the files have the records that they stand for`() throws {
        func kinds(_ store: GoldenStore) throws -> [Journal.RecordKind] { try store.records.map(\.kind) }
        /// The records behind the initial part.
        func tail(_ store: GoldenStore) throws -> [Journal.RecordKind] {
            Array(try kinds(store).drop { $0 != .mark }.dropFirst().filter { $0 != .mark && $0 != .close })
        }
        for store in [
            GoldenStore.libraryIndexed, .libraryTail, .libraryMigrated, .libraryRecorded, .libraryMetadata, .wideTail,
        ] {
            let records = try store.records
            #expect(records.contains { $0.kind == .snapshotEnd })
            // The head and rows; links and entries of indexes, where there are any.
            let parts = Set(records.filter { $0.kind == .snapshotChunk }.compactMap(\.payload.first))
            let expected: Set<UInt8> =
                switch store {
                case .libraryMigrated: [0, 1]
                case .wideTail: [0, 1, 3]
                default: [0, 1, 2, 3]
                }
            #expect(parts == expected, "\(store)")
        }
        let history = try GoldenStore.libraryHistory.records.filter { $0.kind == .snapshotChunk }
        let parts = history.compactMap { $0.payload.first.flatMap(CheckpointRecord.Part.init) }
        #expect(parts.count { $0 == .convertedCommit } == 4 && parts.count { $0 == .retainedCommit } == 2)
        #expect(parts.count { $0 == .consumer } == 2)
        #expect(try tail(.libraryHistory) == [.commit, .consumer, .commit])
        #expect(try tail(.libraryIndexed) == [])
        #expect(try tail(.libraryTail) == [.commit, .commit, .commit])
        #expect(try tail(.libraryMigrated) == [.commit])
        #expect(try tail(.libraryRecorded) == [.schema, .commit, .commit])
        #expect(try tail(.libraryMetadata) == [.commit, .schema, .schema])
        #expect(try tail(.wideTail) == [.schema, .commit, .commit])
    }

    @Test(arguments: [false, true])
    func `history leads back through commits that a migration and a compaction retained`(
        isCompacted: Bool
    ) async throws {
        let folder = try GoldenStore.libraryHistory.copy()
        var coordinator = try await LibraryV1.open(folder.file())
        if isCompacted {
            try await coordinator.compact()
            try await coordinator.close()
            coordinator = try await LibraryV1.open(folder.file())
        }
        #expect(await coordinator.consumers.mapValues(\.commit.number) == ["Ω index": 7, "mirror": 5])
        var lines: [[String]] = []
        for try await commit in coordinator.history() {
            let changes = commit.allChanges().map(\.description) + commit.linkChanges().map(\.description)
            lines.append(["\(commit.number) \(commit.origin?.author ?? "")"] + changes)
        }
        #expect(
            lines == [
                ["1 Ada", "Reader/p1 inserted", "Reader/p2 inserted", "Reader/p3 inserted"],
                ["2 ", "Reader/p2 changed (age)"], ["3 ", "Reader/p3 deleted"], ["4 "],
                [
                    "5 Zoë", "Tag/p1 inserted", "Tag/p2 inserted", "Reader/p1 changed (nickname)",
                    "Tag/p1.related: Tag/p2 added", "Tag/p2.related: Tag/p1 added",
                ],
                ["6 ", "Tag/p1 changed (weight)"], ["7 ", "Tag/p1 changed (name)"], ["8 ", "Reader/p1 deleted"],
            ])
        var start: HistoryToken?
        for try await commit in coordinator.history() where start == nil { start = commit.token }
        let then = try await coordinator.snapshot(at: try #require(start))
        #expect(try then.fetchValues(LibraryV1.Reader.self).map(\.name) == ["Émile", "Zoë", "Ada"])
        #expect(then.check() == [])
        try await coordinator.close()
    }

    @Test func `whoever opens a file of several programs numbers its rows behind theirs`() async throws {
        let folder = try GoldenStore.libraryShared.copy()
        func writers(_ snapshot: Snapshot) -> [UInt64] {
            Set(snapshot.entities.flatMap { $0.rows.rowNumbers.map { $0 >> 44 } }).sorted()
        }
        for number in 3...4 as ClosedRange<UInt64> {
            let coordinator = try await LibraryV1.open(folder.file())
            #expect(writers(coordinator.snapshot) == Array(0..<number))
            let id = try await coordinator.transaction { $0.insert(LibraryV1.Tag(name: "new", weight: 1)).id }
            #expect(id.row >> 44 == number)
            if number == 3 { try await coordinator.compact() }
            try await coordinator.close()
        }
    }

    @Test func `a checkpoint with index entries of every kind of attribute opens with these indexes`() async throws {
        let folder = try GoldenStore.wideTail.copy()
        let record = try GoldenStore.wideTail.record.indexingAttributes()
        let coordinator = try await Coordinator.open(try Schema(record), folder.file())
        #expect(coordinator.snapshot.entities[0].indexes.count > 40 && coordinator.check() == [])
        try await coordinator.close()
    }

    @Test(arguments: [GoldenStore.libraryMetadata, .libraryMigrated, .libraryRecorded], [false, true])
    func `metadata, the version and earlier schemas stay, through changes and compactions`(
        _ store: GoldenStore, isCompacted: Bool
    ) async throws {
        let folder = try store.copy()
        let first = try GoldenStore.library.record
        for round in 0..<3 {
            let coordinator = try await LibraryV1.open(folder.file())
            let record = await coordinator.schemaRecord
            #expect(record.entities == first.entities)
            switch store {
            case .libraryMetadata:
                #expect(
                    record.metadata == ["lastImport": "2026-11-24", "Ω text": "\"quoted\" \\ Zoë\n\u{7}", "empty": ""])
                #expect(record.version == nil && record.earlier == [])
            case .libraryMigrated:
                let old = try SchemaRecord(Schema([.init(LibraryV0.Publisher.self), .init(LibraryV0.Shelf.self)]))
                #expect(record.metadata == ["origin": "from before"])
                #expect(record.version == "LibraryV1" && record.earlier == [old.fingerprint])
            default:
                #expect(record.earlier.count == 1 && record.earlier != [record.fingerprint])
            }
            try await coordinator.transaction { _ = $0.insert(LibraryV1.Tag(name: "round \(round)", weight: 1)) }
            if isCompacted { try await coordinator.compact() }
            try await coordinator.close()
        }
    }

    @Test func `an older program is refused by a file that a plan migrated, and the plan's is not`() async throws {
        let folder = try GoldenStore.libraryMigrated.copy()
        let error = await #expect(throws: GraphError.self) {
            try await Coordinator(for: LibraryV0.Publisher.self, LibraryV0.Shelf.self, at: folder.file())
        }
        guard case .schemaMismatch(_, let differences)? = error else { throw try #require(error) }
        #expect(differences.first?.hasPrefix("a newer version of this program has opened the file") == true)
        // The steps are done.
        let step = MigrationStep.custom(from: LibraryV0.self, to: LibraryV1.self) { _, _ in throw CancellationError() }
        let coordinator = try await LibraryV1.open(folder.file(), migration: MigrationPlan(step))
        #expect(coordinator.diagnostics == [])
        let lines = try await GoldenStore.libraryMigrated.lines(of: coordinator)
        expect(lines, try GoldenStore.libraryMigrated.expectedLines)
        try await coordinator.close()
    }

    /// One failure for each row that differs.
    private func expect(
        _ rows: [String], _ expected: [String], sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(rows.count == expected.count, sourceLocation: sourceLocation)
        for (row, expected) in zip(rows, expected) {
            #expect(Array(row.utf8) == Array(expected.utf8), "\(row)", sourceLocation: sourceLocation)
        }
    }
}
