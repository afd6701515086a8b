import Foundation

/// Draws the contents of a ``PackageIndex``.
struct PackageGenerator {
    let sections: [String]
    let tags: [String]
    private(set) var maintainers: [(name: String, email: String)] = []
    private var random: SplitMix64
    private var rows: [PackageRecord.Row] = []
    /// Packages from the most common one on; those for a second architecture are not among them.
    private var byRank: [Int] = []
    /// What packages ask for that none is called.
    private let virtualNames: [String]

    init(count: Int, seed: UInt64) {
        random = SplitMix64(seed: seed)
        sections = (0..<min(60, count / 10)).map { "section\($0)" }
        tags = (0..<min(600, count / 4)).map { "role::tag\($0)" }
        virtualNames = (0..<min(50, count / 10)).map { "virtual-package-\($0)" }
        maintainers = (0..<count / 20).map { number in
            let word = PackageNames.word(&random)
            return ("\(word) maintainers", "\(word)\(number)@lists.example.org")
        }
        makeRows(count: count)
    }

    private mutating func makeRows(count: Int) {
        var names = PackageNames()
        while rows.count < count {
            let size = PackageRecord.Row.size(&random)
            let row = PackageRecord.Row(
                name: names.next(&random), architecture: random.unit() < 0.4 ? .all : .amd64,
                version: PackageNames.version(&random),
                priority: random.unit() < 0.9 ? .optional : Priority.allCases.randomElement(using: &random) ?? .extra,
                installedSize: size, summary: PackageNames.summary(&random))
            byRank.append(rows.count)
            rows.append(row)
            if row.architecture == .amd64, random.unit() < 0.05 {
                var other = row
                other.architecture = .i386
                // So that no two packages are the same in size and name.
                other.installedSize += 1
                rows.append(other)
            }
        }
        byRank.shuffle(using: &random)
    }

    /// All packages, and the one that most others name.
    mutating func packages() -> ([PackageRecord], mostUsed: Int) {
        var ranks = [Int](repeating: byRank.count, count: rows.count)
        for (rank, package) in byRank.enumerated() { ranks[package] = rank }
        var packages: [PackageRecord] = []
        packages.reserveCapacity(rows.count)
        var useCounts = [Int](repeating: 0, count: rows.count)
        for (index, row) in rows.enumerated() {
            packages.append(
                PackageRecord(
                    row: row, section: random.skewed(below: sections.count),
                    maintainer: random.skewed(below: maintainers.count), tags: drawTags(),
                    file: PackageRecord.File(of: row, &random),
                    dependencies: dependencies(rank: ranks[index], &useCounts)))
        }
        let mostUsed = useCounts.indices.max { useCounts[$0] < useCounts[$1] } ?? 0
        return (packages, mostUsed)
    }

    private mutating func drawTags() -> [Int] {
        var tags: [Int] = []
        for _ in 0..<Int.random(in: 0...6, using: &random) {
            let tag = random.skewed(below: self.tags.count)
            if !tags.contains(tag) { tags.append(tag) }
        }
        return tags
    }

    /// About four of them, a third of the packages has one or none.
    private mutating func dependencies(rank: Int, _ useCounts: inout [Int]) -> [PackageRecord.Dependency] {
        let count = min(40, Int(-4.2 * log(1 - random.unit())))
        var dependencies: [PackageRecord.Dependency] = []
        var used: Set<String> = []
        for _ in 0..<count {
            let draw = random.unit()
            let alternatives = (0..<(draw < 0.03 ? 3 : draw < 0.14 ? 2 : 1)).compactMap { _ in
                alternative(rank: rank, &used, &useCounts)
            }
            if alternatives.isEmpty { continue }
            let kind = random.unit()
            dependencies.append(
                PackageRecord.Dependency(
                    kind: kind < 0.7 ? .depends : kind < 0.9 ? .recommends : .suggests, alternatives: alternatives))
        }
        return dependencies
    }

    /// A package that is more common than the one of this rank, in most cases; nil if that is named already.
    private mutating func alternative(
        rank: Int, _ used: inout Set<String>, _ useCounts: inout [Int]
    ) -> PackageRecord.Alternative? {
        let draw = random.unit()
        let name: String
        if draw < 0.02 || rank == 0 {
            name = virtualNames[random.skewed(below: virtualNames.count)]
            guard used.insert(name).inserted else { return nil }
        } else {
            let package = byRank[random.skewed(below: draw < 0.03 ? byRank.count : rank)]
            name = rows[package].name
            guard used.insert(name).inserted else { return nil }
            useCounts[package] += 1
        }
        guard random.unit() < 0.4 else { return PackageRecord.Alternative(name: name, constraint: nil) }
        let relation: VersionConstraint.Relation =
            random.unit() < 0.8
            ? .atLeast : VersionConstraint.Relation.allCases.randomElement(using: &random) ?? .exactly
        return PackageRecord.Alternative(
            name: name,
            constraint: VersionConstraint(relation: relation, version: PackageNames.version(&random)))
    }
}

extension PackageRecord.Row {
    /// Few packages are large.
    static func size(_ random: inout SplitMix64) -> Int {
        20 + random.skewed(below: 2_000_000)
    }
}

extension PackageRecord.File {
    init(of row: PackageRecord.Row, _ random: inout SplitMix64) {
        path = "pool/main/\(row.name.prefix(1))/\(row.name)_\(row.version)_\(row.architecture).deb"
        sizeBytes = row.installedSize * 300
        digest = (0..<2).map { _ in String(random.next() | 1 << 63, radix: 16) }.joined()
    }
}
