@testable import Graph

/// A program of two bytes for each step, on a disk that fails and loses power: what was confirmed is there afterwards, and
/// nothing else but at most the save of which nobody knows.
struct FuzzedOperations {
    /// What is in the store.
    private struct Facts: Equatable {
        struct Member: Equatable {
            var name: String
            var age: Int
            var team: RowNumber?
        }

        var commits = 0
        var teams: [RowNumber: String] = [:]
        var people: [RowNumber: Member] = [:]

        init() {}

        init(_ snapshot: Snapshot) throws {
            try snapshot.forEachValue(Team.self) { teams[$0.row] = $1.name }
            try snapshot.forEachValue(Person.self) { id, person in
                people[id.row] = Member(name: person.name, age: person.age, team: person.team.id?.row)
            }
            commits = Int(snapshot.commit.number)
        }

        func team(_ number: UInt8) -> RowNumber? { Self.row(number, teams.keys.sorted()) }
        func person(_ number: UInt8) -> RowNumber? { Self.row(number, people.keys.sorted()) }

        private static func row(_ number: UInt8, _ rows: [RowNumber]) -> RowNumber? {
            rows.isEmpty ? nil : rows[Int(number) % rows.count]
        }
    }

    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private var disk = SimulatedDisk()
    private var coordinator: Coordinator?
    private var context: Context?
    private var confirmed = Facts()
    /// Of a save that may have been made or not.
    private var doubtful: Facts?
    private var pending = Facts()
    private var opened = 0

    static func findings(_ bytes: [UInt8]) async -> [String] {
        var program = FuzzedOperations()
        var rest = bytes.prefix(400)
        do {
            try await program.open()
            while let operation = rest.popFirst() { try await program.take(operation, rest.popFirst() ?? 0) }
            try await program.crash(keeping: 0, sector: 0)
            try await program.coordinator?.close()
            return []
        } catch { return ["\(error)"] }
    }

    private mutating func take(_ operation: UInt8, _ argument: UInt8) async throws {
        switch operation % 16 {
        case 0, 1: await insertPerson(argument)
        case 2: await insertTeam(argument)
        case 3: await setAge(argument)
        case 4: await move(argument)
        case 5: await delete(argument)
        case 6, 7, 8: try await save(argument)
        case 9: try await compact()
        case 10: try await reopen()
        case 11:
            disk.killProcess()
            try await open()
        case 12: try await crash(keeping: UInt64(argument) &* 0x0101_0101_0101_0101, sector: operation >> 4)
        case 13: fail(argument, in: Int(operation >> 4), forEver: false)
        case 14: fail(argument, in: Int(operation >> 4), forEver: true)
        default: await rollback()
        }
    }

    // MARK: Changes

    private mutating func insertPerson(_ argument: UInt8) async {
        let team = argument % 2 == 0 ? pending.team(argument >> 1) : nil
        guard let context else { return }
        let row = await context.perform { context in
            let person = context.insert(Person(name: "p\(argument)", age: Int(argument)))
            if let team { person.team = context[PersistentID<Team>(row: team)] }
            return person.id.row
        }
        pending.people[row] = Facts.Member(name: "p\(argument)", age: Int(argument), team: team)
    }

    private mutating func insertTeam(_ argument: UInt8) async {
        let name = String(repeating: "t", count: Int(argument) * 8)
        guard let context else { return }
        let row = await context.perform { context in context.insert(Team(name: name)).id.row }
        pending.teams[row] = name
    }

    private mutating func setAge(_ argument: UInt8) async {
        guard let context, let row = pending.person(argument) else { return }
        await context.perform { context in context[PersistentID<Person>(row: row)]?.age += Int(argument) }
        pending.people[row]?.age += Int(argument)
    }

    private mutating func move(_ argument: UInt8) async {
        guard let context, let row = pending.person(argument) else { return }
        let team = pending.team(argument >> 4)
        await context.perform { context in
            context[PersistentID<Person>(row: row)]?.team = team.flatMap { context[PersistentID<Team>(row: $0)] }
        }
        pending.people[row]?.team = team
    }

    private mutating func delete(_ argument: UInt8) async {
        guard let context else { return }
        if argument % 2 == 0, let row = pending.person(argument >> 1) {
            await context.perform { context in context[PersistentID<Person>(row: row)]?.delete() }
            pending.people[row] = nil
        } else if let row = pending.team(argument >> 1) {
            await context.perform { context in context[PersistentID<Team>(row: row)]?.delete() }
            pending.teams[row] = nil
            for person in pending.people.keys where pending.people[person]?.team == row {
                pending.people[person]?.team = nil
            }
        }
    }

    private mutating func rollback() async {
        await context?.rollback()
        pending = confirmed
    }

    // MARK: Saves

    private mutating func save(_ argument: UInt8) async throws {
        guard let context, let coordinator else { return }
        do throws(GraphError) {
            try await context.save()
            // Without changes nothing is saved.
            pending.commits = Int(coordinator.snapshot.commit.number)
            if pending != confirmed, doubtful != nil { throw GraphError.closed(path: "a save after one in doubt") }
            confirmed = pending
        } catch {
            if case .closed = error { throw Failure(description: "\(error)") }
            if case .outcomeUnknown = error {
                doubtful = pending
                doubtful?.commits += 1
            }
            await rollback()
        }
    }

    private mutating func compact() async throws { try? await coordinator?.compact() }

    private mutating func fail(_ argument: UInt8, in count: Int, forEver: Bool) {
        let faults: [SimulatedDisk.Fault] = [
            .error(.diskFull, 28), .errorAfterHalf(.diskFull, 28), .error(.other, 5), .errorAfterHalf(.other, 5),
            .short,
            .zero, .syncFailure(reverts: false), .syncFailure(reverts: true),
        ]
        let fault = faults[Int(argument) % faults.count]
        let index = disk.operationCount + count + Int(argument >> 3)
        if forEver { disk.failForEver(from: index, with: fault) } else { disk.fail(operation: index, with: fault) }
    }

    // MARK: Endings

    private mutating func reopen() async throws {
        do throws(GraphError) { try await coordinator?.close() } catch { disk.killProcess() }
        try await open()
    }

    /// The power is cut: what was not synced is kept or lost sector by sector, as the bits say.
    private mutating func crash(keeping mask: UInt64, sector: UInt8) async throws {
        let medium = disk.medium
        disk.killProcess()
        let fills = Medium.Fill.allCases
        disk = SimulatedDisk(
            medium.crashed(
                keeps: { mask & 1 << UInt64($0 % 64) != 0 }, fill: fills[Int(sector) % fills.count],
                keepsLength: sector & 4 != 0, keepsName: { mask.byteSwapped & 1 << UInt64($0 % 64) != 0 }))
        try await open()
    }

    /// Opens what is there on a disk without faults, and compares it with what has to be there.
    private mutating func open() async throws {
        disk.stopFailing()
        opened += 1
        let coordinator = try await Coordinator(
            Schema([EntityDescription(Team.self), EntityDescription(Person.self)]), path: FuzzedFile.path,
            fileSystem: disk, options: JournalFixture.options(seed: UInt64(opened)), compaction: .manual)
        let found = try Facts(coordinator.snapshot)
        let findings = coordinator.snapshot.checkByHand()
        guard findings.isEmpty else { throw Failure(description: "check: \(findings)") }
        guard found == confirmed || found == doubtful else {
            throw Failure(description: "the store has \(found), not \(confirmed) or \(doubtful as Any)")
        }
        (confirmed, pending, doubtful) = (found, found, nil)
        self.coordinator = coordinator
        context = Context(coordinator)
    }
}
