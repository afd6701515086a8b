import Foundation
import Testing

@testable import Graph

/// Writes the golden files that are missing, with the engine of the day:
///
///     GRAPH_GOLDEN=write swift test --filter GoldenStoreWriter
///
/// A file that is there is left alone: it has to stay as the engine of its day wrote it. Afterwards `digests.txt` has the lines
/// of the new files, and `README.md` is to say what they have.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["GRAPH_GOLDEN"] == "write", "GRAPH_GOLDEN=write writes files"))
struct GoldenStoreWriter {
    private static let writings: [(store: GoldenStore, write: @Sendable (String) async throws -> Void)] = [
        (.libraryIndexed, writeIndexed), (.libraryTail, writeTail), (.libraryMetadata, writeMetadata),
        (.libraryMigrated, writeMigrated), (.libraryRecorded, writeRecorded), (.libraryHistory, writeHistory),
        (.libraryShared, writeShared), (.wideTail, writeWideTail),
    ]

    @Test func `what is missing is written`() async throws {
        for (store, write) in Self.writings where !FileManager.default.fileExists(atPath: store.file.path) {
            let folder = try TemporaryFolder()
            try await write(folder.file())
            try FileManager.default.copyItem(atPath: folder.file(), toPath: store.file.path)
            guard !FileManager.default.fileExists(atPath: store.rowsFile.path) else { continue }
            // What this engine reads from it is what later ones have to read.
            let coordinator = try await store.open(folder.file(), readOnly: true)
            let text = try await store.lines(of: coordinator).map { $0 + "\n" }.joined()
            try text.write(to: store.rowsFile, atomically: true, encoding: .utf8)
            try await coordinator.close()
        }
        // A file that was changed keeps the line that shows it.
        let known = try String(contentsOf: GoldenStore.digestsFile, encoding: .utf8).split(separator: "\n").map(
            String.init)
        let added = try GoldenStore.digests().filter { line in
            !known.contains { $0.split(separator: " ").last == line.split(separator: " ").last }
        }
        let lines = (known + added).sorted { $0.drop { $0 != " " } < $1.drop { $0 != " " } }
        try lines.map { $0 + "\n" }.joined().write(to: GoldenStore.digestsFile, atomically: true, encoding: .utf8)
    }

    /// All rows as a checkpoint with index entries, and nothing behind it.
    private static let writeIndexed: @Sendable (String) async throws -> Void = { path in
        try FileManager.default.copyItem(atPath: GoldenStore.library.file.path, toPath: path)
        let coordinator = try await LibraryV1.open(path)
        try await coordinator.compact()
        try await coordinator.close()
    }

    /// A checkpoint, then three commits: what they insert, change and delete has to do with what the checkpoint has.
    private static let writeTail: @Sendable (String) async throws -> Void = { path in
        try await writeIndexed(path)
        let coordinator = try await LibraryV1.open(path)
        try await Context(coordinator, author: "Ada").transaction { context in
            let tag = context.insert(LibraryV1.Tag(name: "late", weight: 0.5))
            for book in try context.fetch(LibraryV1.Book.self).suffix(3) {
                book.title += ", later"
                book.tags.insert(tag)
                book.wishedBy.removeAll()
            }
        }
        try await Context(coordinator, author: "Zoë").transaction { context in
            let books = try context.fetch(LibraryV1.Book.self)
            books[1].delete()
            books[2].chapters = RelatedObjects(books[2].chapters.reversed())
            books[3].author = books[4].author
            books[5].shelf = nil
            let author = context.insert(
                LibraryV1.Author(
                    name: "Late", email: "late@example.org", country: "日本", born: -1, awards: 1, followers: 255,
                    rating: .infinity, score: 0, role: .poet, rank: .famous, roleName: "poet", rankNumber: 7, motto: "",
                    address: LibraryV1.Address(street: "", number: 0, position: []), contact: .none))
            author.mentor = try context.first(LibraryV1.Author.self)
            author.edited = [books[2], books[3]]
        }
        try await Context(coordinator).transaction { context in
            try context.first(LibraryV1.Tag.self, where: { $0.name == "late" })?.weight = .nan
            try context.first(LibraryV1.Reader.self)?.delete()
        }
        try await coordinator.close()
    }

    /// Texts beside the rows, of which some came before a compaction and some after it.
    private static let writeMetadata: @Sendable (String) async throws -> Void = { path in
        try FileManager.default.copyItem(atPath: GoldenStore.libraryUnclean.file.path, toPath: path)
        let coordinator = try await LibraryV1.open(path)
        try await coordinator.setMetadata("2026-11-24", for: "lastImport")
        try await coordinator.setMetadata("soon gone", for: "gone")
        try await coordinator.setMetadata("\"quoted\" \\ Zoë\n\u{7}", for: "Ω text")
        try await coordinator.compact()
        try await Context(coordinator).transaction { _ = $0.insert(LibraryV1.Tag(name: "between", weight: 1)) }
        try await coordinator.setMetadata(nil, for: "gone")
        try await coordinator.setMetadata("", for: "empty")
        try await coordinator.close()
    }

    /// What a plan made of another version of the program, with the plan's version and the earlier schema in its record.
    private static let writeMigrated: @Sendable (String) async throws -> Void = { path in
        let old = try await Coordinator(for: LibraryV0.Publisher.self, LibraryV0.Shelf.self, at: path)
        try await old.setMetadata("from before", for: "origin")
        try await Context(old, author: "Ada").transaction { context in
            for number in 0..<3 { context.insert(LibraryV0.Publisher(name: "House \(number)")) }
            for number in 0..<40 { context.insert(LibraryV0.Shelf(code: "\(number)")) }
        }
        try await Context(old).transaction { try $0.first(LibraryV0.Publisher.self)?.delete() }
        try await old.close()
        let coordinator = try await LibraryV1.open(path, migration: LibraryV0.plan)
        try await Context(coordinator, author: "Zoë").transaction { context in
            try context.first(LibraryV1.Publisher.self)?.imprints = [
                context.insert(LibraryV1.Publisher(name: "New", revenue: 1e300))
            ]
            context.insert(LibraryV1.Reader(name: "Émile", age: 7))
        }
        try await coordinator.close()
    }

    /// A checkpoint of a schema without one index and with another, commits, and a record of the schema that has them the other
    /// way round; then one more commit.
    private static let writeRecorded: @Sendable (String) async throws -> Void = { path in
        try FileManager.default.copyItem(atPath: GoldenStore.libraryUnclean.file.path, toPath: path)
        var record = try GoldenStore.libraryUnclean.record
        try record.change("title", of: "Book", to: .attribute(kind: "string", .indexed))
        record = try record.editing([("entity 1 \"Author\" index 5 1\n", "entity 1 \"Author\"\n")])
        let other = try await Coordinator.open(try Schema(record), path)
        try await other.compact()
        try await other.close()
        for number in 0..<2 {
            let coordinator = try await LibraryV1.open(path)
            try await Context(coordinator).transaction { context in
                let author = try context.first(LibraryV1.Author.self)
                author?.name += " \(number)"
                context.insert(LibraryV1.Tag(name: "\(number)", weight: 1))
            }
            try await coordinator.close()
        }
    }

    /// Commits of a version before, which a migration has converted; commits that a compaction has retained, and others behind it;
    /// consumers of history in the checkpoint and behind it, of which one is removed.
    private static let writeHistory: @Sendable (String) async throws -> Void = { path in
        let old = try await Coordinator(for: LibraryBefore.Reader.self, at: path)
        let names = ["Émile", "Zoë", "Ada"]
        let ids = try await Context(old, author: "Ada").transaction { context in
            names.map { context.insert(LibraryBefore.Reader(name: $0, age: 7)).id }
        }
        try await Context(old).transaction { try $0.object(for: ids[1]).age = 8 }
        try await Context(old).transaction { try $0.object(for: ids[2]).delete() }
        try await old.close()
        let coordinator = try await LibraryV1.open(path)
        var index = try await coordinator.consumer(named: "Ω index")
        try await Context(coordinator, author: "Zoë").transaction { context in
            let tags = ["one", "two"].map { context.insert(LibraryV1.Tag(name: $0, weight: 0.5)) }
            tags[0].related = [tags[1]]
            try context.first(LibraryV1.Reader.self)?.nickname = "E."
        }
        for name in ["mirror", "gone"] { _ = try await coordinator.consumer(named: name) }
        try await coordinator.removeConsumer(named: "gone")
        try await Context(coordinator).transaction { try $0.first(LibraryV1.Tag.self)?.weight = .infinity }
        try await coordinator.compact()
        try await Context(coordinator).transaction { try $0.first(LibraryV1.Tag.self)?.name = "first" }
        try await index.advance(to: coordinator.snapshot.token)
        try await Context(coordinator).transaction { try $0.first(LibraryV1.Reader.self)?.delete() }
        try await coordinator.close()
    }

    /// Rows of three programs that save to one log, before a checkpoint and behind it.
    private static let writeShared: @Sendable (String) async throws -> Void = { path in
        let coordinator = try await LibraryV1.open(path)
        let log = JournalCommitLog(coordinator)
        let folder = try TemporaryFolder()
        var others: [Coordinator] = []
        for number in 1...2 {
            let copy = folder.file("\(number)")
            try await coordinator.copy(to: copy)
            others.append(try await LibraryV1.open(copy, joining: log))
        }
        for round in 0..<2 {
            for (number, store) in ([coordinator] + others).enumerated() {
                try await store.catchUp()
                try await Context(store, author: "robot \(number)").transaction { context in
                    let (publishers, readers) = (
                        try context.fetch(LibraryV1.Publisher.self), try context.fetch(LibraryV1.Reader.self)
                    )
                    let tag = context.insert(LibraryV1.Tag(name: "\(round) of \(number)", weight: Double(number)))
                    for other in try context.fetch(LibraryV1.Tag.self).suffix(2) { tag.related.insert(other) }
                    let house = context.insert(LibraryV1.Publisher(name: "House \(round) of \(number)", revenue: 1))
                    publishers.first?.imprints.insert(house)
                    if readers.count > 2 { readers[1].delete() }
                    readers.first?.age += 1
                    context.insert(LibraryV1.Reader(name: "Reader \(round) of \(number)", age: 7))
                }
            }
            if round == 0 { try await coordinator.compact() }
        }
        for other in others { try await other.close() }
        try await coordinator.close()
    }

    /// Every kind of attribute in a checkpoint, with the entries of an index where there can be one; then two commits that change,
    /// insert and delete values of each kind, of the schema without these indexes.
    private static let writeWideTail: @Sendable (String) async throws -> Void = { path in
        try FileManager.default.copyItem(atPath: GoldenStore.wide.file.path, toPath: path)
        let indexed = try await Coordinator.open(try Schema(GoldenStore.wide.record.indexingAttributes()), path)
        try await indexed.compact()
        try await indexed.close()
        let coordinator = try await GoldenStore.wide.open(path)
        try await Context(coordinator, author: "Ada").transaction { context in
            let objects = try context.fetch(LibraryV1.Wide.self)
            let values = objects.map(\.value)
            for number in stride(from: 0, to: objects.count, by: 2) {
                objects[number].everything = values[(number + 3) % values.count]
            }
            for value in values.suffix(8) { context.insert(value) }
        }
        try await Context(coordinator).transaction { context in
            let objects = try context.fetch(LibraryV1.Wide.self)
            for number in stride(from: 1, to: objects.count, by: 3) { objects[number].delete() }
        }
        try await coordinator.close()
    }
}

extension LibraryV1.Wide {
    fileprivate var everything: Self {
        get { self }
        set { self = newValue }
    }
}

/// What becomes `LibraryV1` by itself.
private enum LibraryBefore {
    @Entity struct Reader {
        var name: String
        var age: UInt8
    }
}

/// The version before `LibraryV1`, of which only the file knows that a plan led on from it.
enum LibraryV0: SchemaVersion {
    static let entities: [any Entity.Type] = [Publisher.self, Shelf.self]

    @Entity struct Publisher {
        var name: String
    }

    @Entity struct Shelf {
        var code: String
    }

    static let plan = MigrationPlan(
        .custom(from: Self.self, to: LibraryV1.self) { _, new in
            for publisher in try new.fetch(LibraryV1.Publisher.self) {
                publisher.revenue = Double(publisher.name.count)
            }
            for shelf in try new.fetch(LibraryV1.Shelf.self) { shelf.room = "room \(shelf.code.count)" }
        })
}

extension LibraryV1: SchemaVersion {
    static let entities: [any Entity.Type] = [
        Author.self, Book.self, Chapter.self, Tag.self, Publisher.self, Reader.self, Card.self, Shelf.self, Draft.self,
    ]
}
