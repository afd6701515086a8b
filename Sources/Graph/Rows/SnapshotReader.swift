/// Learns what is read of a snapshot, so that a computation knows what it depends on.
protocol SnapshotReader: AnyObject, Sendable {
    func readRow(_ id: RowID)
    /// Rows of an entity are read one by one from now on, each of which `readRow` tells of.
    func followReferences(to entity: Int)
    func readAll(of entity: Int)
    func readLinks(in table: Int)
    func readMembers(of owner: RowNumber, through relationship: ToManyDescription)
    /// Notes a search for rows that meet all of these conditions, whether or not there are any.
    func readRows(of entity: Int, where conditions: [PropertyKeys])
}

/// A property whose keys are in a range.
struct PropertyKeys: Hashable, Sendable {
    let property: Int
    let keys: KeyRange
}

extension Snapshot {
    /// The same state, which tells what is read of it. The number of the newest commit is not among that.
    func read(by reader: (any SnapshotReader)?) -> Snapshot {
        var snapshot = self
        snapshot.reader = reader
        return snapshot
    }

    /// Notes that anything may be read.
    func noteAll() {
        guard let reader else { return }
        for entity in schema.entities.indices { reader.readAll(of: entity) }
        for table in schema.linkTables.indices { reader.readLinks(in: table) }
    }
}
