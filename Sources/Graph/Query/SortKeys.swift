/// Sorts rows by the properties of an order, which are read from each row once: as bytes that order like the values.
///
/// The common prefix of all keys is skipped, and the next eight bytes are compared as a number in a separate table; further
/// bytes are compared only where these are equal, as in `IndexEntries`.
struct SortKeys {
    private struct Place {
        let head: UInt64
        let position: Int
    }

    /// With fewer rows, making keys takes longer than comparing values.
    private static let minimumCount = 24

    private var writer = ByteWriter()
    private var ends: [Int] = []

    static func sort(_ rows: inout [FoundRow], from start: Int = 0, by order: RowOrder) {
        guard rows.count - start >= minimumCount else { return rows[start...].sort(by: order.precedes) }
        var keys = SortKeys()
        for row in rows[start...] { keys.append(row.address, order) }
        let sorted = keys.sorted(rows[start...])
        rows.replaceSubrange(start..., with: sorted)
    }

    private mutating func append(_ row: UnsafeRawPointer, _ order: RowOrder) {
        for criterion in order.criteria {
            // No key begins with another one, so that two keys differ in a byte that both have.
            order.append(criterion, of: row, to: &writer)
        }
        ends.append(writer.count)
    }

    private consuming func sorted(_ rows: ArraySlice<FoundRow>) -> [FoundRow] {
        let (first, ends) = (rows.startIndex, ends)
        return writer.bytes.withUnsafeBytes { bytes in
            func key(_ position: Int) -> KeyBytes {
                let start = position == 0 ? 0 : ends[position - 1]
                return KeyBytes(UnsafeRawBufferPointer(rebasing: bytes[start..<ends[position]]))
            }
            let shared = ends.indices.reduce(key(0).count) { key(0).prefix($0).sharedCount(with: key($1)) }
            var places = ends.indices.map { Place(head: key($0).head(after: shared), position: $0) }
            places.sort { lhs, rhs in
                if lhs.head != rhs.head { return lhs.head < rhs.head }
                let difference = key(lhs.position).compare(key(rhs.position))
                if difference != 0 { return difference < 0 }
                return rows[first + lhs.position].number < rows[first + rhs.position].number
            }
            return places.map { rows[first + $0.position] }
        }
    }
}
