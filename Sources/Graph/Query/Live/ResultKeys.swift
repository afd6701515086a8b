/// The entries of a live result: the section's key, if there are sections, the sort keys, and the row number, so that entries order
/// as the rows of the result do.
struct ResultKeys: Sendable {
    private(set) var order: RowOrder
    private let hasSections: Bool

    /// - Throws: `GraphError.notOrdered` for a property that is computed.
    init<E>(_ definition: ResultDefinition<E>, in snapshot: Snapshot) throws(GraphError) {
        order = try RowOrder(definition.fetch.sortBy, in: snapshot)
        hasSections = definition.section != nil
    }

    /// Replaces the writer's bytes by the entry of a row.
    func write(_ row: RowNumber, at address: UnsafeRawPointer, to writer: inout ByteWriter) {
        writer.removeAll()
        for criterion in order.criteria { order.append(criterion, of: address, to: &writer) }
        writer.appendBigEndian(row)
    }

    /// What the entries of the row's section begin with, and no other ones; nil without sections.
    func section(ofRowAt address: UnsafeRawPointer) -> [UInt8]? {
        guard hasSections, let criterion = order.criteria.first else { return nil }
        var writer = ByteWriter()
        order.append(criterion, of: address, to: &writer)
        return writer.bytes
    }

    /// Follows references in another state from now on.
    mutating func move(to snapshot: Snapshot) { order.move(to: snapshot) }
}
