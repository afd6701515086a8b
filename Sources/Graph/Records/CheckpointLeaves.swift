/// Decodes rows of a checkpoint into leaves that are in no table yet, so that several threads can do so side by side.
struct CheckpointLeaves: Sendable {
    struct Leaf: Sendable {
        let entity: Int
        let rows: LooseLeaf
        /// Where its values end in the payload, for messages.
        let endOffset: Int
    }

    let schema: Schema
    let counters: [RowNumber]
    let path: String
    /// Whether the head of the checkpoint was there.
    let hasHead: Bool
    private(set) var leaves: [Leaf] = []
    /// What is wrong behind these leaves.
    private(set) var failure: (any Error)?
    /// Properties of which types have not read everything.
    private(set) var unread: [(property: Property, entity: Int)] = []

    init(_ schema: Schema, counters: [RowNumber], path: String, hasHead: Bool) {
        (self.schema, self.counters, self.path, self.hasHead) = (schema, counters, path, hasHead)
    }

    /// Decodes a payload that begins with `CheckpointRecord.Part.rows`, as far as it is sound.
    mutating func decode(_ payload: UnsafeRawBufferPointer) {
        do {
            var (room, start) = (HeapRoom(), 0)
            try CheckpointRecord.decodeRows(payload, of: schema) { entity, block, versions, reader in
                // A leaf, and its texts: in memory about twice as much as the block before took in the file.
                room.take(32 * (schema.entities[entity].layout.stride + 8) + 2 * (reader.offset - start))
                start = reader.offset
                let rows = try leaf(entity, block, versions, &reader)
                leaves.append(Leaf(entity: entity, rows: rows, endOffset: reader.offset))
            }
        } catch {
            failure = error
        }
    }

    /// Checks and decodes the values of a block, which are next in the reader.
    mutating func leaf(
        _ entity: Int,
        _ block: RowTable.Block,
        _ versions: [UInt64],
        _ reader: inout ByteReader
    ) throws -> LooseLeaf {
        try check(entity, block, versions, reader)
        var rows = LooseLeaf(block.leaf, schema.entities[entity].layout)
        try decode(entity, block, &reader, into: rows.values)
        rows.add(block.occupancy, versions: versions)
        return rows
    }

    func check(_ entity: Int, _ block: RowTable.Block, _ versions: [UInt64], _ reader: ByteReader) throws {
        guard hasHead else { throw reader.failure("rows before the head of the checkpoint") }
        let last = block.firstRow + UInt64(31 - block.occupancy.leadingZeroBitCount)
        guard last < counters[entity] else { throw reader.failure("row \(last) is beyond the row counter") }
        guard versions.allSatisfy({ $0 > 0 && $0 <= RowCounters.maximum }) else {
            throw reader.failure("versions \(versions) of rows from \(block.firstRow) on")
        }
    }

    /// Initialises the memory of a block's rows, property by property, or throws and leaves none of it initialised.
    mutating func decode(
        _ entity: Int,
        _ block: RowTable.Block,
        _ reader: inout ByteReader,
        into values: UnsafeMutableRawPointer
    ) throws {
        let (properties, stride) = (schema.entities[entity].properties, schema.entities[entity].layout.stride)
        for (number, property) in properties.enumerated() {
            var places = block.occupancy
            do {
                try property.operations.decodeColumn(&reader, values + property.offset, stride, &places)
            } catch {
                for (other, property) in properties.prefix(number + 1).enumerated() {
                    let done = other < number ? block.occupancy : block.occupancy & ~places
                    done.forEachBit { property.operations.deinitialize(values + $0 * stride + property.offset) }
                }
                let row = block.firstRow + UInt64(places.trailingZeroBitCount)
                throw schema.error(error, reading: property, of: RowID(entity: entity, row: row), path: path)
            }
            guard reader.hasUnreadParts else { continue }
            reader.hasUnreadParts = false
            if !unread.contains(where: { $0.property === property && $0.entity == entity }) {
                unread.append((property, entity))
            }
        }
    }
}

extension Schema {
    /// Says whose value it is that its type cannot read.
    func error(_ error: any Error, reading property: Property, of id: RowID, path: String) -> any Error {
        guard let error = error as? UnreadableValue else { return error }
        return GraphError.valueNotReadable(
            path: path,
            object: self.id(of: id),
            property: property.name,
            type: error.type.shortened(to: 200),
            reason: error.reason
        )
    }
}
