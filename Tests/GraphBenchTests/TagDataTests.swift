import Testing

@testable import GraphBench

struct TagDataTests {
    @Test(arguments: [(1_000, 10), (10_000, 10), (25_000, 25)])
    func `there is a tag for a thousand people, and enough for few`(rows: Int, count: Int) {
        let tags = TagData(rows: rows)
        #expect(tags.names.count == count)
        #expect(tags.visitedTags.sorted() == Array(0..<count))
        #expect(tags.count == rows * 4)
    }

    @Test func `everybody has four different tags, and every tag has its share of the people`() {
        let rows = 20_000
        let tags = TagData(rows: rows)
        var people = [Int](repeating: 0, count: tags.names.count)
        for person in 0..<rows {
            #expect(Set(tags.tags(of: person)).count == 4)
            for tag in tags.tags(of: person) { people[tag] += 1 }
        }
        #expect(people.allSatisfy { (3_500...4_500).contains($0) })
    }

    @Test func `the same number of rows gives the same links`() {
        let (first, second) = (TagData(rows: 3_000), TagData(rows: 3_000))
        #expect((0..<3_000).allSatisfy { first.tags(of: $0) == second.tags(of: $0) })
        #expect(first.visitedTags == second.visitedTags)
    }

    @Test(arguments: [1_000, 2_500, 6_000])
    func `transactions have ten thousand links and leave nobody out`(rows: Int) {
        let batches = TagData(rows: rows).batches
        #expect(batches.flatMap(Array.init) == Array(0..<rows))
        #expect(batches.dropLast().allSatisfy { $0.count * TagData.tagsPerPerson == 10_000 })
        #expect(batches.allSatisfy { $0.count * TagData.tagsPerPerson <= 10_000 })
    }
}
