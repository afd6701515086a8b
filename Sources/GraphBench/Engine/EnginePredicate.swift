import Foundation
import Graph

/// The engine's side of ``Workload/predicateWorkloads`` but for the conjunctions.
enum EnginePredicate {
    static let contenders: [String: Workload.Contender] = [
        "scan_predicate": scan,
        "scan_predicate_evaluate": scan,
        "get_by_email_predicate": { setting in
            let snapshot = try await setting.engineStore.coordinator.snapshot
            let emails = setting.data.lookupEmails
            return Workload.timed(count: emails.count) {
                try emails.reduce(0) { sum, email in
                    sum &+ (try snapshot.first(Person.self, where: #Predicate { $0.email == email })?.checksum ?? 0)
                }
            }
        },
        "prefix_sorted": { setting in
            let snapshot = try await setting.engineStore.coordinator.snapshot
            let prefixes = setting.data.emailPrefixes
            return Workload.timed(count: prefixes.count) {
                try prefixes.reduce(0) { sum, prefix in
                    let people = try snapshot.fetchValues(
                        Person.self, where: #Predicate { $0.email.starts(with: prefix) },
                        sortedBy: [.ascending(\.email)], limit: 20)
                    return sum &+ people.reduce(0) { Checksum.ranked($0, $1.checksum) }
                }
            }
        },
        "reference_condition": { setting in
            let snapshot = try await setting.engineStore.coordinator.snapshot
            let names = setting.data.visitedTeamNames
            return { _ in
                let stopwatch = Stopwatch()
                let people = try names.map { name in
                    try snapshot.fetchValues(Person.self, where: #Predicate { $0.team.name == name })
                }
                let seconds = stopwatch.seconds
                let answer = people.joined().reduce(0) { $0 &+ $1.checksum }
                return Measurement(amount: seconds, count: names.count, answer: answer)
            }
        },
        "members_condition": { setting in
            let snapshot = try await setting.engineStore.coordinator.snapshot
            let limit = PeopleData.poorLimit
            return Workload.timed(count: 1) {
                try snapshot.fetchValues(Team.self, where: #Predicate { $0.members.contains { $0.balance < limit } })
                    .reduce(0) { $0 &+ Checksum.text($1.name) }
            }
        },
    ]

    /// The rows as an array, filtered as Foundation filters them.
    static let evaluation: Workload.Contender = { setting in
        let people = setting.data.people
        let (age, balance) = (PeopleData.ageLimit, PeopleData.balanceLimit)
        let predicate = #Predicate<PersonRow> { $0.age > age && $0.balance < balance }
        return Workload.timed(count: people.count) { UInt64(try people.count { try predicate.evaluate($0) }) }
    }

    private static let scan: Workload.Contender = { setting in
        let snapshot = try await setting.engineStore.coordinator.snapshot
        let (age, balance) = (PeopleData.ageLimit, PeopleData.balanceLimit)
        return Workload.timed(count: setting.data.rows) {
            let count = try snapshot.fetchCount(
                Person.self, where: #Predicate { $0.age > age && $0.balance < balance })
            return UInt64(count)
        }
    }
}
