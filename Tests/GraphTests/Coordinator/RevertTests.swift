import Foundation
import Testing

@testable import Graph

struct RevertTests {
    /// What a state has, without versions and where it is in history.
    private static func values(_ snapshot: Snapshot) -> [String] {
        snapshot.contents().dropFirst().map { $0.replacing(#/ v\d+: /#, with: ": ") }
    }

    @Test(arguments: [true, false]) func `reverting the newest commit and that again changes nothing`(
        isFile: Bool
    ) async throws {
        for seed in Seeds.programs(share: 8) {
            let folder = try TemporaryFolder()
            var run = try await AnnalsRun(path: isFile ? folder.file() : nil, seed: seed)
            for _ in 0..<12 {
                try await run.run(4)
                guard run.states.count > 1 else { continue }
                let (before, after) = (run.states[run.states.count - 2], run.states[run.states.count - 1])
                // A migration's commit has nothing to revert.
                guard Self.values(before) != Self.values(after) else { continue }
                func last() async throws -> Commit {
                    var last: Commit?
                    for try await commit in run.coordinator.history() { last = commit }
                    return try #require(last)
                }
                try await run.coordinator.revert(try await last(), author: "undo")
                let reverted = run.coordinator.snapshot
                #expect(Self.values(reverted) == Self.values(before), "seed \(seed)")
                #expect(try await last().origin?.author == "undo")
                try await run.coordinator.revert(try await last())
                #expect(Self.values(run.coordinator.snapshot) == Self.values(after), "seed \(seed)")
                #expect(run.coordinator.snapshot.commit == after.commit.next.next && run.coordinator.check() == [])
                run.states += [reverted, run.coordinator.snapshot]
            }
            try await run.coordinator.close()
        }
    }

    @Test func `an earlier commit is reverted as a whole, or the error says what was changed since`() async throws {
        let folder = try TemporaryFolder()
        for path in [nil, folder.file()] {
            let coordinator = try await Coordinator(for: Team.self, Person.self, at: path)
            let (eve, bob) = try await coordinator.transaction { context in
                (context.insert(Person(name: "Eve", age: 1)).id, context.insert(Person(name: "Bob", age: 1)).id)
            }
            try await coordinator.transaction { context in
                try context.object(for: eve).age = 2
                try context.object(for: bob).delete()
            }
            try await coordinator.transaction { try $0.object(for: eve).name = "Eva" }
            var commits: [Commit] = []
            for try await commit in coordinator.history() { commits.append(commit) }
            try await coordinator.revert(commits[1])
            let snapshot = coordinator.snapshot
            #expect(snapshot.value(for: eve)?.age == 1 && snapshot.value(for: eve)?.name == "Eva")
            #expect(snapshot.value(for: bob)?.name == "Bob")
            try await coordinator.transaction { try $0.object(for: eve).age = 7 }
            try await coordinator.transaction { try $0.object(for: bob).delete() }
            let before = coordinator.snapshot
            do throws(GraphError) {
                try await coordinator.revert(commits[0])
                Issue.record("reverted")
            } catch {
                guard case .revertConflicts(let conflicts) = error else { throw error }
                #expect(conflicts.map { "\($0)" } == ["\(AnyPersistentID(eve))"])
            }
            #expect(coordinator.snapshot.token == before.token)
            let other = try await Coordinator(for: Team.self, Person.self)
            await #expect(throws: GraphError.self) { try await other.revert(commits[0]) }
            try await coordinator.close()
        }
    }

    // MARK: Earlier commits

    /// What a state says: of each row that it is there, of each property its value, of each link its position.
    private static func facts(_ snapshot: Snapshot) -> [String: String] {
        var facts: [String: String] = [:]
        for (entity, description) in snapshot.schema.entities.enumerated() {
            snapshot.entities[entity].rows.forEachRow { row, _, address in
                facts["\(description.name) \(row)"] = ""
                for property in description.properties where property.isStored {
                    facts["\(description.name) \(row).\(property.name)"] =
                        property.operations.describe(address + property.offset)
                }
            }
        }
        for (number, table) in snapshot.linkTables.enumerated() {
            table.members.forEachEntry { entry in
                let link = LinkTable.Link(entry)
                facts["\(number): \(link.owner) \(link.member)"] = link.key.map { "\($0.bytes)" } ?? ""
                return true
            }
        }
        return facts
    }

    @Test(arguments: [true, false])
    func `all that a commit did is as before it, and all else as it was, or nothing happens`(
        isFile: Bool
    ) async throws {
        var (reverted, refused) = (0, 0)
        for seed in Seeds.programs(share: 2) {
            let folder = try TemporaryFolder()
            var run = try await AnnalsRun(path: isFile ? folder.file() : nil, seed: seed)
            for _ in 0..<6 {
                try await run.run(8)
                guard run.states.count > 1 else { continue }
                let place = Int.random(in: 1..<run.states.count, using: &run.random)
                let (before, after) = (Self.facts(run.states[place - 1]), Self.facts(run.states[place]))
                let current = run.coordinator.snapshot
                var history = run.coordinator.history(since: run.states[place - 1].token).makeAsyncIterator()
                let commit = try #require(try await history.next())
                do throws(GraphError) {
                    try await run.coordinator.revert(commit)
                    var expected = Self.facts(current)
                    for key in Set(before.keys).union(after.keys) where before[key] != after[key] {
                        expected[key] = before[key]
                    }
                    let found = Self.facts(run.coordinator.snapshot)
                    let wrong = Set(found.keys).union(expected.keys).filter { found[$0] != expected[$0] }.sorted()
                    #expect(
                        wrong == [],
                        "seed \(seed), commit \(commit.number) at \(current.commit), \(wrong.map { found[$0] })")
                    reverted += 1
                } catch {
                    if case .revertConflicts = error { refused += 1 }
                    #expect(run.coordinator.snapshot.token == current.token)
                }
                if run.coordinator.snapshot.commit != run.states[run.states.count - 1].commit {
                    run.states.append(run.coordinator.snapshot)
                }
            }
            try await run.coordinator.close()
        }
        #expect(reverted > 20 && refused > 20, "\(reverted) reverted, \(refused) refused")
    }

    @Test func `what others add while a commit is reverted is not deleted along with it`() async throws {
        var reverted = 0
        for round in 0..<400 {
            let coordinator = try await Coordinator(for: Shelf.self, Book.self)
            let shelf = try await coordinator.transaction { $0.insert(Shelf(name: "new")).id }
            var history = coordinator.history().makeAsyncIterator()
            let commit = try #require(try await history.next())
            let added = await withTaskGroup(of: Int.self) { group in
                for number in 0..<2 {
                    group.addTask {
                        for _ in 0..<(round % 40) { await Task.yield() }
                        let result = try? await coordinator.transaction(retries: 0) { context in
                            context.insert(Book(title: "\(number)", shelf: ToOne(shelf)))
                            return 1
                        }
                        return result ?? 0
                    }
                }
                group.addTask {
                    do { try await coordinator.revert(commit) } catch { return 0 }
                    return 100
                }
                return await group.reduce(0, +)
            }
            // Those that came first are a conflict, and those that come later have nowhere to go.
            #expect(coordinator.snapshot.count(of: Book.self) == added % 100)
            #expect(coordinator.snapshot.count(of: Shelf.self) == (added >= 100 ? 0 : 1))
            #expect(added <= 100, "\(added)")
            if added >= 100 { reverted += 1 }
        }
        #expect(reverted > 0 && reverted < 400, "\(reverted)")
    }

    @Test func `a commit of an earlier opening is read anew, with the types of this one`() async throws {
        let folder = try TemporaryFolder()
        var coordinator = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        var feed = coordinator.commits.makeAsyncIterator()
        let eve = try await coordinator.transaction { $0.insert(Person(name: "Eve")).id }
        let bob = try await coordinator.transaction { $0.insert(Person(name: "Bob")).id }
        let (first, second) = (try #require(await feed.next()), try #require(await feed.next()))
        try await coordinator.close()
        coordinator = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        try await coordinator.revert(first)
        #expect(coordinator.snapshot.value(for: eve) == nil && coordinator.snapshot.value(for: bob)?.name == "Bob")
        try await coordinator.close()
        // In another order, entities have other numbers, and the file is another one.
        coordinator = try await Coordinator(for: Person.self, Team.self, at: folder.file())
        try await coordinator.revert(second)
        #expect(coordinator.snapshot.value(for: bob) == nil && coordinator.check() == [])
        try await coordinator.close()
    }

    // MARK: Rules

    private static func newest(_ coordinator: Coordinator) async throws -> Commit {
        var history = coordinator.history(HistoryRequest(isNewestFirst: true)).makeAsyncIterator()
        return try #require(try await history.next())
    }

    /// What refuses a revert, which changes nothing then.
    private static func refusal(
        _ coordinator: Coordinator, _ commit: Commit, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> GraphError {
        let before = coordinator.snapshot
        do throws(GraphError) { try await coordinator.revert(commit) } catch {
            let after = coordinator.snapshot
            #expect(after.contents() == before.contents(), sourceLocation: sourceLocation)
            #expect(after.check() == [], sourceLocation: sourceLocation)
            return error
        }
        Issue.record("reverted", sourceLocation: sourceLocation)
        throw CancellationError()
    }

    /// Of the objects that were changed since.
    private static func conflicts(
        _ coordinator: Coordinator, _ commit: Commit, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> [String] {
        let refusal = try await refusal(coordinator, commit, sourceLocation: sourceLocation)
        guard case .revertConflicts(let conflicts) = refusal else { throw refusal }
        return conflicts.map { "\($0)" }
    }

    private static func failures(
        _ coordinator: Coordinator, _ commit: Commit, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> [String] {
        let refusal = try await refusal(coordinator, commit, sourceLocation: sourceLocation)
        guard case .validationFailed(let failures) = refusal else { throw refusal }
        return failures.map { "\($0)" }
    }

    @Test func `hooks run for what a revert changes or brings back`() async throws {
        let coordinator = try await Coordinator(for: Guest.self)
        let eve = try await coordinator.transaction { $0.insert(Guest(name: "Eve")).id }
        try await coordinator.transaction { try $0.object(for: eve).age = 7 }
        let aging = try await Self.newest(coordinator)
        try await coordinator.transaction { try $0.object(for: eve).name = "Eva" }
        func guest() -> [String] {
            coordinator.snapshot.value(for: eve).map { ["\($0.name)", "\($0.age)", "\($0.saves)"] } ?? []
        }
        #expect(guest() == ["Eva", "7", "3"])
        // The number of before, and one more.
        try await coordinator.revert(try await Self.newest(coordinator))
        #expect(guest() == ["Eve", "7", "3"] && coordinator.snapshot.version(of: eve)?.number == 4)
        try await coordinator.transaction { try $0.object(for: eve).delete() }
        try await coordinator.revert(try await Self.newest(coordinator))
        #expect(guest() == ["Eve", "7", "4"] && coordinator.snapshot.version(of: eve)?.number == 6)
        // What a hook has changed since is changed.
        #expect(try await Self.conflicts(coordinator, aging) == ["\(AnyPersistentID(eve)).saves"])
        let bob = try await coordinator.transaction { $0.insert(Guest(name: "Bob")).id }
        try await coordinator.revert(try await Self.newest(coordinator))
        #expect(coordinator.snapshot.value(for: bob) == nil && guest() == ["Eve", "7", "4"])
    }

    @Test func `what a program's validation refuses by now does not come back`() async throws {
        let folder = try TemporaryFolder()
        let first = try await Coordinator(for: Lenient.Visitor.self, at: folder.file())
        let eve = try await first.transaction { context in
            context.insert(Lenient.Visitor(name: "Bob"))
            return context.insert(Lenient.Visitor(name: "")).id
        }
        try await first.transaction { context in
            try context.object(for: eve).name = "Eve"
            context.insert(Lenient.Visitor(name: "Ann"))
        }
        let bad = try await first.transaction { $0.insert(Lenient.Visitor(name: "")).id }
        try await first.transaction { try $0.object(for: bad).delete() }
        try await first.transaction { try $0.object(for: eve).age = 3 }
        try await first.close()

        let coordinator = try await Coordinator(for: Strict.Visitor.self, at: folder.file())
        var commits: [Commit] = []
        for try await commit in coordinator.history() { commits.append(commit) }
        #expect(try await Self.failures(coordinator, commits[1]) == ["Visitor/p2.name: must not be empty"])
        #expect(try await Self.failures(coordinator, commits[3]) == ["Visitor/p4.name: must not be empty"])
        try await coordinator.revert(commits[4])
        #expect(try coordinator.snapshot.fetchValues(Strict.Visitor.self).map(\.age) == [0, 0, 0])
        try await coordinator.close()
    }

    @Test(arguments: KeyedProperty.allCases)
    fileprivate func `a unique value that another object has by now refuses the one that had it`(
        _ property: KeyedProperty
    ) async throws {
        let coordinator = try await Coordinator(for: Keyed.self)
        func insert(_ name: String) async throws -> Keyed.ID {
            try await coordinator.transaction { context in
                let object = context.insert(Keyed(name: name))
                object[dynamicMember: property.path] = 1
                return object.id
            }
        }
        func isTaken(of id: Keyed.ID, by other: Keyed.ID, _ commit: Commit) async throws -> Bool {
            let refusal = try await Self.refusal(coordinator, commit)
            guard case .notUnique(let violations) = refusal else { throw refusal }
            let found = violations.map { [$0.id, $0.existing] }
            return found == [[AnyPersistentID(id), AnyPersistentID(other)]]
        }
        let eve = try await insert("Eve")
        try await coordinator.transaction { try $0.object(for: eve)[dynamicMember: property.path] = nil }
        let change = try await Self.newest(coordinator)
        let bob = try await insert("Bob")
        #expect(try await isTaken(of: eve, by: bob, change))
        try await coordinator.transaction { try $0.object(for: bob).delete() }
        let delete = try await Self.newest(coordinator)
        let ann = try await insert("Ann")
        #expect(try await isTaken(of: bob, by: ann, delete))
        try await coordinator.transaction { try $0.object(for: ann).delete() }
        try await coordinator.revert(delete)
        #expect(coordinator.snapshot.value(for: bob)?.name == "Bob" && coordinator.check() == [])
    }

    @Test func `what a delete rule would deny or end is a conflict before it comes to that`() async throws {
        let coordinator = try await Coordinator(for: Room.self, Visit.self, Postcard.self)
        let red = try await coordinator.transaction { $0.insert(Room(name: "red")).id }
        let visit = try await coordinator.transaction { $0.insert(Visit(room: ToOne(red))).id }
        let blue = try await coordinator.transaction { $0.insert(Room(name: "blue")).id }
        let insert = try await Self.newest(coordinator)
        try await coordinator.transaction { try $0.object(for: visit).room = $0[blue] }
        let move = try await Self.newest(coordinator)
        // The delete would be denied.
        #expect(try await Self.conflicts(coordinator, insert) == ["\(AnyPersistentID(blue))"])
        let card = try await coordinator.transaction { context in
            try context.object(for: visit).room = nil
            return context.insert(Postcard(room: ToOne(blue))).id
        }
        // The card would lose its reference.
        #expect(try await Self.conflicts(coordinator, insert) == ["\(AnyPersistentID(blue))"])
        try await coordinator.transaction { context in
            try context.object(for: card).delete()
            try context.object(for: visit).room = context[blue]
            try context.object(for: red).delete()
        }
        // Where it came from is gone.
        #expect(try await Self.conflicts(coordinator, move) == ["\(AnyPersistentID(visit)).room"])
        try await coordinator.transaction { try $0.object(for: visit).delete() }
        try await coordinator.revert(insert)
        #expect(coordinator.snapshot.value(for: blue) == nil && coordinator.check() == [])
    }

    @Test func `a revert that would leave too few or too many members is refused`() async throws {
        let coordinator = try await Coordinator(for: Table.self, Seat.self)
        let (table, first) = try await coordinator.transaction { context in
            let table = context.insert(Table())
            return (table.id, context.insert(Seat(table: ToOne(table.id))).id)
        }
        let second = try await coordinator.transaction { $0.insert(Seat(table: ToOne(table))).id }
        let adding = try await Self.newest(coordinator)
        try await coordinator.transaction { try $0.object(for: first).table = nil }
        let leaving = try await Self.newest(coordinator)
        #expect(
            try await Self.failures(coordinator, adding) == [
                "Table/p1.seats: has 0 objects, where there must be at least 1"
            ])
        let third = try await coordinator.transaction { $0.insert(Seat(table: ToOne(table))).id }
        #expect(
            try await Self.failures(coordinator, leaving) == [
                "Table/p1.seats: has 3 objects, where there must be at most 2"
            ])
        try await coordinator.revert(adding)
        try await coordinator.revert(leaving)
        #expect(try coordinator.snapshot.related(\Table.seats, of: table) == [first, third])
        #expect(coordinator.snapshot.value(for: second) == nil && coordinator.check() == [])
    }
}

@Entity private struct Shelf {
    var name = ""
    @Relationship(.cascade, inverse: \Book.shelf) var books: ToMany<Book> = []
}

@Entity private struct Book {
    var title = ""
    var shelf: ToOne<Shelf> = nil
}

@Entity private struct Guest {
    var name = ""
    var age = 0
    /// How often the hook has run.
    var saves = 0

    mutating func willSave() { saves += 1 }
}

private enum Lenient {
    @Entity struct Visitor {
        var name = ""
        var age = 0
    }
}

/// The next version of the program.
private enum Strict {
    @Entity struct Visitor {
        var name = ""
        var age = 0

        func validate() throws {
            if name.isEmpty { throw ValidationError(\Self.name, "must not be empty") }
        }
    }
}

@Entity private struct Keyed {
    var name = ""
    @Unique var code: Int?
    @Unique(onConflict: .upsert) var upserted: Int?
    @Unique(onConflict: .replace) var replaced: Int?
    @Unique(onConflict: .keepExisting) var kept: Int?
}

private enum KeyedProperty: CaseIterable {
    case code, upserted, replaced, kept

    var path: any WritableKeyPath<Keyed, Int?> & Sendable {
        switch self {
        case .code: \.code
        case .upserted: \.upserted
        case .replaced: \.replaced
        case .kept: \.kept
        }
    }
}

@Entity private struct Room {
    var name = ""
    @Relationship(.deny, inverse: \Visit.room) var visits: ToMany<Visit> = []
}

@Entity private struct Visit {
    var room: ToOne<Room> = nil
}

/// Rooms do not know of it.
@Entity private struct Postcard {
    var room: ToOne<Room> = nil
}

@Entity private struct Table {
    @Relationship(inverse: \Seat.table, minimum: 1, maximum: 2) var seats: ToMany<Seat> = []
}

@Entity private struct Seat {
    var table: ToOne<Table> = nil
}
