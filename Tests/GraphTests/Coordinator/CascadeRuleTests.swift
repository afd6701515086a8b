import Testing

@testable import Graph

/// Delete rules that meet rows which the deleting context did not know.
struct CascadeRuleTests {
    @Test func `a cascade into others' rows is denied where a reference to those denies it`() async throws {
        let folder = try TemporaryFolder()
        var coordinator = try await open(folder)
        let ours = Context(coordinator)
        let theirs = Context(coordinator)
        let house = await ours.perform { $0.insert(House(name: "h")).id }
        try await ours.save()
        await theirs.rollback(to: .latest)
        try await theirs.transaction { context in
            let room = context.insert(Room(name: "r", house: ToOne(house)))
            context.insert(Guest(name: "g", room: ToOne(room.id)))
        }
        await ours.perform { $0[house]?.delete() }
        await #expect(throws: GraphError.self) { try await ours.save() }
        #expect(coordinator.snapshot.checkInvariants() == [])
        #expect(coordinator.snapshot.count(of: House.self) == 1)
        #expect(coordinator.snapshot.count(of: Room.self) == 1)
        try await coordinator.close()
        coordinator = try await open(folder)
        #expect(coordinator.snapshot.count(of: Guest.self) == 1)
        try await coordinator.close()
    }

    private func open(_ folder: TemporaryFolder) async throws -> Coordinator {
        try await Coordinator(for: Guest.self, Room.self, House.self, at: folder.file())
    }
}

@Entity private struct House {
    var name: String
    @Relationship(.cascade, inverse: \Room.house) var rooms: ToMany<Room> = []
}

@Entity private struct Room {
    var name: String
    var house: ToOne<House> = nil
    @Relationship(.deny, inverse: \Guest.room) var guests: ToMany<Guest> = []
}

@Entity private struct Guest {
    var name: String
    var room: ToOne<Room> = nil
}
