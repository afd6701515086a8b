/// A state of the past, as its differences from the newest one. It has no indexes.
struct PastState: Sendable {
    private let newest: Snapshot
    var token: HistoryToken
    /// By entity number in the schema.
    var entities: [PastRows]
    /// By link table number in the schema.
    var linkTables: [LinkTable]

    init(_ newest: Snapshot) {
        self.newest = newest
        (token, linkTables) = (newest.token, newest.linkTables)
        entities = newest.entities.map { PastRows($0.rows) }
    }

    var schema: Schema { newest.schema }
    var commit: CommitNumber { token.commit }

    /// The same as a snapshot. Its indexes come from the newest state's or, where much differs, from the rows.
    var snapshot: Snapshot {
        var (result, scratch) = (newest, EntryScratch())
        (result.token, result.linkTables) = (token, linkTables)
        let rowCount = newest.entities.reduce(0) { $0 + $1.rows.count }
        let movesEntries = entities.reduce(0) { $0 + $1.count } <= rowCount / 8
        for (entity, past) in entities.enumerated() {
            past.forEachRow { row, value in
                let id = RowID(entity: entity, row: row)
                if movesEntries { _ = result.updateIndexes(of: id, to: value?.address, &scratch) }
                if let (version, address) = value {
                    result.entities[entity].rows.set(row, version: version, copying: address)
                } else {
                    result.entities[entity].rows.remove(row)
                }
            }
        }
        if !movesEntries { _ = result.buildIndexes() }
        return result
    }
}
