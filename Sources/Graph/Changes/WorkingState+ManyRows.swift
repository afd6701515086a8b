extension WorkingState {
    /// Deletes rows one after the other; those that an earlier delete has taken along are part of that one.
    mutating func delete(_ rows: [RowNumber], of entity: Int) {
        for row in rows where snapshot.entities[entity].rows.contains(row) { delete(RowID(entity: entity, row: row)) }
    }
}
