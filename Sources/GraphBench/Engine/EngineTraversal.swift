import Graph

/// The engine's side of ``Workload/traversalWorkloads``.
enum EngineTraversal {
    static let contenders: [String: Workload.Contender] = [
        "traverse_to_one": { setting in
            let store = try await setting.engineStore
            let ids = setting.data.lookups.map { store.people[$0] }
            let context = Context(store.coordinator)
            return { _ in try await context.teamNames(from: ids) }
        },
        "traverse_to_one_held": { setting in
            let store = try await setting.engineStore
            let ids = setting.data.lookups.map { store.people[$0] }
            let context = Context(store.coordinator)
            return { _ in try await context.teamNames(holding: ids) }
        },
        "traverse_to_one_many": { setting in
            let rows = setting.data.rows
            let store = try await EngineStore(
                Coordinator(for: Team.self, Person.self), rows: rows, teams: PeopleData.manyTeams(rows: rows))
            let ids = setting.data.lookups.map { store.people[$0] }
            let context = Context(store.coordinator)
            return { _ in try await context.teamNames(holding: ids) }
        },
        "traverse_to_many_objects": { setting in
            let store = try await setting.engineStore
            let ids = setting.data.visitedTeams.map { store.teams[$0] }
            let context = Context(store.coordinator)
            return { _ in await context.agesOfObjects(in: ids) }
        },
        "traverse_to_many_objects_held": { setting in
            let store = try await setting.engineStore
            let ids = setting.data.visitedTeams.map { store.teams[$0] }
            let context = Context(store.coordinator)
            return { _ in await context.agesOfHeldObjects(in: ids) }
        },
        "traverse_to_many": { setting in
            let store = try await setting.engineStore
            let ids = setting.data.visitedTeams.map { store.teams[$0] }
            let context = Context(store.coordinator)
            return { _ in await context.agesOfValues(in: ids) }
        },
    ]
}

extension Context {
    /// Goes from identifiers to the teams' names.
    func teamNames(from ids: [Person.ID]) throws -> Measurement {
        let stopwatch = Stopwatch()
        var answer: UInt64 = 0
        for id in ids {
            answer &+= Checksum.text(self[id]?.team?.name ?? "")
        }
        return Measurement(amount: stopwatch.seconds, count: ids.count, answer: answer)
    }

    /// Goes from objects in hand to the teams' names.
    func teamNames(holding ids: [Person.ID]) throws -> Measurement {
        let people = ids.compactMap { self[$0] }
        let stopwatch = Stopwatch()
        var answer: UInt64 = 0
        for person in people {
            answer &+= Checksum.text(person.team?.name ?? "")
        }
        return Measurement(amount: stopwatch.seconds, count: people.count, answer: answer)
    }

    /// Adds up the ages of teams' members, who become objects of this context.
    func agesOfObjects(in ids: [Team.ID]) -> Measurement {
        Workload.agesTimed {
            ids.map { id in
                var (sum, count) = (0, 0)
                guard let team = self[id] else { return (sum, count) }
                for person in team.members {
                    count += 1
                    sum += person.age
                }
                return (sum, count)
            }
        }
    }

    /// Adds up the ages of teams' members, whose objects the program holds.
    func agesOfHeldObjects(in ids: [Team.ID]) -> Measurement {
        let held = ids.compactMap { id in self[id].map { Array($0.members) } }
        return withExtendedLifetime(held) { agesOfObjects(in: ids) }
    }

    /// Adds up the ages of teams' members, of whom no objects are made.
    func agesOfValues(in ids: [Team.ID]) -> Measurement {
        Workload.agesTimed {
            ids.map { id in
                var (sum, count) = (0, 0)
                self[id]?.members.forEachValue {
                    count += 1
                    sum += $0.age
                }
                return (sum, count)
            }
        }
    }
}
