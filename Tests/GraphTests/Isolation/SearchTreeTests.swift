import Testing

@testable import Graph

struct SearchTreeTests {
    private static func contains(_ searches: [[PropertyKeys]], _ row: [[[UInt8]]]) -> Bool {
        searches.contains { search in
            search.allSatisfy { condition in
                row[condition.property].contains { $0.withUnsafeBytes { condition.keys.contains($0) } }
            }
        }
    }

    private static func bytes(_ random: inout SeededGenerator) -> [UInt8] {
        (0..<Int.random(in: 0...3, using: &random)).map { _ in UInt8.random(in: 0...2, using: &random) }
    }

    private static func range(_ random: inout SeededGenerator) -> KeyRange {
        let lower = bytes(&random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: return KeyRange(from: lower, upTo: nil, includesUpper: true)
        case 1: return KeyRange(from: lower, upTo: bytes(&random), includesUpper: false)
        case 2: return KeyRange(from: lower, upTo: bytes(&random), includesUpper: true)
        default: return KeyRange(prefix: lower)
        }
    }

    @Test func `a row is found as if it was compared with each search`() {
        var random = SeededGenerator(seed: 1)
        for count in 0..<400 {
            let searches = (0..<count % 40).map { _ in
                (0..<Int.random(in: 1...3, using: &random)).map { _ in
                    PropertyKeys(property: Int.random(in: 0..<3, using: &random), keys: Self.range(&random))
                }
            }
            let tree = SearchTree(searches)
            for _ in 0..<40 {
                let row = (0..<3).map { _ in
                    (0..<Int.random(in: 1...2, using: &random)).map { _ in Self.bytes(&random) }
                }
                #expect(tree.isMet { row[$0] } == Self.contains(searches, row), "\(searches) \(row)")
            }
        }
    }

    @Test func `a search without conditions finds all rows, and none finds nothing`() {
        #expect(SearchTree([[]]).isMet { _ in [[]] })
        #expect(!SearchTree([]).isMet { _ in [[]] })
    }

    @Test func `of many searches for one key of two properties, a row asks few`() {
        func key(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 255)] }
        let searches = (0..<2000).map { number in
            [
                PropertyKeys(property: 0, keys: KeyRange(from: [0], upTo: nil, includesUpper: true)),
                PropertyKeys(property: 1, keys: KeyRange(prefix: [7])),
                PropertyKeys(property: 2, keys: KeyRange(prefix: key(number))),
            ]
        }
        let tree = SearchTree(searches)
        for number in [0, 1, 999, 1999, 2000] {
            var count = 0
            let isMet = tree.isMet { property in
                count += 1
                return [[[1], [7], key(number)][property]]
            }
            #expect(isMet == (number < 2000) && count <= 3)
        }
    }
}
