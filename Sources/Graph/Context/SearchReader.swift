/// Passes on what a context's fetches read: to the transaction that depends on it, and to observers.
final class SearchReader: SnapshotReader {
    private let readers: [any SnapshotReader]

    /// Nil if nobody wants to know.
    init?(_ log: ReadLog?, _ observation: ContextObservation?) {
        let both: [(any SnapshotReader)?] = [log, observation]
        readers = both.compactMap { $0 }
        if readers.isEmpty { return nil }
    }

    func readRow(_ id: RowID) { for reader in readers { reader.readRow(id) } }

    func followReferences(to entity: Int) { for reader in readers { reader.followReferences(to: entity) } }

    func readAll(of entity: Int) { for reader in readers { reader.readAll(of: entity) } }

    func readLinks(in table: Int) { for reader in readers { reader.readLinks(in: table) } }

    func readMembers(of owner: RowNumber, through relationship: ToManyDescription) {
        for reader in readers { reader.readMembers(of: owner, through: relationship) }
    }

    func readRows(of entity: Int, where conditions: [PropertyKeys]) {
        for reader in readers { reader.readRows(of: entity, where: conditions) }
    }
}

/// Observers of a fetch are told of any change of the entities and relationships that it looked at: to track each row would cost more
/// than to fetch again.
extension ContextObservation: SnapshotReader {
    func readRow(_ id: RowID) {}

    func followReferences(to entity: Int) { readAll(of: entity) }

    func readAll(of entity: Int) { access(Key(entity: entity)) }

    func readLinks(in table: Int) {
        for (entity, description) in schema.entities.enumerated() {
            for relationship in description.toManys where relationship.linkTable == table {
                access(Key(entity: entity, property: relationship.property))
            }
        }
    }

    func readMembers(of owner: RowNumber, through relationship: ToManyDescription) {
        access(Key(entity: relationship.entity, row: owner, property: relationship.property))
    }

    func readRows(of entity: Int, where conditions: [PropertyKeys]) { readAll(of: entity) }
}
