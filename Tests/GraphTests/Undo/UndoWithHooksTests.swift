import Testing

@testable import Graph

@Entity private struct Article: Equatable {
    var title = ""
    var slug = ""
    var note = ""

    mutating func willSave() { slug = title.lowercased() }
}

/// Its hook takes back what an undo does.
@Entity private struct Tank: Equatable {
    var level = 0

    mutating func willSave() { level = max(level, 2) }
}

/// Its hook parts what has no name left.
@Entity private struct Glove: Equatable {
    var name = ""
    var note = ""
    var other: ToOne<Mitten> = nil

    mutating func willSave() {
        if name.isEmpty { (other, note) = (nil, "bare") }
    }
}

@Entity private struct Mitten {
    var name = ""
    @Relationship(inverse: \Glove.other) var other: ToOne<Glove> = nil
}

/// R22, R36: what `willSave()` makes of an object belongs to what was done to it.
struct UndoWithHooksTests {
    private static func context() async throws -> (Coordinator, Context) {
        let coordinator = try await Coordinator(for: Article.self, checksEveryCommit: true)
        let context = Context(coordinator)
        await context.perform { $0.undoLimit = 9 }
        return (coordinator, context)
    }

    @Test func `R36 a saved insert is undone`() async throws {
        let (coordinator, context) = try await Self.context()
        let id = try await context.transaction { $0.insert(Article(title: "Hello")).id }
        #expect(coordinator.snapshot.value(for: id)?.slug == "hello")
        #expect(await context.undo() == [])
        #expect(await context.perform { $0[id] == nil })
        #expect(await context.redo() == [])
        try await context.save()
        #expect(coordinator.snapshot.value(for: id)?.slug == "hello")
    }

    @Test func `R36 a saved change is undone with what followed from it`() async throws {
        let (coordinator, context) = try await Self.context()
        let id = try await context.transaction { $0.insert(Article(title: "One")).id }
        try await context.transaction { $0[id]?.title = "Two" }
        #expect(await context.undo() == [])
        #expect(await context.perform { $0[id]?.title == "One" && $0[id]?.slug == "one" })
        try await context.save()
        #expect(await context.redo() == [])
        #expect(await context.perform { $0[id]?.title == "Two" && $0[id]?.slug == "two" })
        try await context.save()
        #expect(coordinator.snapshot.value(for: id)?.slug == "two")
    }

    @Test func `R36 groups that one save took are undone one after another`() async throws {
        let (coordinator, context) = try await Self.context()
        let id = await context.perform { $0.insert(Article(title: "One")).id }
        await context.perform { $0[id]?.title = "Two" }
        await context.perform { $0[id]?.note = "noted" }
        try await context.save()
        #expect(await context.undo() == [])
        #expect(await context.perform { $0[id]?.note == "" && $0[id]?.title == "Two" })
        #expect(await context.undo() == [])
        #expect(await context.perform { $0[id]?.title == "One" })
        #expect(await context.undo() == [])
        #expect(await context.perform { $0[id] == nil })
        #expect(await context.redo() == [])
        #expect(await context.redo() == [])
        try await context.save()
        #expect(coordinator.snapshot.value(for: id)?.slug == "two")
    }

    @Test func `R36 what others made of a property stays, whatever the hook did`() async throws {
        let (coordinator, context) = try await Self.context()
        let id = try await context.transaction { $0.insert(Article(title: "One")).id }
        try await context.transaction { $0[id]?.title = "Two" }
        try await coordinator.transaction { $0[id]?.title = "Three" }
        await context.refresh()
        #expect(await Set(context.undo().map(\.property)) == ["title", "slug"])
        #expect(await context.perform { $0[id]?.title == "Three" && $0[id]?.slug == "three" })
    }

    @Test(.bug(id: "others' work in a group", "what others had changed before the save was taken back with the group"))
    func `R36 a hook that runs on what others have changed meanwhile does not make that the group's`() async throws {
        let (coordinator, context) = try await Self.context()
        let id = try await context.transaction { $0.insert(Article(title: "One")).id }
        await context.perform { $0[id]?.title = "Two" }
        try await coordinator.transaction { $0[id]?.note = "theirs" }
        await context.refresh()
        try await context.save()
        #expect(await context.undo() == [])
        #expect(await context.perform { $0[id]?.value } == Article(title: "One", slug: "one", note: "theirs"))
        #expect(await context.redo() == [])
        #expect(await context.perform { $0[id]?.value } == Article(title: "Two", slug: "two", note: "theirs"))
    }

    @Test func `R36 an undo that a hook takes back leaves nothing to redo over others' work`() async throws {
        let coordinator = try await Coordinator(for: Tank.self, checksEveryCommit: true)
        let context = Context(coordinator)
        await context.perform { $0.undoLimit = 9 }
        let id = await context.perform { $0.insert(Tank(level: 1)).id }
        await context.perform { $0[id]?.level = 2 }
        try await context.save()
        #expect(await context.undo() == [])
        #expect(await context.perform { $0[id]?.level } == 1)
        try await coordinator.transaction { $0[id]?.level = 5 }
        // The hook makes 2 of 1 again, so there is nothing to save, and no conflict.
        try await context.save()
        #expect(await context.redo() == [])
        #expect(await context.perform { $0[id]?.level } == 5)
        #expect(await context.hasChanges == false)
    }

    @Test func `R36 what hooks make of several objects belongs to the last group that changed each`() async throws {
        let (coordinator, context) = try await Self.context()
        let ids = try await context.transaction { context in
            (0..<3).map { _ in context.insert(Article(title: "A")).id }
        }
        await context.perform { context in for id in ids { context[id]?.title = "BB" } }
        await context.perform { context in for id in ids[1...] { context[id]?.title = "CCC" } }
        await context.perform { $0[ids[2]]?.title = "DDDD" }
        try await context.save()
        for expected in [["bb", "ccc", "ccc"], ["bb", "bb", "bb"], ["a", "a", "a"]] {
            #expect(await context.undo() == [])
            try await context.save()
            #expect(ids.map { coordinator.snapshot.value(for: $0)?.slug } == expected)
        }
    }

    private static func pair() async throws -> (Coordinator, Context, Glove.ID, Mitten.ID) {
        let coordinator = try await Coordinator(for: Glove.self, Mitten.self, checksEveryCommit: true)
        let context = Context(coordinator)
        await context.perform { $0.undoLimit = 9 }
        let (left, right) = try await context.transaction { context in
            let (left, right) = (context.insert(Glove(name: "left")), context.insert(Mitten(name: "right")))
            left.other = right
            return (left.id, right.id)
        }
        return (coordinator, context, left, right)
    }

    @Test func `R36 what a hook makes of both ends belongs to the groups that changed each`() async throws {
        let (coordinator, context, left, right) = try await Self.pair()
        await context.perform { $0[left]?.name = "" }
        await context.perform { $0[right]?.name = "wrong" }
        try await context.save()
        #expect(coordinator.snapshot.value(for: left)?.note == "bare")
        for _ in 0..<2 {
            #expect(await context.undo() == [])
            try await context.save()
        }
        #expect(coordinator.snapshot.value(for: left) == Glove(name: "left", note: "", other: ToOne(right)))
        #expect(coordinator.snapshot.value(for: right)?.name == "right")
        #expect(coordinator.snapshot.value(for: right)?.other.id == left)
    }

    @Test func `R36 where a hook parts two objects, that belongs to the group that had it do so`() async throws {
        let (coordinator, context, left, right) = try await Self.pair()
        await context.perform { $0[right]?.name = "wrong" }
        await context.perform { $0[left]?.name = "" }
        try await context.save()
        #expect(coordinator.snapshot.value(for: left)?.other.id == nil)
        #expect(coordinator.snapshot.value(for: right)?.other.id == nil)
        #expect(await context.undo() == [])
        try await context.save()
        #expect(coordinator.snapshot.value(for: right)?.name == "wrong")
        #expect(coordinator.snapshot.value(for: right)?.other.id == left)
        #expect(coordinator.snapshot.value(for: left)?.other.id == right)
        #expect(await context.undo() == [])
        try await context.save()
        #expect(coordinator.snapshot.value(for: right)?.name == "right")
        #expect(coordinator.snapshot.value(for: right)?.other.id == left)
    }
}
