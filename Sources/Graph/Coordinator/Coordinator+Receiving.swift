/// Commits of the store of which this one is a copy, and the end of being one.
extension Coordinator {
    /// Takes over what a log says, in its order. What the store has already is passed over. Durable when it returns.
    ///
    /// - Parameters:
    ///   - log: its next records.
    ///   - position: where the log is before them.
    ///   - isNewest: whether no other log has begun.
    /// - Returns: where it is behind them.
    /// - Throws: `.historyDiverged`, if the store has other commits than the log, or was promoted; `.invalidLog`;
    ///   `.schemaMismatch`, `.valueNotReadable`; and what a save throws for reasons of the file. What comes before the record
    ///   that is wrong is taken over.
    func receive(
        _ log: [LogRecord], at position: HistoryToken, while isNewest: @Sendable () -> Bool
    ) async throws(GraphError) -> HistoryToken {
        try await withTurn(isReceiving: true) { () throws(GraphError) in
            guard case .received = self.state.storage else { throw .historyDiverged(position) }
            guard isNewest() else { throw .invalidLog(reason: "another one has begun, which goes on instead") }
            var receiving = ReceivedRecords(self.replay, at: position)
            var failure: GraphError?
            do throws(GraphError) {
                for record in log { try receiving.take(record) }
                try receiving.addNotes()
            } catch {
                failure = error
            }
            try await self.take(receiving)
            if let failure { throw failure }
            return receiving.position
        }
    }

    /// Has the store take saves from here on, in a commit of its own, with which a new history begins: the store of which this one
    /// was a copy cannot have it. Durable when it returns.
    func promote(author: String?, durability: Durability) async throws(GraphError) {
        try await withTurn(isReceiving: true) { () throws(GraphError) in
            guard case .received = self.state.storage else { return }
            var promotion = ReceivedRecords(self.replay, at: self.written.snapshot.token)
            try promotion.addSchema()
            let (time, counters) = (PosixFileSystem.nanosecondsSince1970(), self.written.counters)
            try promotion.addEmptyCommit(author: author, time: time, counters: counters)
            // The last one of the log's writers may go on. In one group: no promoted store uses its row numbers.
            let hadWriters = RowCounters.lastWriter(counters) > 0
            let next = hadWriters ? try? self.nextWriter() : nil
            if let next {
                try promotion.addEmptyCommit(author: "writer \(next.writer)", time: time, counters: next.counters)
            }
            try await self.take(promotion)
            self.state.promote(self.written.snapshot, durability: durability)
            if hadWriters, next == nil { self.state.limitCounters(to: 0) }
        }
    }

    /// To go on from the state that is written.
    var replay: StoreReplay {
        StoreReplay(
            from: written.snapshot, counters: written.counters, schemaRecord, consumers: consumers, path: path)
    }

    private func take(_ received: ReceivedRecords) async throws(GraphError) {
        guard !received.records.isEmpty else { return }
        try await append(received.records)
        let replay = received.replay
        written = (replay.snapshot, replay.counters)
        (syncedCommit, schemaRecord) = (replay.snapshot.commit, replay.fileRecord)
        noteUnread(in: replay)
        consumers = replay.consumers.mapValues { [storeID] in $0.of(storeID) }
        counters.raise(to: replay.counters)
        published.publish(received.steps)
        startMarkTimer()
        compactIfWorthwhile()
    }

    /// A compaction would write the state without what the program's types have not read.
    func noteUnread(in replay: StoreReplay) {
        if !replay.unreadProperties.isEmpty { unreadCommit = replay.snapshot.commit }
    }
}

/// Records of a log, and what they make of a state.
struct ReceivedRecords {
    private(set) var replay: StoreReplay
    /// Of the log.
    private(set) var position: HistoryToken
    /// For the store's file.
    private(set) var records: [Journal.Record] = []
    private(set) var steps: [PublishedSnapshot.Step] = []
    /// What the log says of schema and consumers by now. A log that begins earlier repeats what the store has had, and what came of
    /// it; only that counts.
    private var schema: [UInt8]?
    private var consumers: [String: HistoryToken]

    init(_ replay: StoreReplay, at position: HistoryToken) {
        (self.replay, self.position, consumers) = (replay, position, replay.consumers)
    }

    private var own: HistoryToken { replay.snapshot.token }

    /// Takes the next record. If it throws, what was taken before stays.
    mutating func take(_ record: LogRecord) throws(GraphError) {
        guard position.commit != own.commit || position == own else { throw .historyDiverged(position) }
        guard record.kind == .commit else {
            // The store has what was recorded before its last commit.
            guard position.commit == own.commit else { return }
            return try note(record)
        }
        var next = position
        guard let head = try? CommitRecord.head(of: record.payload), head.number == position.commit.next,
            record.fingerprint == position.fingerprint
        else { throw .invalidLog(reason: "behind commit \(position.commit) comes a commit that does not follow it") }
        next.commit = head.number
        record.payload.withUnsafeBytes { next.add($0) }
        if position.commit == own.commit {
            try addNotes()
            try add(Journal.Record(kind: .commit, payload: record.payload))
            steps.append(
                PublishedSnapshot.Step(
                    snapshot: replay.snapshot, origin: ChangeOrigin(head), time: head.time,
                    rowCount: replay.changedRowCount))
        } else if next.commit == own.commit, next != own {
            throw .historyDiverged(next)
        }
        position = next
    }

    private mutating func note(_ record: LogRecord) throws(GraphError) {
        switch record.kind {
        case .commit: break
        case .schema: schema = record.payload
        case .consumer, .consumers:
            guard (try? noteConsumers(record)) != nil else {
                throw .invalidLog(reason: "its consumers of history are unsound")
            }
        case .counters:
            let counters = replay.counters
            try add(Journal.Record(kind: .mark, payload: record.payload))
            // What comes again says nothing new.
            if replay.counters == counters { records.removeLast() }
        }
    }

    private mutating func noteConsumers(_ record: LogRecord) throws {
        if record.kind == .consumers {
            consumers = try LogRecord.readConsumers(record.payload)
        } else {
            let (name, token) = try record.payload.withUnsafeBytes { payload in
                var reader = ByteReader(payload)
                return try ConsumerRecord.read(&reader)
            }
            consumers[name] = token
        }
    }

    /// Records schema and consumers where they are others than the store's.
    mutating func addNotes() throws(GraphError) {
        if let schema, schema != replay.fileRecord.bytes {
            try add(Journal.Record(kind: .schema, payload: schema))
        }
        schema = nil
        let names = Set(consumers.keys).union(replay.consumers.keys)
        for name in names.sorted() where consumers[name]?.position != replay.consumers[name]?.position {
            let payload = ConsumerRecord.encode(name, consumers[name])
            records.append(Journal.Record(kind: .consumer, payload: payload))
        }
        replay.consumers = consumers
    }

    private mutating func add(_ record: Journal.Record) throws(GraphError) {
        var replay = replay
        do throws(GraphError) {
            try replay.apply(record.kind, record.payload)
            if record.kind == .schema { _ = try replay.recordsToAppend() }
        } catch {
            guard case .invalidRecord(_, _, _, let reason) = replay.explained(error) else {
                throw replay.explained(error)
            }
            throw .invalidLog(reason: "behind commit \(own.commit) comes what does not fit: \(reason)")
        }
        self.replay = replay
        records.append(record)
    }

    /// Has the file say the program's names.
    mutating func addSchema() throws(GraphError) {
        for record in try replay.recordsToAppend() { try add(record) }
    }

    /// Adds a commit that changes nothing.
    mutating func addEmptyCommit(author: String?, time: UInt64, counters: [RowNumber]) throws(GraphError) {
        var state = WorkingState(base: replay.snapshot)
        state.number(own.commit.next)
        let payload = try CommitRecord.encode(state, counters: counters, time: time, author: author ?? "")
        try take(LogRecord(kind: .commit, payload: payload, fingerprint: own.fingerprint))
    }
}

extension HistoryToken {
    /// What a record has of it.
    fileprivate var position: [UInt64] { [commit.number, fingerprint] }
}
