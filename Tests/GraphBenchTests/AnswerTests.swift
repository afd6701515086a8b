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
            "traverse_to_one", "traverse_to_one_held", "traverse_to_many", "traverse_to_many_objects",
            "insert_links", "insert_with_links", "traverse_links",
            "traverse_links_objects", "delete_cascade", "sort_limit", "sort_limit_indexed",
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

    /// By the number of the run, from the beginning again when there are no more.
    private static func expected(_ name: String) -> [Expected] {
        switch name {
        case "traverse_to_one", "traverse_to_one_held":
            let names = data.lookups.map { Checksum.text(data.teamNames[data.people[$0].team]) }
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
            return (0..<2).map { team in
                let left = people.filter { data.people[$0].team > team }
                return Expected(1_000, Checksum.remaining(people: ages(left).answer, teams: 1 - team))
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

    private static let linked: UInt64 = {
        let links: UInt64 = people.reduce(0) { sum, person in
            tags.tags(of: person).reduce(sum) { $0 &+ Checksum.link(person: person, tag: $1) }
        }
        return Checksum.tagged(people: ages(people).answer, byPerson: links, byTag: links)
    }()
}
