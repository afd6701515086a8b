extension WorkingState {
    /// Deletes rows one after the other; those that an earlier delete has taken along are part of that one.
    mutating func delete(_ rows: [RowNumber], of entity: Int) {
        let description = schema.entities[entity]
        let isAlone =
            description.references.isEmpty && description.linkTables.isEmpty
            && !description.toOnes.contains { $0.ruleOfOwner == .cascade }
        guard isAlone else {
            for row in rows where snapshot.entities[entity].rows.contains(row) {
                delete(RowID(entity: entity, row: row))
            }
            return
        }
        // Nothing follows from these deletes that would look into the indexes. Entries are removed in their order, page by page.
        var batch: IndexBatch? = IndexBatch(entity: entity, of: schema, rowCount: rows.count)
        for row in rows {
            changes.deleteCount += 1
            remove(RowID(entity: entity, row: row), by: changes.deleteCount, &batch)
        }
        if let batch { snapshot.removeEntries(of: batch) }
    }
}
