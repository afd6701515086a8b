import Testing

@testable import Graph

/// A history of commits as states and as the records that a journal would hold.
struct RecordedStore {
    private(set) var state: CommitState
    private(set) var records: [[UInt8]] = []
    let counters: [RowNumber]

    init(schema: Schema, counter: RowNumber = 100) {
        state = CommitState(head: Snapshot(schema: schema))
        counters = schema.entities.map { _ in counter }
    }

    /// A store that begins like another one.
    init(_ other: RecordedStore, _ records: some Sequence<[UInt8]>) {
        self = other
        self.records += records
    }

    /// Albums.
    init(counter: RowNumber = 100) throws {
        self = RecordedStore(schema: try .albums(), counter: counter)
    }

    mutating func commit(_ body: (inout WorkingState) -> Void) throws {
        var request = WorkingState(base: state.head)
        body(&request)
        let commit = try state.prepare(request)
        records.append(try CommitRecord.encode(commit.state, counters: counters, time: 7, author: "x"))
        state.accept(commit)
    }

    /// Writes the records into a new file, which says that it is of this schema.
    func write(to disk: SimulatedDisk, as schema: Schema) throws {
        let opening = JournalOpening(fileSystem: disk, options: JournalFixture.options())
        var nothing = 0
        let opened = try opening.open(
            at: JournalFixture.path, schema: SchemaRecord(schema).bytes, seal: RowCounters.encode(counters),
            into: &nothing
        ) { _, _ in }
        var writer = opened.writer
        for record in records { try writer.write([Journal.Record(kind: .commit, payload: record)]) }
        disk.killProcess()
    }

    /// The state that the records give, with the indexes kept up or, once it is finished, built at the end.
    func replay(keepsIndexes: Bool = true) throws -> StoreReplay {
        var replay = StoreReplay(schema: state.head.schema, path: "store", keepsIndexes: keepsIndexes)
        for record in records { try replay.apply(.commit, record) }
        return replay
    }

    /// The same, after checking that it makes no difference when the indexes are built.
    func checkedReplay() throws -> StoreReplay {
        let replay = try replay()
        var other = try self.replay(keepsIndexes: false)
        let more = try other.finish()
        #expect(more == [])
        #expect(other.snapshot.check() == [] && other.snapshot.commit == replay.snapshot.commit)
        #expect(differences(from: other.snapshot) == [])
        for (ours, theirs) in zip(replay.snapshot.entities, other.snapshot.entities) {
            for (ours, theirs) in zip(ours.indexes, theirs.indexes) {
                #expect(ours.forEachDifference(from: theirs) { _, _ in false })
            }
        }
        return replay
    }

    /// Rows that are not the same in another state.
    func differences(from other: Snapshot) -> [String] {
        var differences: [String] = []
        for (entity, description) in other.schema.entities.enumerated() {
            let (ours, theirs) = (state.head.entities[entity].rows, other.entities[entity].rows)
            for row in Set(ours.rowNumbers).union(theirs.rowNumbers).sorted() {
                let name = "\(description.name)/p\(row)"
                guard let left = ours.address(of: row), let right = theirs.address(of: row) else {
                    differences.append("\(name) is in one state only")
                    continue
                }
                if !description.areIdentical(left, right) { differences.append("\(name) has another value") }
                if ours.version(of: row) != theirs.version(of: row) {
                    differences.append("\(name) has another version")
                }
            }
        }
        return differences
    }
}

extension RecordedStore {
    /// A few changes of albums, photos and notes that break no rule.
    mutating func commitRandomly(_ random: inout SeededGenerator) throws {
        try commit { work in
            let fresh = 1 + RowNumber(work.base.commit.number) * 10
            work.insert(fresh, Album(title: random.string(), code: random.chance(3) ? nil : "\(fresh)"))
            for offset in 1..<RowNumber.random(in: 2...4, using: &random) {
                let album = random.album(of: work)
                work.insert(fresh + offset, Photo(caption: random.string(), album: album))
                work.insert(fresh + offset, Note(text: random.string(), album: album))
            }
            for row in work.rows(of: Note.self) where random.chance(3) {
                let note = Note(text: random.string(), album: random.album(of: work))
                work.change(Note.self, row) { $0 = note }
            }
            for row in work.rows(of: Album.self) where random.chance(5) { work.delete(Album.self, row) }
        }
    }
}

extension SeededGenerator {
    fileprivate mutating func string() -> String { AttributeValues.string(&self) }

    fileprivate mutating func album(of work: WorkingState) -> ToOne<Album> {
        chance(4) ? nil : ToOne(work.rows(of: Album.self).randomElement(using: &self).map { PersistentID(row: $0) })
    }
}

extension StoreReplay {
    mutating func apply(_ kind: Journal.RecordKind, _ payload: [UInt8]) throws(GraphError) {
        // The compiler does not yet pass a closure's error type through `withUnsafeBytes`.
        let result = payload.withUnsafeBytes { buffer in
            Result { () throws(GraphError) in
                try apply(JournalEntry(kind: kind, sequence: JournalSequence(2), offset: 64, payload: buffer))
            }
        }
        try result.get()
    }
}
