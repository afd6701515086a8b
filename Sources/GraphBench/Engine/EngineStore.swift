import Foundation
import Graph

/// A coordinator with the people in it, and the identifiers in the order of the data.
struct EngineStore: Sendable {
    let coordinator: Coordinator
    let teams: [Team.ID]
    let people: [Person.ID]

    /// Inserts all rows of `data` in transactions of ``PeopleData/batch``.
    init(_ coordinator: Coordinator, loading data: PeopleData) async throws {
        try await self.init(in: Context(coordinator), loading: data)
    }

    /// The same in a context that goes on to live.
    init(in context: Context, loading data: PeopleData) async throws {
        coordinator = context.coordinator
        (teams, people) = try await context.load(teamNames: data.teamNames, batches: data.batches) { data.people[$0] }
    }

    /// The same with so many teams, of rows that are made one at a time.
    init(_ coordinator: Coordinator, rows: Int, teams: Int) async throws {
        self.coordinator = coordinator
        (self.teams, people) = try await Context(coordinator).load(
            teamNames: PeopleData.teamNames(teams), batches: PeopleData.batches(rows: rows)
        ) { PeopleData.person($0, teams: teams) }
    }

    static func inMemory(_ data: PeopleData) async throws -> EngineStore {
        try await EngineStore(Coordinator(for: Team.self, Person.self), loading: data)
    }

    /// With the context that has loaded the rows.
    static func inMemoryWithContext(_ data: PeopleData) async throws -> (store: EngineStore, context: Context) {
        let context = Context(try await Coordinator(for: Team.self, Person.self))
        return (try await EngineStore(in: context, loading: data), context)
    }

    static func open(
        _ path: String, retention: HistoryRetention = HistoryRetention()
    ) async throws -> Coordinator {
        try await Coordinator(for: Team.self, Person.self, at: path, retention: retention)
    }

    func answer() throws -> UInt64 {
        try Self.answer(coordinator)
    }

    /// Everything that is there.
    static func answer(_ coordinator: Coordinator) throws -> UInt64 {
        let snapshot = coordinator.snapshot
        let people: UInt64 = try snapshot.fetchValues(Person.self).reduce(0) { sum, person in
            let team = person.team.id.flatMap { snapshot.value(for: $0) }
            return sum &+ person.fingerprint(team: team?.name ?? "")
        }
        return Checksum.store(people: people, teamNames: try snapshot.fetchValues(Team.self).lazy.map(\.name))
    }

    /// Who of some people has which balance.
    func balances(of ids: [Person.ID]) -> UInt64 {
        Self.balances(of: ids, in: coordinator)
    }

    static func balances(of ids: [Person.ID], in coordinator: Coordinator) -> UInt64 {
        let snapshot = coordinator.snapshot
        return Checksum.rowByRow(ids.lazy.map { snapshot.value(for: $0)?.checksum ?? 0 })
    }
}

extension Context {
    /// Inserts teams in one transaction and people, whom `person` returns one at a time, in one for each batch.
    fileprivate func load(
        teamNames: [String], batches: [Range<Int>], person: @Sendable (Int) -> PersonRow
    ) async throws -> (teams: [Team.ID], people: [Person.ID]) {
        let teams = insert(contentsOf: teamNames.map { Team(name: $0) })
        try await save()
        var people: [Person.ID] = []
        people.reserveCapacity(batches.last?.upperBound ?? 0)
        for batch in batches {
            people += insert(
                contentsOf: batch.map { index in
                    let row = person(index)
                    return Person(row, team: teams[row.team])
                })
            try await save()
        }
        return (teams, people)
    }
}

extension Setting {
    /// The engine in memory with all rows, for workloads that only read.
    var engineStore: EngineStore {
        get async throws {
            try await shared("Graph in memory") { try await .inMemory(data) }
        }
    }

    /// A closed file of the engine's with all rows, and the people's identifiers.
    var engineFile: (path: String, people: [Person.ID]) {
        get async throws {
            try await shared("Graph file") {
                let path = freshPath("people.graph")
                let store = try await EngineStore(EngineStore.open(path), loading: data)
                try await store.coordinator.close()
                return (path, store.people)
            }
        }
    }

    /// The path of a compacted copy of that file, without history: the other two have none.
    var compactedEngineFile: String {
        get async throws {
            let (original, path) = (try await engineFile.path, freshPath("compacted.graph"))
            return try await shared("compacted Graph file") {
                try FileManager.default.copyItem(atPath: original, toPath: path)
                let coordinator = try await EngineStore.open(path, retention: .none)
                try await coordinator.compact()
                try await coordinator.close()
                return path
            }
        }
    }
}
