import Testing

@testable import GraphBench

/// What ``Workload/packageWorkloads`` come to, told from the data alone.
struct PackageAnswerTests {
    private static let data = PeopleData(rows: 2_000)
    private static let index = PackageIndex(objects: 2_000, seed: 1)

    @Test(arguments: Workload.packageWorkloads.map(\.name), [Side.engine, .sqlite])
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

    private static func answer(_ name: String, run: Int) -> UInt64 {
        switch name {
        case "packages_load":
            return index.answer
        case "packages_resolve":
            return packages.reduce(0) { sum, package in
                package.dependencies.joined().reduce(sum) { sum, alternative in
                    guard let target = targets[alternative.name].map({ packages[$0].row }) else { return sum }
                    return sum
                        &+ PackageFingerprint.edge(
                            name: target.name, architecture: target.architecture, from: alternative.name)
                }
            }
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
