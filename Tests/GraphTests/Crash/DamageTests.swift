import Testing

@testable import Graph

/// Every truncation and every flipped bit of a small journal.
struct DamageTests {
    private let script = (1...4).map { JournalFixture.commit($0).payload }

    @Test func `a file cut at any byte opens with a prefix or is refused before its seal`() throws {
        for closed in [true, false] {
            let bytes = try JournalFixture.bytes(closed: closed)
            let sealEnd = Int(try #require(try JournalFixture.open(bytes: bytes).records.dropFirst(2).first).offset)
            var previous = 0
            for length in (0..<bytes.count).filter({ $0 % 64 == 0 || $0 > 8_100 }) {
                do {
                    let commits = JournalFixture.commits(
                        in: try JournalFixture.open(bytes: Array(bytes[..<length])).records)
                    #expect(length >= sealEnd && script.starts(with: commits) && commits.count >= previous)
                    previous = commits.count
                } catch {
                    #expect(length < sealEnd, "\(length): \(error)")
                    switch error {
                    case .notAStore: #expect(length < 8_192)
                    case .corrupt: #expect(length >= 8_192)
                    default: Issue.record("\(length): \(error)")
                    }
                }
            }
            #expect(previous == 4)
        }
    }

    @Test func `a flipped bit of a closed journal is refused, or is in the closing record and harmless`() throws {
        let bytes = try JournalFixture.bytes(closed: true)
        let closing = try #require(try JournalFixture.open(bytes: bytes).records.last)
        #expect(closing.kind == .close)
        var refused = 0
        var harmless = 0
        for offset in 8_192..<bytes.count {
            for bit in 0..<8 {
                var damaged = bytes
                damaged[offset] ^= 1 << UInt8(bit)
                do {
                    let found = try JournalFixture.open(bytes: damaged)
                    #expect(offset >= Int(closing.offset), "\(offset).\(bit)")
                    #expect(JournalFixture.commits(in: found.records) == script)
                    harmless += 1
                } catch {
                    guard case .corrupt = error else {
                        Issue.record("\(offset).\(bit): \(error)")
                        continue
                    }
                    refused += 1
                }
            }
        }
        #expect(harmless == (bytes.count - Int(closing.offset)) * 8)
        #expect(refused == (Int(closing.offset) - 8_192) * 8)
    }

    @Test func `a flipped bit in a copy of the header is noticed and does no harm`() throws {
        let bytes = try JournalFixture.bytes(closed: true)
        for offset in Array(0..<136) + Array(4_090..<4_232) + [2_000, 6_000, 8_190] {
            var damaged = bytes
            damaged[offset] ^= 1 << UInt8(offset % 8)
            let found = try JournalFixture.open(bytes: damaged)
            #expect(JournalFixture.commits(in: found.records) == script)
            #expect(found.opened.diagnostics.count == 1)
        }
    }

    @Test func `a flipped bit after an unclean stop loses at most the last group`() throws {
        let bytes = try JournalFixture.bytes(closed: false)
        let last = try #require(try JournalFixture.open(bytes: bytes).records.last)
        for offset in 8_192..<(Int(last.offset) + 100) {
            var damaged = bytes
            damaged[offset] ^= 0x10
            do {
                let commits = JournalFixture.commits(in: try JournalFixture.open(bytes: damaged).records)
                #expect(offset >= Int(last.offset), "\(offset)")
                #expect(commits == script || commits == script.dropLast())
            } catch {
                #expect(offset < Int(last.offset), "\(offset): \(error)")
            }
        }
    }

    @Test func `random damage never gives wrong data`() throws {
        let closed = try JournalFixture.bytes(closed: true)
        for seed in 0..<600 as Range<UInt64> {
            var generator = SeededGenerator(seed: seed)
            var bytes = closed
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let start = Int.random(in: 8_192..<bytes.count, using: &generator)
                let count = Int.random(in: 0...min(64, bytes.count - start), using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: bytes.removeSubrange(start..<(start + count))
                case 1: bytes.insert(contentsOf: closed[8_192..<(8_192 + count)], at: start)
                case 2: for index in start..<(start + count) { bytes[index] = 0 }
                default:
                    for index in start..<(start + count) { bytes[index] = UInt8.random(in: 0...255, using: &generator) }
                }
                if bytes.count < 8_193 { break }
            }
            guard let records = try? JournalFixture.open(bytes: bytes).records else { continue }
            let commits = JournalFixture.commits(in: records)
            #expect(script.starts(with: commits), "seed \(seed)")
        }
    }
}
