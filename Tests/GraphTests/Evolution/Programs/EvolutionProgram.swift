import Foundation

@testable import Graph

/// A program in three versions, and a store of its first one.
struct EvolutionProgram: Sendable {
    let name: String
    let versions: [any SchemaVersion.Type]
    /// The steps of the plan, if there is one, which a version has as far as they lead to it.
    var steps: [MigrationStep] = []
    var dropping: [String] = []
    /// Makes the store with the first version.
    let fill: @Sendable (isolated Context) throws -> Void
    /// What the error tells when the third version opens what `fill` has made; nil if that goes well.
    var obstacle: String?
    /// Removes the obstacle with an earlier version.
    var correct: @Sendable (isolated Context, _ version: Int) throws -> Void = { _, _ in }
    /// Checks what the third version has.
    let check: @Sendable (Snapshot) throws -> Void

    /// - Parameter version: from 1.
    func schema(_ version: Int) throws(GraphError) -> Schema {
        var entities: [EntityDescription] = []
        for type in versions[version - 1].entities { entities.append(Self.description(of: type)) }
        return try Schema(entities)
    }

    private static func description<E: Entity>(of type: E.Type) -> EntityDescription { EntityDescription(type) }

    func plan(_ version: Int) -> MigrationPlan? {
        let reached = Set(versions.prefix(version).map { ObjectIdentifier($0) })
        let steps = steps.filter { reached.contains(ObjectIdentifier($0.target)) }
        return steps.isEmpty ? nil : MigrationPlan(steps)
    }

    func open(
        _ version: Int, on disk: any StoreFileSystem, readOnly: Bool = false, seed: UInt64 = 1
    ) async throws(GraphError) -> Coordinator {
        try await Coordinator(
            try schema(version), path: JournalFixture.path, fileSystem: disk,
            options: JournalFixture.options(seed: seed), readOnly: readOnly, migration: plan(version),
            dropping: dropping)
    }

    /// A disk with the first version's store, which was closed.
    func makeStore(isCompacted: Bool = false) async throws -> SimulatedDisk {
        let disk = SimulatedDisk()
        let coordinator = try await open(1, on: disk)
        try await Context(coordinator, author: name).transaction { try fill($0) }
        if isCompacted { try await coordinator.compact() }
        try await coordinator.close()
        return disk
    }

    /// Corrects what stands in the way, as a version of the program that the file has had.
    func correct(_ disk: SimulatedDisk, with version: Int) async throws {
        let coordinator = try await open(version, on: disk)
        try await Context(coordinator).transaction { try correct($0, version) }
        try await coordinator.close()
    }
}

extension MigrationPlan {
    /// A plan of steps that are in an array.
    init(_ steps: [MigrationStep]) {
        switch steps.count {
        case 1: self.init(steps[0])
        case 2: self.init(steps[0], steps[1])
        default: self.init()
        }
    }
}

extension EvolutionProgram {
    static let all: [EvolutionProgram] = attributes + relationships + entities + rules + plans
}
