/// The index of a distribution as it comes again after a while.
struct PackageUpdate: Sendable {
    /// Those that were there before first, in their old places.
    let index: PackageIndex
    /// Whether each package was there before and has another release.
    let isChanged: [Bool]
    /// Indices of the packages that were not there before.
    let new: Range<Int>

    /// About a tenth of the packages has another release, with another size, summary and file and with other dependencies; one
    /// package for 200 is new.
    init(of old: PackageIndex, run: Int) {
        var random = old.random(run)
        var packages = old.packages
        func anyOne() -> PackageRecord { old.packages[Int.random(in: 0..<old.packages.count, using: &random)] }
        var isChanged = packages.map { _ in random.unit() < 0.1 }
        for index in packages.indices where isChanged[index] { packages[index].release(needing: anyOne(), &random) }
        new = packages.count..<packages.count + max(1, packages.count / 200)
        for number in new {
            var package = anyOne()
            package.row.name = "\(PackageNames.word(&random))-of-\(number)"
            package.release(needing: anyOne(), &random)
            packages.append(package)
            isChanged.append(false)
        }
        self.isChanged = isChanged
        index = PackageIndex(old, packages: packages)
    }
}

extension PackageRecord {
    /// Comes in another version, which needs what another package does: so common packages stay common.
    fileprivate mutating func release(needing other: PackageRecord, _ random: inout SplitMix64) {
        row.version = PackageNames.version(&random)
        row.installedSize = Row.size(&random)
        row.summary = PackageNames.summary(&random)
        file = File(of: row, &random)
        let name = row.name
        dependencies = other.dependencies.filter { !$0.alternatives.contains { $0.name == name } }
    }
}
