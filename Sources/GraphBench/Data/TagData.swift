/// Which of the people have which tags, many to many: the same for the same number of rows. A seed says which tags are looked
/// at.
struct TagData: Sendable {
    static let tagsPerPerson = 4
    /// So many people's links make one transaction of ``PeopleData/batch`` links.
    static let peoplePerBatch = PeopleData.batch / tagsPerPerson

    let names: [String]
    /// Indices of tags: those of the first person in the order in which they were drawn, then those of the next.
    private let tags: [Int]
    /// Random indices of tags, each once.
    let visitedTags: [Int]

    init(rows: Int, seed: UInt64 = 1) {
        let count = Self.tagCount(rows: rows)
        var random = SplitMix64(seed: 0x6D61_6E79_746F_6D61)
        var links: [Int] = []
        links.reserveCapacity(rows * Self.tagsPerPerson)
        for _ in 0..<rows {
            let first = links.count
            while links.count < first + Self.tagsPerPerson {
                let tag = Int.random(in: 0..<count, using: &random)
                if !links[first...].contains(tag) { links.append(tag) }
            }
        }
        names = (0..<count).map { "tag\($0)" }
        tags = links
        var visits = SplitMix64(seed: seed)
        visitedTags = Array((0..<count).shuffled(using: &visits).prefix(25))
    }

    /// Enough for every person to have four different ones.
    static func tagCount(rows: Int) -> Int {
        max(10, rows / 1_000)
    }

    /// The indices of a person's tags.
    func tags(of person: Int) -> ArraySlice<Int> {
        tags[person * Self.tagsPerPerson..<(person + 1) * Self.tagsPerPerson]
    }

    /// The number of links.
    var count: Int { tags.count }

    /// The ranges of people who are linked to their tags by one transaction each.
    var batches: [Range<Int>] {
        let people = count / Self.tagsPerPerson
        return stride(from: 0, to: people, by: Self.peoplePerBatch).map { start in
            start..<min(start + Self.peoplePerBatch, people)
        }
    }
}
