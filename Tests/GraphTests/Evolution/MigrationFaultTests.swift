import Testing

@testable import Graph

/// The next version of `Team` and `Person`: a property more with a default, and another one wider.
private enum Later {
    @Entity struct Team {
        var name: String
        var founded = 1900
        @Relationship(inverse: \Person.team) var members: ToMany<Person> = []
    }

    @Entity struct Person {
        var name: String
        @Unique var email: String?
        @Indexed var age: Int128 = 0
        var team: ToOne<Team> = nil
    }

    static func open(_ disk: any StoreFileSystem, seed: UInt64 = 5) async throws(GraphError) -> Coordinator {
        let schema = try Schema([EntityDescription(Team.self), EntityDescription(Person.self)])
        return try await Coordinator(
            schema, path: JournalFixture.path, fileSystem: disk, options: JournalFixture.options(seed: seed))
    }
}

/// Interrupts a migration everywhere and in every way: afterwards the file is the old one, complete, or the new one, complete.
struct MigrationFaultTests {
    /// A disk with a file of the old schema.
    private static func oldDisk() async throws -> (Medium, names: [String]) {
        let disk = SimulatedDisk()
        let coordinator = try await Coordinator.people(on: disk)
        for team in 0..<3 {
            try await Context(coordinator).transaction { context in
                let team = context.insert(GraphTests.Team(name: "team \(team)"))
                for number in 0..<4 {
                    context.insert(GraphTests.Person(name: "\(team.name) \(number)", age: number, team: ToOne(team.id)))
                }
            }
        }
        let names = try coordinator.snapshot.fetchValues(GraphTests.Person.self).map(\.name)
        try await coordinator.close()
        return (disk.medium, names)
    }

    /// Whether the store is of the new schema, after checking that it has everything.
    private static func isMigrated(_ disk: SimulatedDisk, _ names: [String], _ comment: String) async -> Bool? {
        do {
            let bytes = disk.contents(JournalFixture.path) ?? []
            // Bytes 64 to 71 of the header are the generation.
            let isNew = bytes.count > 72 && bytes[64] == 2
            if !isNew {
                // The old program finds what it left.
                let coordinator = try await Coordinator.people(on: disk, seed: 7)
                #expect(try coordinator.snapshot.fetchValues(Person.self).map(\.name) == names, "\(comment)")
                #expect(coordinator.snapshot.check() == [], "\(comment)")
                try await coordinator.close()
            }
            for round in 0..<2 {
                let coordinator = try await Later.open(disk, seed: 8)
                let people = try coordinator.snapshot.fetchValues(Later.Person.self)
                #expect(people.map(\.name) == names, "\(comment)")
                #expect(people.map(\.age) == (0..<12).map { Int128($0 % 4) }, "\(comment)")
                let teams = try coordinator.snapshot.fetchValues(Later.Team.self)
                #expect(teams.map(\.founded) == [1900, 1900, 1900], "\(comment)")
                #expect(coordinator.snapshot.check() == [], "\(comment)")
                #expect(coordinator.snapshot.commit.number == UInt64(4 + round), "\(comment)")
                var numbers: [UInt64] = []
                for try await commit in coordinator.history() { numbers.append(commit.number.number) }
                #expect(numbers == Array(1..<UInt64(5 + round)), "\(comment)")
                try await Context(coordinator).transaction { try $0.first(Later.Team.self)?.name += "!" }
                try await coordinator.close()
            }
            #expect(disk.names.filter { $0.contains(".new-") }.isEmpty, "\(comment)")
            #expect(disk.names.filter { $0.contains(".schema-") }.count == 1, "\(comment): \(disk.names)")
            return isNew
        } catch {
            Issue.record("\(comment): \(error)")
            return nil
        }
    }

    @Test(arguments: [false, true])
    func `every operation may fail in every way, once or from then on`(forEver: Bool) async throws {
        let (medium, names) = try await Self.oldDisk()
        let reference = SimulatedDisk(medium)
        let opened = try await Later.open(reference)
        let count = reference.operationCount
        try await opened.close()
        #expect(await Self.isMigrated(reference, names, "reference") == true)
        var (old, new) = (0, 0)
        for (name, fault) in ErrorSweepTests.faults {
            for index in 0..<count where Sweep.tries(index) {
                let disk = SimulatedDisk(medium, failingAt: index, with: fault, forEver: forEver)
                var outcome = "opened"
                do throws(GraphError) {
                    try await Later.open(disk).close()
                } catch {
                    outcome = "\(error)"
                }
                disk.stopFailing()
                disk.killProcess()
                let comment = "\(name) at \(index) (\(disk.trace[safe: index] ?? "")): \(outcome)"
                guard let isNew = await Self.isMigrated(disk, names, comment) else { continue }
                if isNew { new += 1 } else { old += 1 }
            }
        }
        #expect(old > Sweep.least(100) && new >= Sweep.least(10), "\(old) \(new)")
    }

    @Test func `a power cut at any moment leaves one of the two files`() async throws {
        let (medium, names) = try await Self.oldDisk()
        let disk = SimulatedDisk(medium)
        disk.startRecording()
        try await Later.open(disk).close()
        var states: Set<Bool> = []
        let opened = await disk.moments.forEachPowerCut(seed: 4) { medium, _, comment in
            if let isNew = await Self.isMigrated(SimulatedDisk(medium), names, comment) { states.insert(isNew) }
        }
        // A part of the sweep may meet one of the two alone.
        #expect(opened > 100 && states.count >= (Sweep.isWhole ? 2 : 1), "\(opened) \(states)")
    }

    @Test func `a crash in the opening after a crash in a migration`() async throws {
        let (medium, names) = try await Self.oldDisk()
        let disk = SimulatedDisk(medium)
        disk.startRecording()
        try await Later.open(disk).close()
        var random = SeededGenerator(seed: 6)
        var (second, twoNames) = (0, 0)
        let first = try await disk.moments.forEachPowerCut(seed: 6) { crashed, _, comment in
            if crashed.names.keys.contains(where: { $0.text.contains(".schema-") }) { twoNames += 1 }
            let recovering = SimulatedDisk(crashed)
            recovering.startRecording()
            try await Later.open(recovering, seed: 6).close()
            for (place, later) in recovering.moments.enumerated() {
                second += 1
                guard Sweep.tries(second, of: 5) else { continue }
                let mask = [0, .max, random.next()][place % 3]
                let medium = later.medium.crashed(keeping: mask, using: &random)
                let comment = "\(comment), then \(place) (\(later.operation)), \(mask)"
                _ = await Self.isMigrated(SimulatedDisk(medium), names, comment)
            }
        }
        #expect(second > Sweep.least(2_000) && twoNames >= Sweep.least(1), "\(first) \(second) \(twoNames)")
    }

    @Test func `a file with two names is refused, unless a migration gave it the second one`() async throws {
        let (medium, names) = try await Self.oldDisk()
        for (name, isOwn) in [
            (".schema-1", true), (".schema-77", false), (".schema-01", false), (".schema-", false),
            (".schema-x", false), (".old", false),
        ] {
            let disk = SimulatedDisk(medium)
            try disk.link(StorePath(JournalFixture.path), to: StorePath(JournalFixture.path + name))
            do throws(GraphError) {
                try await Coordinator.people(on: disk, seed: 7).close()
                #expect(isOwn, "\(name)")
                #expect(!disk.names.contains(JournalFixture.path + name))
                #expect(await Self.isMigrated(disk, names, name) == false)
            } catch {
                #expect(!isOwn, "\(name): \(error)")
            }
        }
    }
}

extension Array {
    fileprivate subscript(safe index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}
