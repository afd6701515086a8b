import Foundation
import Testing

@testable import Graph

/// Commit records there and back, and each kind of record that makes no sense.
struct StoreReplayTests {
    private static func album(_ row: RowNumber) -> ToOne<Album> { ToOne(PersistentID(row: row)) }

    // MARK: Valid records

    @Test func `records of real commits give the same state`() throws {
        var store = try RecordedStore(counter: 1 << 41)
        try store.commit {
            $0.insert(1, Album(title: "one", code: "a"))
            $0.insert(1 << 40, Album(title: "far", code: nil))
            $0.insert(3, Photo(caption: "photo", album: Self.album(1)))
            $0.insert(9, Note(text: "note", album: Self.album(1 << 40)))
        }
        try store.commit {
            $0.change(Album.self, 1) { $0.code = "b" }
            $0.change(Album.self, 1 << 40) { $0.code = "a" }
            $0.change(Note.self, 9) { $0 = Note(text: "", album: nil) }
        }
        try store.commit {
            $0.delete(Album.self, 1)
            $0.insert(2, Frame(width: .min))
        }
        let replay = try store.checkedReplay()
        #expect(replay.snapshot.commit == CommitNumber(3))
        #expect(replay.snapshot.check() == [])
        #expect(store.differences(from: replay.snapshot) == [])
        #expect(replay.counters == store.counters)
        #expect(replay.snapshot.version(Album.self, 1 << 40) == 2)
    }

    @Test(arguments: UInt64(0)..<15)
    func `records of random commits give the same state`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var store = try RecordedStore(counter: 1000)
        for _ in 0..<15 { try store.commitRandomly(&random) }
        let replay = try store.checkedReplay()
        #expect(replay.snapshot.check() == [])
        #expect(store.differences(from: replay.snapshot) == [])
    }

    @Entity struct Spot {
        var number = 0
        var place = AttributeValues.places[3]
    }

    @Test(.bug(id: "codable-identity", "a store with such a row could not be opened after its next change"))
    func `a value that does not equal itself does not keep a store from opening`() throws {
        var store = RecordedStore(schema: try Schema([EntityDescription(Spot.self)]))
        try store.commit { $0.insert(1, Spot()) }
        try store.commit { $0.change(Spot.self, 1) { $0.number = 1 } }
        try store.commit { $0.change(Spot.self, 1) { $0.place.name = "y" } }
        try store.commit { $0.delete(Spot.self, 1) }
        let replay = try store.checkedReplay()
        #expect(replay.snapshot.commit == CommitNumber(4) && replay.snapshot.count(of: Spot.self) == 0)
    }

    // MARK: Records that make no sense

    private struct Lax: Entity {
        var next: ToOne<Lax> = nil
        static let schema = EntitySchema<Lax>("Item") { $0.toOne("next", \.next) }
    }

    private struct Strict: Entity {
        var next: ToOne<Strict> = nil
        static let schema = EntitySchema<Strict>("Item") { $0.toOne("next", \.next, minimum: 1) }
    }

    @Test(arguments: [true, false])
    func `a row with fewer objects than it must have`(keepsIndexes: Bool) throws {
        var store = RecordedStore(schema: try Schema([EntityDescription(Lax.self)]))
        try store.commit {
            $0.insert(1, Lax(next: ToOne(PersistentID(row: 2))))
            $0.insert(2, Lax(next: ToOne(PersistentID(row: 1))))
        }
        try store.commit { $0.change(Lax.self, 2) { $0.next = nil } }
        let schema = try Schema([EntityDescription(Strict.self)])
        var replay = StoreReplay(schema: schema, path: "store", keepsIndexes: keepsIndexes)
        try replay.apply(.commit, store.records[0])
        let error = #expect(throws: GraphError.self) {
            try replay.apply(.commit, store.records[1])
            _ = try replay.finish()
        }
        #expect(error?.description.contains("Item/p2.next: must not be nil") == true)
    }

    /// A store with an album that has a note, and a free album.
    private static func start() throws -> RecordedStore {
        var store = try RecordedStore()
        try store.commit {
            $0.insert(1, Album(title: "one", code: "a"))
            $0.insert(2, Album(title: "two"))
            $0.insert(1, Note(text: "note", album: album(1)))
        }
        return store
    }

    /// The reason why a record is refused after `start()`.
    private static func refusal(_ record: RecordBuilder, sourceLocation: SourceLocation = #_sourceLocation) throws
        -> String
    {
        var replay = try start().replay()
        let error = #expect(throws: GraphError.self, sourceLocation: sourceLocation) {
            try replay.apply(.commit, record.bytes)
        }
        guard case .invalidRecord("store", 64, 2, let reason)? = error else {
            Issue.record("\(String(describing: error))", sourceLocation: sourceLocation)
            return ""
        }
        #expect(throws: GraphError.self, sourceLocation: sourceLocation) {
            var replay = try start().replay(keepsIndexes: false)
            try replay.apply(.commit, record.bytes)
            _ = try replay.finish()
        }
        return reason.components(separatedBy: " (byte")[0]
    }

    @Test func `a well-formed record made by hand is taken`() throws {
        var replay = try Self.start().replay()
        var record = RecordBuilder()
        record.inserts = [RecordBuilder.row(3, 1, ["three", "c"])]
        record.updates = [RecordBuilder.update(2, 2, [(tag: 1, old: "two", new: "2")])]
        try replay.apply(.commit, record.bytes)
        #expect(replay.snapshot.value(2, as: Album.self)?.title == "2")
        #expect(replay.snapshot.value(3, as: Album.self)?.code == "c")
        #expect(replay.snapshot.check() == [])
    }

    @Test(arguments: [UInt64(0), 1, 3, .max])
    func `a wrong commit number`(number: UInt64) throws {
        var record = RecordBuilder()
        record.number = number
        #expect(try Self.refusal(record) == "commit \(number) after commit 1")
    }

    @Test func `a doubled insert`() throws {
        var record = RecordBuilder()
        record.inserts = [RecordBuilder.row(2, 1, ["again", nil])]
        #expect(try Self.refusal(record) == "row 2 is inserted, but exists")
        record.inserts = [RecordBuilder.row(3, 1, ["x", nil]), RecordBuilder.row(0, 1, ["x", nil])]
        #expect(try Self.refusal(record) == "row 3 is out of order")
    }

    @Test func `an update of a missing row, or of one at another version`() throws {
        var record = RecordBuilder()
        for (row, version) in [(RowNumber(3), UInt64(2)), (2, 1), (2, 3)] {
            record.updates = [RecordBuilder.update(row, version, [(tag: 1, old: "two", new: "2")])]
            let reason = "row \(row) is updated to version \(version), but is not at the one before"
            #expect(try Self.refusal(record) == reason)
        }
    }

    @Test(arguments: [UInt64(0), .max])
    func `version 0 and the largest number are no versions`(version: UInt64) throws {
        var record = RecordBuilder()
        record.inserts = [RecordBuilder.row(3, version, ["x", nil])]
        #expect(try Self.refusal(record) == "version \(version) of row 3")
    }

    @Test func `an update whose old value is another`() throws {
        var record = RecordBuilder()
        record.updates = [RecordBuilder.update(2, 2, [(tag: 1, old: "one", new: "2")])]
        #expect(try Self.refusal(record) == "title of row 2 had another value before")
    }

    @Test func `an update of a to-many relationship, or of no property at all`() throws {
        var record = RecordBuilder()
        record.updates = [RecordBuilder.update(2, 2, [(tag: 3, old: "", new: "")])]
        #expect(try Self.refusal(record) == "photos is not stored")
        for tag in [UInt64(0), 6, .max] {
            record.updates = [RecordBuilder.update(2, 2, [(tag: tag, old: "", new: "")])]
            #expect(try Self.refusal(record) == "no property has the tag \(tag)")
        }
    }

    @Test func `R28a: an update of a transient property, whose tag no record has`() throws {
        struct Page: Entity {
            var isOpen = false
            var text = ""
            static let schema = EntitySchema<Page>("Page") {
                $0.transient("isOpen", \.isOpen, default: true)
                $0.attribute("text", \.text)
            }
        }
        var store = RecordedStore(schema: try Schema([EntityDescription(Page.self)]))
        try store.commit { $0.insert(1, Page(text: "one")) }
        var replay = try store.replay()
        #expect(replay.snapshot.value(1, as: Page.self)?.isOpen == true)
        var record = RecordBuilder()
        record.entity = 1
        record.updates = [RecordBuilder.update(1, 2, [(tag: 1, old: "one", new: "two"), (tag: 2, old: "", new: "")])]
        let error = #expect(throws: GraphError.self) { try replay.apply(.commit, record.bytes) }
        #expect(error?.description.contains("isOpen is not stored") == true)
    }

    @Test func `a delete with another value or version, or of a missing row`() throws {
        var record = RecordBuilder()
        record.deletes = [RecordBuilder.row(2, 1, ["one", nil])]
        #expect(try Self.refusal(record) == "row 2 is deleted with another value than it has")
        for (row, version) in [(RowNumber(2), UInt64(2)), (3, 1)] {
            record.deletes = [RecordBuilder.row(row, version, ["two", nil])]
            #expect(try Self.refusal(record) == "row \(row) is deleted at version \(version), which it does not have")
        }
        record.deletes = [RecordBuilder.row(1, 1, ["one", "a"])]
        #expect(try Self.refusal(record) == "row 1 is deleted while others refer to it")
    }

    @Test func `a reference to a missing row`() throws {
        var record = RecordBuilder()
        record.entity = 3
        record.inserts = [RecordBuilder.row(2, 1, ["note"]) + [7]]
        #expect(try Self.refusal(record) == "Note/p2.album refers to Album/p7, which does not exist")
    }

    @Test func `a unique value twice`() throws {
        var record = RecordBuilder()
        record.inserts = [RecordBuilder.row(3, 1, ["three", "a"])]
        #expect(try Self.refusal(record) == "rows 1 and 3 of Album share a unique value of code")
        record.inserts = [RecordBuilder.row(3, 1, ["x", "b"]), RecordBuilder.row(1, 1, ["x", "b"])]
        #expect(try Self.refusal(record) == "rows 3 and 4 of Album share a unique value of code")
    }

    @Test func `a row beyond the counter, or far beyond every number`() throws {
        var record = RecordBuilder()
        record.inserts = [RecordBuilder.row(100, 1, ["x", nil])]
        #expect(try Self.refusal(record) == "row 100 is beyond the row counter")
        record.inserts = [RecordBuilder.row(3, 1, ["x", nil]), RecordBuilder.row(.max, 1, ["x", nil])]
        #expect(try Self.refusal(record) == "row 2 is out of order")
    }

    @Test func `a counter beyond the maximum, and lower ones, of which the highest counts`() throws {
        var record = RecordBuilder()
        for counter in [RowCounters.maximum + 1, .max] {
            record.counters = [(2, counter)]
            #expect(try Self.refusal(record) == "row counter \(counter)")
        }
        record.inserts = [RecordBuilder.row(99, 1, ["x", nil])]
        for counters in [[0], [99], [1, 100, 7]] as [[RowNumber]] {
            record.counters = counters.map { (2, $0) }
            var replay = try Self.start().replay()
            try replay.apply(.commit, record.bytes)
            #expect(replay.counters[1] == 100)
        }
        record.inserts = [RecordBuilder.row(100, 1, ["x", nil])]
        record.counters = [(2, 5)]
        #expect(try Self.refusal(record) == "row 100 is beyond the row counter")
    }

    @Test(arguments: [UInt64(0), 6, 1 << 40, .max])
    func `a tag that no entity has`(tag: UInt64) throws {
        var record = RecordBuilder()
        record.entity = tag
        #expect(try Self.refusal(record) == "no entity has the tag \(tag)")
        record = RecordBuilder()
        record.counters = [(tag, 100)]
        #expect(try Self.refusal(record) == "no entity has the tag \(tag)")
    }

    @Test func `entities out of order`() throws {
        var record = RecordBuilder()
        record.repeatsEntity = true
        #expect(try Self.refusal(record) == "entities out of order")
    }

    @Test func `bytes left over`() throws {
        var record = RecordBuilder()
        record.trailing = [0]
        #expect(try Self.refusal(record) == "1 bytes left over")
    }

    @Test func `marks and closing records carry counters and nothing else`() throws {
        for kind in [Journal.RecordKind.mark, .close] {
            var replay = try Self.start().replay()
            try replay.apply(kind, [1, 2, 101])
            #expect(replay.counters == [100, 101, 100, 100, 100])
            try replay.apply(kind, [1, 2, 5])
            #expect(replay.counters == [100, 101, 100, 100, 100])
            for payload: [UInt8] in [[], [1, 9, 101], [1, 2, 102, 0], [2, 2, 102], [1, 2]] {
                #expect(throws: GraphError.self, "\(payload)") { try replay.apply(kind, payload) }
            }
        }
    }

    @Test func `records of another schema, and of kinds still to come`() throws {
        let start = try RecordedStore().replay()
        let spare = try SchemaRecord(Schema([EntityDescription(Spare.self)])).bytes
        var replay = start
        let error = #expect(throws: GraphError.self) { try replay.apply(.schema, spare) }
        guard case .schemaMismatch("store", let differences)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(differences.contains("Photo: added"))
        // All records of a file mean the same under each of its schemas.
        replay = start
        try replay.apply(.schema, SchemaRecord(.albums()).bytes)
        #expect(throws: GraphError.self) { try replay.apply(.schema, spare) }
        replay = start
        #expect(throws: GraphError.self) { try replay.apply(.schema, [0xFF, 0xFE]) }
        replay = start
        #expect(throws: GraphError.self) { try replay.apply(.snapshotChunk, []) }
        #expect(throws: GraphError.self) { try replay.apply(.snapshotEnd, []) }
    }

    @Entity fileprivate struct Spare {
        var name = ""
    }
}
