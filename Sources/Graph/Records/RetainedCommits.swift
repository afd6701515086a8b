/// Which commits a new generation retains.
struct RetentionRequest: Sendable {
    var retention: HistoryRetention
    /// The last commit that every consumer has read; nil without consumers.
    var unreadSince: CommitNumber?
    /// None up to this one.
    var deletedThrough = CommitNumber.none
    /// In nanoseconds since 1970.
    var now: UInt64
}

/// The newest commits of a file, as parts of the checkpoint of its next generation.
struct RetainedCommits: JournalRecordSource {
    private let file: JournalFile
    private let newest: HistoryToken
    private let request: RetentionRequest
    private var selection: Selection?

    private struct Selection {
        let commits: RecordedCommits
        /// Of the next one.
        var index: Int
        /// The state that the first retained commit leads away from.
        var oldest: HistoryToken
    }

    /// - Parameter newest: of the checkpoint's state, which the file has.
    init(_ file: JournalFile, through newest: HistoryToken, _ request: RetentionRequest) {
        (self.file, self.newest, self.request) = (file, newest, request)
    }

    /// The oldest state that the new generation leads back to.
    var oldest: HistoryToken { selection?.oldest ?? newest }

    /// Reads all commits of the file, to find out which ones are retained.
    func selected() async throws(GraphError) -> RetainedCommits {
        try await Journal.onExecutor { () throws(GraphError) in
            var copy = self
            copy.selection = try select()
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
            let commit = try selection.commits.record(at: selection.index, in: &window)
            let before = selection.commits.token(before: selection.index).fingerprint
            records.append(
                Journal.Record(kind: .snapshotChunk, payload: CheckpointRecord.retained(commit, after: before)))
            bytes += commit.count
            selection.index += 1
        }
        return records.isEmpty ? nil : records
    }

    private func select() throws(GraphError) -> Selection {
        let commits = try RecordedCommits(file, since: nil, through: newest)
        let count = commits.places.count
        let retained = request.retention.retainedCount(of: count, unreadSince: request.unreadSince) { index in
            let (number, length) = (commits.token(after: index).commit, commits.lengthBytes(at: index))
            guard number > request.deletedThrough, length <= UInt64(JournalFormat.payloadLimitBytes) else { return nil }
            return HistoryRetention.Candidate(number: number, lengthBytes: Int(length))
        }
        var index = count - retained
        if let oldestTime = request.retention.oldestTime(at: request.now) {
            var window = file.window()
            let unread = request.unreadSince ?? newest.commit
            while index < count, commits.token(after: index).commit <= unread {
                let record = try commits.record(at: index, in: &window)
                guard let head = try? CommitRecord.head(of: record), head.time < oldestTime else { break }
                index += 1
            }
        }
        return Selection(commits: commits, index: index, oldest: commits.token(before: index))
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
