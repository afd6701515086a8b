/// Updates of one row each, after which one person more or less matches the filter of the scans.
///
/// So the number of matches tells how many updates a scan has seen, and a scan that saw part of the rows before an update
/// and part of them after a later one comes to a number that no state had.
struct MatchToggles: Sendable {
    /// How many people match in the data.
    let matches: Int
    /// People who match, in random order.
    private let people: [(index: Int, balance: Double)]

    init(_ data: PeopleData) {
        matches = data.people.count(where: \.matchesFilter)
        people = data.updates(run: 0).filter { data.people[$0].matchesFilter }.map { ($0, data.people[$0].balance) }
        precondition(!people.isEmpty, "nobody matches among \(data.rows) people")
    }

    /// The update that comes after `count` others: once through the people to take each out, once more to bring each
    /// back, and so on.
    func update(after count: Int) -> (index: Int, balance: Double) {
        let (lap, position) = count.quotientAndRemainder(dividingBy: people.count)
        let (index, balance) = people[position]
        return (index, lap.isMultiple(of: 2) ? PeopleData.balanceLimit + 1 : balance)
    }

    /// How many people match after `count` updates.
    func matches(after count: Int) -> Int {
        let (lap, position) = count.quotientAndRemainder(dividingBy: people.count)
        return matches - (lap.isMultiple(of: 2) ? position : people.count - position)
    }
}

extension PersonRow {
    /// The filter of the scans.
    var matchesFilter: Bool {
        age > PeopleData.ageLimit && balance < PeopleData.balanceLimit
    }
}
