import Testing

@testable import Graph

/// Records whose checksums would hold and whose contents nobody vouches for: a replay refuses them, or comes out with a
/// state that keeps every rule.
struct StoreReplayHostileTests {
    enum Model: CaseIterable {
        case albums
        case school

        func store() throws -> (store: RecordedStore, record: [UInt8]) {
            switch self {
            case .albums: try StoreReplayHostileTests.albums()
            case .school: try StoreReplayHostileTests.school()
            }
        }
    }

    /// A store with every kind of relationship, and the record of one more commit that changes some of each.
    static func school() throws -> (store: RecordedStore, record: [UInt8]) {
        func id<E>(_ row: RowNumber) -> PersistentID<E> { PersistentID(row: row) }
        let schema = try Schema([
            EntityDescription(Course.self), EntityDescription(Lecture.self), EntityDescription(Student.self),
            EntityDescription(Locker.self), EntityDescription(Paper.self), EntityDescription(Hall.self),
        ])
        var store = RecordedStore(schema: schema)
        try store.commit {
            $0.insert(1, Hall(house: "A"))
            $0.insert(1, Course(title: "a", room: ToOne(id(1))))
            $0.insert(2, Course(title: "b"))
            for row in RowNumber(1)...3 {
                $0.insert(row, Student(name: "s", email: "\(row)"))
                $0.insert(row, Lecture(title: "l", course: ToOne(id(1))))
                $0.insert(row, Paper(title: "p"))
            }
            $0.insert(1, Locker(number: 1, student: ToOne(id(1))))
            $0.insert(2, Locker(number: 2))
            $0.assign(\Course.students, of: 1, [1, 2])
            $0.assign(\Course.readings, of: 1, [2, 1])
            $0.assign(\Course.readings, of: 2, [1, 2, 3])
            $0.assign(\Student.buddies, of: 1, [1, 2])
        }
        var longer = store
        try longer.commit {
            $0.change(Lecture.self, 2) { $0.course = ToOne(id(2)) }
            $0.delete(Lecture.self, 3)
            $0.insert(4, Lecture(title: "m", course: ToOne(id(2))))
            $0.change(Student.self, 2) { $0.locker = ToOne(id(1)) }
            $0.change(Student.self, 3) { $0.mentor = ToOne(id(1)) }
            $0.assign(\Course.students, of: 1, [2, 3])
            $0.assign(\Course.readings, of: 1, [1, 3])
            $0.assign(\Course.readings, of: 2, [3, 1])
            $0.assign(\Paper.courses, of: 1, [2, 1])
            $0.assign(\Student.buddies, of: 1, [3])
            $0.delete(Paper.self, 2)
        }
        return (store, longer.records[1])
    }

    /// A store, and the record of one more commit with inserts, updates and deletes.
    private static func albums() throws -> (store: RecordedStore, record: [UInt8]) {
        var store = try RecordedStore()
        try store.commit {
            $0.insert(1, Album(title: "one", code: "a"))
            $0.insert(2, Album(title: "two", code: "b"))
            $0.insert(1, Photo(caption: "p", album: ToOne(PersistentID(row: 1))))
            $0.insert(1, Note(text: "n", album: ToOne(PersistentID(row: 1))))
            $0.insert(1, Loan(borrower: "l", album: ToOne(PersistentID(row: 2))))
        }
        var longer = store
        try longer.commit {
            $0.insert(3, Album(title: "three", code: "c"))
            $0.change(Album.self, 2) { $0.code = nil }
            $0.insert(2, Photo(caption: "q", album: ToOne(PersistentID(row: 3))))
            $0.change(Note.self, 1) { $0.album = ToOne(PersistentID(row: 2)) }
            $0.delete(Photo.self, 1)
            $0.delete(Album.self, 1)
            $0.change(Loan.self, 1) { $0.borrower = "m" }
            $0.insert(1, Frame(width: 5, photo: ToOne(PersistentID(row: 2))))
        }
        return (store, longer.records[1])
    }

    /// The same records, replayed with indexes kept up and with indexes to be built at the end.
    private struct Start {
        let kept: StoreReplay
        let put: StoreReplay

        init(_ store: RecordedStore, length: Int = .max) throws {
            var (kept, put) = (
                StoreReplay(schema: store.state.head.schema, path: "store"),
                StoreReplay(schema: store.state.head.schema, path: "store", keepsIndexes: false)
            )
            for record in store.records.prefix(length) {
                try kept.apply(.commit, record)
                try put.apply(.commit, record)
            }
            (self.kept, self.put) = (kept, put)
        }
    }

    /// Whether the record was taken, after checking what came of it.
    @discardableResult
    private static func replay(_ record: [UInt8], after start: Start) -> Bool {
        let kept = result(of: record, after: start.kept)
        let put = result(of: record, after: start.put)
        if (kept == nil) != (put == nil) { Issue.record("\(record) is taken only in one way") }
        return kept != nil
    }

    /// The state, if the record was taken.
    private static func result(of record: [UInt8], after start: StoreReplay) -> Snapshot? {
        var replay = start
        do throws(GraphError) {
            try replay.apply(.commit, record)
            _ = try replay.finish()
        } catch {
            switch error {
            case .invalidRecord, .schemaMismatch: break
            default: Issue.record("\(record): \(error)")
            }
            return nil
        }
        // Conditions, since expectations by the ten thousand take longer than what they check.
        let findings = replay.snapshot.checkByHand()
        if !findings.isEmpty { Issue.record("\(record): \(findings)") }
        if replay.snapshot.commit != start.snapshot.commit.next { Issue.record("\(record): \(replay.snapshot.commit)") }
        return replay.snapshot
    }

    @Test(arguments: Model.allCases)
    func `the record itself is taken`(model: Model) throws {
        let (store, record) = try model.store()
        #expect(Self.replay(record, after: try Start(store)))
    }

    @Test(arguments: Model.allCases)
    func `a record cut off anywhere is refused, and so is one with a byte more`(model: Model) throws {
        let (store, record) = try model.store()
        let start = try Start(store)
        for length in 0..<record.count { #expect(!Self.replay(Array(record.prefix(length)), after: start)) }
        for byte in UInt8(0)...255 { #expect(!Self.replay(record + [byte], after: start)) }
    }

    /// Every bit, what is next to it, the values where a varint changes its length, and some others.
    @Test(arguments: Model.allCases)
    func `each byte with another value`(model: Model) throws {
        let (store, record) = try model.store()
        let start = try Start(store)
        var random = SystemRandomNumberGenerator()
        for position in record.indices {
            let byte = record[position]
            var values: Set<UInt8> = [0, 1, 0x7F, 0x80, 0xFF, byte &+ 1, byte &- 1]
            for bit in 0..<8 { values.insert(byte ^ 1 << bit) }
            for _ in 0..<8 { values.insert(.random(in: 0...255, using: &random)) }
            for value in values where value != byte {
                var record = record
                record[position] = value
                Self.replay(record, after: start)
            }
        }
    }

    @Test(arguments: Model.allCases, UInt64(0)..<4)
    func `random changes of several bytes`(model: Model, seed: UInt64) throws {
        let (store, record) = try model.store()
        let start = try Start(store)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<2000 {
            var bytes = record
            for _ in 0..<Int.random(in: 2...5, using: &random) {
                let position = Int.random(in: 0..<bytes.count, using: &random)
                let byte = [0, 1, 2, 3, 0x7F, 0x80, 0xFF, UInt8.random(in: 0...255, using: &random)]
                    .randomElement(using: &random)!
                switch Int.random(in: 0..<6, using: &random) {
                case 0: bytes.insert(byte, at: position)
                case 1: bytes.remove(at: position)
                case 2:
                    bytes.replaceSubrange(
                        position..<position, with: record.suffix(Int.random(in: 0...20, using: &random)))
                default: bytes[position] = byte
                }
            }
            Self.replay(bytes, after: start)
        }
    }

    @Test(arguments: UInt64(0)..<4)
    func `records of one history played after another`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var (one, two) = (try RecordedStore(counter: 1000), try RecordedStore(counter: 1000))
        for _ in 0..<12 {
            try one.commitRandomly(&random)
            try two.commitRandomly(&random)
        }
        for length in 0..<one.records.count {
            let start = try Start(one, length: length)
            for record in two.records + one.records { Self.replay(record, after: start) }
        }
    }
}
