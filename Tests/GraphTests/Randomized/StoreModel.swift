@testable import Graph

/// A store as a child would write it: dictionaries, no indexes, every state copied whole.
struct StoreModel: Equatable {
    struct PersonRow: Equatable {
        var name: String
        var email: String?
        var age: Int
        var team: UInt64
    }

    var teams: [UInt64: String] = [:]
    var people: [UInt64: PersonRow] = [:]
    var teamVersions: [UInt64: UInt64] = [:]
    var personVersions: [UInt64: UInt64] = [:]

    mutating func deleteTeam(_ id: UInt64) {
        teams[id] = nil
        for (person, row) in people where row.team == id { people[person]?.team = 0 }
    }

    func members(of team: UInt64) -> [UInt64] {
        people.filter { $0.value.team == team }.map(\.key).sorted()
    }
}

/// What one context should see and what its save should come to.
struct ContextModel {
    var base: StoreModel
    var work: StoreModel
    /// Rows changed here that others had deleted by the last refresh.
    var lost: Set<String> = []

    init(base: StoreModel) {
        self.base = base
        work = base
    }

    enum Failure: Equatable {
        case conflicts(Set<String>)
        case notUnique
        case dangling
    }

    private static func changed<Row: Equatable>(_ base: [UInt64: Row], _ work: [UInt64: Row]) -> Set<UInt64> {
        Set(base.keys).union(work.keys).filter { base[$0] != work[$0] }
    }

    var changedTeams: Set<UInt64> { Self.changed(base.teams, work.teams) }
    var changedPeople: Set<UInt64> { Self.changed(base.people, work.people) }
    var hasChanges: Bool { !changedTeams.isEmpty || !changedPeople.isEmpty || !lost.isEmpty }

    /// Whether a person lost its team because the team was deleted here.
    private func letsGo(_ id: UInt64) -> Bool {
        guard let team = base.people[id]?.team, work.people[id]?.team == 0 else { return false }
        return base.teams[team] != nil && work.teams[team] == nil
    }

    /// Whether that is all that happened to it.
    private func letsGoOnly(_ id: UInt64) -> Bool {
        var row = base.people[id]
        row?.team = 0
        return letsGo(id) && row == work.people[id]
    }

    /// Judges the save against head; moves head if it succeeds.
    mutating func save(to head: inout StoreModel) -> Failure? {
        guard hasChanges else { return nil }
        var conflicts = lost
        var merged = head
        for id in changedTeams {
            let known = base.teams[id] != nil
            if known, head.teamVersions[id] != base.teamVersions[id], work.teams[id] != nil || head.teams[id] != nil {
                conflicts.insert("Team/p\(id)")
            }
            merged.teams[id] = work.teams[id]
        }
        for id in changedPeople {
            if letsGoOnly(id) { continue }
            let known = base.people[id] != nil
            if known, head.personVersions[id] != base.personVersions[id],
                work.people[id] != nil || head.people[id] != nil
            {
                conflicts.insert("Person/p\(id)")
            }
            merged.people[id] = work.people[id]
        }
        if !conflicts.isEmpty { return .conflicts(conflicts) }
        for id in changedTeams where work.teams[id] == nil { merged.deleteTeam(id) }
        for id in changedPeople {
            guard let email = merged.people[id]?.email, email != head.people[id]?.email else { continue }
            if merged.people.contains(where: { $0.key != id && $0.value.email == email }) { return .notUnique }
        }
        for id in changedPeople {
            guard let team = merged.people[id]?.team, team != 0, merged.teams[team] == nil else { continue }
            return .dangling
        }
        for id in Self.changed(head.teams, merged.teams) {
            merged.teamVersions[id] = merged.teams[id] == nil ? nil : (head.teamVersions[id] ?? 0) + 1
        }
        for id in Self.changed(head.people, merged.people) {
            merged.personVersions[id] = merged.people[id] == nil ? nil : (head.personVersions[id] ?? 0) + 1
        }
        head = merged
        self = ContextModel(base: head)
        return nil
    }

    mutating func rollback(to state: StoreModel) {
        self = ContextModel(base: state)
    }

    mutating func refresh(to head: StoreModel) {
        var merged = head
        for id in changedTeams {
            switch (base.teams[id], work.teams[id]) {
            case (nil, let ours): merged.teams[id] = ours
            case (_, nil): merged.teams[id] = nil
            case (_, let ours):
                if head.teams[id] == nil { lost.insert("Team/p\(id)") } else { merged.teams[id] = ours }
            }
        }
        for id in changedPeople {
            switch (base.people[id], work.people[id]) {
            case (nil, let ours): merged.people[id] = ours
            case (_, nil): merged.people[id] = nil
            case (let original?, let ours?):
                guard var row = head.people[id] else {
                    if letsGoOnly(id) { continue }
                    lost.insert("Person/p\(id)")
                    continue
                }
                if ours.name != original.name { row.name = ours.name }
                if ours.email != original.email { row.email = ours.email }
                if ours.age != original.age { row.age = ours.age }
                if ours.team != original.team, !letsGo(id) || row.team == original.team { row.team = ours.team }
                merged.people[id] = row
            }
        }
        base = head
        work = merged
        for id in changedTeams where work.teams[id] == nil { work.deleteTeam(id) }
    }
}
