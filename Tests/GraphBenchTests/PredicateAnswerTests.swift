import Testing

@testable import GraphBench

/// What ``Workload/predicateWorkloads`` come to, told from the data alone.
struct PredicateAnswerTests {
    private static let data = PeopleData(rows: 2_000)

    @Test(
        arguments: [
            "scan_predicate", "scan_predicate_evaluate", "get_by_email_predicate", "prefix_sorted",
            "conjunction_selective", "conjunction_broad", "conjunction_selective_rows", "conjunction_broad_rows",
            "reference_condition", "members_condition",
        ], Side.allCases)
    func `every side gives the answer that the data has`(name: String, side: Side) async throws {
        if side == .sqlite, SQLiteLibrary.shared == nil { return }
        let workload = try #require(EngineSuite.graph.joined(to: Workload.all).first { $0.name == name })
        guard let contender = workload.contender(for: side) else { return }
        let trial = try await contender(Setting(data: Self.data, directory: "/nowhere"))
        let measurement = try await trial(0)
        let answer = Self.answer(name)
        #expect(answer != 0)
        #expect(measurement.answer == answer)
        #expect(measurement.amount > 0)
    }

    @Test func `a conjunction looks at no row beside those of the better condition`() async throws {
        let setting = Setting(data: Self.data, directory: "/nowhere")
        let ranges = Self.data.conjunctions.map { pair in
            min(
                Self.data.people.count { $0.age == pair.age },
                Self.data.people.count { pair.balances.contains($0.balance) })
        }
        let workload = try #require(
            EngineSuite.graph.joined(to: Workload.all).first { $0.name == "conjunction_selective_rows" })
        let sides = [try #require(workload.engine), try #require(workload.native)]
        for contender in sides {
            #expect(try await contender(setting)(0).amount == Double(ranges.reduce(0, +)))
        }
    }

    private static func answer(_ name: String) -> UInt64 {
        let people = data.people
        switch name {
        case "scan_predicate", "scan_predicate_evaluate":
            return UInt64(people.count(where: \.matchesFilter))
        case "get_by_email_predicate":
            return sum(data.lookups.map { people[$0] })
        case "prefix_sorted":
            return data.emailPrefixes.reduce(0) { sum, prefix in
                let found = people.filter { $0.email.hasPrefix(prefix) }.sorted { $0.email < $1.email }.prefix(20)
                return sum &+ Workload.ranking(Array(found))
            }
        case "conjunction_selective":
            return sum(conjunctions)
        case "conjunction_selective_rows":
            return UInt64(conjunctions.count)
        case "conjunction_broad":
            return sum(broad)
        case "conjunction_broad_rows":
            return UInt64(broad.count)
        case "reference_condition":
            return data.visitedTeams.reduce(0) { answer, team in answer &+ sum(people.filter { $0.team == team }) }
        default:
            let teams = Set(people.filter { $0.balance < PeopleData.poorLimit }.map(\.team))
            return teams.reduce(0) { $0 &+ Checksum.text(data.teamNames[$1]) }
        }
    }

    private static var conjunctions: [PersonRow] {
        data.conjunctions.flatMap { pair in
            data.people.filter { $0.age == pair.age && pair.balances.contains($0.balance) }
        }
    }

    private static var broad: [PersonRow] {
        data.people.filter { PeopleData.oldest.contains($0.age) && $0.balance < PeopleData.modestLimit }
    }

    private static func sum(_ people: [PersonRow]) -> UInt64 {
        people.reduce(0) { $0 &+ $1.checksum }
    }
}
