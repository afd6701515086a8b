import Testing

@testable import GraphBench

/// What ``Workload/packageWorkloads`` come to, told from the data alone.
struct PackageAnswerTests {
    private static let data = PeopleData(rows: 2_000)
    private static let index = PackageIndex(objects: 2_000, seed: 1)

    @Test(
        arguments: Workload.packageWorkloads.map(\.name).filter { $0 != FootprintProcess.packages },
        [Side.engine, .sqlite])
    func `every side gives the answer that the data has`(name: String, side: Side) async throws {
        if side == .sqlite, SQLiteLibrary.shared == nil { return }
        let directory = try WorkDirectory(in: nil, heedsSignals: false)
        defer { directory.remove() }
        let workload = try #require(EngineSuite.graph.joined(to: Workload.all).first { $0.name == name })
        let contender = try #require(workload.contender(for: side))
        let trial = try await contender(Setting(data: Self.data, directory: directory.path))
        for run in 0..<2 {
            let measurement = try await trial(run)
            #expect(measurement.answer == Self.answer(name, run: run))
            #expect(measurement.count > 0)
            #expect(measurement.amount > 0)
        }
    }

    @Test(arguments: [Side.engine, .sqlite])
    func `the store whose memory is measured has all packages`(side: Side) async throws {
        if side == .sqlite, SQLiteLibrary.shared == nil { return }
        let load = try #require(FootprintProcess.load(side, of: FootprintProcess.packages, engine: .graph))
        let store = try await load(2_000, 1)()
        #expect(try store.answer() == Self.index.answer)
    }

    @Test func `a file has commits in it that are not the load's`() throws {
        let resizes = Self.index.resizes(Workload.smallCommits(rows: Self.data.rows))
        #expect(resizes.count == 200)
        #expect(Self.answer("packages_reopen_commits", run: 0) != Self.packages[resizes[199].package].row.checksum)
    }

    private static func answer(_ name: String, run: Int) -> UInt64 {
        switch name {
        case "packages_load":
            return index.answer
        case "packages_resolve":
            return edges(from: Set(packages.indices))
        case "packages_upsert":
            var updates: [PackageUpdate] = []
            for run in 0...run { updates.append(PackageUpdate(of: updates.last?.index ?? index, run: run)) }
            // A release that comes later has names that nobody has resolved.
            let unchanged = packages.indices.filter { package in !updates.contains { $0.isChanged[package] } }
            return Checksum.ranked(updates[run].index.answer, edges(from: Set(unchanged)))
        case "packages_delete_maintainer":
            let gone = Set((0...run).map(index.maintainer(turn:)))
            let left = packages.indices.filter { !gone.contains(packages[$0].maintainer) }
            let answer = PackageIndex(index, packages: left.map { packages[$0] }).answer
            return Checksum.ranked(answer, edges(from: Set(left), to: Set(left)))
        case "packages_undo":
            return Checksum.ranked(index.answer, edges(from: Set(packages.indices)))
        case "packages_reopen":
            return packages[index.mostUsed].row.checksum
        case "packages_reopen_commits":
            let last = index.resizes(200)[199]
            var row = packages[last.package].row
            row.installedSize = last.size
            return row.checksum
        case "packages_closure":
            return totals(index.applications(run: run).map(closure))
        case "packages_dependents":
            return totals([users[packages[index.mostUsed].row.name] ?? []])
        case "packages_unused":
            let used = Set(users.keys.compactMap { targets[$0] })
            return ranked(packages.indices.filter { !used.contains($0) })
        case "packages_facets":
            return index.tagPairs(run: run).reduce(0) { sum, pair in
                packages.filter { $0.tags.contains(pair.first) && $0.tags.contains(pair.second) }
                    .reduce(sum) { $0 &+ $1.row.checksum }
            }
        case "packages_by_maintainer":
            return index.maintainers.indices.reduce(0) { sum, maintainer in
                let sizes = packages.filter { $0.maintainer == maintainer }.map(\.row.installedSize)
                return sizes.isEmpty
                    ? sum : sum &+ Workload.groupChecksum(maintainer + 1, sizes.count, sizes.reduce(0, +))
            }
        case "packages_prefix":
            return ranked(
                index.prefixes(run: run).flatMap { prefix in
                    Array(byName.filter { packages[$0].row.name.hasPrefix(prefix) }.prefix(20))
                })
        default:
            let offset = index.offset(page: name == "packages_page_1" ? 1 : 600)
            return ranked(bySize[offset..<offset + PackageIndex.pageSize])
        }
    }

    /// The names of some packages that were resolved, and lead to packages that are still there.
    private static func edges(from sources: Set<Int>, to left: Set<Int>? = nil) -> UInt64 {
        sources.reduce(0) { sum, source in
            packages[source].dependencies.joined().reduce(sum) { sum, alternative in
                guard let target = targets[alternative.name], left?.contains(target) ?? true else { return sum }
                let row = packages[target].row
                return sum
                    &+ PackageFingerprint.edge(name: row.name, architecture: row.architecture, from: alternative.name)
            }
        }
    }

    private static let packages = index.packages
    private static let users = PackageIndexTests.usersByName(of: index)
    private static let targets = Dictionary(
        packages.indices.map { (packages[$0].row.name, $0) }, uniquingKeysWith: { first, _ in first })

    private static let byName = packages.indices.sorted {
        (packages[$0].row.name, packages[$0].row.architecture.rawValue)
            < (packages[$1].row.name, packages[$1].row.architecture.rawValue)
    }

    private static let bySize = packages.indices.sorted {
        (-packages[$0].row.installedSize, packages[$0].row.name) < (
            -packages[$1].row.installedSize, packages[$1].row.name
        )
    }

    private static func closure(of start: Int) -> Set<Int> {
        var found: Set = [start]
        var queue = [start]
        while let package = queue.popLast() {
            for dependency in packages[package].dependencies where dependency.kind == .depends {
                for alternative in dependency.alternatives {
                    if let target = targets[alternative.name], found.insert(target).inserted { queue.append(target) }
                }
            }
        }
        return found
    }

    private static func totals(_ sets: [Set<Int>]) -> UInt64 {
        sets.reduce(0) { sum, set in
            let size = set.reduce(0) { $0 + packages[$1].row.installedSize }
            return Checksum.ranked(sum, PackageTotal(count: set.count, installedSize: size).checksum)
        }
    }

    private static func ranked(_ numbers: some Sequence<Int>) -> UInt64 {
        numbers.reduce(0) { Checksum.ranked($0, packages[$1].row.checksum) }
    }
}
