import Foundation
import Graph

/// A coordinator with the packages in it, and the identifiers in the order of the data.
struct PackageStore: Sendable {
    let coordinator: Coordinator
    private(set) var tags: [PackageTag.ID] = []
    private(set) var maintainers: [PackageMaintainer.ID] = []
    private(set) var packages: [Package.ID] = []

    /// Inserts everything, in the transactions of the data.
    init(_ coordinator: Coordinator, loading index: PackageIndex) async throws {
        self.coordinator = coordinator
        (tags, maintainers, packages) = try await Context(coordinator).load(index)
    }

    /// A store without packages, in memory or in a file.
    static func coordinator(at path: String? = nil) async throws -> Coordinator {
        if let path {
            try await Coordinator(
                for: PackageSection.self, PackageMaintainer.self, PackageTag.self, Package.self, PackageFile.self,
                Dependency.self, Alternative.self, at: path)
        } else {
            try await Coordinator(
                for: PackageSection.self, PackageMaintainer.self, PackageTag.self, Package.self, PackageFile.self,
                Dependency.self, Alternative.self)
        }
    }

    static func inMemory(_ index: PackageIndex) async throws -> PackageStore {
        try await PackageStore(coordinator(), loading: index)
    }
}

extension Context {
    fileprivate func load(
        _ index: PackageIndex
    ) async throws -> ([PackageTag.ID], [PackageMaintainer.ID], [Package.ID]) {
        let sections = insert(contentsOf: index.sections.map { PackageSection(name: $0) })
        let maintainers = insert(
            contentsOf: index.maintainers.map { PackageMaintainer(name: $0.name, email: $0.email) })
        let tags = insert(contentsOf: index.tags.map { PackageTag(name: $0) })
        try await save()
        var packages: [Package.ID] = []
        packages.reserveCapacity(index.packages.count)
        for batch in index.batches {
            let records = index.packages[batch]
            let ids = insert(
                contentsOf: records.map { record in
                    Package(
                        record.row, section: sections[record.section], maintainer: maintainers[record.maintainer],
                        tags: record.tags.map { tags[$0] })
                })
            insert(contentsOf: zip(records, ids).map { PackageFile($0.file, of: $1) })
            insert(zip(records, ids).map { ($1, $0.dependencies) })
            try await save()
            packages += ids
        }
        return (tags, maintainers, packages)
    }

    /// Inserts dependencies and their alternatives: each list is in the order in which its members are inserted.
    private func insert(_ packages: [(Package.ID, [PackageRecord.Dependency])]) {
        let records = packages.flatMap(\.1)
        let ids = insert(
            contentsOf: packages.flatMap { package, dependencies in
                dependencies.map { Dependency(kind: $0.kind, package: ToOne(package)) }
            })
        insert(
            contentsOf: zip(records, ids).flatMap { record, id in
                record.alternatives.map { Alternative(name: $0.name, constraint: $0.constraint, dependency: ToOne(id)) }
            })
    }

    /// Has each alternative refer to the first package of its name.
    func resolveNames() async throws {
        var packages: [String: Package.ID] = [:]
        for package in try fetchIdentifiedValues(Package.self) where packages[package.name] == nil {
            packages[package.name] = package.id
        }
        try update(Alternative.self, where: #Predicate { $0.target == nil }) { $0.target = ToOne(packages[$0.name]) }
        try await save()
    }

    func forgetTargets() async throws {
        try update(Alternative.self, where: #Predicate { $0.target != nil }) { $0.target = nil }
        try await save()
    }
}

extension Package {
    fileprivate init(
        _ row: PackageRecord.Row, section: PackageSection.ID, maintainer: PackageMaintainer.ID, tags: [PackageTag.ID]
    ) {
        self.init(
            name: row.name, architecture: row.architecture, release: row.version, priority: row.priority,
            installedSize: row.installedSize, summary: row.summary, section: ToOne(section),
            maintainer: ToOne(maintainer), tags: ToMany(tags))
    }
}

extension PackageFile {
    fileprivate init(_ file: PackageRecord.File, of package: Package.ID) {
        self.init(path: file.path, sizeBytes: file.sizeBytes, digest: file.digest, package: ToOne(package))
    }
}

extension Setting {
    /// The engine in memory with all packages, whose names are resolved, for workloads that only read.
    var enginePackages: PackageStore {
        get async throws {
            let index = await packages
            return try await shared("Graph with packages") {
                let store = try await PackageStore.inMemory(index)
                try await Context(store.coordinator).resolveNames()
                return store
            }
        }
    }
}
