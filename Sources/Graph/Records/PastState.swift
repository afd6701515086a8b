/// A state of the past, as its differences from the newest one. It has no indexes.
struct PastState: Sendable {
    private let newest: Snapshot
    var token: HistoryToken
    /// By entity number in the schema.
    var entities: [PastRows]
    /// By link table number in the schema.
    var linkTables: [LinkTable]

    /// - Parameter isWhole: whether it becomes a snapshot in the end.
    init(_ newest: Snapshot, isWhole: Bool) {
        self.newest = newest
        (token, linkTables) = (newest.token, newest.linkTables)
        entities = newest.entities.map { PastRows($0.rows, isWhole: isWhole) }
    }

    var schema: Schema { newest.schema }
    var commit: CommitNumber { token.commit }

    /// The same as a snapshot, with indexes.
    var snapshot: Snapshot {
        var result = newest
        (result.token, result.linkTables) = (token, linkTables)
        for (entity, past) in entities.enumerated() { result.entities[entity].rows = past.table }
        return result.indexed(like: newest)
    }
}
