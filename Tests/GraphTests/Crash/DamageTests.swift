import Testing

@testable import Graph

/// R30: what becomes of every kind of damage to a small journal: each single case is predicted from its bytes, and each class is
/// counted.
struct DamageTests {
    /// Damages the file in many ways, holds each to the prediction, and counts them.
    private func count(
        _ file: DamagedFile, withLock: Bool, _ damages: some Sequence<(comment: String, bytes: [UInt8])>
    ) -> DamageCount {
        var count = DamageCount()
        for (number, damage) in damages.enumerated() where damage.bytes != file.bytes {
            let expected = file.outcome(of: damage.bytes, withLock: withLock)
            let found = file.scan(damage.bytes, withLock: withLock)
            if found != expected {
                Issue.record("\(damage.comment), lock file: \(withLock): \(String(describing: found)) not \(expected)")
            }
            // Opening is more than the scan, and much slower.
            if number % 41 == 0 {
                #expect(
                    file.open(damage.bytes, withLock: withLock) == expected, "\(damage.comment), lock file: \(withLock)"
                )
            }
            count.add(expected)
        }
        return count
    }

    // MARK: Flipped bits

    private func flips(_ file: DamagedFile) -> some Sequence<(comment: String, bytes: [UInt8])> {
        (8_192..<file.end).lazy.flatMap { offset in
            (0..<8).lazy.map { bit in
                var damaged = file.bytes
                damaged[offset] ^= 1 << UInt8(bit)
                return (comment: "bit \(bit) of \(offset)", bytes: damaged)
            }
        }
    }

    @Test func `every flipped bit of a closed file is refused, in the closing record only with the lock file`() throws {
        let file = try DamagedFile(.closed)
        let closing = try #require(file.records.last).range.count
        #expect(count(file, withLock: true, flips(file)) == DamageCount(refused: 544 * 8))
        #expect(
            count(file, withLock: false, flips(file))
                == DamageCount(refused: (544 - closing) * 8, (4, [.unfinishedWrite], closing * 8)))
    }

    @Test
    func `every flipped bit of a file whose writer was killed is refused, in the last group only with the lock file`()
        throws
    {
        let file = try DamagedFile(.killed)
        let last = try #require(file.records.last).range.count
        #expect(count(file, withLock: true, flips(file)) == DamageCount(refused: 496 * 8))
        #expect(
            count(file, withLock: false, flips(file))
                == DamageCount(refused: (496 - last) * 8, (3, [.unfinishedWrite], last * 8)))
    }

    @Test func `with a mark behind it the last group needs no lock file`() throws {
        let file = try DamagedFile(.marked)
        let mark = try #require(file.records.last).range.count
        #expect(
            count(file, withLock: false, flips(file))
                == DamageCount(refused: 496 * 8, (4, [.unfinishedWrite], mark * 8)))
    }

    // MARK: Bytes that came in or were lost

    private static let shifts = [1, 2, 3, 4, 5, 6, 7, 8, 16, 40]

    private func insertions(_ file: DamagedFile, _ count: Int) -> some Sequence<(comment: String, bytes: [UInt8])> {
        (8_192...file.end).lazy.flatMap { offset in
            [[UInt8](repeating: 0, count: count), Array(file.bytes[(offset - count)..<offset])].lazy.map { added in
                var damaged = file.bytes
                damaged.insert(contentsOf: added, at: offset)
                return (comment: "\(added) at \(offset)", bytes: damaged)
            }
        }
    }

    private func removals(_ file: DamagedFile, _ count: Int) -> some Sequence<(comment: String, bytes: [UInt8])> {
        (8_192...(file.end - count)).lazy.map { offset in
            var damaged = file.bytes
            damaged.removeSubrange(offset..<(offset + count))
            return (comment: "\(count) bytes less at \(offset)", bytes: damaged)
        }
    }

    /// What is left over opens whole: zeros put behind the last record or into its padding, and without the lock file what
    /// harms the closing record alone.
    @Test func `bytes that came in anywhere put nothing out of sight`() throws {
        let file = try DamagedFile(.closed)
        var (with, without) = (DamageCount(), DamageCount())
        for shift in Self.shifts {
            with.add(count(file, withLock: true, insertions(file, shift)))
            without.add(count(file, withLock: false, insertions(file, shift)))
        }
        #expect(with == DamageCount(refused: 10_782, (4, [], 108), (4, [.unfinishedWrite], 10)))
        #expect(without == DamageCount(refused: 9_845, (4, [.unknownEnd], 108), (4, [.unfinishedWrite], 947)))
    }

    /// Without the lock file, what loses the closing record and bytes before it is a torn write of the last group.
    @Test func `bytes that were lost anywhere put nothing out of sight`() throws {
        let file = try DamagedFile(.closed)
        var (with, without) = (DamageCount(), DamageCount())
        for shift in Self.shifts {
            with.add(count(file, withLock: true, removals(file, shift)))
            without.add(count(file, withLock: false, removals(file, shift)))
        }
        #expect(with == DamageCount(refused: 5_358))
        #expect(
            without == DamageCount(refused: 4_878, (3, [.unfinishedWrite], 79), (4, [.unfinishedWrite], 401)))
    }

    /// Behind the last record there is room for anything: zeros are no change, and other bytes an unfinished write.
    @Test func `with its lock file a closed file shows any number of bytes that came in or were lost`() throws {
        let file = try DamagedFile(.closed)
        let length = file.end - 8_192
        for shift in [9, 15, 17, 63, 64, 65, 127, 128, 300, 512, 543] {
            #expect(
                count(file, withLock: true, removals(file, shift)) == DamageCount(refused: length + 1 - shift),
                "\(shift) bytes less")
            let added = count(file, withLock: true, insertions(file, shift))
            #expect(added.refused > 2 * (length - 8), "\(shift) bytes more: \(added)")
            #expect(
                added.refused + added.opened(commits: file.commits.count) == added.total,
                "\(shift) bytes more: \(added)")
        }
        #expect(count(file, withLock: true, removals(file, length)) == DamageCount(refused: 1))
    }

    private func zeroedRanges(_ file: DamagedFile, _ count: Int) -> some Sequence<(comment: String, bytes: [UInt8])> {
        (8_192...(file.end - count)).lazy.map { offset in
            var damaged = file.bytes
            for index in offset..<(offset + count) { damaged[index] = 0 }
            return (comment: "\(count) zeros at \(offset)", bytes: damaged)
        }
    }

    @Test func `with its lock file a closed file shows every range of zeros that was something else`() throws {
        let file = try DamagedFile(.closed)
        for length in [1, 2, 3, 8, 21, 40, 41, 64, 104, 200, 300, 512] {
            let found = count(file, withLock: true, zeroedRanges(file, length))
            #expect(found == DamageCount(refused: found.total) && found.total > 0, "\(length): \(found)")
        }
    }

    // MARK: Tails

    /// At each byte; of the zeros ahead, some.
    private func cuts(_ file: DamagedFile) -> some Sequence<(comment: String, bytes: [UInt8])> {
        (8_192..<file.bytes.count).lazy.filter { $0 < file.end + 64 || $0 % 64 == 0 }
            .map { (comment: "cut at \($0)", bytes: Array(file.bytes[..<$0])) }
    }

    private func zeroedTails(_ file: DamagedFile) -> some Sequence<(comment: String, bytes: [UInt8])> {
        (8_192..<file.end).lazy.map { offset in
            var damaged = file.bytes
            for index in offset..<damaged.count { damaged[index] = 0 }
            return (comment: "zeros from \(offset)", bytes: damaged)
        }
    }

    @Test func `with its lock file a cut or zeroed tail is refused, unless the cut is at an earlier close`() throws {
        let closed = try DamagedFile(.closed)
        #expect(count(closed, withLock: true, cuts(closed)) == DamageCount(refused: 544))
        #expect(count(closed, withLock: true, zeroedTails(closed)) == DamageCount(refused: 537))
        let twice = try DamagedFile(.closedTwice)
        #expect(count(twice, withLock: true, cuts(twice)) == DamageCount(refused: 591, (3, [.olderCopy], 1)))
        #expect(count(twice, withLock: true, zeroedTails(twice)) == DamageCount(refused: 585))
        let killed = try DamagedFile(.killed)
        // The rest are cuts in the zeros ahead.
        #expect(count(killed, withLock: true, cuts(killed)) == DamageCount(refused: 496, (4, [], 119)))
        #expect(count(killed, withLock: true, zeroedTails(killed)) == DamageCount(refused: 490))
        let marked = try DamagedFile(.marked)
        #expect(
            count(marked, withLock: true, cuts(marked))
                == DamageCount(refused: 496, (4, [], 119), (4, [.unfinishedWrite], 47)))
        #expect(
            count(marked, withLock: true, zeroedTails(marked))
                == DamageCount(refused: 490, (4, [], 7), (4, [.unfinishedWrite], 40)))
    }

    /// The 96 bytes before the seal's end apart: with these the rest was there when the file got its name.
    @Test func `without a lock file a cut tail opens with a report, unless it ends with the seal or a close`() throws {
        let closed = try DamagedFile(.closed)
        #expect(
            count(closed, withLock: false, cuts(closed))
                == DamageCount(
                    refused: 96, (0, [], 1), (0, [.unfinishedWrite], 87), (1, [.unknownEnd], 1),
                    (1, [.unfinishedWrite], 127), (2, [.unknownEnd], 1), (2, [.unfinishedWrite], 71),
                    (3, [.unknownEnd], 1),
                    (3, [.unfinishedWrite], 111), (4, [.unknownEnd], 1), (4, [.unfinishedWrite], 47)))
        let twice = try DamagedFile(.closedTwice)
        #expect(
            count(twice, withLock: false, cuts(twice))
                == DamageCount(
                    refused: 96, (0, [], 1), (0, [.unfinishedWrite], 87), (1, [.unknownEnd], 1),
                    (1, [.unfinishedWrite], 127), (2, [.unknownEnd], 1), (2, [.unfinishedWrite], 71),
                    (3, [.unknownEnd], 1),
                    (3, [], 1), (3, [.unfinishedWrite], 158), (4, [.unknownEnd], 1), (4, [.unfinishedWrite], 47)))
        let killed = try DamagedFile(.killed)
        #expect(
            count(killed, withLock: false, cuts(killed))
                == DamageCount(
                    refused: 96, (0, [], 1), (0, [.unfinishedWrite], 87), (1, [.unknownEnd], 1),
                    (1, [.unfinishedWrite], 127), (2, [.unknownEnd], 1), (2, [.unfinishedWrite], 71),
                    (3, [.unknownEnd], 1),
                    (3, [.unfinishedWrite], 111), (4, [.unknownEnd], 119)))
    }

    /// Of a closed file the zeros reach to an end that no writer makes. A killed writer's file has zeros there anyway: 16 of
    /// these tails cannot be told from it.
    @Test func `without a lock file a zeroed tail opens with a report, unless a killed writer's ends at a record`()
        throws
    {
        let closed = try DamagedFile(.closed)
        #expect(
            count(closed, withLock: false, zeroedTails(closed))
                == DamageCount(
                    refused: 96, (0, [.unknownEnd], 1), (0, [.unfinishedWrite], 84), (1, [.unknownEnd], 4),
                    (1, [.unfinishedWrite], 121), (2, [.unknownEnd], 7), (2, [.unfinishedWrite], 68),
                    (3, [.unknownEnd], 4),
                    (3, [.unfinishedWrite], 105), (4, [.unknownEnd], 7), (4, [.unfinishedWrite], 40)))
        let killed = try DamagedFile(.killed)
        #expect(
            count(killed, withLock: false, zeroedTails(killed))
                == DamageCount(
                    refused: 96, (0, [], 1), (0, [.unfinishedWrite], 84), (1, [], 4), (1, [.unfinishedWrite], 121),
                    (2, [], 7),
                    (2, [.unfinishedWrite], 68), (3, [], 4), (3, [.unfinishedWrite], 105)))
    }

    /// The bytes from some place in the last group to its end, as they were before it was written.
    private func oldEnds(of group: Range<Int>, _ file: DamagedFile) -> some Sequence<(comment: String, bytes: [UInt8])>
    {
        group.lazy.map { offset in
            var damaged = file.bytes
            for index in offset..<group.upperBound { damaged[index] = 0 }
            return (comment: "old from \(offset)", bytes: damaged)
        }
    }

    @Test func `an old last group is refused if a mark or the lock file says that it was written`() throws {
        let marked = try DamagedFile(.marked)
        let group = marked.records[marked.records.count - 2].range
        #expect(count(marked, withLock: false, oldEnds(of: group, marked)) == DamageCount(refused: 106))
        let killed = try DamagedFile(.killed)
        #expect(killed.records.last?.range == group)
        #expect(count(killed, withLock: true, oldEnds(of: group, killed)) == DamageCount(refused: 106))
        #expect(
            count(killed, withLock: false, oldEnds(of: group, killed))
                == DamageCount(refused: 0, (3, [], 1), (3, [.unfinishedWrite], 105)))
    }

    // MARK: Headers

    @Test func `a flipped bit in a copy of the header is repaired and reported`() throws {
        let file = try DamagedFile(.closed)
        for offset in Array(0..<136) + Array(4_090..<4_232) + [2_000, 6_000, 8_190] {
            let disk = SimulatedDisk()
            var damaged = file.bytes
            damaged[offset] ^= 1 << UInt8(offset % 8)
            disk.setContents(damaged, at: JournalFixture.path)
            let found = try JournalFixture.open(disk)
            #expect(JournalFixture.commits(in: found.records) == file.commits)
            let diagnostics = found.opened.diagnostics
            #expect(
                diagnostics.map(\.kind) == [.repairedHeader] && diagnostics[0].offset == (offset < 4_096 ? 0 : 4_096))
            #expect(disk.contents(JournalFixture.path) == file.bytes)
            disk.killProcess()
            #expect(try JournalFixture.open(disk).opened.diagnostics.isEmpty)
        }
    }

    @Test func `bytes that came into the headers or were lost there are refused`() throws {
        let file = try DamagedFile(.closed)
        var refused = 0
        for shift in [1, 8] {
            for offset in (0..<8_192).filter({ $0 % 97 == 0 || $0 % 4_096 < 12 || $0 % 4_096 > 4_084 }) {
                for isInserted in [true, false] {
                    var damaged = file.bytes
                    if isInserted {
                        damaged.insert(contentsOf: [UInt8](repeating: 0, count: shift), at: offset)
                    } else {
                        damaged.removeSubrange(offset..<(offset + shift))
                    }
                    do throws(GraphError) {
                        _ = try JournalFixture.open(bytes: damaged)
                        Issue.record("\(isInserted ? "+" : "-")\(shift) at \(offset) opened")
                    } catch {
                        switch error {
                        case .corrupt, .notAStore: refused += 1
                        default: Issue.record("\(isInserted ? "+" : "-")\(shift) at \(offset): \(error)")
                        }
                    }
                }
            }
        }
        #expect(refused == 520)
    }

    // MARK: Anything

    @Test func `random damage gives what its bytes say`() throws {
        for (ending, withLock) in [
            (DamagedFile.Ending.closed, false), (.closedTwice, true), (.killed, false), (.marked, true),
        ] {
            let file = try DamagedFile(ending)
            let counted = count(file, withLock: withLock, randomDamage(file))
            #expect(counted.refused > 100, "\(ending): \(counted)")
        }
    }

    private func randomDamage(_ file: DamagedFile) -> some Sequence<(comment: String, bytes: [UInt8])> {
        (0..<150 as Range<UInt64>).lazy.map { seed in
            var generator = SeededGenerator(seed: seed)
            var bytes = file.bytes
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                guard bytes.count > 8_193 else { break }
                let start = Int.random(in: 8_192..<min(bytes.count, file.end), using: &generator)
                let count = Int.random(in: 0...min(64, bytes.count - start), using: &generator)
                switch Int.random(in: 0..<5, using: &generator) {
                case 0: bytes.removeSubrange(start..<(start + count))
                case 1: bytes.insert(contentsOf: file.bytes[8_192..<(8_192 + count)], at: start)
                case 2: for index in start..<(start + count) { bytes[index] = 0 }
                case 3: bytes.removeSubrange(start...)
                default:
                    for index in start..<(start + count) { bytes[index] = UInt8.random(in: 0...255, using: &generator) }
                }
            }
            return (comment: "seed \(seed)", bytes: bytes)
        }
    }
}
