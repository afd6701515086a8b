import Graph
import Testing

@testable import GraphBench

/// What workloads over relationships come to, told from the data alone: that all sides agree is not enough, for all may
/// leave out the same.
struct AnswerTests {
    private static let data = PeopleData(rows: 2_000)
    private static let tags = TagData(rows: 2_000)

    struct Expected {
        let count: Int
        let answer: UInt64

        init(_ count: Int, _ answer: UInt64) {
            self.count = count
            self.answer = answer
        }
    }

    @Test(
        arguments: [
            "traverse_to_one", "traverse_to_one_held", "traverse_to_one_many", "traverse_to_many",
            "traverse_to_many_objects", "traverse_to_many_objects_held", "get_by_id", "get_by_id_kept",
            "fetch_filter_rows",
            "fetch_filter_mapped", "fetch_filter_objects", "sort_limit_two", "update_many_new_context",
            "insert_links", "insert_with_links", "traverse_links",
            "traverse_links_objects", "delete_cascade", "sort_limit", "sort_limit_indexed",
            "insert_bulk_memory", "update_many", "commit_small_memory",
        ], Side.allCases)
    func `every side gives the answer that the data has`(name: String, side: Side) async throws {
        if side == .sqlite, SQLiteLibrary.shared == nil { return }
        let workload = try #require(EngineSuite.graph.joined(to: Workload.all).first { $0.name == name })
        let contender = try #require(workload.contender(for: side))
        let trial = try await contender(Setting(data: Self.data, directory: "/nowhere"))
        let expected = Self.expected(name)
        for run in 0..<2 {
            let measurement = try await trial(run)
            #expect(measurement.answer == expected[run % expected.count].answer)
            #expect(measurement.count == expected[run % expected.count].count)
            #expect(measurement.amount > 0)
        }
    }

    @Test func `a link that is missing, doubled or led elsewhere changes the answer`() {
        let links = (0..<2_000).flatMap { person in Self.tags.tags(of: person).map { (person, $0) } }
        func answer(_ links: [(Int, Int)]) -> UInt64 {
            links.reduce(0) { $0 &+ Checksum.link(person: $1.0, tag: $1.1) }
        }
        var elsewhere = links
        (elsewhere[7].0, elsewhere[9].0) = (links[9].0, links[7].0)
        let sums = [links, links.dropLast(), links + links.prefix(1), elsewhere].map(answer)
        #expect(links[7].0 != links[9].0)
        #expect(Set(sums).count == sums.count)
        #expect(answer(links.reversed()) == sums[0])
        #expect(
            Checksum.tagged(people: 1, byPerson: sums[0], byTag: sums[1])
                != Checksum.tagged(people: 1, byPerson: sums[1], byTag: sums[0]))
    }

    @Test func `people who have changed places in anything change the answer of a store`() {
        let changes: [(inout PersonRow, inout PersonRow) -> Void] = [
            { swap(&$0.name, &$1.name) }, { swap(&$0.email, &$1.email) }, { swap(&$0.age, &$1.age) },
            { swap(&$0.balance, &$1.balance) }, { swap(&$0.joined, &$1.joined) }, { swap(&$0.team, &$1.team) },
            { first, _ in first.name = "name011" }, { $0 = $1 },
        ]
        func answer(_ people: [PersonRow]) -> UInt64 { Self.store(people, teams: Self.data.teamNames) }
        var answers = [answer(Self.data.people), answer(Self.data.people.dropLast())]
        for change in changes {
            var people = Self.data.people
            var (first, second) = (people[101], people[192])
            change(&first, &second)
            (people[101], people[192]) = (first, second)
            answers.append(answer(people))
        }
        #expect(Set(answers).count == answers.count)
        #expect(answer(Self.data.people.reversed()) == answers[0])
    }

    @Test func `balances of two people that are exchanged change every side's answer`() async throws {
        let data = Self.data
        let updates = data.updates(run: 0)
        let (one, other) = (updates[0], updates[1])
        let exchange = [(one, data.people[other].balance), (other, data.people[one].balance)]
        let native = NativePeer(loaded: data)
        let store = try await EngineStore.inMemory(data)
        let ids = updates.map { store.people[$0] }
        var answers = [[native.balances(of: updates), store.balances(of: ids)]]
        let context = Context(store.coordinator)
        for (index, balance) in exchange {
            native.people[index]?.balance = balance
            try await context.commit(balance: balance, of: store.people[index])
        }
        answers.append([native.balances(of: updates), store.balances(of: ids)])
        if SQLiteLibrary.shared != nil {
            let peer = try SQLitePeer(at: .memory, loaded: data)
            let ids = updates.map { $0 + 1 }
            answers[0].append(try peer.balances(of: ids))
            for (index, balance) in exchange { try peer.setBalance(balance, id: index + 1) }
            answers[1].append(try peer.balances(of: ids))
        }
        #expect(answers.allSatisfy { Set($0).count == 1 })
        #expect(answers[0] != answers[1])
    }

    /// By the number of the run, from the beginning again when there are no more.
    private static func expected(_ name: String) -> [Expected] {
        switch name {
        case "traverse_to_one", "traverse_to_one_held":
            let names = data.lookups.map { Checksum.text(data.teamNames[data.people[$0].team]) }
            return [Expected(data.lookups.count, names.reduce(0, &+))]
        case "traverse_to_one_many":
            let names = data.lookups.map { Checksum.text("team\($0 % 400)") }
            return [Expected(data.lookups.count, names.reduce(0, &+))]
        case "traverse_links", "traverse_links_objects":
            return [ages(people.flatMap { person in tags.tags(of: person).map { _ in person } })]
        case "sort_limit", "sort_limit_indexed":
            let older = people.filter { data.people[$0].age > PeopleData.ageLimit }
            let richest = older.sorted { data.people[$0].balance > data.people[$1].balance }.prefix(100)
            return [Expected(1, richest.reduce(0) { Checksum.ranked($0, data.people[$1].checksum) })]
        case "insert_links":
            return [Expected(8_000, linked)]
        case "insert_with_links":
            return [Expected(2_000, linked)]
        case "delete_cascade":
            return (1...2).map { runs in
                let gone = Set(data.deletions.prefix(runs).joined())
                let left = data.people.filter { !gone.contains($0.team) }
                let names = data.teamNames.indices.filter { !gone.contains($0) }.map { data.teamNames[$0] }
                return Expected(1_000, store(left, teams: names))
            }
        case "insert_bulk_memory":
            return [Expected(2_000, store(data.people, teams: data.teamNames))]
        case "get_by_id", "get_by_id_kept":
            return [Expected(data.lookups.count, data.lookups.reduce(0) { $0 &+ data.people[$1].checksum })]
        case "fetch_filter_rows", "fetch_filter_mapped", "fetch_filter_objects":
            let matches = data.people.filter { $0.age > PeopleData.ageLimit && $0.balance < PeopleData.balanceLimit }
            return [Expected(matches.count, matches.reduce(0) { $0 &+ $1.checksum })]
        case "sort_limit_two":
            let order = people.sorted {
                (-data.people[$0].age, -data.people[$0].balance) < (-data.people[$1].age, -data.people[$1].balance)
            }
            return [Expected(1, order.prefix(100).reduce(0) { Checksum.ranked($0, data.people[$1].checksum) })]
        case "update_many", "update_many_new_context", "commit_small_memory":
            return (0..<2).map { run in
                let updates = data.updates(run: run)
                let updated = updates.enumerated().map { data.person($1, updatedAt: $0, run: run).checksum }
                return Expected(updates.count, Checksum.rowByRow(updated))
            }
        default:
            return [ages(people)]
        }
    }

    private static let people = Array(data.people.indices)

    /// All teams and all tags are visited, as there are few.
    private static func ages(_ people: [Int]) -> Expected {
        let sum = people.reduce(0) { $0 + data.people[$1].age }
        return Expected(people.count, Checksum.people(count: people.count, ages: sum))
    }

    private static func store(_ people: [PersonRow], teams: [String]) -> UInt64 {
        Checksum.store(
            people: people.reduce(0) { $0 &+ $1.fingerprint(team: data.teamNames[$1.team]) }, teamNames: teams)
    }

    private static let linked: UInt64 = {
        let links: UInt64 = people.reduce(0) { sum, person in
            tags.tags(of: person).reduce(sum) { $0 &+ Checksum.link(person: person, tag: $1) }
        }
        return Checksum.tagged(people: ages(people).answer, byPerson: links, byTag: links)
    }()
}
