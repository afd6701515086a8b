import Testing

@testable import GraphBench

struct PackageIndexTests {
    private static let index = PackageIndex(objects: 6_000, seed: 3)

    @Test func `a seed has one index, and another seed has another`() {
        let again = PackageIndex(objects: 6_000, seed: 3)
        #expect(again.answer == Self.index.answer)
        #expect(again.mostUsed == Self.index.mostUsed)
        #expect(PackageIndex(objects: 6_000, seed: 4).answer != Self.index.answer)
    }

    @Test func `there are about as many objects as asked for, each in one transaction of the usual size`() {
        let index = Self.index
        #expect((4_800...7_200).contains(index.objectCount))
        #expect(index.batches.flatMap(Array.init) == Array(index.packages.indices))
        for batch in index.batches {
            let count = index.packages[batch].reduce(0) { $0 + $1.objectCount }
            #expect(count < PackageIndex.batch + 200)
        }
    }

    @Test func `few packages are what many need, and most are what none does`() {
        let users = Self.usersByName()
        let most = users.values.map(\.count).max() ?? 0
        #expect(users[Self.index.packages[Self.index.mostUsed].row.name]?.count == most)
        #expect(most > Self.index.packages.count / 10)
        let unused = Self.index.packages.count { users[$0.row.name] == nil }
        #expect(unused > Self.index.packages.count * 2 / 5)
        #expect(unused < Self.index.packages.count * 4 / 5)
    }

    @Test func `a name stands for one package of each architecture, and a package names another one once`() {
        let packages = Self.index.packages
        #expect(Set(packages.map { "\($0.row.name) \($0.row.architecture)" }).count == packages.count)
        #expect(Set(packages.map(\.row.name)).count < packages.count)
        for package in packages {
            let names = package.dependencies.flatMap { $0.alternatives.map(\.name) }
            #expect(Set(names).count == names.count)
            #expect(Set(package.tags).count == package.tags.count)
        }
        let alternatives = packages.flatMap { $0.dependencies.map(\.alternatives) }
        #expect(alternatives.contains { $0.count > 1 })
        #expect(alternatives.joined().contains { $0.constraint != nil })
    }

    @Test func `runs ask for different things, and each for the same when it is repeated`() {
        let index = Self.index
        #expect(index.applications(run: 1) == index.applications(run: 1))
        #expect(index.applications(run: 1) != index.applications(run: 2))
        #expect(index.prefixes(run: 1) != index.prefixes(run: 2))
        #expect(index.tagPairs(run: 1).allSatisfy { $0.first != $0.second })
        #expect(index.offset(page: 1) == 0)
        #expect(index.offset(page: 600) + PackageIndex.pageSize <= index.packages.count)
    }

    @Test func `an index that comes again has about a tenth of the packages changed and some new, others in each run`()
    {
        let old = Self.index
        let updates = (0..<2).map { PackageUpdate(of: old, run: $0) }
        #expect(updates[0].isChanged != updates[1].isChanged)
        #expect(PackageUpdate(of: old, run: 0).index.answer == updates[0].index.answer)
        for update in updates {
            let packages = update.index.packages
            let changed = old.packages.indices.filter { update.isChanged[$0] }
            #expect((old.packages.count / 20...old.packages.count / 5).contains(changed.count))
            #expect(update.new == old.packages.count..<packages.count)
            #expect(update.new.count == old.packages.count / 200)
            #expect(update.index.batches.flatMap(Array.init) == Array(packages.indices))
            #expect(Set(packages.map { "\($0.row.name) \($0.row.architecture)" }).count == packages.count)
            for (number, package) in old.packages.enumerated() {
                let now = packages[number]
                #expect(now.row.name == package.row.name && now.row.architecture == package.row.architecture)
                #expect((now.row == package.row) != update.isChanged[number])
                #expect((now.file.digest == package.file.digest) != update.isChanged[number])
            }
            for package in packages {
                let names = package.dependencies.joined().map(\.name)
                #expect(Set(names).count == names.count && (names.isEmpty || !names.contains(package.row.name)))
            }
        }
    }

    @Test func `the maintainers with most packages come first`() {
        let index = Self.index
        let counts = (0..<index.busyMaintainers).map { turn in
            index.packages.count { $0.maintainer == index.maintainer(turn: turn) }
        }
        #expect(index.busyMaintainers == 10)
        #expect(counts == counts.sorted(by: >))
        #expect(counts[0] == index.maintainers.indices.map { m in index.packages.count { $0.maintainer == m } }.max())
        let objects = index.packages.filter { $0.maintainer == index.maintainer(turn: 0) }.map(\.objectCount)
        #expect(index.objectCount(ofMaintainer: index.maintainer(turn: 0)) == objects.reduce(1, +))
    }

    @Test func `a record with texts of its own is the same`() {
        let index = Self.index
        #expect(PackageIndex(index, packages: index.packages.map(\.afresh)).answer == index.answer)
    }

    @Test func `lists in another order, a member less, or a file of another package change the answer`() {
        func fingerprint(_ change: (inout PackageFingerprint) -> Void) -> UInt64 {
            var fingerprint = PackageFingerprint(row: Self.index.packages[0].row, section: "s", maintainer: "m")
            change(&fingerprint)
            return fingerprint.value
        }
        let sums = [
            fingerprint { _ in },
            fingerprint {
                $0.add(alternative: "a", nil)
                $0.add(alternative: "b", nil)
            },
            fingerprint {
                $0.add(alternative: "b", nil)
                $0.add(alternative: "a", nil)
            },
            fingerprint { $0.add(alternative: "a", nil) },
            fingerprint { $0.add(alternative: "a", VersionConstraint(relation: .atLeast, version: "1")) },
            fingerprint { $0.add(alternative: "a", VersionConstraint(relation: .later, version: "1")) },
            fingerprint { $0.add(tag: "a") }, fingerprint { $0.add(tag: "b") },
            fingerprint { $0.add(file: Self.index.packages[0].file) },
            fingerprint { $0.add(file: Self.index.packages[1].file) },
        ]
        #expect(Set(sums).count == sums.count)
    }

    /// The packages that name something, by its name.
    static func usersByName(of index: PackageIndex = index) -> [String: Set<Int>] {
        var users: [String: Set<Int>] = [:]
        for (number, package) in index.packages.enumerated() {
            for alternative in package.dependencies.joined() { users[alternative.name, default: []].insert(number) }
        }
        return users
    }
}

extension [PackageRecord.Dependency] {
    func joined() -> [PackageRecord.Alternative] { flatMap(\.alternatives) }
}
