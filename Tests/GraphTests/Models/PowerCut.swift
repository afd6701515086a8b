@testable import Graph

/// Which of the pending changes a power cut keeps, and what takes the place of the others.
struct PowerCut: Sendable, CustomStringConvertible {
    var mask: UInt64
    var fill = Medium.Fill.old
    var keepsLength = true
    var nameMask: UInt64 = .max
    /// The last one of those kept is what the lock file says.
    var lockChangesKept = Int.max

    /// So many sectors that are not synced are lost in every combination.
    static let exhaustiveLimit = 9

    /// Calls a body with each subset of up to nine pending sectors, with every kind of what takes their place, with and without the
    /// length, and with each subset of the changes of names. Of more than nine sectors, it is each subset of nine of them, with one
    /// kind each.
    ///
    /// How much of the lock file is kept comes by chance: most often all, which says the most of what has to be there.
    static func forEach(
        of medium: Medium, using random: inout SeededGenerator, _ body: (PowerCut) throws -> Void
    ) rethrows {
        let count = medium.pendingCount
        let slots = medium.pendingLockCount
        for names in medium.nameMasks {
            try forEachMask(count, &random) { mask, random in
                let isWhole = mask & low(count) == low(count)
                let isOne = isWhole || count > exhaustiveLimit
                let fills = Medium.Fill.allCases
                for fill in isOne ? [fills[Int(mask % UInt64(fills.count))]] : fills {
                    for keepsLength in isOne ? [random.chance(2)] : [true, false] {
                        let kept = random.chance(2) ? slots : Int.random(in: 0...slots, using: &random)
                        try body(
                            PowerCut(
                                mask: mask, fill: fill, keepsLength: keepsLength, nameMask: names,
                                lockChangesKept: kept))
                    }
                }
            }
        }
    }

    /// One of those that `forEach` has, or nothing, or all.
    static func random(of medium: Medium, using random: inout SeededGenerator) -> PowerCut {
        PowerCut(
            mask: [0, .max, random.next(), random.next()].randomElement(using: &random) ?? 0,
            fill: Medium.Fill.allCases.randomElement(using: &random) ?? .old, keepsLength: random.chance(2),
            nameMask: random.next(), lockChangesKept: Int.random(in: 0...medium.pendingLockCount, using: &random))
    }

    private static func forEachMask(
        _ count: Int, _ random: inout SeededGenerator, _ body: (UInt64, inout SeededGenerator) throws -> Void
    ) rethrows {
        guard count > exhaustiveLimit else {
            for mask in 0..<(1 << UInt64(count)) as Range<UInt64> { try body(mask, &random) }
            return
        }
        // A mask repeats after 64, and so do the sectors.
        let chosen = Array(0..<min(count, 64)).shuffled(using: &random).prefix(exhaustiveLimit)
        for subset in 0..<(1 << exhaustiveLimit) {
            var mask: UInt64 = [0, .max, random.next()][subset % 3]
            for (place, ordinal) in chosen.enumerated() {
                let bit: UInt64 = 1 << UInt64(ordinal)
                mask = subset & (1 << place) != 0 ? mask | bit : mask & ~bit
            }
            try body(mask, &random)
        }
    }

    private static func low(_ count: Int) -> UInt64 { count < 64 ? (1 << UInt64(count)) - 1 : .max }

    func remains(of medium: Medium) -> Medium {
        medium.crashed(
            keeps: { mask & (1 << UInt64($0 % 64)) != 0 }, fill: fill, keepsLength: keepsLength,
            keepsName: { nameMask & (1 << UInt64($0 % 64)) != 0 }, lockChangesKept: lockChangesKept)
    }

    var description: String {
        "sectors \(mask), \(fill), \(keepsLength ? "with" : "without") the length, names \(nameMask), "
            + "\(lockChangesKept) of the lock file"
    }
}

extension Medium {
    /// Of all that matters to a program that opens the store after a crash: names, and what is in the files, but for those that
    /// it removes unread.
    var fingerprint: UInt64 {
        names.sorted { $0.key < $1.key }.reduce(0) { hash, name in
            let hash = name.key.bytes.withUnsafeBytes { XXH64.hash($0, seed: hash) }
            guard !name.key.text.contains(".new-") else { return hash &+ UInt64(name.value) }
            return inodes[name.value].current.withUnsafeBytes { XXH64.hash($0, seed: hash &+ UInt64(name.value)) }
        }
    }
}
