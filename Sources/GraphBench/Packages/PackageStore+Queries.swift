import Foundation
import Graph

/// How many packages a query came to, and their installed size.
struct PackageTotal: Equatable, Sendable {
    var count = 0
    var installedSize = 0

    var checksum: UInt64 { Checksum.ranked(UInt64(count), UInt64(installedSize)) }
}

/// The queries as a program asks them of one snapshot.
extension Snapshot {
    /// A package with all that it needs, and all that those need.
    func closure(of start: Package.ID) throws -> PackageTotal {
        var found: Set = [start]
        var queue = [start]
        var total = PackageTotal()
        while let id = queue.popLast() {
            total.count += 1
            total.installedSize += value(for: id)?.installedSize ?? 0
            for dependency in try related(\Package.dependencies, of: id)
            where value(for: dependency)?.kind == .depends {
                try forEachRelatedValue(\Dependency.alternatives, of: dependency) { alternative in
                    if let target = alternative.target.id, found.insert(target).inserted { queue.append(target) }
                }
            }
        }
        return total
    }

    /// All packages that name this one.
    func dependents(on id: Package.ID) throws -> PackageTotal {
        var found: Set<Package.ID> = []
        try forEachRelatedValue(\Package.uses, of: id) { alternative in
            if let dependency = alternative.dependency.id, let package = value(for: dependency)?.package.id {
                found.insert(package)
            }
        }
        return PackageTotal(
            count: found.count, installedSize: found.reduce(0) { $0 + (value(for: $1)?.installedSize ?? 0) })
    }

    /// All packages that none names.
    func unusedPackages() throws -> [Package] {
        try fetchValues(Package.self, where: #Predicate { $0.uses.isEmpty })
    }

    /// The packages that have both tags.
    func packages(taggedBoth first: String, _ second: String) throws -> [Package] {
        try fetchValues(
            Package.self,
            where: #Predicate { $0.tags.contains { $0.name == first } && $0.tags.contains { $0.name == second } })
    }

    /// The largest packages, those of one size by name, from `offset` on.
    func packagesBySize(offset: Int) throws -> [Package] {
        try fetchValues(
            Package.self, sortedBy: [.descending(\.installedSize), .ascending(\.name)], offset: offset,
            limit: PackageIndex.pageSize)
    }

    /// The first twenty packages whose names begin with a text.
    func packages(startingWith prefix: String) throws -> [Package] {
        try fetchValues(
            Package.self, where: #Predicate { $0.name.starts(with: prefix) },
            sortedBy: [.ascending(\.name), .ascending(\.architecture)], limit: 20)
    }
}
