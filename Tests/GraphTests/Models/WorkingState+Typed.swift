@testable import Graph

/// Working states by entity and plain values instead of addresses.
extension WorkingState {
    mutating func insert<E: Entity>(_ row: RowNumber, _ value: E) {
        withUnsafePointer(to: value) { insert(schema.id(E.self, row), copying: $0) }
    }

    @discardableResult
    mutating func change<E: Entity>(_ type: E.Type, _ row: RowNumber, _ body: (inout E) -> Void) -> Bool {
        guard var value: E = snapshot.value(row) else { return false }
        body(&value)
        return withUnsafePointer(to: value) { update(schema.id(type, row), copying: $0) }
    }

    mutating func delete<E: Entity>(_ type: E.Type, _ row: RowNumber) {
        delete(schema.id(type, row))
    }

    mutating func assign<E: Entity, Target>(
        _ keyPath: KeyPath<E, ToMany<Target>>,
        of owner: RowNumber,
        _ members: [RowNumber]
    ) {
        let relationship = schema.toMany(keyPath, of: schema.number(of: E.self))
        apply(ToManyAssignment(owner: owner, relationship: relationship, members: members))
    }

    func kind<E: Entity>(_ type: E.Type, _ row: RowNumber) -> ChangeKind? {
        changes[schema.number(of: type)].kind(of: row)
    }
}

extension Schema {
    func id(_ type: any Entity.Type, _ row: RowNumber) -> RowID { RowID(entity: number(of: type), row: row) }

    func number(of type: any Entity.Type) -> Int {
        guard let number = index(of: type) else { preconditionFailure("\(type) is not in the schema") }
        return number
    }
}

extension Snapshot {
    func value<E: Entity>(_ row: RowNumber, as type: E.Type = E.self) -> E? {
        value(for: PersistentID<E>(row: row))
    }

    func version<E: Entity>(_ type: E.Type, _ row: RowNumber) -> UInt64? {
        version(of: PersistentID<E>(row: row))?.number
    }
}

extension CommitState {
    /// Checks a save under the policy that contexts have when nothing is said.
    func prepare(_ state: WorkingState) throws(GraphError) -> PreparedCommit {
        try prepare(SaveRequest(state: state))
    }
}
