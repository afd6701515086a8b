/// Which commits a file has behind its checkpoint, and where.
struct RecordedCommits: Sendable {
    /// One commit's record. A place takes 16 bytes, however long the record is.
    struct Place: Sendable {
        let offset: UInt64
        /// Of the commit.
        let fingerprint: UInt64
    }

    let file: JournalFile
    /// The state that the first commit leads away from.
    let start: HistoryToken
    /// The commits since then, without gaps.
    let places: [Place]
    /// Behind the last one's record.
    let endOffset: UInt64

    /// Finds the commits between two tokens, and reads the records before for their fingerprints.
    ///
    /// - Parameters:
    ///   - token: nil for the oldest one that the file has.
    ///   - newest: of the state that is known to be in the file.
    /// - Throws: `.historyExpired`, `.historyDiverged`; `.corrupt`, `.inputOutput`, if the file has not what was written into it;
    ///   `.cancelled`.
    init(_ file: JournalFile, since token: HistoryToken?, through newest: HistoryToken) throws(GraphError) {
        self.file = file
        let salt = file.header.salt
        var (last, offset) = try Self.oldest(in: file)
        last.store = newest.store
        guard last.commit <= newest.commit else {
            // The file has been compacted since it was read.
            throw .historyExpired(oldest: newest)
        }
        let start = token ?? last
        guard start.commit >= last.commit else { throw .historyExpired(oldest: last) }
        guard start.commit <= newest.commit, start.commit != last.commit || start == last else {
            throw .historyDiverged(start)
        }
        var places: [Place] = []
        var window = file.window()
        while last.commit < newest.commit {
            let (kind, payload, end) = try window.knownRecord(
                at: offset, salt: salt, path: file.path, "while history was read")
            if kind == .commit {
                guard let head = try? CommitRecord.head(of: payload), head.number == last.commit.next else {
                    throw .corrupt(path: file.path, offset: offset, sequence: 0, reason: "a commit out of order")
                }
                last.commit = head.number
                last.add(payload)
                if last.commit > start.commit {
                    places.append(Place(offset: offset, fingerprint: last.fingerprint))
                } else if last.commit == start.commit, last != start {
                    throw .historyDiverged(start)
                }
                if last.commit.number & 1_023 == 0, Task.isCancelled { throw .cancelled }
            }
            offset = end
        }
        guard last == newest else {
            let reason = "commit \(newest.commit) is another one than was written"
            throw .corrupt(path: file.path, offset: offset, sequence: 0, reason: reason)
        }
        (self.start, self.places, endOffset) = (start, places, offset)
    }

    /// The token of the oldest state that a file has, and where the records behind it begin.
    private static func oldest(in file: JournalFile) throws(GraphError) -> (HistoryToken, offset: UInt64) {
        let (salt, path) = (file.header.salt, file.path)
        var (token, offset) = (HistoryToken(), JournalFormat.recordsOffset)
        guard file.header.hasCheckpoint else { return (token, offset) }
        // Most of it is passed over, and not read.
        var window = file.window(pieceBytes: 512)
        while true {
            let (kind, first, end) = try window.knownRecordHead(at: offset, salt: salt, path: path)
            switch kind {
            case .snapshotChunk where first.map(CheckpointRecord.concernsHistory) == true:
                let (_, payload, _) = try window.knownRecord(
                    at: offset, salt: salt, path: path, "while history was read")
                if (try? CheckpointRecord.read(payload, into: &token)) == nil {
                    throw .corrupt(path: path, offset: offset, sequence: 0, reason: "the checkpoint's head")
                }
            case .snapshotEnd: return (token, end)
            case .schema, .snapshotChunk: break
            case .commit, .mark, .close:
                throw .corrupt(path: path, offset: offset, sequence: 0, reason: "the checkpoint has no end")
            }
            offset = end
        }
    }
}

/// Goes from commit to commit of a file, in either direction.
///
/// It reads the file in pieces, and holds one state. What that shares with other states takes no memory of its own.
struct CommitWalk: ~Copyable {
    /// One commit, with the states before and after it, which have rows and links alone.
    struct Passed {
        let head: CommitRecord.Head
        let before: Snapshot
        let after: Snapshot
        /// The length of its record.
        let bytes: Int
    }

    let commits: RecordedCommits
    /// Has the state where the walk is.
    private var step: CommitStep
    /// How many commits are behind the walk.
    private var position: Int
    private var window: JournalWindow

    /// So much is read at once on the way back, or one record.
    private static let pieceBytes: UInt64 = 1 << 20

    /// - Parameter end: the state after the last one of the commits.
    init(_ commits: RecordedCommits, from end: Snapshot) {
        self.commits = commits
        step = CommitStep(end.withoutIndexes, path: commits.file.path)
        position = commits.places.count
        window = commits.file.window()
    }

    var snapshot: Snapshot { step.snapshot }
    var isAtStart: Bool { position == 0 }
    var isAtEnd: Bool { position == commits.places.count }

    /// The commit ahead; nil at the end.
    mutating func goOn() throws(GraphError) -> Passed? {
        guard !isAtEnd else { return nil }
        let place = commits.places[position]
        let before = snapshot
        let (head, bytes) = try pass(place, isBack: false)
        position += 1
        step.snapshot.token.commit = head.number
        step.snapshot.token.fingerprint = place.fingerprint
        return Passed(head: head, before: before, after: snapshot, bytes: bytes)
    }

    /// The commit behind, which is ahead then; nil at the start.
    mutating func goBack() throws(GraphError) -> Passed? {
        let after = snapshot
        guard let (head, bytes) = try retreat() else { return nil }
        return Passed(head: head, before: snapshot, after: after, bytes: bytes)
    }

    /// Goes back to the state after a commit, which is faster than going from one to the next.
    mutating func goBack(to commit: CommitNumber) throws(GraphError) {
        while snapshot.commit > commit, try retreat() != nil {
            if position & 1_023 == 0, Task.isCancelled { throw .cancelled }
        }
    }

    private mutating func retreat() throws(GraphError) -> (CommitRecord.Head, bytes: Int)? {
        guard !isAtStart else { return nil }
        try hold(before: position)
        let result = try pass(commits.places[position - 1], isBack: true)
        position -= 1
        step.snapshot.token.commit = CommitNumber(commits.start.commit.number + UInt64(position))
        step.snapshot.token.fingerprint =
            position == 0 ? commits.start.fingerprint : commits.places[position - 1].fingerprint
        return result
    }

    /// Has the window hold the record before a position, and as many before that as fit.
    private mutating func hold(before position: Int) throws(GraphError) {
        let places = commits.places
        guard !window.holdsRecord(at: places[position - 1].offset) else { return }
        let end = position < places.count ? places[position].offset : commits.endOffset
        var first = position - 1
        while first > 0, end - places[first - 1].offset <= Self.pieceBytes { first -= 1 }
        do throws(IOError) {
            _ = try window.bytes(at: places[first].offset, count: Int(end - places[first].offset))
        } catch {
            throw error.graphError(path: commits.file.path)
        }
    }

    private mutating func pass(
        _ place: RecordedCommits.Place, isBack: Bool
    ) throws(GraphError) -> (CommitRecord.Head, bytes: Int) {
        let (file, offset) = (commits.file, place.offset)
        let (_, payload, _) = try window.knownRecord(
            at: offset, salt: file.header.salt, path: file.path, "while history was read")
        do {
            try step.apply(payload, isBack: isBack)
            return (try CommitRecord.head(of: payload), payload.count)
        } catch let error as GraphError {
            throw error
        } catch {
            let reason = "while history was read: \((error as? ByteReader.Failure)?.reason ?? "\(error)")"
            throw .invalidRecord(path: file.path, offset: offset, sequence: 0, reason: reason)
        }
    }
}

extension Snapshot {
    /// The same rows and links.
    fileprivate var withoutIndexes: Snapshot {
        var copy = self
        for entity in copy.entities.indices {
            copy.entities[entity].indexes = schema.entities[entity].indexes.map { _ in OrderedIndex() }
        }
        copy.reader = nil
        return copy
    }
}
