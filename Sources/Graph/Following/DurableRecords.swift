/// The records of a store's file from some commit on, in order, as they become durable while a program writes it.
///
/// The lock file's end says what is durable, and of which file: no record behind it is read, so what a program loses by a crash
/// was never here. Those who may not read that file go by what later records say of earlier ones, and by the name. When the end
/// names another file than the one that is open, a compaction or a migration has put that in its place. Fingerprints show how
/// the two go together, so that no mark in the old file is needed:
///
/// 1. The new file's checkpoint is of a commit that was reached, or of an earlier one: the new file has this one's commit, too,
///    and its records go on from there.
/// 2. It is of a later commit, and the old file has a commit of that number and fingerprint: all up to it is in the checkpoint,
///    and so as durable as that. The old file is read up to it, then 1.
/// 3. It is of a later commit that the old file does not have, as more than one file was missed: but the new file retains the
///    commits since the one that was reached. These come from there.
/// 4. The new file does not retain them, or has values of other types: what is between cannot be told.
struct DurableRecords: Sendable {
    struct Record: Sendable {
        let kind: Journal.RecordKind
        /// Of a commit, its record also where the file has it as a part of a checkpoint.
        let payload: [UInt8]
        let sequence: JournalSequence
        let offset: UInt64
    }

    /// What comes next. Nothing in it says that there is no more yet.
    struct Batch: Sendable {
        /// What a file that was entered says behind the last commit so far; nil if the file is the same as before.
        var entered: Entered?
        var records: [Record] = []

        var isEmpty: Bool { entered == nil && records.isEmpty }
    }

    struct Entered: Sendable {
        let schema: [UInt8]
        /// The records of the consumers of history, in the order of their names.
        let consumers: [[UInt8]]
        /// Row counters, if it has any.
        let counters: [UInt8]?
    }

    private let opening: JournalOpening
    let location: JournalLocation
    /// Of the last commit so far.
    private(set) var token: HistoryToken
    private var tail: JournalTail
    /// What the start has found, until that is taken.
    private var entered: Entered?
    /// Commits before the tail that come first: where they are in the checkpoint.
    private var retained: ArraySlice<UInt64> = []
    /// The commit to which they lead.
    private var retainedEnd = HistoryToken()
    /// The last end in the lock file to which all was read.
    private var seenEnd: JournalEnd?
    /// Up to where the open file is known to be durable, or in the one that has replaced it.
    private var knownEnd: UInt64 = 0
    /// What ended reading, once the records before it are taken.
    private var failure: GraphError?

    /// A batch ends with the commit that reaches either.
    private static let (commitLimit, bytesLimit) = (64, 256 << 10)

    /// Goes on behind a tail.
    ///
    /// - Parameter token: of the last commit before it.
    init(
        _ opening: JournalOpening, _ location: JournalLocation, behind tail: JournalTail, at token: HistoryToken
    ) throws(GraphError) {
        (self.opening, self.location, self.tail, self.token) = (opening, location, tail, token)
        try requireDurableName()
    }

    /// Begins behind a commit.
    ///
    /// - Throws: `.tokenOfOtherStore`; `.historyDiverged`, `.historyExpired`, if the file does not have that commit; and what
    ///   reading the file throws.
    init(
        _ opening: JournalOpening, _ location: JournalLocation, since token: HistoryToken
    ) throws(GraphError) {
        (self.opening, self.location, self.token) = (opening, location, token)
        tail = try opening.openTail(location)
        guard tail.header.storeID == token.store else { throw .tokenOfOtherStore(token) }
        try requireDurableName()
        var end: JournalEnd?
        if case .at(let known) = opening.durableEnd(location), known.fileID == tail.header.fileID { end = known }
        let entered = try enter(try Passage(through: tail, store: token.store), through: end)
        // After a crash the records may show more than the lock file, and no program may come that writes it again.
        knownEnd = try tail.shownEnd(isSealed: entered.counters != nil)?.offset ?? 0
        self.entered = entered
    }

    /// As far as it was read.
    var readFile: JournalFile { tail.readFile }

    /// Syncs the folder, unless the lock file names the file: a compaction may just have renamed it, and not have synced that.
    private func requireDurableName() throws(GraphError) {
        switch opening.durableEnd(location) {
        case .at(let end) where end.fileID == tail.header.fileID: return
        // Somebody else's folder, perhaps.
        case .unreadable:
            try? opening.fileSystem.syncDirectory(location.directory)
            return
        case .at, .unknown: break
        }
        try opening.attempt(location.path) { () throws(IOError) in
            try opening.fileSystem.syncDirectory(location.directory)
        }
    }

    // MARK: Going on

    /// Takes the next records that are durable.
    ///
    /// - Throws: `.unusableFile`, if the file was removed, or replaced by another store's; `.historyDiverged`, if it was
    ///   replaced by one without the last commit; `.historyExpired`, if the file that has replaced it does not retain the commits
    ///   between; `.corrupt`, `.inputOutput` and the like.
    mutating func next() throws(GraphError) -> Batch {
        if let failure { throw isAnotherHistory ? .historyDiverged(token) : failure }
        var batch = Batch(entered: entered.take())
        if batch.entered == nil, retained.isEmpty { try goOn(&batch) }
        if !retained.isEmpty { batch.records = try retainedRecords() }
        return batch
    }

    private mutating func goOn(_ batch: inout Batch) throws(GraphError) {
        if tail.offset < knownEnd {
            batch.records = try read(through: knownEnd)
            return
        }
        // Before the name, which is durable once the lock file knows where it leads.
        let durable = opening.durableEnd(location)
        let isSameFile = try identity() == tail.identity
        var end: JournalEnd?
        switch durable {
        case .at(let known): end = known
        // It may be for ever: somebody may have emptied it.
        case .unknown where !isSameFile: return
        case .unknown, .unreadable: if isSameFile { end = try tail.shownEnd() }
        }
        if isSameFile, end == nil || end?.fileID == tail.header.fileID {
            if let end { batch.records = try goOn(to: end) }
            return
        }
        let next = try opening.openTail(location)
        guard next.header.storeID == token.store else {
            throw .unusableFile(
                path: location.text, reason: "a file of another store has taken its place: follow that one anew")
        }
        guard let end, end.fileID != next.header.fileID else { return try goOn(in: next, to: end, &batch) }
        // Perhaps the new name is not durable yet.
        if end.fileID == tail.header.fileID { batch.records = try goOn(to: end) }
    }

    private func identity() throws(GraphError) -> FileIdentity {
        do throws(IOError) {
            return try repeatingInterrupted { () throws(IOError) in
                try opening.fileSystem.extent(location.path).identity
            }
        } catch {
            guard error.reason == .missing else { throw error.graphError(path: location.text) }
            throw .unusableFile(
                path: location.text, reason: "somebody removed or moved the file: follow it anew where it is")
        }
    }

    private mutating func goOn(to end: JournalEnd) throws(GraphError) -> [Record] {
        guard end != seenEnd else { return [] }
        guard end.offset > tail.offset else {
            // A reader may know of more from the records themselves.
            if !tail.isAt(end), try !isInHistory { throw .historyDiverged(token) }
            seenEnd = end
            return []
        }
        do throws(GraphError) {
            let records = try read(through: end.offset)
            if tail.offset >= end.offset, failure == nil {
                guard tail.isAt(end) else {
                    throw tail.corrupt("another record was durable, says the lock file beside it")
                }
                seenEnd = end
            }
            return records
        } catch {
            throw isAnotherHistory ? .historyDiverged(token) : error
        }
    }

    /// Reads the records up to an offset, all of which have to be there, or the next ones of them.
    private mutating func read(through end: UInt64) throws(GraphError) -> [Record] {
        var (records, commits, bytes): ([Record], Int, Int) = ([], 0, 0)
        do throws(GraphError) {
            var window = try tail.window()
            while tail.offset < end, commits < Self.commitLimit, bytes < Self.bytesLimit {
                switch try tail.next(in: &window) {
                case .none(let reason): throw tail.corrupt("\(reason), but it was durable")
                case .entry(let entry):
                    switch entry.kind {
                    case .commit:
                        try token.add(commit: entry.payload, in: tail)
                        commits += 1
                    case .snapshotChunk, .snapshotEnd: throw tail.corrupt("a checkpoint behind the first records")
                    case .schema, .mark, .close, .consumer: break
                    }
                    bytes += entry.payload.count
                    records.append(Record(entry))
                }
            }
        } catch {
            guard !records.isEmpty else { throw error }
            failure = error
        }
        return records
    }

    // MARK: Another file

    /// - Parameter end: the new file's in the lock file; nil if that cannot be read.
    private mutating func goOn(
        in next: JournalTail, to end: JournalEnd?, _ batch: inout Batch
    ) throws(GraphError) {
        let found = try Passage(through: next, store: token.store)
        if found.token.commit > token.commit {
            var old = Passage(at: tail, token)
            if (try? old.pass(to: found.token.commit)) == true, old.token == found.token {
                knownEnd = old.tail.offset
                batch.records = try read(through: knownEnd)
                return
            }
        }
        batch.entered = try enter(found, through: end)
        guard retained.isEmpty else { return }
        let durable = if let end { end } else { try tail.shownEnd() }
        if let durable { batch.records = try goOn(to: durable) }
    }

    /// Goes on in a file, of which the initial part was passed.
    ///
    /// - Parameter end: of what is known to be durable there.
    private mutating func enter(_ passage: Passage, through end: JournalEnd?) throws(GraphError) -> Entered {
        var passage = passage
        if passage.token.commit > token.commit {
            passage = try Passage(through: passage.tail.start, store: token.store, retainedSince: token.commit)
            guard let before = passage.beforeRetained else { throw .historyExpired(oldest: passage.oldest) }
            guard before == token else { throw .historyDiverged(token) }
            retainedEnd = passage.token
        } else {
            guard try passage.pass(to: token.commit, through: end), passage.token == token else {
                throw .historyDiverged(token)
            }
            if let end { try passage.passNotes(through: end) }
        }
        (tail, retained, seenEnd, knownEnd) = (passage.tail, passage.retained[...], nil, 0)
        let consumers = passage.consumers.sorted { $0.key < $1.key }.map(\.value)
        return Entered(schema: passage.schema, consumers: consumers, counters: passage.counters)
    }

    private mutating func retainedRecords() throws(GraphError) -> [Record] {
        var (records, bytes): ([Record], Int) = ([], 0)
        var window = try tail.window()
        while records.count < Self.commitLimit, bytes < Self.bytesLimit, let offset = retained.first {
            let (kind, payload, _) = try window.knownRecord(
                at: offset, salt: tail.header.salt, path: location.text, "while history was read")
            guard kind == .snapshotChunk, let commit = try? CheckpointRecord.RetainedCommit(payload),
                commit.fingerprintBefore == token.fingerprint
            else { throw tail.corrupt("a retained commit") }
            try token.add(commit: commit.record, in: tail)
            records.append(Record(kind: .commit, payload: Array(commit.record), sequence: .none, offset: offset))
            bytes += payload.count
            retained.removeFirst()
        }
        guard !retained.isEmpty || token == retainedEnd else {
            throw tail.corrupt("retained commits that lead elsewhere than the checkpoint is")
        }
        return records
    }

    /// Whether the open file has the last commit.
    private var isInHistory: Bool {
        get throws(GraphError) {
            var passage = try Passage(through: tail.start, store: token.store)
            // A checkpoint of a later commit is of no file that was open before.
            return try passage.pass(to: token.commit) && passage.token == token
        }
    }

    /// Whether somebody has written another copy into the file.
    private var isAnotherHistory: Bool {
        if let isInHistory = try? isInHistory { !isInHistory } else { false }
    }
}

extension DurableRecords.Record {
    fileprivate init(_ entry: JournalEntry) {
        self.init(
            kind: entry.kind, payload: Array(entry.payload), sequence: entry.sequence, offset: entry.offset)
    }
}

extension HistoryToken {
    /// Goes on to the next commit, which a record has to be.
    fileprivate mutating func add(commit record: UnsafeRawBufferPointer, in tail: JournalTail) throws(GraphError) {
        guard let head = try? CommitRecord.head(of: record), head.number == commit.next else {
            throw tail.corrupt("a commit out of order")
        }
        commit = head.number
        add(record)
    }
}

/// Goes through a file up to a commit, without rows, links and entries.
private struct Passage {
    var tail: JournalTail
    /// Of the last commit so far.
    private(set) var token: HistoryToken
    private(set) var schema: [UInt8] = []
    /// The last row counters in a record of their own.
    private(set) var counters: [UInt8]?
    /// The records of consumers of history, by name.
    private(set) var consumers: [String: [UInt8]] = [:]
    /// Where the checkpoint has the commits since the wanted one.
    private(set) var retained: [UInt64] = []
    /// What the first of them leads away from; nil if the checkpoint does not reach back to the wanted one.
    private(set) var beforeRetained: HistoryToken?
    /// The oldest state to which the checkpoint leads back.
    private(set) var oldest = HistoryToken()
    private var hasRetained = false
    /// Whether the last record says that the file was closed.
    private var isClosed = false

    init(at tail: JournalTail, _ token: HistoryToken) { (self.tail, self.token) = (tail, token) }

    /// Passes over schema and checkpoint, and takes the checkpoint's place in history.
    ///
    /// - Parameter wanted: the retained commits after this one are noted; nil for none.
    init(
        through start: JournalTail, store: StoreID, retainedSince wanted: CommitNumber? = nil
    ) throws(GraphError) {
        self.init(at: start, HistoryToken())
        token.store = store
        var window = try tail.window(pieceBytes: 4_096)
        guard case .entry(let entry) = try tail.next(in: &window), entry.kind == .schema else {
            throw tail.corrupt("the first record is not a schema")
        }
        schema = Array(entry.payload)
        guard tail.header.hasCheckpoint else { return }
        while true {
            let place = tail
            let (kind, first) = try tail.passOver(in: &window)
            if kind == .snapshotEnd { break }
            guard kind == .snapshotChunk else { throw place.corrupt("the checkpoint has no end") }
            switch first.flatMap(CheckpointRecord.Part.init) {
            case .retainedCommit where wanted == nil: continue
            case .head, .fingerprint, .retainedCommit, .consumer: break
            // Converted commits lead to states of this schema, and whoever comes from before has others.
            case .rows, .links, .entries, .convertedCommit, nil: continue
            }
            tail = place
            guard case .entry(let entry) = try tail.next(in: &window), (try? take(entry, wanted)) != nil
            else { throw place.corrupt("the checkpoint's place in history") }
        }
        if !hasRetained { oldest = token }
    }

    private mutating func take(_ entry: JournalEntry, _ wanted: CommitNumber?) throws {
        switch entry.payload.first.flatMap(CheckpointRecord.Part.init) {
        case .retainedCommit:
            guard let commit = try CheckpointRecord.RetainedCommit(entry.payload) else { return }
            let number = try CommitRecord.head(of: commit.record).number
            guard number > .none else { throw ByteReader(entry.payload).failure("commit 0") }
            let before = HistoryToken(
                commit: CommitNumber(number.number - 1), store: token.store, fingerprint: commit.fingerprintBefore)
            if !hasRetained { (hasRetained, oldest) = (true, before) }
            guard let wanted, before.commit >= wanted else { return }
            if before.commit == wanted { beforeRetained = before }
            retained.append(entry.offset)
        case .consumer: try note(UnsafeRawBufferPointer(rebasing: entry.payload[1...]))
        default: try CheckpointRecord.read(entry.payload, into: &token)
        }
    }

    private mutating func note(_ consumer: UnsafeRawBufferPointer) throws {
        var reader = ByteReader(consumer)
        let (name, token) = try ConsumerRecord.read(&reader)
        consumers[name] = token == nil ? nil : Array(consumer)
    }

    /// Passes over the records up to that of a commit. Returns false if the file has none of the number.
    ///
    /// - Parameter end: records up to there have to be in the file, unless it is an older copy of it that was closed.
    mutating func pass(to commit: CommitNumber, through end: JournalEnd? = nil) throws(GraphError) -> Bool {
        var window = try tail.window()
        while token.commit < commit {
            switch try tail.next(in: &window) {
            case .none(let reason):
                let isOlderCopy = isClosed && tail.offset >= window.lengthBytes
                if let end, tail.offset < end.offset, !isOlderCopy { throw tail.corrupt(reason) }
                return false
            case .entry(let entry): try pass(entry)
            }
        }
        return token.commit == commit
    }

    /// Passes over what follows up to the next commit.
    mutating func passNotes(through end: JournalEnd) throws(GraphError) {
        var window = try tail.window()
        while tail.offset < end.offset {
            var ahead = tail
            guard case .entry(let entry) = try ahead.next(in: &window), entry.kind != .commit else { return }
            try pass(entry)
            tail = ahead
        }
    }

    private mutating func pass(_ entry: JournalEntry) throws(GraphError) {
        isClosed = entry.kind == .close
        switch entry.kind {
        case .schema: schema = Array(entry.payload)
        case .mark, .close: counters = Array(entry.payload)
        case .commit: try token.add(commit: entry.payload, in: tail)
        case .consumer:
            guard (try? note(entry.payload)) != nil else { throw tail.corrupt("a consumer") }
        case .snapshotChunk, .snapshotEnd: break
        }
    }
}
