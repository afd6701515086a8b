import Foundation
import Graph

/// A coordinator with the packages in it, and the identifiers in the order of the data.
struct PackageStore: Sendable {
    /// In which everything is inserted and changed.
    let context: Context
    private(set) var sections: [PackageSection.ID] = []
    private(set) var tags: [PackageTag.ID] = []
    private(set) var maintainers: [PackageMaintainer.ID] = []
    private(set) var packages: [Package.ID] = []

    var coordinator: Coordinator { context.coordinator }

    /// Inserts everything, in the transactions of the data. The records of packages come from `record`, one batch at a time.
    init(
        _ coordinator: Coordinator, loading index: PackageIndex, record: (@Sendable (Int) -> PackageRecord)? = nil
    ) async throws {
        context = Context(coordinator)
        (sections, tags, maintainers) = try await context.load(index)
        for batch in index.batches {
            let ids = try await context.load(batch.map { record?($0) ?? index.packages[$0] }, into: self)
            packages += ids
        }
    }

    /// Brings the store up to date, in the transactions of a load.
    mutating func upsert(_ update: PackageUpdate) async throws {
        for batch in update.index.batches {
            let ids = try await context.upsert(batch, of: update, into: self)
            packages += ids
        }
    }

    /// A store without packages, in memory or in a file.
    static func coordinator(at path: String? = nil, durability: Durability = .full) async throws -> Coordinator {
        if let path {
            try await Coordinator(
                for: PackageSection.self, PackageMaintainer.self, PackageTag.self, Package.self, PackageFile.self,
                Dependency.self, Alternative.self, at: path, durability: durability)
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
    ) async throws -> ([PackageSection.ID], [PackageTag.ID], [PackageMaintainer.ID]) {
        let sections = insert(contentsOf: index.sections.map { PackageSection(name: $0) })
        let maintainers = insert(
            contentsOf: index.maintainers.map { PackageMaintainer(name: $0.name, email: $0.email) })
        let tags = insert(contentsOf: index.tags.map { PackageTag(name: $0) })
        try await save()
        return (sections, tags, maintainers)
    }

    fileprivate func load(_ records: [PackageRecord], into store: PackageStore) async throws -> [Package.ID] {
        let ids = insert(contentsOf: records.map { Package($0, in: store) })
        insert(contentsOf: zip(records, ids).map { PackageFile($0.file, of: $1) })
        insert(zip(records, ids).map { ($1, $0.dependencies) })
        try await save()
        return ids
    }

    /// - Returns: the packages that are new.
    fileprivate func upsert(
        _ batch: Range<Int>, of update: PackageUpdate, into store: PackageStore
    ) async throws -> [Package.ID] {
        let records = update.index.packages
        let all = upsert(contentsOf: records[batch].map { Package($0, in: store) })
        let (changed, new) = (batch.filter { update.isChanged[$0] }, batch.filter { update.new.contains($0) })
        func id(_ number: Int) -> Package.ID { all[number - batch.lowerBound] }
        for number in changed {
            guard let package = self[id(number)] else { continue }
            for dependency in Array(package.dependencies) { dependency.delete() }
            package.file?.path = records[number].file.path
            package.file?.sizeBytes = records[number].file.sizeBytes
            package.file?.digest = records[number].file.digest
        }
        insert(contentsOf: new.map { PackageFile(records[$0].file, of: id($0)) })
        insert((changed + new).map { (id($0), records[$0].dependencies) })
        try await save()
        return new.map(id)
    }

    /// Deletes a maintainer with all packages in one commit.
    func deletePackages(ofMaintainer id: PackageMaintainer.ID) async throws {
        guard let maintainer = self[id] else { return }
        for package in Array(maintainer.packages) { package.delete() }
        maintainer.delete()
        try await save()
    }

    /// Undoes the last commit in another one.
    func undoAndSave() async throws -> Int {
        let conflicts = undo()
        try await save()
        return conflicts.count
    }

    /// Remembers the last commit, to undo it.
    func rememberLastChange() {
        undoLimit = 1
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
    fileprivate init(_ record: PackageRecord, in store: PackageStore) {
        let row = record.row
        self.init(
            name: row.name, architecture: row.architecture, release: row.version, priority: row.priority,
            installedSize: row.installedSize, summary: row.summary, section: ToOne(store.sections[record.section]),
            maintainer: ToOne(store.maintainers[record.maintainer]), tags: ToMany(record.tags.map { store.tags[$0] }))
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
                try await store.context.resolveNames()
                return store
            }
        }
    }

    /// A closed file of the engine's with all packages, and their identifiers.
    var enginePackageFile: (path: String, packages: [Package.ID]) {
        get async throws {
            let index = await packages
            return try await shared("Graph file with packages") {
                let path = freshPath("packages.graph")
                let store = try await PackageStore(PackageStore.coordinator(at: path), loading: index)
                try await store.coordinator.close()
                return (path, store.packages)
            }
        }
    }
}
