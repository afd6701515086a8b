/// Takes a checkpoint, of which nothing is believed either: all of it is checked when it is complete, as what a commit wrote is.
extension StoreReplay: CheckpointHandler {
    mutating func begin(
        _ commit: CommitNumber,
        time: UInt64,
        counters: [(entity: Int, next: RowNumber)],
        rows: [UInt64],
        pairs: [UInt64],
        _ reader: ByteReader
    ) throws {
        guard promised == nil else { throw reader.failure("a second head of the checkpoint") }
        // So far from where adding could overflow that no program gets there by saving.
        guard commit == baseCommit, commit.number <= RowCounters.maximum else {
            throw reader.failure("a checkpoint of commit \(commit), and the header names \(baseCommit)")
        }
        try apply(counters, reader)
        snapshot.commit = commit
        promised = (rows, pairs)
        compactionTime = time
        indexPlaces = CheckpointRecord.Index.places(in: snapshot.schema)
    }

    mutating func insert(
        _ entity: Int,
        _ block: RowTable.Block,
        _ versions: [UInt64],
        _ reader: inout ByteReader
    ) throws {
        guard promised != nil else { throw reader.failure("rows before the head of the checkpoint") }
        let last = block.firstRow + UInt64(31 - block.occupancy.leadingZeroBitCount)
        guard last < counters[entity] else { throw reader.failure("row \(last) is beyond the row counter") }
        guard versions.allSatisfy({ $0 > 0 && $0 <= RowCounters.maximum }) else {
            throw reader.failure("versions \(versions) of rows from \(block.firstRow) on")
        }
        let layout = snapshot.schema.entities[entity].layout
        let bytes = max(layout.stride * 32, 1)
        try withUnsafeTemporaryAllocation(byteCount: bytes, alignment: layout.alignment) { memory in
            // There is at least one byte, so the memory has an address.
            let values = memory.baseAddress.unsafelyUnwrapped
            try decode(entity, block, &reader, into: values)
            guard keepsIndexes else {
                guard snapshot.entities[entity].rows.insert(block, versions: versions, moving: values) else {
                    block.occupancy.forEachBit { layout.destroy(values + $0 * layout.stride, 1) }
                    throw reader.failure("rows of leaf \(block.leaf) are there twice")
                }
                return
            }
            var (number, isTwice) = (0, false)
            block.occupancy.forEachBit { place in
                let id = RowID(entity: entity, row: block.firstRow + UInt64(place))
                let address = values + place * layout.stride
                if snapshot.contains(id) {
                    isTwice = true
                    layout.destroy(address, 1)
                } else if snapshot.set(
                    id, version: RowVersion(versions[number]), moving: address, scratch: &scratch)
                {
                    rules.mayShareKey(id)
                }
                number += 1
            }
            if isTwice { throw reader.failure("rows of leaf \(block.leaf) are there twice") }
        }
    }

    mutating func note(_ entries: UnsafeRawBufferPointer, of index: CheckpointRecord.Index) {
        guard !keepsIndexes, let place = indexPlaces[index] else { return }
        storedIndexes[place, default: StoredIndex()].pieces.append(Array(entries))
    }

    /// Initialises the memory of a block's rows, property by property, or throws and leaves none of it initialised.
    private mutating func decode(
        _ entity: Int,
        _ block: RowTable.Block,
        _ reader: inout ByteReader,
        into values: UnsafeMutableRawPointer
    ) throws {
        let (properties, stride) = (
            snapshot.schema.entities[entity].properties, snapshot.schema.entities[entity].layout.stride
        )
        var (done, places): (Int, UInt32) = (0, 0)
        do {
            for property in properties {
                try block.occupancy.forEachBit { place in
                    let id = RowID(entity: entity, row: block.firstRow + UInt64(place))
                    let address = values + place * stride + property.offset
                    try reading(property, of: id) { try property.operations.decode(&reader, address) }
                    places |= 1 << UInt32(place)
                }
                noteUnread(property, of: entity, &reader)
                (done, places) = (done + 1, 0)
            }
        } catch {
            for (number, property) in properties.prefix(done + 1).enumerated() {
                (number < done ? block.occupancy : places).forEachBit {
                    property.operations.deinitialize(values + $0 * stride + property.offset)
                }
            }
            throw error
        }
    }

    mutating func endCheckpoint(_ reader: ByteReader) throws {
        try reader.expectEnd()
        guard let promised else { throw reader.failure("the checkpoint has no head") }
        let rows = snapshot.entities.map { UInt64($0.rows.count) }
        let pairs = snapshot.schema.recordedLists.map { UInt64(snapshot.linkTables[$0].members.count) }
        guard rows == promised.rows, pairs == promised.pairs else {
            throw reader.failure("the checkpoint has not as many rows and links as its head says")
        }
        self.promised = nil
        try rules.checkEverything(in: snapshot)
        indexBase = storedIndexes.isEmpty ? nil : IndexBase(snapshot, storedIndexes)
        (storedIndexes, indexPlaces) = ([:], [:])
    }
}
