import Testing

@testable import Graph

@Entity private struct Sentence {
    var text = ""
    var number = 0

    mutating func willSave() { text = String(text.drop { $0 == " " }) }
}

@Entity private struct Room {
    var name = ""
    @Relationship(inverse: \Guest.room, ordered: true) var guests: ToMany<Guest> = []
}

@Entity private struct Guest {
    var name = ""
    var room: ToOne<Room> = nil
}

@Entity private struct Word {
    @Unique(onConflict: .upsert) var key = ""
    var title = ""
}

/// R5, R20, R23a, R32: what a save does to rows by itself is nothing that others did, and what it did is gone if it fails.
struct SaveResultTests {
    private let disk = GatedDisk()
    private let coordinator: Coordinator
    private let context: Context

    init() async throws {
        var options = JournalOptions()
        options.random = { 7 }
        coordinator = try await Coordinator(
            Schema([
                EntityDescription(Sentence.self), EntityDescription(Room.self), EntityDescription(Guest.self),
                EntityDescription(Word.self),
            ]), path: "/data/store.graph", fileSystem: disk, options: options)
        context = Context(coordinator, mergePolicy: .mergeByPropertyStoreTrump)
    }

    private func save(while body: @Sendable (isolated Context) throws -> Void) async throws {
        disk.hold()
        let save = Task { try await context.save() }
        await disk.waitForArrival()
        try await context.perform(body)
        disk.release()
        try await save.value
    }

    @Test func `R32 what is changed while a hook changes the same property is kept`() async throws {
        let id = try await context.transaction { $0.insert(Sentence(text: "x")).id }
        await context.perform { $0[id]?.text = " A" }
        try await save { $0[id]?.text = "B" }
        #expect(await context.refresh() == [])
        #expect(await context.perform { $0[id]?.text } == "B")
        try await coordinator.transaction { $0[id]?.number = 5 }
        try await context.save()
        #expect(coordinator.snapshot.value(for: id)?.text == "B" && coordinator.snapshot.value(for: id)?.number == 5)
    }

    @Test func `R32 a hook's value that was not changed since is shown, and others' changes of it are conflicts`()
        async throws
    {
        let id = try await context.transaction { $0.insert(Sentence(text: "x")).id }
        await context.perform { $0[id]?.text = " A" }
        try await save { $0[id]?.number = 3 }
        #expect(await context.perform { $0[id]?.text == "A" && $0[id]?.number == 3 })
        try await context.save()
        #expect(coordinator.snapshot.value(for: id)?.text == "A")
        // Others change what is changed here, too, while a save is under way that has nothing to do with it.
        await context.perform { _ = $0.insert(Room()) }
        try await save { $0[id]?.text = "ours" }
        try await coordinator.transaction { $0[id]?.text = "theirs" }
        await #expect(throws: GraphError.self) { try await context.save(mergePolicy: .error) }
    }

    @Test func `R32 what is changed in an object to which a new one gives way is kept`() async throws {
        let id = try await context.transaction { $0.insert(Word(key: "k", title: "old")).id }
        await context.perform { _ = $0.insert(Word(key: "k", title: "new")) }
        try await save { $0[id]?.title = "newer" }
        #expect(coordinator.snapshot.value(for: id)?.title == "new")
        #expect(await context.refresh() == [])
        try await context.save(mergePolicy: .error)
        #expect(coordinator.snapshot.value(for: id)?.title == "newer")
    }

    @Test func `R20 a reference given to an object whose insert fails leads where it led before`() async throws {
        let (old, guests) = try await context.transaction { context in
            let room = context.insert(Room(name: "old"))
            let guests = (0..<3).map { context.insert(Guest(name: "\($0)")) }
            for guest in guests { room.guests.append(guest) }
            return (room.id, guests.map(\.id))
        }
        disk.hold()
        let transaction = Task { try await context.transaction { _ = $0.insert(Room(name: "new")) } }
        await disk.waitForArrival()
        try await context.perform { context in
            let room = try #require(try context.first(Room.self, where: { $0.name == "new" }))
            context[guests[1]]?.room = room
            #expect(context[old]?.guests.ids == [guests[0], guests[2]])
        }
        disk.fill()
        disk.release()
        await #expect(throws: GraphError.self) { try await transaction.value }
        #expect(await context.perform { $0[guests[1]]?.room?.id } == old)
        #expect(await context.perform { $0[old]?.guests.ids } == guests)
        #expect(await context.hasChanges == false)
        try await context.save()
        #expect(coordinator.snapshot.value(for: guests[1])?.room.id == old)
    }
}
