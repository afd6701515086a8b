/// Makes a state of the records that are left of a file. What follows from lost records is left out, so that each object has
/// values which it once had together.
///
/// Parts of a checkpoint, inserts, deletes and links say all of what they are about, and count whatever is lost before them. An
/// update says which properties it changes, and counts only if the row is as it was before: its version, and the old values.
/// A row of which an update is lost stays as it was until it is deleted.
struct SalvageReplay {
    private var replay: StoreReplay
    private(set) var report: SalvageReport
    /// Whether anything is lost so far.
    private var isDamaged = false
    /// Rows of which an update was left out.
    private var stale: Set<RowID> = []
    /// The commits that wrote rows with unique values since something was lost. Of two rows with the same value the one that was
    /// written later has it rightly: the other one had given it up by then.
    private var writers: [RowID: UInt64] = [:]
    private var lastTime: UInt64?
    private var lastKind: Journal.RecordKind?
    /// The first mark, which ends the initial part.
    private var seal: JournalSequence?
    private var skippedCount = 0
    /// How many rows and links the head of the checkpoint promises, and how many there are.
    private var promised: (rows: [UInt64], links: [UInt64])?
    private var found: (rows: [UInt64], links: [UInt64])
    private var isInCheckpoint = false

    private var schema: Schema { replay.snapshot.schema }

    var counters: [RowNumber] { replay.counters }
    var consumers: [String: HistoryToken] { replay.consumers }

    /// - Parameter baseCommit: what the header names.
    init(_ schema: Schema, path: String, baseCommit: CommitNumber, _ report: SalvageReport) {
        replay = StoreReplay(schema: schema, path: path, keepsIndexes: false)
        // Rows may come without the head of the checkpoint.
        replay.promised = ([], [])
        replay.snapshot.token.commit = CommitNumber(min(baseCommit.number, RowCounters.maximum))
        self.report = report
        found = (schema.entities.map { _ in 0 }, schema.linkTables.map { _ in 0 })
    }

    /// Applies a record, after what is missing before it.
    mutating func take(_ found: SalvageScanner.Found) {
        report.note(found.loss)
        if !found.loss.sequences.isEmpty { isDamaged = true }
        apply(found.entry)
        lastKind = found.entry.kind
        if seal == nil, [.mark, .close].contains(found.entry.kind) { seal = found.entry.sequence }
    }

    /// Takes note of what is missing at the end of the file.
    ///
    /// - Parameter remembered: the last record that the lock file knows of.
    mutating func end(at scanner: borrowing SalvageScanner, remembered: JournalSequence?) {
        report.note(rest: scanner.rest)
        if let place = scanner.gaveUp {
            report.note(
                .file, "what begins at byte \(place) or later was not read: too many records before are damaged")
        }
        if let remembered, remembered > scanner.lastSequence, remembered.number < .max {
            report.note(lostRecords: scanner.lastSequence.next.number..<remembered.next.number)
        }
        guard let seal else {
            return report.note(.file, "the end of the initial part is missing, and perhaps more")
        }
        let endsLikeAWriters = JournalFormat.endsLikeAWriters(
            scanner.lengthBytes, behind: scanner.rest.lowerBound, isClosed: seal == scanner.lastSequence)
        if remembered == nil, scanner.rest.isEmpty, lastKind != .close, !endsLikeAWriters {
            report.note(
                .remarks,
                "the file was not closed after record \(scanner.lastSequence), and no lock file remembers its end: nobody can "
                    + "know whether there were more records")
        }
    }

    private mutating func apply(_ entry: JournalEntry) {
        isInCheckpoint = entry.kind == .snapshotChunk
        do {
            switch entry.kind {
            case .schema, .snapshotEnd: break
            case .consumer:
                var reader = ByteReader(entry.payload)
                replay.note(try ConsumerRecord.read(&reader))
            case .commit: try applyCommit(entry)
            case .snapshotChunk: try CheckpointRecord.decode(entry.payload, of: schema, into: &self)
            case .mark, .close:
                var reader = ByteReader(entry.payload)
                raiseCounters(try reader.readCounters(of: schema))
            }
        } catch {
            isDamaged = true
            let reason = (error as? ByteReader.Failure)?.reason ?? "\(error)"
            report.note(
                .file,
                "record \(entry.sequence), at byte \(entry.offset), cannot be read to its end: \(reason.shortened(to: 200))"
            )
        }
        // These are checked at the end.
        replay.rules = ReplayRules(hasIndexes: false)
    }

    private mutating func applyCommit(_ entry: JournalEntry) throws {
        let head = try CommitRecord.head(of: entry.payload)
        let (number, last) = (head.number.number, replay.snapshot.commit.number)
        guard number > last, number <= RowCounters.maximum else {
            throw ReplayRules.BrokenRule(reason: "it is commit \(number), and follows commit \(last)")
        }
        if number > last + 1 {
            isDamaged = true
            report.note(lostCommits: (last + 1)..<number, between: (lastTime, head.time))
        }
        replay.snapshot.token.commit = CommitNumber(number - 1)
        skippedCount = 0
        defer {
            replay.snapshot.token.commit = head.number
            replay.snapshot.token.add(entry.payload)
            lastTime = head.time
            if skippedCount > 0 {
                let time = SalvageReport.text(ofTime: head.time)
                report.note(.commits, "commit \(number), saved \(time), lacks updates of objects: \(skippedCount)")
            }
        }
        try CommitRecord.decode(entry.payload, of: schema, into: &self)
    }

    /// The state, of which nothing is checked but values. Says which objects are not as they last were.
    mutating func finish() -> (Snapshot, writers: [RowID: UInt64]) {
        if let promised {
            for (entity, description) in schema.entities.enumerated() {
                note(promised.rows[entity], found.rows[entity], "objects of \(description.name.shortened())")
            }
            for (count, table) in zip(promised.links, schema.recordedLinkTables) {
                note(count, found.links[table], "links of \(schema.name(of: schema.linkTables[table]).shortened())")
            }
        }
        for id in stale.sorted() {
            let name = schema.name(of: id)
            guard let version = replay.snapshot.version(of: id) else {
                report.note(.objects, "\(name) is lost: the file has only changes of it")
                continue
            }
            report.note(
                .objects,
                "\(name) is as of version \(version): one of its later changes is lost, and the others build on it")
        }
        return (replay.snapshot, writers)
    }

    private mutating func note(_ promised: UInt64, _ found: UInt64, _ what: String) {
        guard found < promised else { return }
        report.note(.objects, "\(promised - found) of the \(promised) \(what) at the last compaction are lost")
    }

    private mutating func noteWriter(of id: RowID) {
        guard isDamaged, schema.entities[id.entity].indexes.contains(where: { $0.uniqueness != nil }) else { return }
        writers[id] = replay.snapshot.commit.next.number
    }

    // MARK: Counters

    private mutating func raiseCounters(_ counters: [(entity: Int, next: RowNumber)]) {
        for (entity, next) in counters { raiseCounter(of: entity, to: min(next, RowCounters.maximum)) }
    }

    private mutating func raiseCounter(of entity: Int, to next: RowNumber) {
        replay.counters[entity] = max(replay.counters[entity], next)
    }
}

extension SalvageReplay: CheckpointHandler {
    mutating func begin(
        _ commit: CommitNumber,
        time: UInt64,
        counters: [(entity: Int, next: RowNumber)],
        rows: [UInt64],
        links: [UInt64],
        _ reader: ByteReader
    ) throws {
        guard commit.number <= RowCounters.maximum else { throw reader.failure("a checkpoint of commit \(commit)") }
        raiseCounters(counters)
        if commit > replay.snapshot.commit { replay.snapshot.token.commit = commit }
        promised = (rows, links)
        lastTime = time
    }

    mutating func note(fingerprint: UInt64) { replay.snapshot.token.fingerprint = fingerprint }

    mutating func note(_ consumer: (name: String, token: HistoryToken?)) { replay.note(consumer) }

    /// What these did is in the rows of the checkpoint.
    mutating func note(_ commit: CheckpointRecord.RetainedCommit, _ reader: ByteReader) {}

    mutating func insert(
        _ entity: Int,
        _ block: RowTable.Block,
        _ versions: [UInt64],
        _ reader: inout ByteReader
    ) throws {
        let last = block.firstRow + UInt64(31 - block.occupancy.leadingZeroBitCount)
        raiseCounter(of: entity, to: min(last + 1, RowCounters.maximum))
        try replay.insert(entity, block, versions, &reader)
        found.rows[entity] += UInt64(versions.count)
    }

    mutating func note(_ entries: UnsafeRawBufferPointer, of index: CheckpointRecord.Index) {}
}

extension SalvageReplay: CommitHandler {
    mutating func begin(
        _ number: CommitNumber,
        counters: [(entity: Int, next: RowNumber)],
        _ reader: ByteReader
    ) throws {
        raiseCounters(counters)
    }

    mutating func insert(_ id: RowID, version: RowVersion, _ reader: inout ByteReader) throws {
        raiseCounter(of: id.entity, to: min(id.row, RowCounters.maximum - 1) + 1)
        // Its deletion is lost.
        replay.snapshot.entities[id.entity].rows.remove(id.row)
        try replay.insert(id, version: version, &reader)
        stale.remove(id)
        noteWriter(of: id)
    }

    mutating func update(_ id: RowID, version: RowVersion, _ reader: inout ByteReader) throws {
        let start = reader
        do {
            guard version.number <= RowCounters.maximum else { throw reader.failure("version \(version)") }
            try replay.update(id, version: version, &reader)
            noteWriter(of: id)
        } catch {
            reader = start
            try passOverUpdate(of: id.entity, &reader)
            isDamaged = true
            skippedCount += 1
            stale.insert(id)
        }
    }

    mutating func delete(_ id: RowID, version: RowVersion, _ reader: inout ByteReader) throws {
        for property in schema.entities[id.entity].properties { try property.skip(&reader) }
        replay.snapshot.entities[id.entity].rows.remove(id.row)
        stale.remove(id)
    }

    mutating func addLinks(to number: Int, _ table: LinkTableDescription, _ reader: inout ByteReader) throws {
        try reader.forEachLink(in: table) { link, _ in
            replay.snapshot.linkTables[number].insert(link.member, of: link.owner, key: link.key)
            if isInCheckpoint { found.links[number] += 1 }
        }
    }

    mutating func remove(_ link: LinkTable.Link, from table: Int, _ reader: ByteReader) throws {
        replay.snapshot.linkTables[table].remove(link.member, of: link.owner)
    }

    // MARK: Values

    private func passOverUpdate(of entity: Int, _ reader: inout ByteReader) throws {
        try CommitRecord.forEachUpdatedProperty(among: schema.entities[entity].properties, &reader) {
            property, reader in
            try property.skip(&reader)
            try property.skip(&reader)
        }
    }
}

extension Schema {
    /// An object as reports name it.
    func name(of id: RowID) -> String { "\(entities[id.entity].name.shortened()) \(id.row)" }
}
