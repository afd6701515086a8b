import Testing

@testable import GraphBench

struct PeopleDataTests {
    @Test func `people are always the same, and what is read and changed of them has a seed`() {
        let (first, again, other) = (
            PeopleData(rows: 30_000, seed: 5), PeopleData(rows: 30_000, seed: 5), PeopleData(rows: 30_000, seed: 6)
        )
        #expect(first.people == other.people)
        #expect(Self.picks(first) == Self.picks(again))
        for (pick, otherPick) in zip(Self.picks(first), Self.picks(other)) { #expect(pick != otherPick) }
        #expect(first.balances != other.balances)
    }

    private static func picks(_ data: PeopleData) -> [[Int]] {
        [data.lookups, data.updates(run: 0), data.updates(run: 1), Array(data.visitedTeams)]
    }

    @Test(arguments: [1_000, 1_001, 250_000])
    func `each run updates other people until everybody had a turn`(rows: Int) {
        let data = PeopleData(rows: rows)
        let count = min(100_000, rows / 2)
        let runs = (0..<5).map { data.updates(run: $0) }
        #expect(runs.allSatisfy { $0.count == count && Set($0).count == count })
        #expect(Set(runs[0]).isDisjoint(with: runs[1]))
        #expect(Set(runs.joined()) == Set(0..<rows))
        // What is left of the first round comes before those who have a second turn.
        let order = Array(runs.joined())
        #expect(Set(order.prefix(rows)).count == rows)
        #expect(order.dropFirst(rows).elementsEqual(order.dropLast(rows)))
    }

    @Test func `teams are deleted in random order, each once for one loaded store`() {
        let deletions = PeopleData(rows: 50_000, seed: 2).deletions
        #expect(deletions.allSatisfy { $0.count == 5 })
        #expect(deletions.joined().sorted() == Array(0..<50))
        #expect(!deletions.joined().elementsEqual(0..<50))
    }
}
