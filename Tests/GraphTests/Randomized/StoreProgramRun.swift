@testable import Graph

/// Runs a program on the engine and on the model side by side and compares all that can be seen after each step.
struct StoreProgramRun {
    struct Mismatch: Error, CustomStringConvertible {
        let description: String
    }

    private struct Abandoned: Error {}

    private let path: String?
    private var coordinator: Coordinator
    private var contexts: [Context]
    private var models: [ContextModel]
    private var head = StoreModel()

    /// - Parameter path: where the store's file is to be; nil runs in memory, where reopening does nothing.
    static func mismatch(of program: StoreProgram, path: String?) async -> Mismatch? {
        do {
            var run = try await StoreProgramRun(path: path)
            for (number, step) in program.steps.enumerated() {
                do {
                    try await run.perform(step)
                    try await run.compare()
                } catch {
                    try? await run.coordinator.close()
                    return Mismatch(description: "step \(number), \(step): \(error)")
                }
            }
            try await run.coordinator.close()
            return nil
        } catch {
            return Mismatch(description: "\(error)")
        }
    }

    private init(path: String?) async throws {
        self.path = path
        let coordinator = try await Coordinator(for: Team.self, Person.self, at: path)
        self.coordinator = coordinator
        contexts = (0..<StoreProgram.contextCount).map { _ in Context(coordinator) }
        models = contexts.map { _ in ContextModel(base: StoreModel()) }
    }

    private mutating func perform(_ step: StoreProgram.Step) async throws {
        switch step {
        case .insertTeam(let c, let name):
            let id = await contexts[c].perform { $0.insert(Team(name: "t\(name)")).id.row }
            models[c].work.teams[id] = "t\(name)"
        case .insertPerson(let c, let name, let email, let team):
            let teamID = pick(team, from: models[c].work.teams) ?? 0
            let value = Person(
                name: "n\(name)", email: "e\(email)", team: ToOne(teamID == 0 ? nil : .init(row: teamID)))
            let id = await contexts[c].perform { $0.insert(value).id.row }
            models[c].work.people[id] = .init(name: "n\(name)", email: "e\(email)", age: 0, team: teamID)
        case .rename(let c, let person, let name):
            try await change(c, person, { $0.name = "n\(name)" }, { $0.name = "n\(name)" })
        case .setAge(let c, let person, let age):
            try await change(c, person, { $0.age = age }, { $0.age = age })
        case .setEmail(let c, let person, let email):
            let email = email % 5 == 0 ? nil : "e\(email)"
            try await change(c, person, { $0.email = email }, { $0.email = email })
        case .setTeam(let c, let person, let team):
            let team = team % 4 == 0 ? 0 : pick(team, from: models[c].work.teams) ?? 0
            try await change(c, person, { $0.team = team }, { $0.team = ToOne(team == 0 ? nil : .init(row: team)) })
        case .addMember(let c, let team, let person):
            guard let team = pick(team, from: models[c].work.teams), let id = pick(person, from: models[c].work.people)
            else { return }
            try await contexts[c].perform { context in
                let member: Person.Object = try context.object(for: .init(row: id))
                try context.object(for: PersistentID<Team>(row: team)).members.append(member)
            }
            models[c].work.people[id]?.team = team
        case .renameTeam(let c, let team, let name):
            guard let id = pick(team, from: models[c].work.teams) else { return }
            try await contexts[c].perform { try $0.object(for: PersistentID<Team>(row: id)).name = "t\(name)" }
            models[c].work.teams[id] = "t\(name)"
        case .deletePerson(let c, let person):
            guard let id = pick(person, from: models[c].work.people) else { return }
            try await contexts[c].perform { try $0.object(for: PersistentID<Person>(row: id)).delete() }
            models[c].work.people[id] = nil
        case .deleteTeam(let c, let team):
            guard let id = pick(team, from: models[c].work.teams) else { return }
            try await contexts[c].perform { try $0.object(for: PersistentID<Team>(row: id)).delete() }
            models[c].work.deleteTeam(id)
        case .save(let c):
            try await save(c)
        case .rollback(let c):
            await contexts[c].rollback()
            models[c].rollback(to: models[c].base)
        case .rollbackToLatest(let c):
            await contexts[c].rollbackToLatest()
            models[c].rollback(to: head)
        case .refresh(let c):
            await contexts[c].refresh()
            models[c].refresh(to: head)
        case .failingTransaction(let c, let person):
            let id = pick(person, from: models[c].work.people)
            do {
                try await contexts[c].transaction { context in
                    context.insert(Person(name: "abandoned"))
                    if let id { try context.object(for: PersistentID<Person>(row: id)).delete() }
                    throw Abandoned()
                }
            } catch is Abandoned {}
        case .reopen:
            try await reopen()
        }
    }

    private func pick<Row>(_ number: Int, from rows: [UInt64: Row]) -> UInt64? {
        rows.isEmpty ? nil : rows.keys.sorted()[number % rows.count]
    }

    private mutating func change(
        _ c: Int,
        _ person: Int,
        _ model: (inout StoreModel.PersonRow) -> Void,
        _ engine: @Sendable (Person.Object) -> Void
    ) async throws {
        guard let id = pick(person, from: models[c].work.people) else { return }
        try await contexts[c].perform { engine(try $0.object(for: PersistentID<Person>(row: id))) }
        if var row = models[c].work.people[id] {
            model(&row)
            models[c].work.people[id] = row
        }
    }

    private mutating func save(_ c: Int) async throws {
        let expected = models[c].save(to: &head)
        var actual: ContextModel.Failure?
        do {
            try await contexts[c].save()
        } catch {
            switch error {
            case .conflicts(let conflicts): actual = .conflicts(Set(conflicts.map(\.id.description)))
            case .notUnique: actual = .notUnique
            case .danglingReferences: actual = .dangling
            default: throw error
            }
        }
        try require(actual == expected, "the save gave \(actual as Any), not \(expected as Any)")
    }

    private mutating func reopen() async throws {
        guard let path else { return }
        try await coordinator.close()
        let coordinator = try await Coordinator(for: Team.self, Person.self, at: path)
        self.coordinator = coordinator
        contexts = contexts.map { _ in Context(coordinator) }
        models = models.map { _ in ContextModel(base: head) }
    }

    // MARK: Comparing

    private func compare() async throws {
        let snapshot = coordinator.snapshot
        let failures = snapshot.checkInvariants()
        try require(failures.isEmpty, "invariants: \(failures)")
        var published = try Self.model(of: snapshot)
        snapshot.entities[0].rows.forEachRow { row, version, _ in published.teamVersions[row] = version.number }
        snapshot.entities[1].rows.forEachRow { row, version, _ in published.personVersions[row] = version.number }
        try require(published == head, "published \(published), not \(head)")
        for (context, model) in zip(contexts, models) {
            let seen = try await context.perform { try Self.see($0) }
            var expected = model.work
            expected.teamVersions = [:]
            expected.personVersions = [:]
            try require(seen.state == expected, "a context sees \(seen.state), not \(expected)")
            try require(seen.hasChanges == model.hasChanges, "hasChanges is \(seen.hasChanges)")
            let changes = model.changedTeams.count + model.changedPeople.count + model.lost.count
            try require(seen.changeCount == changes, "\(seen.changeCount) changed objects, not \(changes)")
            for (team, members) in seen.members {
                try require(members == model.work.members(of: team), "team \(team) has \(members)")
            }
            try require(seen.failures.isEmpty, "a context: \(seen.failures)")
        }
    }

    private static func model(of snapshot: Snapshot) throws -> StoreModel {
        var model = StoreModel()
        for id in try snapshot.fetchIDs(Team.self) { model.teams[id.row] = snapshot.value(for: id)?.name }
        for id in try snapshot.fetchIDs(Person.self) {
            guard let value = snapshot.value(for: id) else { continue }
            model.people[id.row] = row(of: value)
        }
        return model
    }

    private static func row(of value: Person) -> StoreModel.PersonRow {
        .init(name: value.name, email: value.email, age: value.age, team: value.team.id?.row ?? 0)
    }

    private struct Seen: Sendable {
        var state = StoreModel()
        var members: [UInt64: [UInt64]] = [:]
        var hasChanges = false
        var changeCount = 0
        var failures: [String] = []
    }

    /// Everything that a program can see of a context, asked through objects.
    private static func see(_ context: isolated Context) throws -> Seen {
        var seen = Seen()
        for team in try context.fetch(Team.self) {
            seen.state.teams[team.id.row] = team.name
            seen.members[team.id.row] = team.members.map(\.id.row)
            if team.members.count != team.members.ids.count { seen.failures.append("count of \(team)") }
            if context[team.id] !== team { seen.failures.append("identity of \(team)") }
        }
        for person in try context.fetch(Person.self) {
            seen.state.people[person.id.row] = row(of: person.value)
            if context[person.id] !== person { seen.failures.append("identity of \(person)") }
            if let team = person.team, !team.members.contains(person) { seen.failures.append("inverse of \(person)") }
        }
        seen.hasChanges = context.hasChanges
        let changed = context.insertedObjects + context.updatedObjects + context.deletedObjects
        seen.changeCount = changed.count
        seen.failures += context.state.working.snapshot.checkInvariants()
        return seen
    }

    private func require(_ holds: Bool, _ message: @autoclosure () -> String) throws {
        if !holds { throw Mismatch(description: message()) }
    }
}
