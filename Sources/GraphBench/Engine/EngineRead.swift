import Foundation
import Graph

/// The engine's side of ``Workload/readWorkloads``.
enum EngineRead {
    static let contenders: [String: Workload.Contender] = [
        "get_by_id": { setting in
            let store = try await setting.engineStore
            let ids = setting.data.lookups.map { store.people[$0] }
            let snapshot = store.coordinator.snapshot
            return Workload.timed(count: ids.count) {
                ids.reduce(0) { $0 &+ (snapshot.value(for: $1)?.checksum ?? 0) }
            }
        },
        "get_by_id_kept": { setting in
            let store = try await setting.engineStore
            let ids = setting.data.lookups.map { store.people[$0] }
            let snapshot = store.coordinator.snapshot
            return Workload.kept(\.checksum) { ids.compactMap { snapshot.value(for: $0) } }
        },
        "get_by_email": emails,
        "scan_filter_count": scan,
        "fetch_filter_rows": { setting in
            let snapshot = try await setting.engineStore.coordinator.snapshot
            return Workload.kept(\.checksum) {
                try snapshot.fetchValues(
                    Person.self, where: { $0.age > PeopleData.ageLimit && $0.balance < PeopleData.balanceLimit })
            }
        },
        "fetch_filter_mapped": { setting in
            let snapshot = try await setting.engineStore.coordinator.snapshot
            let (age, balance) = (PeopleData.ageLimit, PeopleData.balanceLimit)
            let matches = FetchDescriptor<Person>(
                predicate: #Predicate<Person> { $0.age > age && $0.balance < balance })
            return Workload.kept(\.checksum) { try snapshot.fetchValues(matches) { OwnPerson($0) } }
        },
        "fetch_filter_objects": { setting in
            let coordinator = try await setting.engineStore.coordinator
            return { _ in try await Context(coordinator).fetchMatches() }
        },
        "sort_limit": { setting in
            let snapshot = try await setting.engineStore.coordinator.snapshot
            return Workload.timed(count: 1) {
                let people = try snapshot.fetchValues(
                    Person.self, where: { $0.age > PeopleData.ageLimit }, sortedBy: [.descending(\.balance)],
                    limit: 100)
                return people.reduce(0) { Checksum.ranked($0, $1.checksum) }
            }
        },
        "sort_limit_two": { setting in
            let snapshot = try await setting.engineStore.coordinator.snapshot
            return Workload.timed(count: 1) {
                let people = try snapshot.fetchValues(
                    Person.self, where: { $0.age > PeopleData.ageLimit },
                    sortedBy: [.descending(\.age), .descending(\.balance)], limit: 100)
                return people.reduce(0) { Checksum.ranked($0, $1.checksum) }
            }
        },
        "range_indexed": { setting in
            let snapshot = try await setting.engineRanking.snapshot
            let ranges = setting.data.balances
            return { _ in
                let stopwatch = Stopwatch()
                let people = ranges.map { snapshot.fetchValues(\RankedPerson.balance, in: $0) }
                let seconds = stopwatch.seconds
                let answer = people.joined().reduce(0) { $0 &+ $1.checksum }
                return Measurement(amount: seconds, count: people.reduce(0) { $0 + $1.count }, answer: answer)
            }
        },
        "sort_limit_indexed": richestByIndex,
        "sort_limit_index_gain": richestByIndex,
    ]

    static let emails: Workload.Contender = { setting in
        let snapshot = try await setting.engineStore.coordinator.snapshot
        let emails = setting.data.lookupEmails
        return Workload.timed(count: emails.count) {
            emails.reduce(0) { $0 &+ (snapshot.first(\Person.email, equals: $1)?.checksum ?? 0) }
        }
    }

    static let scan: Workload.Contender = { setting in
        let snapshot = try await setting.engineStore.coordinator.snapshot
        return Workload.timed(count: setting.data.rows) {
            let count = try snapshot.fetchCount(
                Person.self, where: { $0.age > PeopleData.ageLimit && $0.balance < PeopleData.balanceLimit })
            return UInt64(count)
        }
    }

    private static let richestByIndex: Workload.Contender = { setting in
        let snapshot = try await setting.engineRanking.snapshot
        return Workload.timed(count: 1) {
            let people = try snapshot.fetchValues(
                RankedPerson.self, where: { $0.age > PeopleData.ageLimit }, sortedBy: [.descending(\.balance)],
                limit: 100)
            return people.reduce(0) { Checksum.ranked($0, $1.checksum) }
        }
    }
}

/// A type of the program's that rows are mapped into.
private struct OwnPerson {
    let name: String
    let email: String
    let age: Int
    let balance: Double
    let joined: Date
    let team: Team.ID?

    init(_ person: Person) {
        name = person.name
        email = person.email
        age = person.age
        balance = person.balance
        joined = person.joined
        team = person.team.id
    }

    var checksum: UInt64 {
        Checksum.person(name: name, email: email, age: age, balance: balance, joined: joined)
    }
}

extension Context {
    /// Times the fetch of managed objects that this context does not have yet.
    func fetchMatches() throws -> Measurement {
        let stopwatch = Stopwatch()
        let people = try fetch(
            Person.self, where: { $0.age > PeopleData.ageLimit && $0.balance < PeopleData.balanceLimit })
        let seconds = stopwatch.seconds
        let answer = people.reduce(0) { $0 &+ $1.value.checksum }
        return Measurement(amount: seconds, count: people.count, answer: answer)
    }
}
