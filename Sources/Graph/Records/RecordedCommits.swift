/// Which commits a file has, before its checkpoint or behind it, and where.
struct RecordedCommits: Sendable {
    /// One commit's record. A place takes 16 bytes, however long the record is.
    struct Place: Sendable {
        let offset: UInt64
        /// Of the commit.
        let fingerprint: UInt64
    }

    /// In pieces of 64 KiB at most. One array of them, which grows by copying itself, would leave megabytes in the heap of
    /// whichever thread reads them: glibc maps no block by itself that is as short as the longest one it has unmapped, and keeps
    /// twice as much free memory in each heap (mallopt(3), `M_MMAP_THRESHOLD`).
    struct Places: Sendable {
        private static let pieceCount = 4_096

        private var pieces: [[Place]] = []
        private(set) var count = 0

        subscript(index: Int) -> Place { pieces[index / Self.pieceCount][index % Self.pieceCount] }

        mutating func append(_ place: Place) {
            if count % Self.pieceCount == 0 { pieces.append([]) }
            pieces[count / Self.pieceCount].append(place)
            count += 1
        }
    }

    let file: JournalFile
    /// The state that the first commit leads away from.
    let start: HistoryToken
    /// The commits since then, without gaps.
    let places: Places
    /// So many of them, the oldest, have records that a migration has written anew: no fingerprint follows from those.
    let convertedCount: Int
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
        var scan = CommitScan(file, store: newest.store)
        let oldest = try scan.start()
        guard oldest.commit <= newest.commit else {
            // The file has been compacted since it was read.
            throw .historyExpired(oldest: newest)
        }
        let start = token ?? oldest
        guard start.commit >= oldest.commit else { throw .historyExpired(oldest: oldest) }
        guard start.commit <= newest.commit, start.commit != oldest.commit || start == oldest else {
            throw .historyDiverged(start)
        }
        var (places, convertedCount) = (Places(), 0)
        while scan.last.commit < newest.commit {
            let (offset, isConverted) = try scan.next()
            if scan.last.commit > start.commit {
                places.append(Place(offset: offset, fingerprint: scan.last.fingerprint))
                if isConverted { convertedCount = places.count }
            } else if scan.last.commit == start.commit, scan.last != start {
                throw .historyDiverged(start)
            }
        }
        guard scan.last == newest else {
            throw scan.corrupt("commit \(newest.commit) is another one than was written")
        }
        (self.start, self.places, self.convertedCount, endOffset) = (start, places, convertedCount, scan.offset)
    }
}

/// Goes through the commits of a file from the oldest one.
private struct CommitScan: ~Copyable {
    private let file: JournalFile
    private var window: JournalWindow
    /// The last commit so far.
    private(set) var last = HistoryToken()
    /// Where the next record begins.
    private(set) var offset = JournalFormat.recordsOffset

    init(_ file: JournalFile, store: StoreID) {
        self.file = file
        window = file.window()
        last.store = store
    }

    /// Goes to the first commit, and returns the token of the state before it.
    mutating func start() throws(GraphError) -> HistoryToken {
        guard file.header.hasCheckpoint else { return last }
        // Rows and indexes are passed over, and not read.
        var heads = file.window(pieceBytes: 512)
        while true {
            let (kind, first, end) = try heads.knownRecordHead(at: offset, salt: file.header.salt, path: file.path)
            switch kind {
            case .snapshotChunk where first.map(CheckpointRecord.concernsHistory) == true:
                let payload = try heads.historyRecord(at: offset, of: file).payload
                guard (try? CheckpointRecord.read(payload, into: &last)) != nil else {
                    throw corrupt("the checkpoint's head")
                }
            case .snapshotChunk where first.map(CheckpointRecord.isRetainedCommit) == true:
                let payload = try heads.historyRecord(at: offset, of: file).payload
                guard let commit = try? CheckpointRecord.RetainedCommit(payload),
                    let head = try? CommitRecord.head(of: commit.record), head.number > .none
                else { throw corrupt("a retained commit") }
                (last.commit, last.fingerprint) = (CommitNumber(head.number.number - 1), commit.fingerprintBefore)
                return last
            case .snapshotEnd:
                offset = end
                return last
            case .schema, .snapshotChunk: break
            case .commit, .mark, .close, .consumer: throw corrupt("the checkpoint has no end")
            }
            offset = end
        }
    }

    /// Goes behind the next commit, and returns where its record begins, and whether a migration has written it anew.
    mutating func next() throws(GraphError) -> (offset: UInt64, isConverted: Bool) {
        while true {
            let (kind, payload, end) = try window.historyRecord(at: offset, of: file)
            let start = offset
            guard let commit = RecordedCommits.commit(in: payload, kind) else {
                offset = end
                continue
            }
            guard let head = try? CommitRecord.head(of: commit.record), head.number == last.commit.next else {
                throw corrupt("a commit out of order")
            }
            last.commit = head.number
            if let kept = commit.keptFingerprint { last.fingerprint = kept } else { last.add(commit.record) }
            offset = end
            if last.commit.number & 1_023 == 0, Task.isCancelled { throw .cancelled }
            return (start, commit.keptFingerprint != nil)
        }
    }

    func corrupt(_ reason: String) -> GraphError {
        .corrupt(path: file.path, offset: offset, sequence: 0, reason: reason)
    }
}

extension JournalWindow {
    fileprivate mutating func historyRecord(
        at offset: UInt64, of file: JournalFile
    ) throws(GraphError) -> (kind: Journal.RecordKind, payload: UnsafeRawBufferPointer, end: UInt64) {
        try knownRecord(at: offset, salt: file.header.salt, path: file.path, "while history was read")
    }
}

extension RecordedCommits {
    /// A commit in the file.
    struct Recorded {
        let record: UnsafeRawBufferPointer
        /// The commit's fingerprint, if a migration has written its record anew.
        let keptFingerprint: UInt64?
    }

    func commit(at index: Int, in window: inout JournalWindow) throws(GraphError) -> Recorded {
        let (kind, payload, _) = try window.historyRecord(at: places[index].offset, of: file)
        guard let commit = Self.commit(in: payload, kind) else {
            throw .corrupt(path: file.path, offset: places[index].offset, sequence: 0, reason: "no commit any more")
        }
        return commit
    }

    /// The commit that a payload has; nil if it has none.
    fileprivate static func commit(in payload: UnsafeRawBufferPointer, _ kind: Journal.RecordKind) -> Recorded? {
        switch kind {
        case .commit: Recorded(record: payload, keptFingerprint: nil)
        case .snapshotChunk:
            (try? CheckpointRecord.RetainedCommit(payload)).map {
                Recorded(record: $0.record, keptFingerprint: $0.keptFingerprint)
            }
        default: nil
        }
    }
}
