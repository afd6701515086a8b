import Testing

@testable import Graph

/// R22: undo and redo.
struct UndoTests {
    private struct Stop: Error {}

    private static func context(_ count: Int = 1) async throws -> (Context, [Person.ID]) {
        let coordinator = try await Coordinator(for: Person.self, Team.self, checksEveryCommit: true)
        let context = Context(coordinator)
        await context.setUndoLimit(100)
        let ids = try await context.transaction { context in
            (0..<count).map { context.insert(Person(name: "person \($0)")).id }
        }
        return (context, ids)
    }

    private static func age(_ context: Context, _ id: Person.ID) async -> Int? {
        await context.perform { $0[id]?.age }
    }

    @Test func `R22 groups are undone and done again, one after another`() async throws {
        let (context, ids) = try await Self.context()
        for age in 1...3 { await context.perform { $0[ids[0]]?.age = age } }
        for age in [2, 1, 0] {
            #expect(await context.undo() == [])
            #expect(await Self.age(context, ids[0]) == age)
        }
        for age in 1...3 {
            #expect(await context.redo() == [])
            #expect(await Self.age(context, ids[0]) == age)
        }
        #expect(await context.canRedo == false)
        await context.undo()
        await context.perform { $0[ids[0]]?.age = 50 }
        #expect(await context.canRedo == false)
    }

    @Test func `R22 an insert is undone, saved or not, and comes back under its identifier`() async throws {
        let (context, ids) = try await Self.context()
        #expect(await context.undo() == [])
        #expect(await context.perform { $0[ids[0]] == nil } == true)
        try await context.save()
        #expect(context.coordinator.snapshot.value(for: ids[0]) == nil)
        #expect(await context.redo() == [])
        try await context.save()
        #expect(context.coordinator.snapshot.value(for: ids[0])?.name == "person 0")
        // It was committed as 1, deleted by 2 and came back with 3.
        #expect(context.coordinator.snapshot.version(of: ids[0])?.number == 3)

        let id = await context.perform { $0.insert(Person(name: "never saved")).id }
        await context.undo()
        #expect(await context.hasChanges == false)
        await context.redo()
        try await context.save()
        #expect(context.coordinator.snapshot.version(of: id)?.number == 1)
    }

    @Test func `R22 a delete is undone with all that it took along`() async throws {
        let coordinator = try await Coordinator(
            for: Folder.self, Leaf.self, Label.self, checksEveryCommit: true)
        let context = Context(coordinator)
        await context.setUndoLimit(10)
        let (folder, leaves, label) = try await context.transaction { context in
            let folder = context.insert(Folder(name: "folder"))
            let leaves = (0..<3).map { context.insert(Leaf(name: "leaf \($0)")) }
            folder.leaves = RelatedObjects(leaves)
            folder.leaves.move(from: 2, to: 0)
            let label = context.insert(Label(name: "label"))
            for leaf in leaves { leaf.labels.append(label) }
            return (folder.id, leaves.map(\.id), label.id)
        }
        for isSaved in [false, true] {
            await context.perform { $0[folder]?.delete() }
            if isSaved { try await context.save() }
            #expect(await context.perform { $0[leaves[0]] == nil } == true)
            #expect(await context.undo() == [])
            let names = await context.perform { $0[folder]?.leaves.map(\.name) }
            #expect(names == ["leaf 2", "leaf 0", "leaf 1"])
            #expect(await context.perform { $0[label]?.leaves.count } == 3)
            try await context.save()
            #expect(await context.hasChanges == false)
            #expect(coordinator.check() == [])
        }
    }

    @Test func `R22 what others or later changes have set since stays and is reported`() async throws {
        let (context, ids) = try await Self.context()
        try await context.transaction { context in
            context[ids[0]]?.age = 1
            context[ids[0]]?.name = "changed"
        }
        try await context.coordinator.transaction { $0[ids[0]]?.age = 9 }
        await context.refresh()
        let remainders = await context.undo()
        #expect(remainders == [UndoConflict(id: AnyPersistentID(ids[0]), property: "age")])
        #expect(await context.perform { $0[ids[0]]?.name } == "person 0")
        #expect(await Self.age(context, ids[0]) == 9)
    }

    @Test func `R22 what others commit is no part of a group`() async throws {
        let (context, ids) = try await Self.context(2)
        await context.beginUndoGroup()
        await context.perform { $0[ids[0]]?.age = 1 }
        try await context.coordinator.transaction { $0[ids[1]]?.age = 7 }
        await context.refresh()
        await context.perform { $0[ids[0]]?.name = "changed" }
        await context.endUndoGroup()
        await context.undo()
        #expect(await Self.age(context, ids[0]) == 0)
        #expect(await Self.age(context, ids[1]) == 7)
        #expect(await context.perform { $0[ids[0]]?.name } == "person 0")
        #expect(await context.hasChanges == false)
    }

    @Test func `R22 a failed transaction leaves no group, and what was changed before it is one`() async throws {
        let (context, ids) = try await Self.context()
        await context.setAge(of: ids[0], to: 1)
        await #expect(throws: Stop.self) {
            try await context.transaction { context in
                context[ids[0]]?.age = 2
                throw Stop()
            }
        }
        #expect(await Self.age(context, ids[0]) == 1)
        await context.undo()
        #expect(await Self.age(context, ids[0]) == 0)
        await context.redo()
        #expect(await Self.age(context, ids[0]) == 1)
    }

    @Test func `R22 a rollback takes the unsaved groups with it, and leaves the saved ones`() async throws {
        let (context, ids) = try await Self.context()
        try await context.transaction { $0[ids[0]]?.age = 1 }
        await context.perform { $0[ids[0]]?.age = 2 }
        await context.rollback()
        #expect(await Self.age(context, ids[0]) == 1)
        await context.undo()
        #expect(await Self.age(context, ids[0]) == 0)
    }

    @Test func `R22 a saved group whose undo was rolled back can be undone again`() async throws {
        let (context, ids) = try await Self.context()
        for age in 1...3 { try await context.transaction { $0[ids[0]]?.age = age } }
        await context.undo()
        await context.undo()
        await context.redo()
        #expect(await Self.age(context, ids[0]) == 2)
        await context.rollback()
        #expect(await Self.age(context, ids[0]) == 3)
        for age in [2, 1, 0] {
            #expect(await context.undo() == [])
            #expect(await Self.age(context, ids[0]) == age)
        }
        try await context.save()
        await context.rollback()
        #expect(await Self.age(context, ids[0]) == 0)
        await context.undo()
        #expect(await context.perform { $0[ids[0]] == nil } == true)
    }

    @Test func `R22 an insert that gave way to another object is left over`() async throws {
        let coordinator = try await Coordinator(for: Seat.self, checksEveryCommit: true)
        let first = try await coordinator.transaction { $0.insert(Seat(number: 1, guest: "Ada")).id }
        let context = Context(coordinator)
        await context.setUndoLimit(10)
        let second = try await context.transaction { $0.insert(Seat(number: 1, guest: "Bob")).id }
        #expect(await context.undo() == [UndoConflict(id: AnyPersistentID(second), property: nil)])
        #expect(await context.perform { $0[first]?.guest } == "Bob")
        #expect(await context.hasChanges == false)
    }

    @Test(.bug(id: "gave way once", "it stayed, and was named as one that others have"))
    func `R36 an insert that gave way and has come back is undone`() async throws {
        let coordinator = try await Coordinator(for: Seat.self, checksEveryCommit: true)
        let first = try await coordinator.transaction { $0.insert(Seat(number: 1, guest: "Ada")).id }
        let context = Context(coordinator, mergePolicy: .mergeByPropertyObjectTrump)
        await context.setUndoLimit(10)
        let second = await context.perform { $0.insert(Seat(number: 1, guest: "Bob")).id }
        try await context.transaction { nested in
            try nested.object(for: second).number = 2
            // The object gives way meanwhile, and comes back with what the transaction has changed.
            try await context.save()
        }
        #expect(coordinator.snapshot.value(for: second)?.guest == "Bob")
        #expect(await context.undo() == [])
        #expect(await context.perform { $0[second] == nil && $0[first]?.guest == "Bob" })
        #expect(await context.undo() == [UndoConflict(id: AnyPersistentID(second), property: nil)])
        try await context.save()
        #expect(try coordinator.snapshot.fetchCount(Seat.self) == 1)
    }

    @Test func `R23a what a save in flight took is out of reach until it ends`() async throws {
        let disk = GatedDisk()
        let coordinator = try await Coordinator(
            Schema([EntityDescription(Person.self), EntityDescription(Team.self)]),
            path: "/data/store.graph", fileSystem: disk, options: JournalOptions())
        let context = Context(coordinator)
        await context.setUndoLimit(10)
        let id = try await context.transaction { $0.insert(Person(name: "one")).id }
        await context.perform { $0[id]?.age = 1 }
        disk.hold()
        async let save: Void = context.save()
        await disk.waitForArrival()
        #expect(await context.canUndo == false)
        await context.perform { $0[id]?.name = "later" }
        #expect(await context.canUndo)
        await context.undo()
        #expect(await context.undo() == [])
        #expect(await Self.age(context, id) == 1)
        disk.release()
        try await save
        #expect(await context.canUndo)
        await context.undo()
        #expect(await Self.age(context, id) == 0)
        try await coordinator.close()
    }

    @Test func `R22 an undo does not take related objects from others`() async throws {
        let coordinator = try await Coordinator(for: Left.self, Right.self, checksEveryCommit: true)
        let context = Context(coordinator)
        await context.setUndoLimit(10)
        let (left, other, right) = try await context.transaction { context in
            let (left, other) = (context.insert(Left()), context.insert(Left()))
            let right = context.insert(Right())
            left.right = right
            return (left.id, other.id, right.id)
        }
        await context.perform { $0[left]?.right = nil }
        try await coordinator.transaction { context in
            context[left]?.right = nil
            context[other]?.right = context[right]
        }
        await context.rollback(to: .latest)
        await context.perform { $0[left]?.number = 1 }
        await context.undo()
        let id = await context.perform { $0[other]?.right?.id }
        #expect(id == right)
    }

    @Test func `only so many groups are kept`() async throws {
        let (context, ids) = try await Self.context()
        await context.setUndoLimit(2)
        for age in 1...5 { await context.perform { $0[ids[0]]?.age = age } }
        for _ in 0..<5 { await context.undo() }
        #expect(await Self.age(context, ids[0]) == 3)
        await context.setUndoLimit(0)
        #expect(await context.canRedo == false)
    }
}

@Entity private struct Folder {
    var name = ""
    @Relationship(.cascade, inverse: \Leaf.folder, ordered: true) var leaves: ToMany<Leaf> = []
}

@Entity private struct Leaf {
    var name = ""
    var folder: ToOne<Folder> = nil
    var labels: ToMany<Label> = []
}

@Entity private struct Label {
    var name = ""
    @Relationship(inverse: \Leaf.labels) var leaves: ToMany<Leaf> = []
}

@Entity private struct Seat {
    @Unique(onConflict: .upsert) var number: Int
    var guest = ""
}

@Entity private struct Left {
    var number = 0
    var right: ToOne<Right> = nil
}

@Entity private struct Right {
    @Relationship(inverse: \Left.right) var left: ToOne<Left> = nil
}

extension Context {
    fileprivate func setUndoLimit(_ limit: Int) { undoLimit = limit }
    fileprivate func setAge(of id: Person.ID, to age: Int) { self[id]?.age = age }
}
