@testable import Graph

/// Every bit of three small stores: one that was closed, one whose program was killed, and one that was just compacted.
struct FlippedBits {
    private(set) var outcomes = Histogram()
    private let seed: UInt64

    init(seed: UInt64) { self.seed = seed }

    private static let names = ["closed", "killed", "compacted"]

    /// All bits of the records, with the lock file and without, and those of the headers of one of the three.
    mutating func run() async throws {
        for (number, name) in Self.names.enumerated() {
            let store = try await Self.store(name, seed: seed)
            if UInt64(number) == seed % UInt64(Self.names.count) {
                try flip(0..<8_192, of: store, withLock: number != 0, "header of \(name)")
                try expect(8 * 8_192, "header of \(name)", "opened whole with repairedHeader")
            }
            for withLock in [true, false] {
                let row = "\(name) \(withLock ? "with" : "without") lock file"
                try flip(8_192..<store.end, of: store, withLock: withLock, row)
                let bits = 8 * (store.end - 8_192)
                // Without the lock file nothing shows that the last record was durable, unless it is the seal.
                let last = withLock || name == "compacted" ? 0 : 8 * (store.records.last?.range.count ?? 0)
                try expect(bits - last, row, "refused")
                try expect(
                    last, row,
                    name == "closed"
                        ? "opened whole with unfinishedWrite" : "opened without the last 1 with unfinishedWrite")
            }
        }
    }

    /// Each pair of bits of the headers of one of the three, without the zeros between fields and checksum.
    mutating func runHeaderPairs() async throws {
        let name = Self.names[Int(seed % UInt64(Self.names.count))]
        let store = try await Self.store(name, seed: seed)
        let copies = [0, 4_096].map { start in
            let fields = store.bytes[start..<(start + 4_092)].lastIndex { $0 != 0 } ?? start
            return Array(start...fields) + Array((start + 4_092)..<(start + 4_096))
        }
        let bits = copies.joined().flatMap { place in (0..<8).map { (place: place, mask: UInt8(1) << $0) } }
        let row = "two bits in headers of \(name)"
        for (number, first) in bits.enumerated() {
            for second in bits[..<number] {
                var damaged = store.bytes
                damaged[first.place] ^= first.mask
                damaged[second.place] ^= second.mask
                do { outcomes.add(row, try store.check(damaged, withLock: true)) } catch {
                    throw CrashedStore.Failure("\(row), \(first) and \(second): \(error)")
                }
            }
        }
        let inOne = copies.map { 8 * $0.count * (8 * $0.count - 1) / 2 }.reduce(0, +)
        try expect(inOne, row, "opened whole with repairedHeader")
        try expect(bits.count * (bits.count - 1) / 2 - inOne, row, "refused")
    }

    private func expect(_ count: Int, _ row: String, _ column: String) throws {
        let found = outcomes.count(row, column)
        guard found == count else { throw CrashedStore.Failure("\(row): \(column) \(found), and not \(count)") }
    }

    private mutating func flip(_ range: Range<Int>, of store: DamagedTeamStore, withLock: Bool, _ row: String) throws {
        for place in range {
            for bit in 0..<8 as Range<UInt8> {
                var damaged = store.bytes
                damaged[place] ^= 1 << bit
                do { outcomes.add(row, try store.check(damaged, withLock: withLock)) } catch {
                    throw CrashedStore.Failure("\(row), bit \(bit) of byte \(place): \(error)")
                }
            }
        }
    }

    private static func store(_ ending: String, seed: UInt64) async throws -> DamagedTeamStore {
        let disk = SimulatedDisk()
        var random = SeededGenerator(seed: seed)
        var store = try TeamStore(disk, seed: seed)
        var digests = [store.snapshot.digest]
        for _ in 0..<10 { digests.append(try store.commitTeam()) }
        if ending == "closed" { try store.close() }
        disk.killProcess()
        if ending == "compacted" {
            let coordinator = try await Coordinator.people(on: disk, seed: random.next())
            try await coordinator.compact()
            disk.killProcess()
        }
        return try DamagedTeamStore(disk, digests: digests)
    }
}
