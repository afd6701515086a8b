import Foundation

/// The rows of every workload: people and one team per thousand of them, the same for the same number of rows. Which of them
/// are looked at and changed is drawn from a seed.
struct PeopleData: Sendable {
    /// The size of the transactions that load rows.
    static let batch = 10_000
    /// About half of the balances are lower.
    static let balanceLimit = 5_000.0
    /// About half of the ages are higher; with ``balanceLimit`` about a quarter of the people match.
    static let ageLimit = 50

    let teamNames: [String]
    let people: [PersonRow]
    /// Random indices of people, with repetitions.
    let lookups: [Int]
    /// The addresses of ``lookups``, so that a timed loop does not walk through ``people`` to get them.
    let lookupEmails: [String]
    /// All indices of people in random order.
    private let permutation: [Int]
    /// All indices of teams in random order.
    private let teamOrder: [Int]
    /// Random ranges of balances, in each of which about a thousand people are.
    let balances: [Range<Double>]

    init(rows: Int, seed: UInt64 = 1) {
        let teams = Self.teamCount(rows: rows)
        teamNames = Self.teamNames(teams)
        people = (0..<rows).map { Self.person($0, teams: teams) }
        var random = SplitMix64(seed: 0x6772_6170_6862_656E &+ seed &* 0xD134_2543_DE82_EF95)
        let wanted = min(100_000, rows)
        lookups = (0..<wanted).map { _ in Int.random(in: 0..<rows, using: &random) }
        lookupEmails = lookups.map(Self.email)
        permutation = (0..<rows).shuffled(using: &random)
        teamOrder = (0..<teams).shuffled(using: &random)
        let width = 10_000 * min(1, 1_000 / Double(rows))
        balances = (0..<100).map { _ in
            let lowest = Double.random(in: 0...(10_000 - width), using: &random)
            return lowest..<(lowest + width)
        }
    }

    var rows: Int { people.count }

    /// The ranges of people that are inserted by one transaction each.
    var batches: [Range<Int>] { Self.batches(rows: rows) }

    static func batches(rows: Int) -> [Range<Int>] {
        stride(from: 0, to: rows, by: batch).map { $0..<min($0 + batch, rows) }
    }

    static func teamNames(_ count: Int) -> [String] {
        (0..<count).map { "team\($0)" }
    }

    static func teamCount(rows: Int) -> Int {
        max(1, rows / 1_000)
    }

    /// A team for five people, for who goes to more teams than a context keeps objects of.
    static func manyTeams(rows: Int) -> Int {
        rows / 5
    }

    /// Makes the row of one person afresh: its strings are shared with no other copy.
    static func person(_ index: Int, teams: Int) -> PersonRow {
        var random = SplitMix64(seed: UInt64(index) &* 0xD134_2543_DE82_EF95)
        let balance = Double(random.next() >> 11) * 0x1p-53 * 10_000
        let joined = Date(timeIntervalSinceReferenceDate: Double(random.next() % 757_382_400))
        return PersonRow(
            name: "name\(index)", email: email(index), age: index % 100, balance: balance, joined: joined,
            team: index % teams)
    }

    private static func email(_ index: Int) -> String {
        "person\(index)@example.com"
    }
}

/// What is read and changed.
extension PeopleData {
    /// Random indices of people, each once, which differ from those of the runs before until everybody had a turn.
    func updates(run: Int) -> [Int] {
        let count = min(100_000, max(1, rows / 2))
        let first = run * count % rows
        let end = min(first + count, rows)
        return Array(permutation[first..<end] + permutation[..<(first + count - end)])
    }

    /// Random indices of teams, each once.
    var visitedTeams: ArraySlice<Int> { teamOrder.prefix(100) }

    /// About a thousandth of the balances are lower, and a tenth.
    static let (poorLimit, modestLimit) = (10.0, 1_000.0)

    /// Beginnings of e-mail addresses, each of which about a hundred people have where there are a million.
    var emailPrefixes: [String] { lookupEmails.prefix(1_000).map { String($0.prefix("person1234".count)) } }

    /// The age and the balances of about ten people each, where there are a million.
    var conjunctions: [(age: Int, balances: Range<Double>)] {
        balances.enumerated().map { (7 * $0 % 100, $1) }
    }

    var visitedTeamNames: [String] { visitedTeams.map { teamNames[$0] } }

    /// The ages of a tenth of the people.
    static let oldest = 90..<100

    /// The indices of the people with these ages.
    var oldest: [Int] { people.indices.filter { Self.oldest.contains(people[$0].age) } }

    /// The balance that the update at `position` of ``updates(run:)`` writes in one run: a small whole number, so that
    /// sums of balances are exact in any order.
    static func updatedBalance(position: Int, run: Int) -> Double {
        Double(position % 1_000 + run + 1)
    }

    /// A person after that update.
    func person(_ index: Int, updatedAt position: Int, run: Int) -> PersonRow {
        var person = people[index]
        person.balance = Self.updatedBalance(position: position, run: run)
        return person
    }

    /// The random teams that each run of a cascade deletes, for as many runs as a freshly loaded store serves.
    var deletions: [ArraySlice<Int>] {
        let count = min(100, max(1, teamNames.count / 10))
        return (0..<teamNames.count / count).map { teamOrder[$0 * count..<($0 + 1) * count] }
    }
}
