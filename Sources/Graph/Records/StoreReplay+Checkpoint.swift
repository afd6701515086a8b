/// Takes a checkpoint, of which nothing is believed either: all of it is checked when it is complete, as what a commit wrote is.
extension StoreReplay: CheckpointHandler {
    mutating func begin(
        _ commit: CommitNumber,
        time: UInt64,
        counters: [(entity: Int, next: RowNumber)],
        rows: [UInt64],
        links: [UInt64],
        _ reader: ByteReader
    ) throws {
        guard promised == nil else { throw reader.failure("a second head of the checkpoint") }
        // So far from where adding could overflow that no program gets there by saving.
        guard commit == baseCommit, commit.number <= RowCounters.maximum else {
            throw reader.failure("a checkpoint of commit \(commit), and the header names \(baseCommit)")
        }
        try apply(counters, reader)
        snapshot.token.commit = commit
        promised = (rows, links)
        compactionTime = time
        indexPlaces = CheckpointRecord.Index.places(in: snapshot.schema)
    }

    mutating func note(fingerprint: UInt64) { snapshot.token.fingerprint = fingerprint }

    mutating func note(_ consumer: (name: String, token: HistoryToken?)) {
        consumers[consumer.name] = consumer.token
    }

    mutating func note(_ commit: CheckpointRecord.RetainedCommit, _ reader: ByteReader) throws {
        guard promised != nil else { throw reader.failure("a retained commit before the checkpoint's head") }
        let number = try CommitRecord.head(of: commit.record).number
        guard number > .none, number <= baseCommit else { throw reader.failure("commit \(number) is retained") }
        let before = HistoryToken(
            commit: CommitNumber(number.number - 1), fingerprint: commit.fingerprintBefore)
        if retained == nil { oldest = before }
        guard retained ?? before == before else {
            throw reader.failure("commit \(number) does not follow the one that is retained before")
        }
        retained = HistoryToken(commit: number, fingerprint: commit.fingerprint)
    }

    mutating func insert(
        _ entity: Int,
        _ block: RowTable.Block,
        _ versions: [UInt64],
        _ reader: inout ByteReader
    ) throws {
        var decoder = leafDecoder
        defer { note(unread: decoder.unread) }
        guard keepsIndexes else {
            // Rows of a file that is opened have waited for others; a salvage hands on one block after the other.
            let rows = try decoder.leaf(entity, block, versions, &reader)
            return try insert(CheckpointLeaves.Leaf(entity: entity, rows: rows, endOffset: reader.offset))
        }
        try decoder.check(entity, block, versions, reader)
        let layout = snapshot.schema.entities[entity].layout
        let bytes = max(layout.stride * 32, 1)
        try withUnsafeTemporaryAllocation(byteCount: bytes, alignment: layout.alignment) { memory in
            // There is at least one byte, so the memory has an address.
            let values = memory.baseAddress.unsafelyUnwrapped
            try decoder.decode(entity, block, &reader, into: values)
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

    private var leafDecoder: CheckpointLeaves {
        CheckpointLeaves(snapshot.schema, counters: counters, path: path, hasHead: promised != nil)
    }

    private mutating func insert(_ leaf: CheckpointLeaves.Leaf) throws {
        guard snapshot.entities[leaf.entity].rows.insert(leaf.rows) else {
            throw ByteReader.Failure(
                reason: "rows of leaf \(leaf.rows.number) are there twice", offset: leaf.endOffset)
        }
    }

    private mutating func note(unread: [(property: Property, entity: Int)]) {
        for (property, entity) in unread { noteUnread(property, of: entity) }
    }

    // MARK: Several parts at once

    /// Whether a record has rows that can be decoded with those of the records that follow.
    func canWait(_ entry: JournalEntry) -> Bool {
        !keepsIndexes && entry.kind == .snapshotChunk && entry.payload.first == CheckpointRecord.Part.rows.rawValue
    }

    /// Decodes the rows of records that have waited, on several threads, and inserts them in the order of the records. Of all that
    /// is wrong what comes first in the file is thrown, whichever thread finds it when.
    mutating func insertWaiting() throws(GraphError) {
        guard !waiting.isEmpty else { return }
        let (entries, decoder) = (waiting, leafDecoder)
        waiting = []
        let results = concurrentResults(entries.count) { number in
            var decoder = decoder
            decoder.decode(entries[number].payload)
            return decoder
        }
        for (entry, result) in zip(entries, results) {
            try checked(entry) { replay in
                for leaf in result.leaves { try replay.insert(leaf) }
                if let failure = result.failure { throw failure }
                replay.note(unread: result.unread)
            }
        }
    }

    mutating func note(_ entries: UnsafeRawBufferPointer, of index: CheckpointRecord.Index) {
        guard !keepsIndexes, let place = indexPlaces[index] else { return }
        storedIndexes[place, default: StoredIndex()].pieces.append(Array(entries))
    }

    mutating func endCheckpoint(_ reader: ByteReader) throws {
        try reader.expectEnd()
        guard let promised else { throw reader.failure("the checkpoint has no head") }
        let rows = snapshot.entities.map { UInt64($0.rows.count) }
        let links = snapshot.schema.recordedLinkTables.map { UInt64(snapshot.linkTables[$0].members.count) }
        guard rows == promised.rows, links == promised.links else {
            throw reader.failure("the checkpoint has not as many rows and links as its head says")
        }
        self.promised = nil
        if let retained, retained != snapshot.token {
            throw reader.failure("the retained commits do not lead to the checkpoint")
        }
        oldest = oldest ?? snapshot.token
        retained = nil
        try rules.checkEverything(in: snapshot)
        indexBase = storedIndexes.isEmpty ? nil : IndexBase(snapshot, storedIndexes)
        (storedIndexes, indexPlaces) = ([:], [:])
    }
}
