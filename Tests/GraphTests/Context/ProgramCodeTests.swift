import Synchronization
import Testing

@testable import Graph

/// What observers, setters, getters and deinitialisers of an entity do while an object is written or read.
private enum Hook {
    /// Runs whenever code of the entity does.
    @MainActor static var action: () -> Void = {}

    static func run() {
        MainActor.assumeIsolated {
            let action = action
            // Once.
            Self.action = {}
            action()
        }
    }
}

private final class Token: Codable, Equatable, Sendable {
    let number: Int
    init(_ number: Int) { self.number = number }
    static func == (lhs: Token, rhs: Token) -> Bool { lhs.number == rhs.number }
    deinit { if number == 7 { Hook.run() } }
}

@Entity private struct Sensor {
    var name = "first name, which is longer than fifteen bytes"
    var level = 0 { didSet { Hook.run() } }
    var token = Token(0)
    var room: ToOne<Room> = nil { didSet { Hook.run() } }
    @Transient var isShown = false
    var doubled: Int {
        get {
            Hook.run()
            return level * 2
        }
        set {
            Hook.run()
            level = newValue / 2
        }
    }
    var loud: String {
        Hook.run()
        return name.uppercased()
    }
}

@Entity private struct Room {
    var name = ""
    @Relationship(inverse: \Sensor.room) var sensors: ToMany<Sensor> = []
}

/// One to one.
@Entity private struct Plug {
    var volts = 0 { didSet { Hook.run() } }
    var name = ""
    var token = Token(0)
    @Relationship(inverse: \Socket.plug) var socket: ToOne<Socket> = nil
}

@Entity private struct Socket {
    var plug: ToOne<Plug> = nil
    var name = ""
}

/// R15: code of the program that runs while an object is written or read may use the object and its context.
@Suite(.serialized) @MainActor struct ProgramCodeTests {
    enum Tracking: CaseIterable {
        case tracked, untracked
    }

    /// Whether the object has unsaved changes already.
    enum State: CaseIterable {
        case clean, dirty, flushed
    }

    private nonisolated static let cases = Tracking.allCases.flatMap { tracking in State.allCases.map { (tracking, $0) }
    }

    private let coordinator: Coordinator

    init() async throws {
        coordinator = try await Coordinator(for: Sensor.self, Room.self, Plug.self, Socket.self)
        Hook.action = {}
        try await coordinator.transaction { context in
            let sensor = context.insert(Sensor())
            sensor.token = Token(7)
            context.insert(Room()).sensors.append(sensor)
            context.insert(Socket()).plug = context.insert(Plug())
        }
    }

    private func sensor(_ tracking: Tracking, _ state: State) throws -> (Context, Sensor.Object) {
        let context = Context(coordinator, executor: .main, isObservable: tracking == .tracked)
        let sensor = try #require(try context.sync { try $0.fetch(Sensor.self).first })
        if state != .clean {
            sensor.isShown = true
            sensor.name += "!"
        }
        if state == .flushed { #expect(context.sync { $0.hasChanges }) }
        return (context, sensor)
    }

    private func saved<E: Entity>(_ type: E.Type = E.self) throws -> E {
        try #require(try coordinator.snapshot.fetchValues(E.self).first)
    }

    @Test(
        .bug(id: "observer in an unchecked access", "what it wrote was overwritten, or a released string was read"),
        arguments: cases)
    func `R15 what an observer of a property writes to the object stays, and so does the property`(
        tracking: Tracking, state: State
    ) async throws {
        let (context, sensor) = try sensor(tracking, state)
        Hook.action = {
            #expect(sensor.level == 0)
            sensor.name = "second name, which is longer than fifteen bytes"
            sensor.token = Token(1)
            _ = context.sync { $0.hasChanges }
        }
        sensor.level = 5
        #expect(sensor.level == 5 && sensor.name.hasPrefix("second") && sensor.token.number == 1)
        try await context.save()
        #expect(try saved(Sensor.self).level == 5 && saved(Sensor.self).name.hasPrefix("second"))
    }

    @Test(arguments: cases)
    func `R15 of a property that its observer writes too, the write that was observed counts`(
        tracking: Tracking, state: State
    )
        async throws
    {
        let (context, sensor) = try sensor(tracking, state)
        Hook.action = { sensor.level = 9 }
        sensor.level += 5
        #expect(sensor.level == 5)
        try await context.save()
        #expect(try saved(Sensor.self).level == 5)
    }

    @Test(arguments: cases)
    func `R15 a setter and a getter may use the object`(tracking: Tracking, state: State) async throws {
        let (context, sensor) = try sensor(tracking, state)
        Hook.action = { sensor.name = "by the setter, longer than fifteen bytes" }
        sensor.doubled = 8
        #expect(sensor.level == 4 && sensor.name.hasPrefix("by the setter"))
        Hook.action = { sensor.level = 6 }
        #expect(sensor.doubled == 8 && sensor.doubled == 12)
        let name = sensor.name
        Hook.action = { sensor.name = "by the getter, longer than fifteen bytes" }
        #expect(sensor.loud == name.uppercased())
        #expect(sensor.name.hasPrefix("by the getter"))
        try await context.save()
        #expect(try saved(Sensor.self).level == 6 && saved(Sensor.self).name.hasPrefix("by the getter"))
    }

    @Test(arguments: cases)
    func `R15 an observer may move the state under the object`(tracking: Tracking, state: State) async throws {
        let (context, sensor) = try sensor(tracking, state)
        try await coordinator.transaction { try $0.fetch(Sensor.self).first?.token = Token(3) }
        Hook.action = { sensor.refresh(mergeChanges: true) }
        sensor.level = 5
        #expect(sensor.level == 5 && sensor.token.number == 3)
        #expect(sensor.changedValues.keys.sorted() == (state == .clean ? ["level"] : ["level", "name"]))
        try await context.save(mergePolicy: .mergeByPropertyObjectTrump)
        #expect(try saved(Sensor.self).token.number == 3 && saved(Sensor.self).level == 5)
    }

    @Test(arguments: cases)
    func `R19 an observer that deletes the object ends the write`(tracking: Tracking, state: State) async throws {
        let (context, sensor) = try sensor(tracking, state)
        Hook.action = { sensor.delete() }
        sensor.level = 5
        #expect(sensor.isDeleted && sensor.level == 0)
        try await context.save()
        #expect(coordinator.snapshot.count(of: Sensor.self) == 0)
        Hook.action = { Issue.record("a deleted object was written to") }
        sensor.level = 6
        Hook.action = {}
    }

    @Test(arguments: cases)
    func `R12 an observer of a reference may use the object, and the inverse follows`(tracking: Tracking, state: State)
        async throws
    {
        let (context, sensor) = try sensor(tracking, state)
        let room = context.sync { $0.insert(Room(name: "second")) }
        Hook.action = { sensor.name = "by the observer, longer than fifteen bytes" }
        sensor.room = room
        #expect(sensor.room == room && Array(room.sensors) == [sensor])
        #expect(sensor.name.hasPrefix("by the observer"))
        try await context.save()
        #expect(context.coordinator.check() == [])
    }

    @Test(.bug(id: "deinit in an unchecked access", "it ran while the row was written"), arguments: cases)
    func `R15 what a deinitialiser writes to the object stays`(tracking: Tracking, state: State) async throws {
        let (context, sensor) = try sensor(tracking, state)
        let runs = Counter()
        // The object alone has this one.
        sensor.token = Token(6)
        try await context.save()
        sensor.token = Token(7)
        Hook.action = {
            _ = runs.next()
            #expect(sensor.token.number == 8)
            sensor.name = "by the deinitialiser, longer than fifteen bytes"
        }
        sensor.token = Token(8)
        if tracking == .untracked { #expect(runs.value == 1) }
        guard runs.value > 0 else { return }
        #expect(sensor.name.hasPrefix("by the deinitialiser") && sensor.token.number == 8)
        try await context.save()
        #expect(try saved(Sensor.self).name.hasPrefix("by the deinitialiser"))
    }

    @Test func `R15 a deinitialiser may write to the object that catches up with its context`() async throws {
        let (context, sensor) = try sensor(.untracked, .clean)
        sensor.token = Token(7)
        let runs = Counter()
        context.sync { $0.rollback() }
        Hook.action = {
            _ = runs.next()
            sensor.name = "by the deinitialiser, longer than fifteen bytes"
        }
        #expect(sensor.token.number == 7)
        sensor.token = Token(1)
        #expect(runs.value <= 1)
    }

    @Test(arguments: cases)
    func `R12 an observer of an object that is one to one may use it`(tracking: Tracking, state: State) async throws {
        let context = Context(coordinator, executor: .main, isObservable: tracking == .tracked)
        let plug = try #require(try context.sync { try $0.fetch(Plug.self).first })
        let socket = try #require(plug.socket)
        let other = context.sync { $0.insert(Socket(name: "other")) }
        if state != .clean { plug.name = "dirty" }
        if state == .flushed { #expect(context.sync { $0.hasChanges }) }
        Hook.action = { plug.socket = other }
        plug.volts = 230
        #expect(plug.volts == 230 && plug.socket == other && other.plug == plug && socket.plug == nil)
        try await context.save()
        #expect(context.coordinator.check() == [])
        #expect(try saved(Plug.self).volts == 230)
    }
}
