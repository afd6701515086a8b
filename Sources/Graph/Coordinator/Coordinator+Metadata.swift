/// Texts that belong to the store as a whole.
extension Coordinator {
    private static let metadataLimitBytes = 64 << 10

    /// What a program has kept with the store, by keys of its own: where a synchronization stands, which version made the file.
    ///
    /// The texts are in the file and in its copies, and stay when the schema changes. They belong to no commit: a snapshot does not
    /// show them, and a rollback does not change them.
    public var metadata: [String: String] { schemaRecord.metadata }

    /// Keeps a text with the store. Durable when it returns.
    ///
    /// Each call writes a record as long as the description of the schema and all texts. Keep what changes often in an object instead.
    ///
    /// - Parameters:
    ///   - text: nil removes the key.
    ///   - key: not empty.
    /// - Throws: `.metadataTooLarge` if all keys and texts together have more than 64 KiB; `.readOnly`, `.closed`, and what a
    ///   save throws for reasons of the file. The text is then as before, unless it is `.outcomeUnknown`.
    ///
    /// Complexity: O(*s*) for a schema and texts of *s* bytes, besides one write and one sync.
    public func setMetadata(_ text: String?, for key: String) async throws(GraphError) {
        precondition(!key.isEmpty, "a key of metadata cannot be empty")
        try await withTurn { () throws(GraphError) in
            var record = self.schemaRecord
            record.metadata[key] = text
            let length = record.metadata.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
            guard length <= Self.metadataLimitBytes else {
                throw .metadataTooLarge(key: key, lengthBytes: length, limitBytes: Self.metadataLimitBytes)
            }
            guard record.metadata != self.schemaRecord.metadata else { return }
            try await self.append([Journal.Record(kind: .schema, payload: record.bytes)])
            self.schemaRecord = record
        }
    }
}
