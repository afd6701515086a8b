import Foundation
import Testing

@testable import Graph

struct WaitingListTests {
    /// Elements that come and end in any order, with copies between.
    @Test func `a list has what waits in the order in which it came, and so have its copies`() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        for shares in [1, 7, 5_000] {
            var list = WaitingList<Int>()
            var expected: [Int] = []
            var copies: [(list: WaitingList<Int>, expected: [Int])] = []
            for number in 0..<4_000 {
                list.append(number)
                expected.append(number)
                // At times much waits, and at times nearly nothing.
                while !expected.isEmpty, random.chance(number % 1_000 < 500 ? 4 : 2) {
                    list.remove(expected.remove(at: Int.random(in: expected.indices, using: &random)))
                }
                guard number % shares == 0 else { continue }
                list.share()
                if random.chance(100) { copies.append((list, expected)) }
            }
            for (list, expected) in copies + [(list, expected)] {
                #expect(list.elements == expected, "seed \(seed), \(shares)")
                let bytes = try JSONEncoder().encode(list)
                #expect(try JSONDecoder().decode([Int].self, from: bytes) == expected)
                #expect(try JSONDecoder().decode(WaitingList<Int>.self, from: bytes) == list)
                #expect(list == WaitingList(expected) && list.hashValue == WaitingList(expected).hashValue)
            }
        }
    }

    @Test func `there are few pieces, however many were appended`() {
        var pieces = Pieces<[Int]>()
        var moved = 0
        for number in 0..<10_000 {
            pieces.append([number, number]) { older, newer in
                moved += newer.count + older.count
                return older + newer
            }
            #expect(zip(pieces.all, pieces.all.dropFirst()).allSatisfy { $0.count > 2 * $1.count })
        }
        #expect(pieces.all.joined().elementsEqual((0..<10_000).flatMap { [$0, $0] }))
        #expect(pieces.all.count <= 15 && moved < 20_000 * 15)
    }
}
