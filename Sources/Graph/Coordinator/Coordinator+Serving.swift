/// The newest commits of a file, as a log has them: those who follow it ask for one after the other.
struct ServedRecords {
    private static let limitBytes = 4 << 20

    let schema: UInt64
    private var records: [SharedRecord] = []
    private var bytes = 0

    init(_ schema: Schema) {
        self.schema = SharedRecord.schemaNumber(schema)
    }

    /// Takes in the commits of a group that was written.
    mutating func add(_ group: [CommitQueue.Entry], after token: HistoryToken) {
        var before = token
        for entry in group {
            guard let payload = entry.record, let token = entry.step?.snapshot.token else { continue }
            records.append(SharedRecord(payload, token, after: before, schema: schema))
            bytes += payload.count
            before = token
        }
        guard bytes > Self.limitBytes else { return }
        // Half of them, so that not each commit moves all that stay.
        var dropped = 0
        while bytes > Self.limitBytes / 2, dropped < records.count {
            bytes -= records[dropped].payloadBytes
            dropped += 1
        }
        records.removeFirst(dropped)
    }

    /// Those behind a commit; nil if it is not among them, or the last one.
    func records(after commit: CommitNumber) -> ArraySlice<SharedRecord>? {
        guard let first = records.first?.token.commit, commit >= CommitNumber(first.number - 1) else { return nil }
        let place = Int(commit.number + 1 - first.number)
        return place < records.count ? records[place...] : nil
    }
}

/// How often in a row programs that save to a log were too late.
///
/// A large save takes longer to be checked than the store's own saves leave between each other, and would never be first. So the
/// store's own give way: from the third time on they wait for an append, twice as long each time, until one is in time.
struct LateAppends {
    private var count = 0
    private var last: ContinuousClock.Instant?
    /// How long the next saves wait at most.
    var pauseMilliseconds = 0
    /// How many saves wait.
    var waitingCount = 0

    mutating func add() {
        let now = ContinuousClock.now
        // Who was late long ago has ended, or was in time elsewhere.
        if let last, now - last > .seconds(5) { count = 0 }
        (count, last) = (count + 1, now)
        if count > 2 { pauseMilliseconds = 1 << min(count - 2, 10) }
    }

    mutating func end() { (count, pauseMilliseconds) = (0, 0) }
}

extension Coordinator {
    /// So many bytes are read together, or one record.
    private static let readBytes = 1 << 20

    /// Appends commits that were made elsewhere.
    func append(_ records: [[UInt8]], after commit: CommitNumber) async throws(GraphError) -> Int {
        if let reason = state.ending ?? state.storage.refusal { throw reason }
        let schema = servedSchema
        // Nothing suspends from here to the end of the loop, so that the records follow one another.
        var (isLeading, tickets): (Bool, [CommitTicket]) = (false, [])
        var failure: GraphError?
        do throws(GraphError) {
            let follows = state.commits.head.commit == commit
            for bytes in records {
                let record = try SharedRecord(bytes, of: storeID, schema: schema, path: path)
                guard follows, let admitted = try state.admit(record, schemaRecord, path: path) else { break }
                if admitted.hasUnreadValues { unreadCommit = record.token.commit }
                if case .waits(let ticket) = admitted.admission { tickets.append(ticket) } else { isLeading = true }
            }
        } catch {
            failure = error
        }
        var count = 0
        do throws(GraphError) {
            if isLeading {
                try await lead().get()
                count += 1
            }
            for ticket in tickets {
                try await turn(of: ticket).get()
                count += 1
            }
        } catch {
            if count == 0 { throw error }
        }
        if count > 0 {
            lateAppends.end()
            return count
        }
        if state.commits.head.commit > commit { lateAppends.add() }
        // The refusal may rest on a commit that is not written yet.
        try await waitForPublication()
        if let failure { throw failure }
        return 0
    }

    /// Has a save of the store's own wait for an append that was too late too often, unless the store closes.
    func giveWay() async {
        lateAppends.waitingCount += 1
        defer { lateAppends.waitingCount -= 1 }
        let start = ContinuousClock.now
        var waited = 0
        while waited < lateAppends.pauseMilliseconds, state.queue.closingCount == 0,
            ContinuousClock.now - start < .milliseconds(lateAppends.pauseMilliseconds)
        {
            // The save's own task may be cancelled, and would not sleep.
            await Task(executorPreference: taskExecutor) { [clock] in
                try? await clock.sleep(for: .milliseconds(1))
            }.value
            waited += 1
        }
        lateAppends.pauseMilliseconds = 0
    }

    /// Returns when the saves that give way have gone on.
    func endGivingWay() async {
        while lateAppends.waitingCount > 0 { await Task.yield() }
    }

    /// What the file has behind a commit, durable.
    func records(after commit: CommitNumber) async throws(GraphError) -> [[UInt8]] {
        guard let journal else { throw .unusableFile(path: path, reason: "a log of commits needs a file of its own") }
        let schema = servedSchema
        if let reason = commitsInDoubt ?? state.ending { throw reason }
        let wanted = published.value.commit
        while syncedCommit < wanted { try await sync() }
        let (newest, durable) = (written.snapshot.token, syncedCommit)
        guard commit < durable else { return [] }
        if let records = servedRecords?.records(after: commit) {
            servedFile = nil
            var bytes = 0
            return records.prefix { record in
                defer { bytes += record.bytes.count }
                return bytes < Self.readBytes && record.token.commit <= durable
            }.map(\.bytes)
        }
        // A program that reads further back goes on where the last piece ended.
        let commits: RecordedCommits
        if let known = servedFile, known.hasCommit(after: commit) {
            commits = known
        } else {
            let file = try await journal.openToRead()
            commits = try await Journal.onExecutor { () throws(GraphError) in
                try RecordedCommits(file, since: nil, through: newest)
            }
        }
        guard commit >= commits.servedStart.commit else { throw .historyExpired(oldest: commits.servedStart) }
        let records = try await Journal.onExecutor { () throws(GraphError) in
            try commits.sharedRecords(after: commit, through: durable, schema: schema, limitBytes: Self.readBytes)
        }
        servedFile = commits
        return records
    }

    /// From the first call on the newest commits are kept.
    private var servedSchema: UInt64 {
        let served = servedRecords ?? ServedRecords(snapshot.schema)
        servedRecords = served
        return served.schema
    }
}

extension RecordedCommits {
    /// Behind the records that a migration has written anew: other programs have these commits from before, as they were.
    fileprivate var servedStart: HistoryToken { token(before: convertedCount) }

    fileprivate func hasCommit(after commit: CommitNumber) -> Bool {
        commit >= start.commit && commit.number - start.commit.number < UInt64(places.count)
    }

    /// - Parameter commit: not before the first one.
    fileprivate func sharedRecords(
        after commit: CommitNumber, through last: CommitNumber, schema: UInt64, limitBytes: Int
    ) throws(GraphError) -> [[UInt8]] {
        var (records, bytes): ([[UInt8]], Int) = ([], 0)
        var window = file.window()
        let first = Int(commit.number - start.commit.number)
        let end = min(places.count, Int(last.number - start.commit.number))
        for index in first..<max(first, end) where bytes < limitBytes {
            let payload = Array(try self.commit(at: index, in: &window).record)
            let tokens = (before: token(before: index), after: token(after: index))
            records.append(SharedRecord(payload, tokens.after, after: tokens.before, schema: schema).bytes)
            bytes += payload.count
        }
        return records
    }
}
