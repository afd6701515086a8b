import Testing

@testable import Graph

/// What becomes of a save, decided without a coordinator: heads and requests are values.
struct CommitStateTests {
    /// An album with one of everything, and a second one.
    private static func start() throws -> CommitState {
        var state = CommitState(head: Snapshot(schema: try .albums()))
        try state.commit {
            $0.insert(1, Album(title: "one", code: "a"))
            $0.insert(2, Album(title: "two", code: "b"))
            $0.insert(1, Note(text: "note", album: ToOne(PersistentID(row: 1))))
            $0.insert(1, Photo(caption: "photo", album: ToOne(PersistentID(row: 1))))
        }
        return state
    }

    private static func conflicts(_ state: CommitState, _ request: WorkingState) -> [String] {
        let error = #expect(throws: GraphError.self) { try state.prepare(request) }
        guard case .conflicts(let conflicts)? = error else {
            Issue.record("no conflicts: \(String(describing: error))")
            return []
        }
        return conflicts.map { "\($0.id) \($0.oldVersion) \($0.newVersion)" }
    }

    // MARK: Fast-forward and rebase

    @Test func `with nobody in between a save is published as it was made`() throws {
        var state = try Self.start()
        var request = WorkingState(base: state.head)
        request.change(Album.self, 1) { $0.title = "changed" }
        let commit = try state.prepare(request)
        #expect(commit.isAsRequested)
        #expect(commit.number == CommitNumber(2))
        #expect(state.head.commit == CommitNumber(1))
        state.accept(commit)
        #expect(state.head.commit == CommitNumber(2))
        #expect(state.head.value(1, as: Album.self)?.title == "changed")
        #expect(state.head.check() == [])
    }

    @Test func `changes of different rows are put on top of one another`() throws {
        var state = try Self.start()
        var request = WorkingState(base: state.head)
        request.change(Album.self, 1) { $0.title = "ours" }
        request.insert(3, Album(title: "three"))
        request.delete(Note.self, 1)
        try state.commit {
            $0.change(Album.self, 2) { $0.title = "theirs" }
            $0.insert(4, Album(title: "four"))
        }
        let commit = try state.prepare(request)
        #expect(!commit.isAsRequested)
        #expect(commit.number == CommitNumber(3))
        state.accept(commit)
        let titles = try state.head.fetchValues(Album.self).map(\.title)
        #expect(titles == ["ours", "theirs", "three", "four"])
        #expect(state.head.count(of: Note.self) == 0)
        #expect(state.head.check() == [])
    }

    @Test func `a save of nothing comes to nothing`() throws {
        var state = try Self.start()
        let request = WorkingState(base: state.head)
        #expect(try state.prepare(request).isEmpty)
        try state.commit { $0.change(Album.self, 2) { $0.title = "theirs" } }
        #expect(try state.prepare(request).isEmpty)
    }

    @Test func `a reset takes back the commits since`() throws {
        var state = try Self.start()
        let durable = state.head
        try state.commit { $0.delete(Note.self, 1) }
        state.reset(to: durable)
        #expect(state.head.commit == CommitNumber(1) && state.head.count(of: Note.self) == 1)
        try state.commit { $0.change(Note.self, 1) { $0.text = "again" } }
        #expect(state.head.commit == CommitNumber(2) && state.head.version(Note.self, 1) == 2)
    }

    // MARK: Versions

    @Test func `R1 versions grow by exactly one with each commit that changes the row`() throws {
        var state = try Self.start()
        for version in UInt64(1)...5 {
            #expect(state.head.version(Album.self, 1) == version)
            #expect(state.head.version(Album.self, 2) == 1)
            try state.commit {
                $0.change(Album.self, 1) { $0.title += "x" }
                $0.change(Album.self, 1) { $0.title += "y" }
            }
        }
        var stale = WorkingState(base: state.head)
        stale.insert(3, Album(title: "three"))
        stale.change(Album.self, 2) { $0.title = "ours" }
        try state.commit { $0.change(Album.self, 1) { $0.title = "theirs" } }
        state.accept(try state.prepare(stale))
        #expect(state.head.version(Album.self, 1) == 7)
        #expect(state.head.version(Album.self, 2) == 2)
        #expect(state.head.version(Album.self, 3) == 1)
    }

    @Test func `R1 an equal value is no change`() throws {
        let state = try Self.start()
        var request = WorkingState(base: state.head)
        #expect(request.change(Album.self, 1) { $0.title = "one" } == false)
        #expect(request.changes.isEmpty)
        #expect(try state.prepare(request).isEmpty)
    }

    @Test func `R1 a row that is set back to its base value is not written`() throws {
        var state = try Self.start()
        var request = WorkingState(base: state.head)
        request.change(Album.self, 1) { $0.title = "other" }
        request.change(Album.self, 2) { $0.title = "other" }
        request.change(Album.self, 1) { $0.title = "one" }
        #expect(request.kind(Album.self, 1) == nil && request.kind(Album.self, 2) == .updated)
        #expect(request.snapshot.version(Album.self, 1) == 1)
        try state.commit { $0.change(Album.self, 1) { $0.title = "theirs" } }
        state.accept(try state.prepare(request))
        #expect(state.head.value(1, as: Album.self)?.title == "theirs")
        #expect(state.head.version(Album.self, 1) == 2)
    }

    @Test func `an insert that is deleted again leaves nothing`() throws {
        let state = try Self.start()
        var request = WorkingState(base: state.head)
        request.insert(3, Album(title: "three", code: "a"))
        request.delete(Album.self, 3)
        #expect(try state.prepare(request).isEmpty)
    }

    // MARK: Conflicts

    @Test func `R2 update against update`() throws {
        var state = try Self.start()
        var request = WorkingState(base: state.head)
        request.change(Album.self, 1) { $0.title = "ours" }
        try state.commit { $0.change(Album.self, 1) { $0.code = "theirs" } }
        try state.commit { $0.change(Album.self, 1) { $0.code = "theirs again" } }
        let error = #expect(throws: GraphError.self) { try state.prepare(request) }
        guard case .conflicts(let conflicts)? = error, let conflict = conflicts.first else {
            Issue.record("no conflict")
            return
        }
        #expect(conflicts.count == 1)
        #expect(conflict.id == AnyPersistentID(entityName: "Album", row: 1))
        #expect(conflict.oldVersion == RowVersion(1) && conflict.newVersion == RowVersion(3))
        #expect((conflict.base as? Album)?.title == "one")
        #expect((conflict.theirs as? Album)?.code == "theirs again")
        #expect((conflict.ours as? Album)?.title == "ours")
    }

    @Test func `R2 update against delete has the new version 0`() throws {
        var state = try Self.start()
        var request = WorkingState(base: state.head)
        request.change(Note.self, 1) { $0.text = "ours" }
        try state.commit { $0.delete(Note.self, 1) }
        #expect(Self.conflicts(state, request) == ["Note/p1 1 0"])
        var moved = WorkingState(base: state.head)
        moved.rebase(request)
        #expect(Self.conflicts(state, moved) == ["Note/p1 1 0"])
    }

    @Test func `R2 delete against update`() throws {
        var state = try Self.start()
        var request = WorkingState(base: state.head)
        request.delete(Note.self, 1)
        try state.commit { $0.change(Note.self, 1) { $0.text = "theirs" } }
        #expect(Self.conflicts(state, request) == ["Note/p1 1 2"])
    }

    @Test func `R6 delete against delete is no conflict and leaves nothing to do`() throws {
        var state = try Self.start()
        var request = WorkingState(base: state.head)
        request.delete(Note.self, 1)
        try state.commit { $0.delete(Note.self, 1) }
        #expect(try state.prepare(request).isEmpty)
        request.change(Album.self, 2) { $0.title = "ours" }
        let commit = try state.prepare(request)
        #expect(commit.state.kind(Note.self, 1) == nil && commit.state.kind(Album.self, 2) == .updated)
    }

    @Test func `R5 all conflicts come in one error, and head stays`() throws {
        var state = try Self.start()
        var request = WorkingState(base: state.head)
        request.change(Album.self, 1) { $0.title = "ours" }
        request.change(Photo.self, 1) { $0.caption = "ours" }
        request.delete(Note.self, 1)
        request.change(Album.self, 2) { $0.title = "ours" }
        try state.commit {
            $0.change(Album.self, 1) { $0.title = "theirs" }
            $0.change(Note.self, 1) { $0.text = "theirs" }
            $0.delete(Photo.self, 1)
        }
        #expect(Self.conflicts(state, request) == ["Photo/p1 1 0", "Album/p1 1 2", "Note/p1 1 2"])
        #expect(state.head.commit == CommitNumber(2))
        #expect(state.head.value(2, as: Album.self)?.title == "two")
    }

    // MARK: Uniqueness

    private static func violations(_ state: CommitState, _ request: WorkingState) -> [String] {
        let error = #expect(throws: GraphError.self) { try state.prepare(request) }
        guard case .notUnique(let violations)? = error else {
            Issue.record("no violations: \(String(describing: error))")
            return []
        }
        return violations.map(\.description)
    }

    @Test func `R10 a value that a committed row has`() throws {
        var state = try Self.start()
        var request = WorkingState(base: state.head)
        request.insert(3, Album(title: "three", code: "a"))
        #expect(Self.violations(state, request) == ["Album/p3.code = \"a\" is taken by Album/p1"])
        request.change(Album.self, 3) { $0.code = "c" }
        try state.commit { $0.insert(4, Album(title: "four", code: "c")) }
        #expect(Self.violations(state, request) == ["Album/p3.code = \"c\" is taken by Album/p4"])
    }

    @Test func `R10 a value that two rows of the save have`() throws {
        let state = try Self.start()
        var request = WorkingState(base: state.head)
        request.insert(3, Album(title: "three", code: "c"))
        request.insert(4, Album(title: "four", code: "c"))
        let expected = ["Album/p3.code = \"c\" is taken by Album/p4", "Album/p4.code = \"c\" is taken by Album/p3"]
        #expect(Self.violations(state, request) == expected)
    }

    @Test func `R10 an update to a value that is taken`() throws {
        let state = try Self.start()
        var request = WorkingState(base: state.head)
        request.change(Album.self, 2) { $0.code = "a" }
        #expect(Self.violations(state, request) == ["Album/p2.code = \"a\" is taken by Album/p1"])
        request.delete(Album.self, 1)
        #expect(try !state.prepare(request).isEmpty)
    }

    @Test func `R10 nil never collides with nil`() throws {
        var state = try Self.start()
        try state.commit {
            $0.insert(3, Album(title: "three"))
            $0.insert(4, Album(title: "four"))
            $0.change(Album.self, 1) { $0.code = nil }
        }
        try state.commit { $0.insert(5, Album(title: "five")) }
        #expect(state.head.count(of: Album.self) == 5)
        #expect(state.head.check() == [])
    }

    @Test func `R10 two rows may swap their unique values in one save`() throws {
        var state = try Self.start()
        var request = WorkingState(base: state.head)
        request.change(Album.self, 1) { $0.code = "b" }
        request.change(Album.self, 2) { $0.code = "a" }
        try state.commit { $0.change(Note.self, 1) { $0.text = "theirs" } }
        state.accept(try state.prepare(request))
        #expect(try state.head.fetchValues(Album.self).map(\.code) == ["b", "a"])
        #expect(state.head.check() == [])
    }
}

extension CommitState {
    /// Makes a save on head and accepts it.
    mutating func commit(_ body: (inout WorkingState) -> Void) throws {
        var request = WorkingState(base: head)
        body(&request)
        accept(try prepare(request))
    }
}
