import Foundation
import Testing

@testable import Graph

struct IdentifierMapTests {
    /// Rows by identifier, in any order, with gaps and rows that gave way.
    @Test func `each identifier leads to its row, also after the map was kept`() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        for (order, shares) in [(0, 0), (1, 0), (2, 0), (0, 10), (1, 10), (2, 10)] {
            var map = IdentifierMap()
            var known: [UInt64: RowNumber] = [:]
            var ids = (1...8_000).map { UInt64($0) }.filter { _ in !random.chance(50) }
            if order == 1 { ids.shuffle(using: &random) }
            if order == 2 { ids.reverse() }
            for (place, id) in ids.enumerated() {
                map.insert(id, RowNumber(place + 100))
                known[id] = RowNumber(place + 100)
                if random.chance(500) {
                    map.replace(RowNumber(place + 100), by: 7, takesOver: random.chance(2))
                    known[id] = 7
                }
                if shares > 0, random.chance(shares) { map.share() }
            }
            let kept = try JSONDecoder().decode(IdentifierMap.self, from: try JSONEncoder().encode(map))
            #expect(map == kept && map.hashValue == kept.hashValue, "seed \(seed), \(order)")
            var other = map
            other.insert(9_000, 1)
            #expect(other != map && other.row(of: 9_000) == 1 && map.row(of: 9_000) == nil)
            for id in UInt64(0)...8_001 {
                #expect(map.row(of: id) == known[id] && kept.row(of: id) == known[id], "seed \(seed), \(order), \(id)")
            }
        }
    }

    @Test func `a kept map with identifiers out of order is refused`() throws {
        func map(_ runs: String) throws -> IdentifierMap {
            try JSONDecoder().decode(IdentifierMap.self, from: Data("{\"runs\":[\(runs)],\"replacements\":[]}".utf8))
        }
        #expect(try map(#"{"source":5,"row":9,"count":2}"#).row(of: 6) == 10)
        for runs in [
            #"{"source":5,"row":9,"count":0}"#, #"{"source":18446744073709551615,"row":9,"count":2}"#,
            #"{"source":5,"row":9,"count":2},{"source":6,"row":1,"count":1}"#,
            #"{"source":5,"row":18446744073709551615,"count":1}"#,
        ] {
            #expect(throws: DecodingError.self, "\(runs)") { try map(runs) }
        }
    }
}
