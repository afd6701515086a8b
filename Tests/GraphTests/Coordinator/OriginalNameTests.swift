import Foundation
import Testing

@testable import Graph

/// Files written before entities and properties were renamed.
struct OriginalNameTests {
    private let folder: TemporaryFolder
    private let file: String

    init() throws {
        folder = try TemporaryFolder()
        file = folder.file()
    }

    /// A file with the old names, and in it two authors with a book each.
    private func makeStore() async throws {
        let coordinator = try await Coordinator(for: Before.Author.self, Before.Book.self, at: file)
        let context = Context(coordinator)
        try await context.transaction { context in
            for name in ["Ada", "Eve"] {
                let author = context.insert(Before.Author(name: name, email: name))
                context.insert(Before.Book(title: "of \(name)", author: ToOne(author.id)))
            }
        }
        try await context.transaction { try $0.first(Before.Author.self)?.name = "Ada L." }
        try await coordinator.close()
    }

    private var bytes: Data {
        get throws { try Data(contentsOf: URL(fileURLWithPath: file)) }
    }

    /// How many schema records the file has.
    private func schemaCount() throws -> Int {
        try String(decoding: bytes, as: UTF8.self).components(separatedBy: "graph schema 1\n").count - 1
    }

    /// How the file's schema differs from that of a program that may not open it, after checking that it is as before.
    private func differences<each E: Entity>(_ types: repeat (each E).Type) async throws -> [String] {
        let before = try bytes
        let error = await #expect(throws: GraphError.self) {
            try await Coordinator(for: repeat each types, at: file)
        }
        #expect(try bytes == before)
        guard case .schemaMismatch(_, let differences)? = error else {
            Issue.record("\(String(describing: error))")
            return []
        }
        return Array(differences)
    }

    @Test func `a file with original names reads, and gets the new ones for good`() async throws {
        try await makeStore()
        for round in 0..<3 {
            let coordinator = try await Coordinator(for: Renamed.Writer.self, Renamed.Book.self, at: file)
            #expect(try schemaCount() == 2)
            let context = Context(coordinator)
            try await context.transaction { context in
                let writers = try context.fetch(Renamed.Writer.self)
                let name = "Ada L." + String(repeating: "!", count: round)
                #expect(writers.map(\.fullName) == [name, "Eve"])
                #expect(writers[0].works.map(\.title).first == "of Ada" && writers[0].works.count == round + 1)
                writers[0].fullName += "!"
                context.insert(Renamed.Book(title: "\(round)")).writer = writers[0]
            }
            try await coordinator.close()
        }
        let coordinator = try await Coordinator(for: After.Writer.self, After.Book.self, at: file)
        let writers = try coordinator.snapshot.fetchValues(After.Writer.self)
        #expect(writers.map(\.fullName) == ["Ada L.!!!", "Eve"] && writers.map(\.email) == ["Ada", "Eve"])
        #expect(coordinator.snapshot.commit.number == 5 && coordinator.snapshot.check() == [])
        try await Context(coordinator).transaction { try $0.first(After.Writer.self)?.delete() }
        #expect(try coordinator.snapshot.fetchValues(After.Book.self).map(\.title) == ["of Eve"])
        try await coordinator.close()
        #expect(try schemaCount() == 2)
    }

    @Test func `a program that knows only the old names is refused, and told which are new`() async throws {
        try await makeStore()
        try await Coordinator(for: Renamed.Writer.self, Renamed.Book.self, at: file).close()
        let differences = try await differences(Before.Author.self, Before.Book.self)
        #expect(differences.first?.hasPrefix("a newer version of this program has opened the file") == true)
        #expect(differences.contains("Author: added") && differences.contains("Book.writer: removed"))
    }

    @Test func `a program that has dropped the original names too early is refused`() async throws {
        try await makeStore()
        let differences = try await differences(After.Writer.self, After.Book.self)
        #expect(
            differences == [
                #"Author: removed, but the file has 2 objects: open with dropping: ["Author"] to delete them"#
            ])
    }

    @Test func `an index changes with the names`() async throws {
        try await makeStore()
        for _ in 0..<2 {
            let coordinator = try await Coordinator(for: Indexed.Writer.self, Indexed.Book.self, at: file)
            #expect(try coordinator.snapshot.fetchValues(Indexed.Writer.self).map(\.email) == ["Ada", "Eve"])
            #expect(coordinator.snapshot.check() == [])
            #expect(try schemaCount() == 2)
            try await coordinator.close()
        }
    }

    @Test func `names may change one after another, and back`() async throws {
        try await makeStore()
        try await change(HalfWay.Author.self, HalfWay.Book.self, \.fullName, "half way")
        try await change(Renamed.Writer.self, Renamed.Book.self, \.fullName, "renamed")
        try await change(After.Writer.self, After.Book.self, \.fullName, "after")
        try await change(Back.Author.self, Back.Book.self, \.name, "back")
        try await change(Before.Author.self, Before.Book.self, \.name, "before")
        #expect(try schemaCount() == 4)
        let coordinator = try await Coordinator(for: Before.Author.self, Before.Book.self, at: file)
        #expect(try coordinator.snapshot.fetchValues(Before.Author.self).map(\.name) == ["before", "Eve"])
        #expect(coordinator.snapshot.commit.number == 7 && coordinator.snapshot.check() == [])
        try await coordinator.close()
    }

    /// Gives the first author another name.
    private func change<Author: Entity, Book: Entity>(
        _ type: Author.Type,
        _ other: Book.Type,
        _ property: any WritableKeyPath<Author, String> & Sendable,
        _ name: String
    ) async throws {
        let coordinator = try await Coordinator(for: type, other, at: file)
        try await Context(coordinator).transaction { context in
            guard let author = try context.first(type) else { return }
            author[dynamicMember: property] = name
        }
        try await coordinator.close()
    }

    // MARK: Records

    private func replay(_ schema: Schema) -> StoreReplay { StoreReplay(schema: schema, path: "store") }

    private static func mismatch(of error: GraphError?) -> [String] {
        guard case .schemaMismatch("store", let differences)? = error else {
            Issue.record("\(String(describing: error))")
            return []
        }
        return Array(differences)
    }

    @Test func `commits before and after a change of names are read`() throws {
        var store = RecordedStore(schema: try Before.schema())
        try store.commit { $0.insert(1, Before.Author(name: "Ada")) }
        try store.commit { $0.change(Before.Author.self, 1) { $0.name = "Eve" } }
        let (old, new) = (SchemaRecord(try Before.schema()).bytes, SchemaRecord(try After.schema()).bytes)
        for schema in [try Renamed.schema(), try After.schema()] {
            var replay = replay(schema)
            try replay.apply(.schema, old)
            try replay.apply(.commit, store.records[0])
            try replay.apply(.schema, new)
            try replay.apply(.commit, store.records[1])
            #expect(try replay.recordsToAppend() == [])
            #expect(replay.snapshot.commit == CommitNumber(2) && replay.snapshot.check() == [])
        }
        let renamed = SchemaRecord(try After.schema()).following(SchemaRecord(try Before.schema()))
        var replay = replay(try Renamed.schema())
        try replay.apply(.schema, new)
        try replay.apply(.schema, old)
        #expect(try replay.recordsToAppend() == [Journal.Record(kind: .schema, payload: renamed.bytes)])
    }

    @Test func `a property of every kind may be renamed`() throws {
        enum Shade: String { case light, dark }
        struct Point: Codable, Equatable { var x = 0 }
        struct Old: Entity {
            var number = 0, numbers = [0], shade = Shade.dark, other: Shade?, point = Point()
            var parent: ToOne<Old> = nil, children: ToMany<Old> = []
            static let schema = EntitySchema<Old>("Old") {
                $0.attribute("number", \.number, unique: true)
                $0.attribute("numbers", \.numbers)
                $0.attribute("shade", \.shade, indexed: true)
                $0.attribute("other", \.other)
                $0.attribute("point", \.point)
                $0.toOne("parent", \.parent)
                $0.toMany("children", \.children, inverse: \Old.parent)
            }
        }
        struct New: Entity {
            var number1 = 0, numbers1 = [0], shade1 = Shade.dark, other1: Shade?, point1 = Point()
            var parent1: ToOne<New> = nil, children1: ToMany<New> = [], isOpen = false
            static let schema = EntitySchema<New>("New", originalName: "Old") {
                $0.transient("isOpen", \.isOpen, default: false)
                $0.attribute("number1", \.number1, unique: true, originalName: "number")
                $0.attribute("numbers1", \.numbers1, originalName: "numbers")
                $0.attribute("shade1", \.shade1, indexed: true, originalName: "shade")
                $0.attribute("other1", \.other1, originalName: "other")
                $0.attribute("point1", \.point1, originalName: "point")
                $0.toOne("parent1", \.parent1, originalName: "parent")
                $0.toMany("children1", \.children1, inverse: \New.parent1, originalName: "children")
            }
        }
        var replay = replay(try Schema([EntityDescription(New.self)]))
        try replay.apply(.schema, SchemaRecord(try Schema([EntityDescription(Old.self)])).bytes)
        #expect(try replay.recordsToAppend().count == 1)
        #expect(try replay.changes().count == 8 && replay.changes().allSatisfy { $0.isNeutral })
    }

    @Test func `a value that does not fit under unknown names is a matter of the schema`() throws {
        var replay = replay(try After.schema())
        try replay.apply(.schema, SchemaRecord(try Before.schema()).bytes)
        let error = #expect(throws: GraphError.self) { try replay.apply(.commit, [1, 2, 3]) }
        let differences = Self.mismatch(of: error)
        #expect(differences.first == "Writer: added")
        #expect(differences.last?.hasPrefix("record 2 does not fit the program: ") == true)
    }

    @Test func `whatever a later schema record says, replay refuses it or ends with the program's names`() throws {
        let before = SchemaRecord(try Before.schema()).bytes
        let (renamed, text) = (try Renamed.schema(), String(decoding: before, as: UTF8.self))
        var start = replay(renamed)
        try start.apply(.schema, before)
        var records = before.indices.flatMap { position in
            [UInt8(0), 10, 34, 49, 92, 120, 0xC3, 0xFF].map { byte in
                var record = before
                record[position] = byte
                return record
            }
        }
        records += (0..<before.count).map { Array(before.prefix($0)) }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        for index in lines.indices {
            var (removed, doubled, last) = (lines, lines, lines)
            removed.remove(at: index)
            doubled.insert(lines[index], at: index)
            last.append(last.remove(at: index))
            records += [removed, doubled, last].map { Array($0.joined(separator: "\n").utf8) }
        }
        records += [text + "\n", text + text, "\n" + text].map { Array($0.utf8) }
        for record in records where record != before {
            var replay = start
            do throws(GraphError) {
                try replay.apply(.schema, record)
                // A later record may still make good what is only another name.
                let more = try replay.recordsToAppend()
                Issue.record("\(String(decoding: record, as: UTF8.self)) is taken: \(more.count)")
            } catch {
                switch error {
                case .schemaMismatch, .invalidRecord: break
                default: Issue.record("\(String(decoding: record, as: UTF8.self)): \(error)")
                }
            }
        }
    }

    @Test func `names of any length and kind are compared in little memory`() throws {
        let program = replay(try Renamed.schema())
        let before = String(decoding: SchemaRecord(try Before.schema()).bytes, as: UTF8.self)
        for letter in ["x", "\u{301}"] {
            let name = String(repeating: letter, count: 1 << 20)
            for text in [before.replacing("Author", with: name), before.replacing("title", with: name)] {
                var replay = program
                let error = #expect(throws: GraphError.self) {
                    try replay.apply(.schema, Array(text.utf8))
                    _ = try replay.recordsToAppend()
                }
                #expect("\(error as Any)".utf8.count < 20_000)
            }
        }
    }
}

/// As `Renamed`, but for an index.
private enum Indexed {
    @Entity(originalName: "Author") struct Writer {
        @Attribute(originalName: "name") var fullName: String
        @Indexed var email: String?
        @Relationship(.cascade, inverse: \Book.writer, originalName: "books") var works: ToMany<Book> = []
    }

    @Entity struct Book {
        var title: String
        @Relationship(originalName: "author") var writer: ToOne<Writer> = nil
    }
}

/// One of the changes from `Before` to `Renamed`.
private enum HalfWay {
    @Entity struct Author {
        @Attribute(originalName: "name") var fullName: String
        @Unique var email: String?
        @Relationship(.cascade, inverse: \Book.author) var books: ToMany<Book> = []
    }

    @Entity struct Book {
        var title: String
        var author: ToOne<Author> = nil
    }
}

/// From `After` to the names of `Before`.
private enum Back {
    @Entity(originalName: "Writer") struct Author {
        @Attribute(originalName: "fullName") var name: String
        @Unique var email: String?
        @Relationship(.cascade, inverse: \Book.author, originalName: "works") var books: ToMany<Book> = []
    }

    @Entity struct Book {
        var title: String
        @Relationship(originalName: "writer") var author: ToOne<Author> = nil
    }
}
