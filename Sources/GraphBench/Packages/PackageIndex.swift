import Foundation

/// The index of a distribution: packages with dependencies, files, tags, maintainers and sections.
///
/// Its shape is that of real ones. A few packages are what thousands depend on, and most are what none does; a few
/// maintainers have thousands of packages; a package depends on more common ones, but for a few circles. Some packages exist
/// for a second architecture under the same name.
struct PackageIndex: Sendable {
    /// So many objects make one transaction of a load.
    static let batch = PeopleData.batch

    let seed: UInt64
    let sections: [String]
    let maintainers: [(name: String, email: String)]
    let tags: [String]
    let packages: [PackageRecord]
    /// The index of the package on which most others depend.
    let mostUsed: Int
    /// The ranges of packages that are inserted by one transaction each, with all that belongs to them.
    let batches: [Range<Int>]
    /// The packages with all that belongs to them.
    private let packageObjectCount: Int

    /// - Parameter objects: about how many objects there are.
    init(objects: Int, seed: UInt64) {
        var generator = PackageGenerator(count: max(40, objects / 10), seed: seed)
        self.seed = seed
        sections = generator.sections
        tags = generator.tags
        maintainers = generator.maintainers
        let (packages, mostUsed) = generator.packages()
        self.mostUsed = mostUsed
        self.packages = packages
        (batches, packageObjectCount) = Self.divided(packages)
    }

    /// The same distribution with other packages.
    init(_ index: PackageIndex, packages: [PackageRecord]) {
        seed = index.seed
        sections = index.sections
        tags = index.tags
        maintainers = index.maintainers
        mostUsed = index.mostUsed
        self.packages = packages
        (batches, packageObjectCount) = Self.divided(packages)
    }

    private static func divided(_ packages: [PackageRecord]) -> (batches: [Range<Int>], objectCount: Int) {
        var (batches, start, size) = ([Range<Int>](), 0, 0)
        for (index, package) in packages.enumerated() {
            size += package.objectCount
            if size >= batch || index == packages.count - 1 {
                batches.append(start..<index + 1)
                (start, size) = (index + 1, 0)
            }
        }
        return (batches, packages.reduce(0) { $0 + $1.objectCount })
    }

    /// All that a store has when everything is loaded.
    var objectCount: Int { packageObjectCount + sections.count + maintainers.count + tags.count }

    var alternativeCount: Int {
        packages.reduce(0) { $0 + $1.dependencies.reduce(0) { $0 + $1.alternatives.count } }
    }
}

/// What queries ask for: something else in each run.
extension PackageIndex {
    static let pageSize = 50
    private static let closures = 20
    private static let pairs = 20
    private static let prefixes = 1_000

    func random(_ run: Int) -> SplitMix64 {
        SplitMix64(seed: seed &+ UInt64(run) &* 0xD134_2543_DE82_EF95)
    }

    /// Packages with many dependencies, as applications have.
    func applications(run: Int) -> [Int] {
        var random = random(run)
        let most = min(8, packages.reduce(0) { max($0, $1.dependencies.count) })
        let candidates = packages.indices.filter { packages[$0].dependencies.count >= most }
        return (0..<Self.closures).map { _ in candidates[Int.random(in: 0..<candidates.count, using: &random)] }
    }

    /// Two different ones of the twenty most common tags.
    func tagPairs(run: Int) -> [(first: Int, second: Int)] {
        var random = random(run)
        return (0..<Self.pairs).map { _ in
            let common = (0..<min(20, tags.count)).shuffled(using: &random)
            return (common[0], common[1])
        }
    }

    /// Beginnings of names.
    func prefixes(run: Int) -> [String] {
        var random = random(run)
        return (0..<Self.prefixes).map { _ in
            String(packages[Int.random(in: 0..<packages.count, using: &random)].row.name.prefix(6))
        }
    }

    /// One of the maintainers with most packages, from the one with most of all on.
    func maintainer(turn: Int) -> Int {
        var counts = [Int](repeating: 0, count: maintainers.count)
        for package in packages { counts[package.maintainer] += 1 }
        return maintainers.indices.sorted { (-counts[$0], $0) < (-counts[$1], $1) }[turn]
    }

    /// So many of them.
    var busyMaintainers: Int { min(10, maintainers.count) }

    /// What is deleted with a maintainer, who is one of the objects.
    func objectCount(ofMaintainer maintainer: Int) -> Int {
        packages.reduce(1) { $0 + ($1.maintainer == maintainer ? $1.objectCount : 0) }
    }

    /// Random packages with sizes that they have from then on, each one a commit.
    func resizes(_ count: Int) -> [(package: Int, size: Int)] {
        var random = SplitMix64(seed: ~seed)
        return (0..<count).map { (Int.random(in: 0..<packages.count, using: &random), $0 + 1) }
    }

    /// Where the page begins, or the last full one if there are fewer.
    func offset(page: Int) -> Int {
        (min(page, max(1, packages.count / Self.pageSize)) - 1) * Self.pageSize
    }
}

extension Setting {
    /// About as many objects as there are people.
    var packages: PackageIndex {
        get async {
            await shared("packages") { PackageIndex(objects: data.rows, seed: seed) }
        }
    }
}
