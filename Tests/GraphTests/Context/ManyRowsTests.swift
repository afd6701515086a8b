import Foundation
import Observation
import Testing

@testable import Graph

@Entity private struct Worker {
    var name: String
    @Unique var badge: Int?
    @Indexed var age = 0
    var isRetired = false
    var visits = 0
    var desk: ToOne<Bench> = nil
    var crew: ToOne<Shift> = nil
    @Transient var mood = "calm"

    mutating func willSave() { if isRetired { visits += 1 } }
    func validate() throws { if age > 150 { throw ValidationError(\Self.age, "too old") } }
}

/// Has one worker, or none.
@Entity private struct Bench {
    var number = 0
    @Relationship(inverse: \Worker.desk) var worker: ToOne<Worker> = nil
}

@Entity private struct Shift {
    var name = ""
    @Relationship(inverse: \Worker.crew) var workers: ToMany<Worker> = []
}

/// Of a plain kind: nothing follows from a change of one.
@Entity private struct Coin {
    var cents = 0
    @Indexed var year = 0
}

struct ManyRowsTests {
    private struct Stop: Error {}

    private static func crew(_ count: Int = 10) async throws -> (Coordinator, Context) {
        let coordinator = try await Coordinator(
            for: Worker.self, Bench.self, Shift.self, Coin.self, checksEveryCommit: true)
        let context = Context(coordinator)
        try await context.transaction { context in
            context.insert(contentsOf: (0..<count).map { Worker(name: "w\($0)", badge: $0, age: 60 + $0) })
            context.insert(contentsOf: (0..<count).map { Coin(cents: $0, year: 2_000 + $0) })
        }
        return (coordinator, context)
    }

    @Test func `an update changes each match, makes no objects, and the save writes them with new versions`()
        async throws
    {
        let (coordinator, context) = try await Self.crew()
        try await context.perform { context in
            let count = try context.update(Worker.self, where: #Predicate { $0.age > 64 }) { $0.isRetired = true }
            #expect(count == 5)
            #expect(context.registry.count == 0)
            #expect(context.hasChanges == true)
            #expect(context.updatedObjects.count == 5)
            #expect(try context.fetchCount(Worker.self, where: { $0.isRetired }) == 5)
        }
        try await context.save()
        let workers = try coordinator.snapshot.fetchIdentifiedValues(Worker.self)
        #expect(workers.map(\.isRetired) == (0..<10).map { $0 > 4 })
        // `willSave()` has seen each.
        #expect(workers.map(\.visits) == (0..<10).map { $0 > 4 ? 1 : 0 })
        try await context.perform { context in
            let versions = try context.fetch(Worker.self).map(\.version.number)
            #expect(versions == (0..<10).map { $0 > 4 ? 2 : 1 })
        }
    }

    @Test func `rows are settled before the first change, and pending ones are among them`() async throws {
        let (_, context) = try await Self.crew()
        try await context.perform { context in
            let ada = context.insert(Worker(name: "Ada", badge: 99, age: 61))
            try context.object(for: try context.fetchIDs(Worker.self)[0]).age = 62
            // Each of them comes to match what the next one is asked.
            let count = try context.update(Worker.self, where: { $0.age < 63 }) { $0.age += 1 }
            #expect(count == 4)
            #expect(ada.age == 62)
            #expect(try context.fetchValues(Worker.self).map(\.age).prefix(4) == [63, 62, 63, 63])
            #expect(try context.update(Coin.self, where: { $0.year < 2_003 }) { $0.year += 1 } == 3)
            #expect(context.fetchCount(\Coin.year, equals: 2_003) == 2)
        }
    }

    @Test(arguments: [true, false])
    func `an update that throws changes nothing, whatever it did`(throwsInBatch: Bool) async throws {
        let (_, context) = try await Self.crew()
        try await context.perform { context in
            let first = try context.fetch(Worker.self)[0]
            first.name = "before"
            #expect(throws: Stop.self) {
                try context.update(Worker.self, where: { _ in true }) { worker in
                    worker.age += 1
                    first.isRetired = true
                    context.insert(Coin())
                    if worker.badge == 5 { throw Stop() }
                }
            }
            #expect(throws: Stop.self) {
                try context.update(Coin.self, where: #Predicate { $0.year > 0 }) { coin in
                    coin.cents += 1
                    if coin.year == 2_009 { throw Stop() }
                }
            }
            #expect(first.name == "before" && !first.isRetired)
            #expect(try context.fetchValues(Worker.self).map(\.age) == Array(60..<70))
            #expect(try context.fetchValues(Coin.self).map(\.cents) == Array(0..<10))
            #expect(context.updatedObjects.map { $0 as? Worker.Object } == [first])
            #expect(context.insertedObjects.isEmpty)
        }
    }

    @Test func `objects in hand show the changes, and keep what is theirs`() async throws {
        let (_, context) = try await Self.crew()
        try await context.perform { context in
            let workers = try context.fetch(Worker.self)
            workers[3].mood = "angry"
            try context.update(Worker.self, where: { $0.badge == 3 }) {
                #expect($0.mood == "calm")
                $0.mood = "lost"
                $0.name = "new"
            }
            #expect(workers[3].name == "new" && workers[3].mood == "angry" && workers[3].isUpdated)
            #expect(!workers[2].isUpdated)
        }
    }

    @MainActor @Test func `observers are told of what has changed, and of nothing else`() async throws {
        let (coordinator, _) = try await Self.crew()
        let context = Context(coordinator, executor: .main)
        let workers = try context.sync { try $0.fetch(Worker.self) }
        let (name, age, other) = (
            Tracked { workers[3].name }, Tracked { workers[3].age }, Tracked { workers[2].age }
        )
        let changes = Tracked { context.sync { $0.hasChanges } }
        try context.sync { _ = try $0.update(Worker.self, where: { $0.badge == 3 }) { $0.age = 1 } }
        #expect(age.isTold && changes.isTold && !name.isTold && !other.isTold)
        let gone = Tracked { workers[4].isDeleted }
        try context.sync { _ = try $0.delete(Worker.self, where: { $0.badge == 4 }) }
        #expect(gone.isTold)
    }

    @Test func `references keep their inverses, the last write wins`() async throws {
        let (_, context) = try await Self.crew()
        try await context.perform { context in
            let desk = context.insert(Bench(number: 1))
            let shift = context.insert(Shift(name: "night"))
            let (deskID, crewID) = (desk.id, shift.id)
            try context.update(Worker.self, where: { $0.age < 63 }) { worker in
                worker.desk = ToOne(deskID)
                worker.crew = ToOne(crewID)
            }
            #expect(desk.worker?.name == "w2")
            #expect(shift.workers.map(\.name) == ["w0", "w1", "w2"])
            #expect(try context.fetchCount(Worker.self, where: { $0.desk.id == deskID }) == 1)
        }
        try await context.save()
    }

    @Test func `members cannot be assigned, not even none`() async throws {
        let (_, context) = try await Self.crew()
        try await context.perform { context in
            context.insert(Shift(name: "night"))
            for members: ToMany<Worker> in [[], [Worker.ID(row: 1)]] {
                let error = #expect(throws: GraphError.self) {
                    try context.update(Shift.self, where: { _ in true }) {
                        $0.name = "day"
                        $0.workers = members
                    }
                }
                #expect(error == .toManyNotUpdatable("Shift.workers"))
            }
            let names = try context.fetchValues(Shift.self).map(\.name)
            #expect(names == ["night"])
        }
    }

    @Test func `rules count at the save`() async throws {
        let (_, context) = try await Self.crew()
        try await context.perform { try $0.update(Worker.self, where: { $0.age > 60 }) { $0.badge = 0 } }
        await #expect(throws: GraphError.self) { try await context.save() }
        await context.rollback()
        try await context.perform { try $0.update(Worker.self, where: { $0.age == 60 }) { $0.age = 200 } }
        await #expect(throws: GraphError.self) { try await context.save() }
        #expect(await context.hasChanges)
    }

    @Test func `an update is undone as one, and a write of equal values is no change`() async throws {
        let (_, context) = try await Self.crew()
        await context.perform { $0.undoLimit = 5 }
        try await context.perform { context in
            let count = try context.update(Coin.self, where: { _ in true }) { $0.cents = Int("\($0.cents)") ?? 0 }
            #expect(count == 10)
            #expect(context.hasChanges == false)
        }
        #expect(await !context.canUndo)
        try await context.perform { context in
            try context.update(Coin.self, where: { _ in true }) { $0.cents += 1 }
            try context.delete(Coin.self, where: { $0.cents > 5 })
        }
        await context.undo()
        #expect(await context.hasChanges == false)
        await context.redo()
        let left = try await context.perform { try $0.fetchValues(Coin.self).map(\.cents) }
        #expect(left == Array(1...5))
    }

    @Test func `what the closure does to objects comes before what it does to the value`() async throws {
        let (_, context) = try await Self.crew()
        try await context.perform { context in
            let coins = try context.fetch(Coin.self)
            try context.update(Coin.self, where: { $0.cents < 2 }) { coin in
                coins[1].year = 1_900
                if coin.cents == 0 { coins[1].cents = 77 }
                if coin.cents == 1 { coin.cents = 5 }
            }
            #expect(coins[1].cents == 5 && coins[1].year == 1_900)
            try context.update(Coin.self, where: { $0.year == 2_009 }) { coin in
                coins[9].delete()
                coin.cents = 1
            }
            #expect(coins[9].isDeleted && coins[9].cents == 9)
        }
    }

    // MARK: Deleting

    @Test func `a delete follows the rules of each object`() async throws {
        let coordinator = try await Coordinator(
            for: Album.self, Photo.self, Note.self, Loan.self, Frame.self, checksEveryCommit: true)
        let context = Context(coordinator)
        try await context.transaction { context in
            for number in 0..<6 {
                let album = context.insert(Album(title: "a\(number)"))
                for _ in 0..<2 { context.insert(Photo(album: ToOne(album.id))) }
                context.insert(Note(album: ToOne(album.id)))
            }
        }
        try await context.perform { context in
            let photo = try context.fetch(Photo.self)[0]
            photo.caption = "last"
            #expect(try context.delete(Album.self, where: #Predicate { $0.title < "a3" }) == 3)
            #expect(photo.isDeleted && photo.caption == "last")
            #expect(try context.fetchCount(Photo.self) == 6)
            #expect(
                try context.fetchValues(Note.self).map { $0.album.id == nil } == [
                    true, true, true, false, false, false,
                ])
            #expect(context.deletedObjects.count == 9)
        }
        try await context.save()
        try await context.perform { context in
            context.insert(Loan(album: ToOne(try context.fetchIDs(Album.self)[0])))
            try context.delete(Album.self, where: { _ in true })
        }
        await #expect(throws: GraphError.self) { try await context.save() }
        await context.rollback()
        #expect(try await context.perform { try $0.fetchCount(Album.self) } == 3)
    }

    @Test func `deleted objects have the last values that the context had`() async throws {
        let (_, context) = try await Self.crew()
        try await context.perform { context in
            let held = try context.fetch(Coin.self)[1]
            try context.update(Coin.self, where: { $0.cents < 4 }) { $0.cents += 100 }
            #expect(try context.delete(Coin.self, where: { $0.cents >= 102 || $0.cents == 9 }) == 3)
            try context.delete(Coin.self, where: { $0.cents == 101 })
            #expect(held.isDeleted && held.cents == 101)
            let values = context.deletedObjects.compactMap { ($0 as? Coin.Object)?.cents }
            #expect(values == [101, 102, 103, 9])
            #expect(try context.fetchCount(Coin.self) == 6)
        }
        try await context.save()
    }

    @Test func `what a cascade deletes has the value that it was given without an object`() async throws {
        let context = Context(try await Coordinator(for: Album.self, Photo.self, Note.self, Loan.self, Frame.self))
        try await context.transaction { context in
            for title in ["a", "b"] {
                let album = context.insert(Album(title: title))
                for _ in 0..<2 { context.insert(Photo(album: ToOne(album.id))) }
            }
        }
        try await context.perform { context in
            try context.update(Photo.self, where: { _ in true }) { $0.caption = "new" }
            try context.first(Album.self)?.delete()
            let captions = context.deletedObjects.compactMap { ($0 as? Photo.Object)?.caption }
            #expect(captions == ["new", "new"])
        }
    }

    // MARK: Where others write

    @Test func `in a nested context only that level changes`() async throws {
        let (_, parent) = try await Self.crew()
        let child = await Context(parent: parent)
        try await child.perform { context in
            try context.update(Coin.self, where: { _ in true }) { $0.cents = 7 }
            try context.delete(Worker.self, where: { $0.age > 64 })
        }
        #expect(await !parent.hasChanges)
        try await child.save()
        try await parent.perform { context in
            let counts = try (
                context.fetchCount(Worker.self), context.fetchCount(Coin.self, where: { $0.cents == 7 })
            )
            #expect(counts == (5, 10))
            #expect(context.updatedObjects.count == 9)
        }
    }

    @Test func `a conflict of a row is found at the save`() async throws {
        let (coordinator, context) = try await Self.crew()
        try await context.perform { try $0.update(Coin.self, where: { $0.cents > 7 }) { $0.cents = 1 } }
        try await coordinator.transaction { try $0.update(Coin.self, where: { $0.cents == 9 }) { $0.cents = 2 } }
        let error = await #expect(throws: GraphError.self) { try await context.save() }
        guard case .conflicts(let conflicts)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(conflicts.count == 1)
    }

    @Test(arguments: [true, false])
    func `a serializable transaction depends on the rows that it found`(deletes: Bool) async throws {
        let (coordinator, _) = try await Self.crew()
        let other = Context(coordinator)
        await #expect(throws: GraphError.self) {
            try await coordinator.transaction(isolation: .serializable, retries: 0) { context in
                if deletes {
                    try context.delete(Worker.self, where: { $0.age < 62 })
                } else {
                    try context.update(Coin.self, where: { $0.cents < 2 }) { $0.year += 1 }
                }
                // Another one adds a match in between.
                try await other.transaction { other in
                    other.insert(Coin(cents: 1))
                    other.insert(Worker(name: "new", age: 61))
                }
            }
        }
        #expect(coordinator.snapshot.count(of: Worker.self) == 11)
    }
}

@MainActor private final class Tracked {
    private(set) var isTold = false

    init(_ read: @MainActor () -> some Any) {
        withObservationTracking {
            _ = read()
        } onChange: {
            MainActor.assumeIsolated { self.isTold = true }
        }
    }
}
