/// Which commits a new generation retains.
struct RetentionRequest: Sendable {
    var retention: HistoryRetention
    /// The last commit that every consumer has read; nil without consumers.
    var unreadSince: CommitNumber?
    /// None up to this one.
    var deletedThrough = CommitNumber.none
    /// In nanoseconds since 1970.
    var now: UInt64

    /// - Parameters:
    ///   - tokens: of the last commits that consumers have read. Those before the oldest state that is there hold nothing back.
    static func unreadSince(_ tokens: some Collection<HistoryToken>, oldest: HistoryToken?) -> CommitNumber? {
        tokens.map(\.commit).filter { $0 >= oldest?.commit ?? .none }.min()
    }
}

/// The newest commits of a file, as parts of the checkpoint of its next generation.
struct RetainedCommits: JournalRecordSource {
    /// A migration, which has a schema of its own for the next generation.
    struct Migration {
        var conversion: CommitConversion
        /// Of its own commit, which changes nothing in what the records say, and comes last.
        let token: HistoryToken
        let record: [UInt8]
    }

    private let file: JournalFile
    private let newest: HistoryToken
    private let request: RetentionRequest
    private var migration: Migration?
    private var selection: Selection?

    private struct Selection {
        let commits: RecordedCommits
        /// Of the next one.
        var index: Int
        /// The state that the first retained commit leads away from.
        var oldest: HistoryToken
    }

    /// - Parameter newest: of the checkpoint's state, or of the one that a migration has made it from, which the file has.
    init(
        _ file: JournalFile, through newest: HistoryToken, _ request: RetentionRequest, _ migration: Migration? = nil
    ) {
        (self.file, self.newest, self.request, self.migration) = (file, newest, request, migration)
    }

    /// The oldest state that the new generation leads back to.
    var oldest: HistoryToken { selection?.oldest ?? newest }
    /// Whether a commit that is to be retained has a value that its type no longer takes, other than a nil that became a default.
    private(set) var hasUnreadableValues = false

    /// Reads all commits of the file, to find out which ones are retained.
    func selected() async throws(GraphError) -> RetainedCommits {
        try await Journal.onExecutor { () throws(GraphError) in
            var copy = self
            _ = try copy.select()
            return copy
        }
    }

    mutating func next() throws(GraphError) -> [Journal.Record]? {
        var selection: Selection
        if let current = self.selection { selection = current } else { selection = try select() }
        defer { self.selection = selection }
        let places = selection.commits.places
        var window = file.window()
        var (records, bytes): ([Journal.Record], Int) = ([], 0)
        while selection.index < places.count, bytes < JournalWindow.pieceBytes {
            let commit = try selection.commits.commit(at: selection.index, in: &window)
            let (before, after) = (
                selection.commits.token(before: selection.index), selection.commits.token(after: selection.index)
            )
            if migration == nil {
                records.append(Self.part(commit.record, after: before, keeping: commit.keptFingerprint))
            } else {
                let record = try convert(commit.record, at: places[selection.index].offset)
                records.append(record.withUnsafeBytes { Self.part($0, after: before, keeping: after.fingerprint) })
            }
            bytes += commit.record.count
            selection.index += 1
        }
        if selection.index == places.count, let migration {
            let token = migration.token
            records.append(
                migration.record.withUnsafeBytes { Self.part($0, after: newest, keeping: token.fingerprint) })
            self.migration = nil
        }
        return records.isEmpty ? nil : records
    }

    private static func part(
        _ record: UnsafeRawBufferPointer, after token: HistoryToken, keeping fingerprint: UInt64?
    ) -> Journal.Record {
        let commit = CheckpointRecord.RetainedCommit(record, after: token.fingerprint, keeping: fingerprint)
        return Journal.Record(kind: .snapshotChunk, payload: commit.payload)
    }

    private mutating func convert(_ record: UnsafeRawBufferPointer, at offset: UInt64) throws(GraphError) -> [UInt8] {
        do {
            return try migration?.conversion.convert(record) ?? []
        } catch {
            throw .invalidRecord(
                path: file.path, offset: offset, sequence: 0, reason: "while a commit was converted: \(error)")
        }
    }

    private mutating func select() throws(GraphError) -> Selection {
        let commits = try RecordedCommits(file, since: nil, through: newest)
        let count = commits.places.count
        let allCount = count + (migration == nil ? 0 : 1)
        func candidate(_ index: Int) -> HistoryRetention.Candidate? {
            guard index < count else {
                return HistoryRetention.Candidate(
                    number: newest.commit.next, lengthBytes: migration?.record.count ?? 0)
            }
            let (number, length) = (commits.token(after: index).commit, commits.lengthBytes(at: index))
            guard number > request.deletedThrough, length <= UInt64(JournalFormat.payloadLimitBytes) else { return nil }
            return HistoryRetention.Candidate(number: number, lengthBytes: Int(length))
        }
        let (retention, unreadSince) = (request.retention, request.unreadSince)
        var index = allCount - retention.retainedCount(of: allCount, unreadSince: unreadSince, candidate)
        if let oldestTime = request.retention.oldestTime(at: request.now) {
            var window = file.window()
            let firstUnread = allCount - retention.unreadCount(of: allCount, unreadSince: unreadSince, candidate)
            while index < min(count, firstUnread) {
                let record = try commits.commit(at: index, in: &window).record
                guard let head = try? CommitRecord.head(of: record), head.time < oldestTime else { break }
                index += 1
            }
        }
        index = try firstConvertible(of: commits, from: index)
        let oldest = index > count ? migration?.token : commits.token(before: index)
        let result = Selection(commits: commits, index: index, oldest: oldest ?? newest)
        selection = result
        return result
    }

    /// The index behind the last commit that a migration cannot convert.
    private mutating func firstConvertible(of commits: RecordedCommits, from first: Int) throws(GraphError) -> Int {
        guard var conversion = migration?.conversion else { return first }
        var window = commits.file.window()
        var result = first
        for index in first..<max(first, commits.places.count) {
            let commit = try commits.commit(at: index, in: &window)
            var bytes: Int?
            do {
                bytes = try conversion.convert(commit.record).count
            } catch is UnreadableValue {
                hasUnreadableValues = true
            } catch {}
            if bytes ?? .max > JournalFormat.payloadLimitBytes - CheckpointRecord.RetainedCommit.headBytes {
                result = index + 1
            }
            if index & 1_023 == 0, Task.isCancelled { throw .cancelled }
        }
        migration?.conversion = conversion
        return result
    }
}

extension RecordedCommits {
    /// Of the state that a commit leads away from.
    func token(before index: Int) -> HistoryToken { index == 0 ? start : token(after: index - 1) }

    func token(after index: Int) -> HistoryToken {
        HistoryToken(
            commit: CommitNumber(start.commit.number + UInt64(index) + 1), store: start.store,
            fingerprint: places[index].fingerprint)
    }

    /// Up to the next commit.
    fileprivate func lengthBytes(at index: Int) -> UInt64 {
        (index + 1 < places.count ? places[index + 1].offset : endOffset) - places[index].offset
    }
}
