/// A store's file beside the program that writes it, and the state that is durable there, as far as this one has gone.
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
/// 3. It is of a later commit that the old file does not have: more than one file was missed, or values were converted. The new
///    file is read as a whole, and what happened since is one step.
struct FollowedFile: Sendable {
    /// One commit.
    struct Step: Sendable {
        let before: Snapshot
        let after: Snapshot
        /// nil for several commits in one.
        let head: CommitRecord.Head?
        /// When the last one was made, in nanoseconds since 1970.
        let time: UInt64
        /// The length of its record; 0 for several commits.
        let bytes: Int
    }

    private let opening: JournalOpening
    let location: JournalLocation
    /// nil to read the file by its own schema.
    private let schema: Schema?
    private let storeID: StoreID
    private var replay: StoreReplay
    private var tail: JournalTail
    /// The last end in the lock file to which all was read.
    private var seenEnd: JournalEnd?
    /// Up to where the open file is known to be in the one that has replaced it.
    private var succeededEnd: UInt64 = 0
    /// What ended reading, once the steps before it are taken.
    private var failure: GraphError?

    /// So many commits are taken over at once.
    private static let stepLimit = 64

    /// Reads all that is durable.
    init(
        _ path: String, schema: Schema?, fileSystem: any StoreFileSystem, options: JournalOptions
    ) throws(GraphError) {
        opening = JournalOpening(fileSystem: fileSystem, options: options)
        location = try JournalLocation(resolving: path, in: fileSystem)
        self.schema = schema
        let (contents, reading) = try Self.read(location.text, schema, opening)
        (storeID, tail, replay) = (contents.storeID, contents.tail, reading.replay)
    }

    var snapshot: Snapshot { replay.snapshot }
    /// As far as it was read.
    var readFile: JournalFile { tail.readFile }

    private struct Reading: Sendable {
        var replay: StoreReplay
        /// Of the last commit.
        var time: UInt64 = 0
    }

    private static func read(
        _ path: String, _ schema: Schema?, _ opening: JournalOpening
    ) throws(GraphError) -> (JournalContents, Reading) {
        let empty: StoreReplay
        if let schema {
            empty = StoreReplay(schema: schema, path: path, keepsIndexes: false)
        } else {
            empty = try StoreReplay(path: path, keepsIndexes: false)
        }
        var (contents, reading) = try opening.read(
            at: path, into: Reading(replay: empty),
            replay: { (reading: inout Reading, entry: JournalEntry) throws(GraphError) in
                try reading.replay.apply(entry)
                if entry.kind == .commit { reading.time = (try? CommitRecord.head(of: entry.payload).time) ?? 0 }
            },
            finish: { (reading: inout Reading) throws(GraphError) in _ = try reading.replay.finish() })
        reading.replay.snapshot.token.store = contents.storeID
        reading.replay.keepIndexes()
        try requireDurableName(of: contents.tail, opening)
        return (contents, reading)
    }

    /// Syncs the folder, unless the lock file names the file: a compaction may just have renamed it, and not have synced that.
    private static func requireDurableName(of tail: JournalTail, _ opening: JournalOpening) throws(GraphError) {
        let location = try JournalLocation(resolving: tail.path, in: opening.fileSystem)
        switch opening.durableEnd(location) {
        case .at(let end) where end.fileID == tail.header.fileID: return
        case .unreadable: return
        case .at, .unknown: break
        }
        try opening.attempt(location.path) { () throws(IOError) in
            try opening.fileSystem.syncDirectory(location.directory)
        }
    }

    // MARK: Going on

    /// Takes over the next commits that are durable; none if there are no more.
    ///
    /// - Throws: `.unusableFile`, if the file was removed, or replaced by another store's; `.historyDiverged`, if it was
    ///   replaced by one without the last commit; `.schemaMismatch`; `.corrupt`, `.invalidRecord`, `.valueNotReadable`,
    ///   `.inputOutput` and the like. The state stays the last one.
    mutating func advance() throws(GraphError) -> [Step] {
        if let failure { throw failure }
        if tail.offset < succeededEnd { return try read(through: succeededEnd) }
        // Before the name, which is durable once the lock file knows where it leads.
        let durable = opening.durableEnd(location)
        let isSameFile = try identity() == tail.identity
        var end: JournalEnd?
        switch durable {
        case .at(let known): end = known
        case .unknown: return []
        case .unreadable: if isSameFile { end = try tail.shownEnd() }
        }
        if isSameFile, end == nil || end?.fileID == tail.header.fileID {
            guard let end else { return [] }
            return try goOn(to: end)
        }
        let next = try opening.openTail(location)
        guard next.header.storeID == storeID else {
            throw .unusableFile(
                path: location.text, reason: "a file of another store has taken its place: follow that one anew")
        }
        guard let end, end.fileID != next.header.fileID else { return try goOn(in: next, to: end) }
        // Perhaps the new name is not durable yet.
        return end.fileID == tail.header.fileID ? try goOn(to: end) : []
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

    private mutating func goOn(to end: JournalEnd) throws(GraphError) -> [Step] {
        guard end != seenEnd else { return [] }
        guard end.offset > tail.offset else {
            // A reader may know of more from the records themselves.
            if !tail.isAt(end), try !reaches(snapshot.token, in: tail.start) { throw .historyDiverged(snapshot.token) }
            seenEnd = end
            return []
        }
        do throws(GraphError) {
            let steps = try read(through: end.offset)
            if tail.offset >= end.offset, failure == nil {
                guard tail.isAt(end) else {
                    throw tail.corrupt("another record was durable, says the lock file beside it")
                }
                seenEnd = end
            }
            return steps
        } catch {
            // Somebody may have written another copy into the file.
            if let isThere = try? reaches(snapshot.token, in: tail.start), !isThere {
                throw .historyDiverged(snapshot.token)
            }
            throw error
        }
    }

    /// Reads the records up to an offset, all of which have to be there, or the next ones of them.
    private mutating func read(through end: UInt64) throws(GraphError) -> [Step] {
        var steps: [Step] = []
        do throws(GraphError) {
            var window = try tail.window()
            while tail.offset < end, steps.count < Self.stepLimit {
                switch try tail.next(in: &window) {
                case .none(let reason): throw tail.corrupt("\(reason), but it was durable")
                case .entry(let entry):
                    if let step = try apply(entry) { steps.append(step) }
                }
            }
        } catch {
            guard !steps.isEmpty else { throw error }
            failure = error
        }
        return steps
    }

    private mutating func apply(_ entry: JournalEntry) throws(GraphError) -> Step? {
        let before = snapshot
        try replay.apply(entry)
        if entry.kind == .schema { _ = try replay.recordsToAppend() }
        guard entry.kind == .commit, let head = try? CommitRecord.head(of: entry.payload) else { return nil }
        return Step(before: before, after: snapshot, head: head, time: head.time, bytes: entry.payload.count)
    }

    // MARK: Another file

    /// - Parameter end: the new file's in the lock file; nil if that cannot be read.
    private mutating func goOn(in start: JournalTail, to end: JournalEnd?) throws(GraphError) -> [Step] {
        let own = snapshot.token
        var (next, token, schemas) = (start, HistoryToken(), [[UInt8]]())
        try Self.passInitialPart(of: &next, &token, &schemas)
        token.store = storeID
        if token.commit > own.commit {
            var (old, reached, unused) = (tail, own, [[UInt8]]())
            let isThere = try? Self.pass(to: token.commit, in: &old, &reached, &unused)
            guard isThere == true, reached == token else { return try readAnew() }
            succeededEnd = old.offset
            return try read(through: succeededEnd)
        }
        guard try Self.pass(to: own.commit, in: &next, &token, &schemas), token == own else {
            throw .historyDiverged(own)
        }
        for schema in schemas {
            guard try take(schema, of: next) else { return try readAnew() }
        }
        (tail, seenEnd, succeededEnd) = (next, nil, 0)
        if let end { return try goOn(to: end) }
        guard let end = try tail.shownEnd() else { return [] }
        return try goOn(to: end)
    }

    /// Takes over what the new file says of its schema. Returns false if it is another one.
    private mutating func take(_ schema: [UInt8], of next: JournalTail) throws(GraphError) -> Bool {
        var replay = replay
        let isLike = try schema.withUnsafeBufferPointer { buffer throws(GraphError) in
            let payload = UnsafeRawBufferPointer(buffer)
            guard let record = try? SchemaRecord(reading: payload), record.isRecordedLike(replay.fileRecord) else {
                return false
            }
            let entry = JournalEntry(kind: .schema, sequence: next.sequence, offset: next.offset, payload: payload)
            try replay.apply(entry)
            return true
        }
        guard isLike else { return false }
        _ = try replay.recordsToAppend()
        self.replay = replay
        return true
    }

    private mutating func readAnew() throws(GraphError) -> [Step] {
        let before = snapshot
        let (contents, reading) = try Self.read(location.text, schema, opening)
        let after = reading.replay.snapshot
        guard contents.storeID == storeID, after.commit > before.commit || after.token == before.token else {
            throw .historyDiverged(before.token)
        }
        (tail, replay, seenEnd, succeededEnd) = (contents.tail, reading.replay, nil, 0)
        guard after.commit > before.commit else { return [] }
        // Without commits behind its checkpoint the file says when that was written.
        let time = reading.time > 0 ? reading.time : reading.replay.compactionTime
        return [Step(before: before, after: after, head: nil, time: time, bytes: 0)]
    }

    /// Whether a file has a commit.
    private func reaches(_ token: HistoryToken, in start: JournalTail) throws(GraphError) -> Bool {
        var (tail, found, schemas) = (start, HistoryToken(), [[UInt8]]())
        try Self.passInitialPart(of: &tail, &found, &schemas)
        found.store = storeID
        return try Self.pass(to: token.commit, in: &tail, &found, &schemas) && found == token
    }

    /// Passes over schema and checkpoint, without reading most of that, and takes the checkpoint's place in history.
    private static func passInitialPart(
        of tail: inout JournalTail, _ token: inout HistoryToken, _ schemas: inout [[UInt8]]
    ) throws(GraphError) {
        var window = try tail.window(pieceBytes: 4_096)
        guard case .entry(let entry) = try tail.next(in: &window), entry.kind == .schema else {
            throw tail.corrupt("the first record is not a schema")
        }
        schemas.append(Array(entry.payload))
        guard tail.header.hasCheckpoint else { return }
        while true {
            let place = tail
            let (kind, first) = try tail.passOver(in: &window)
            if kind == .snapshotEnd { return }
            guard kind == .snapshotChunk else { throw place.corrupt("the checkpoint has no end") }
            guard first.map(CheckpointRecord.concernsHistory) == true else { continue }
            tail = place
            guard case .entry(let entry) = try tail.next(in: &window),
                (try? CheckpointRecord.read(entry.payload, into: &token)) != nil
            else { throw place.corrupt("the checkpoint's head") }
        }
    }

    /// Passes over the records up to that of a commit. Returns false if the file has none of the number.
    private static func pass(
        to commit: CommitNumber, in tail: inout JournalTail, _ token: inout HistoryToken, _ schemas: inout [[UInt8]]
    ) throws(GraphError) -> Bool {
        var window = try tail.window()
        while token.commit < commit {
            guard case .entry(let entry) = try tail.next(in: &window) else { return false }
            switch entry.kind {
            case .schema: schemas.append(Array(entry.payload))
            case .commit:
                guard let head = try? CommitRecord.head(of: entry.payload), head.number == token.commit.next else {
                    throw tail.corrupt("a commit out of order")
                }
                token.commit = head.number
                token.add(entry.payload)
            case .snapshotChunk, .snapshotEnd, .mark, .close, .consumer: break
            }
        }
        return token.commit == commit
    }
}
