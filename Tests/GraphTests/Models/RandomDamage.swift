@testable import Graph

/// Files of 64 KiB to 4 MiB with random damage: bits that flip, bytes that come in, are lost, repeated, exchanged, or replaced by
/// zeros or by those of another store, and files that are cut.
struct RandomDamage {
    private(set) var outcomes = Histogram()
    private let seed: UInt64
    private var random: SeededGenerator
    static let countEach = 200

    init(seed: UInt64) { (self.seed, random) = (seed, SeededGenerator(seed: seed)) }

    private enum Change: String, CaseIterable, CustomStringConvertible {
        case flip, insert, delete, duplicate, swap, splice, zeros, cut

        var description: String { rawValue }
    }

    /// Damages a store of the seed so many times.
    mutating func run() async throws {
        let bytes = [64 << 10, 64 << 10, 64 << 10, 96 << 10, 128 << 10]
        let longer = [256 << 10, 512 << 10, 1 << 20, 4 << 20]
        let length = random.chance(16) ? longer[Int(seed / 16 % 4)] : bytes.randomElement(using: &random) ?? 0
        var store = try await store(of: length, seed: seed)
        let other = try await self.store(of: 64 << 10, seed: ~seed)
        store.otherHeaders = [Array(other.bytes[..<4_096])]
        for number in 0..<Self.countEach {
            var (damaged, changes) = (store.bytes, [Change]())
            for _ in 0..<[1, 1, 1, 2, 4][Int.random(in: 0..<5, using: &random)] {
                let change = Change.allCases.randomElement(using: &random) ?? .flip
                changes.append(change)
                apply(change, to: &damaged, of: store, other.bytes)
            }
            let withLock = random.chance(2)
            let row = changes.count == 1 ? changes[0].rawValue : "several"
            do {
                let outcome = try store.check(damaged, withLock: withLock)
                outcomes.add("\(row) \(withLock ? "with" : "without") lock file", Self.summary(outcome))
            } catch {
                throw CrashedStore.Failure(
                    "\(changes), number \(number), \(length) bytes, lock file: \(withLock): \(error)")
            }
        }
    }

    /// How many commits are missing is in the prediction; a histogram of that would have too many columns.
    private static func summary(_ outcome: String) -> String {
        guard let range = outcome.firstRange(of: "without the last ") else { return outcome }
        return "opened with fewer commits" + outcome[range.upperBound...].drop { $0.isNumber }
    }

    private mutating func apply(_ change: Change, to bytes: inout [UInt8], of store: DamagedTeamStore, _ other: [UInt8])
    {
        guard bytes.count > 8_300 else { return }
        let start = place(in: bytes, of: store)
        let count = min([1, 8, 40, 512, 4_096, 60_000][Int.random(in: 0..<6, using: &random)], bytes.count - start)
        let range = start..<(start + Int.random(in: 1...count, using: &random))
        switch change {
        case .flip: bytes[start] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case .insert:
            let added = (0..<range.count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            bytes.insert(contentsOf: random.chance(2) ? added : added.map { _ in 0 }, at: start)
        case .delete: bytes.removeSubrange(range)
        case .duplicate:
            let target = random.chance(2) ? start : place(in: bytes, of: store)
            bytes.insert(contentsOf: bytes[range], at: target)
        case .swap:
            let target = place(in: bytes, of: store)
            let count = min(range.count, bytes.count - max(start, target), abs(start - target))
            for index in 0..<max(count, 0) { bytes.swapAt(start + index, target + index) }
        case .splice:
            // From the beginning on, it would be the other store.
            let start = max(start, 8_192)
            let from = min(place(in: other, of: store), other.count - 1)
            let piece = other[from..<min(from + range.count, other.count)]
            if random.chance(2) {
                bytes.replaceSubrange(min(start, bytes.count)..., with: other[min(start, other.count)...])
            } else {
                let end = min(start + piece.count, bytes.count)
                bytes.replaceSubrange(min(start, end)..<end, with: piece)
            }
        case .zeros: for index in random.chance(3) ? start..<bytes.count : range { bytes[index] = 0 }
        case .cut: bytes.removeSubrange(start...)
        }
    }

    /// Anywhere, at the ends of records, or in the last records.
    private mutating func place(in bytes: [UInt8], of store: DamagedTeamStore) -> Int {
        let place: Int
        switch Int.random(in: 0..<8, using: &random) {
        case 0: place = Int.random(in: 0..<bytes.count, using: &random)
        case 1...3: place = Int.random(in: 8_192..<bytes.count, using: &random)
        case 4, 5:
            let record = store.records.randomElement(using: &random)?.range.upperBound ?? 8_192
            place = record + Int.random(in: -44...44, using: &random)
        default:
            let record = store.records.suffix(3).randomElement(using: &random)?.range.lowerBound ?? 8_192
            place = record + Int.random(in: 0...200, using: &random)
        }
        return min(max(place, 0), bytes.count - 1)
    }

    /// A store in a file of about so many bytes, that was closed, killed, or compacted before its last commits.
    private mutating func store(of length: Int, seed: UInt64) async throws -> DamagedTeamStore {
        let disk = SimulatedDisk()
        var store = try TeamStore(disk, seed: seed)
        var digests = [store.snapshot.digest]
        let letters = [40, 400, 2_000].randomElement(using: &random) ?? 40
        let text = String(repeating: "t", count: max(letters, length / 1_500))
        let commits = Int.random(in: 8...40, using: &random)
        let rows = length / commits / (text.utf8.count + 20)
        let ending = Int.random(in: 0..<4, using: &random)
        for number in 0..<commits {
            if ending == 3, number == commits / 2 {
                try store.close()
                disk.killProcess()
                try await Coordinator.people(on: disk, seed: seed &+ 1).compact()
                disk.killProcess()
                store = try TeamStore(disk, seed: seed &+ 2)
            }
            digests.append(try store.commitPeople(max(rows, 1), named: text))
        }
        if ending == 0 { try store.close() }
        if ending == 1 { try store.mark() }
        disk.killProcess()
        return try DamagedTeamStore(disk, digests: digests)
    }
}
