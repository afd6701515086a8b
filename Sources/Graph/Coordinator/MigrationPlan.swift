/// A version of a program's schema: a namespace with the types of its entities.
///
/// ```swift
/// enum SchemaV1: SchemaVersion {
///     @Entity struct Person { var name: String }
///     static let entities: [any Entity.Type] = [Person.self]
/// }
/// ```
///
/// A version that a later one follows never changes. The newest one has all types that the program works with, by the
/// same names: `typealias Person = SchemaV2.Person`. Files name their version by the name of the type without what it is in, so
/// that two versions have two names.
public protocol SchemaVersion: SendableMetatype {
    /// All entities of a store of this version.
    static var entities: [any Entity.Type] { get }
}

/// The steps that convert stores of earlier versions of a program, where the two schemas alone do not say how.
///
/// ```swift
/// let plan = MigrationPlan(
///     .custom(from: SchemaV1.self, to: SchemaV2.self) { old, new in
///         for id in try old.fetchIDs(SchemaV1.Person.self) {
///             guard let person = old.value(for: id), let object = new[id.migrated(to: SchemaV2.Person.self)]
///             else { continue }
///             let names = person.name.split(separator: " ", maxSplits: 1)
///             object.firstName = names.first.map(String.init) ?? ""
///             object.lastName = names.dropFirst().first.map(String.init) ?? ""
///         }
///     }
/// )
/// let coordinator = try await Coordinator(for: Person.self, at: path, migration: plan)
/// ```
///
/// A file tells which version it is of by the schema that it holds. The steps from there on run in memory, one after another,
/// before the coordinator is open; then the store is written as a new file, and the old one stays beside it. If a step throws, or
/// the program ends meanwhile, the file is as before.
public struct MigrationPlan: Sendable {
    let steps: [MigrationStep]

    /// A plan of steps that follow each other: each begins with the version with which the one before ends, and the last one ends
    /// with the program's entities.
    ///
    /// Opening a store throws `.invalidSchema` if they do not, or if two versions have the same name.
    ///
    /// Complexity: O(*k*) for *k* steps.
    public init(_ steps: MigrationStep...) {
        self.steps = steps
    }

    /// The names of all versions, in their order.
    var versions: [String] { (steps.prefix(1).map(\.source) + steps.map(\.target)).map { "\($0)" } }

    /// The name of the version that the last step makes, which is the program's.
    var newestVersion: String? { versions.last }

    /// The version that a file names, if the plan has others and not this one.
    func unknownVersion(of record: SchemaRecord) -> String? {
        record.version.flatMap { steps.isEmpty || versions.contains($0) ? nil : $0 }
    }

    /// The schemas of all versions, in their order. The last one is that of the program, as far as files are concerned.
    ///
    /// - Throws: `.invalidSchema`.
    func schemas(endingWith program: Schema) throws(GraphError) -> [Schema] {
        for (step, next) in zip(steps, steps.dropFirst())
        where ObjectIdentifier(step.target) != ObjectIdentifier(next.source) {
            throw Self.invalid("a step leads to \(step.target), and the next one begins with \(next.source)")
        }
        let types = steps.prefix(1).map(\.source) + steps.map(\.target)
        for (number, name) in versions.enumerated() {
            let first = versions.firstIndex(of: name) ?? number
            guard ObjectIdentifier(types[first]) == ObjectIdentifier(types[number]) else {
                throw Self.invalid("two versions have the name \(name), by which files know them")
            }
        }
        var schemas: [Schema] = []
        for version in types { schemas.append(try Schema(version.entities.map { Self.description(of: $0) })) }
        guard let newest = schemas.last else { return [] }
        // Whatever differs would be converted behind the last step, and be lost where nothing asks for that.
        let rowCounts = newest.entities.map { _ in SchemaComparison.someRows }
        let changes = SchemaComparison(from: newest, to: program, rowCounts: rowCounts).changes
        if let change = changes.first(where: { !$0.isNeutral }) {
            let reason = "\(versions.last ?? "") is not what the program works with: \(change.summary)"
            throw .invalidSchema([SchemaProblem(entity: change.entity, property: change.property, reason: reason)])
        }
        return schemas
    }

    private static func invalid(_ reason: String) -> GraphError {
        .invalidSchema([SchemaProblem(entity: "MigrationPlan", property: nil, reason: reason)])
    }

    private static func description<E: Entity>(of type: E.Type) -> EntityDescription { EntityDescription(type) }
}

/// A step of a plan, from one version to the next one.
public struct MigrationStep: Sendable {
    let source: any SchemaVersion.Type
    let target: any SchemaVersion.Type
    /// Changes the store in memory, which has what follows from the two schemas alone.
    let run: @Sendable (_ old: Snapshot, _ new: Coordinator) async throws -> Void

    init(
        source: any SchemaVersion.Type,
        target: any SchemaVersion.Type,
        run: @escaping @Sendable (Snapshot, Coordinator) async throws -> Void
    ) {
        (self.source, self.target, self.run) = (source, target, run)
    }
}

/// What opening a file with a program's schema would do to it. See ``Coordinator/migrationPreview(for:at:migration:dropping:)``.
public struct MigrationPreview: Sendable {
    /// What has changed between the file's schema and the program's, in the program's order.
    public let changes: [SchemaChange]
    /// Objects that do not fit the program's schema, a hundred at most.
    public let failures: ErrorList<ValidationFailure>

    /// Whether opening the file would succeed, as far as the schema and the objects are concerned.
    public var isPossible: Bool { failures.isEmpty && !changes.contains { $0.handling == .refused } }
}

extension MigrationPreview: CustomStringConvertible {
    /// A table of the changes, then the objects that do not fit.
    public var description: String {
        let lines = changes.isEmpty ? ["nothing changes"] : [changes.table]
        return (lines + (failures.isEmpty ? [] : [failures.description])).joined(separator: "\n")
    }
}
