import Foundation
import Graph

/// The engine's side of the conjunctions of ``Workload/predicateWorkloads``.
enum EngineConjunction {
    static let contenders: [String: Workload.Contender] = [
        "conjunction_selective": { setting in
            query(try await setting.engineIndexed.snapshot, setting.data.conjunctions.map(Conditions.init))
        },
        "conjunction_broad": { setting in query(try await setting.engineIndexed.snapshot, [.broad]) },
        "conjunction_selective_rows": { setting in
            rows(setting, try await setting.engineIndexed.snapshot, setting.data.conjunctions.map(Conditions.init)) {
                $1.visitedCount
            }
        },
        "conjunction_broad_rows": { setting in
            rows(setting, try await setting.engineIndexed.snapshot, [.broad]) { $1.visitedCount }
        },
    ]

    /// The rows that the better one of two conditions has Graph look at.
    static let rowsOfSelectiveConditions: Workload.Contender = { setting in
        let snapshot = try await setting.engineIndexed.snapshot
        return rows(setting, snapshot, setting.data.conjunctions.map(Conditions.init)) { conditions, _ in
            try conditions.rowsOfBetterOne(in: snapshot)
        }
    }

    static let rowsOfBroadConditions: Workload.Contender = { setting in
        let snapshot = try await setting.engineIndexed.snapshot
        return rows(setting, snapshot, [.broad]) { conditions, _ in try conditions.rowsOfBetterOne(in: snapshot) }
    }

    /// Two conditions on properties that each have an index.
    private struct Conditions {
        let ages: Predicate<IndexedPerson>
        let balances: Predicate<IndexedPerson>
        let both: Predicate<IndexedPerson>

        init(_ condition: (age: Int, balances: Range<Double>)) {
            let (age, range) = condition
            ages = #Predicate { $0.age == age }
            balances = #Predicate { range.contains($0.balance) }
            both = #Predicate { $0.age == age && range.contains($0.balance) }
        }

        private init(ages range: Range<Int>, balancesBelow limit: Double) {
            ages = #Predicate { range.contains($0.age) }
            balances = #Predicate { $0.balance < limit }
            both = #Predicate { range.contains($0.age) && $0.balance < limit }
        }

        static var broad: Conditions {
            Conditions(ages: PeopleData.oldest, balancesBelow: PeopleData.modestLimit)
        }

        func rowsOfBetterOne(in snapshot: Snapshot) throws -> Int {
            try min(
                snapshot.explain(FetchDescriptor(predicate: ages)).visitedCount,
                snapshot.explain(FetchDescriptor(predicate: balances)).visitedCount)
        }
    }

    /// Times one fetch for each pair of conditions.
    private static func query(_ snapshot: Snapshot, _ conditions: [Conditions]) -> Workload.Trial {
        return { _ in
            let stopwatch = Stopwatch()
            let people = try conditions.map { try snapshot.fetchValues(IndexedPerson.self, where: $0.both) }
            let seconds = stopwatch.seconds
            let answer = people.joined().reduce(0) { $0 &+ $1.checksum }
            return Measurement(amount: seconds, count: conditions.count, answer: answer)
        }
    }

    /// Adds up rows for each pair of conditions; the answer is how many both conditions find.
    private static func rows(
        _ setting: Setting, _ snapshot: Snapshot, _ conditions: [Conditions],
        _ rows: @escaping (Conditions, QueryExplanation) throws -> Int
    ) -> Workload.Trial {
        return { _ in
            var (sum, found) = (0, 0)
            for pair in conditions {
                let explanation = try snapshot.explain(FetchDescriptor(predicate: pair.both))
                sum += try rows(pair, explanation)
                found += explanation.resultCount
            }
            return Measurement(amount: Double(sum), count: conditions.count, answer: UInt64(found))
        }
    }
}
