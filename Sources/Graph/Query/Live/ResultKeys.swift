/// The entries of a live result: the section's key, if there are sections, the sort keys, and the row number, so that entries order
/// as the rows of the result do.
struct ResultKeys: Sendable {
    private let order: RowOrder
    private let hasSections: Bool

    /// - Throws: `GraphError.notOrdered` for a property that is computed.
    init<E>(_ sort: [Ordering<E>], sectionedBy section: Ordering<E>?, of entity: EntityDescription) throws(GraphError) {
        order = try RowOrder((section.map { [$0] } ?? []) + sort, in: entity)
        hasSections = section != nil
    }

    /// Replaces the writer's bytes by the entry of a row.
    func write(_ row: RowNumber, at address: UnsafeRawPointer, to writer: inout ByteWriter) {
        writer.removeAll()
        for criterion in order.criteria { append(criterion, at: address, to: &writer) }
        writer.appendBigEndian(row)
    }

    /// What the entries of the row's section begin with, and no other ones; nil without sections.
    func section(ofRowAt address: UnsafeRawPointer) -> [UInt8]? {
        guard hasSections, let criterion = order.criteria.first else { return nil }
        var writer = ByteWriter()
        append(criterion, at: address, to: &writer)
        return writer.bytes
    }

    private func append(_ criterion: RowOrder.Criterion, at address: UnsafeRawPointer, to writer: inout ByteWriter) {
        let start = writer.count
        _ = criterion.append(address + criterion.offset, &writer)
        if criterion.isDescending { writer.invert(from: start) }
    }
}
