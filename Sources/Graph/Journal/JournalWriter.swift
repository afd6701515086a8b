/// Appends groups of records to an open journal: one write each, and one sync unless the group can wait for that of a later one.
///
///     open ──write──▶ open        the group is durable, or will be with the next sync
///       ├──disk full──▶ open      the group's bytes are zeros again, nothing was applied
///       ├──any other error──▶ failed    for good; only reopening shows whether the group was written
///       └──close──▶ closed
///
/// Invariants while open:
/// 1. Everything before `end` is valid records; what was written before the last sync is durable.
/// 2. From `end` to `fileEnd`, the length of the file, there are only zeros.
/// 3. `durableThrough` is the last sequence covered by a sync that returned without an error.
struct JournalWriter: Sendable {
    enum Phase: Sendable, Equatable {
        case open
        case failed(reason: String)
        case closed
    }

    private static let blockBytes = JournalFormat.allocationAlignment

    var syncTimes = SyncTimes()
    private(set) var phase = Phase.open
    private(set) var end: UInt64
    private(set) var fileEnd: UInt64
    private(set) var lastSequence: JournalSequence
    private(set) var durableThrough: JournalSequence
    /// The length of the groups that no sync has covered yet, but of marks, which need none.
    private(set) var unsyncedBytes: UInt64 = 0
    private(set) var chain: UInt32
    private let file: any StoreFile
    private let names: JournalNames
    private let path: String
    private let fileID: StoreID
    private let salt: UInt32
    private let lockFile: (any StoreFile)?
    private let options: JournalOptions
    /// In which of the successive blocks the zeros ahead end; see `allocationChoices`.
    private let endingBlock: UInt64

    /// Continues a file that ends with its last record, all of it durable.
    ///
    /// - Parameter lengthFound: the file's length when it was opened. Another writer that has it open in spite of all locks
    ///   expects that length, or one like it: zeros ahead never end there, so that it notices.
    /// - Parameter lockFile: where the end is stored; nil for nowhere.
    init(
        file: any StoreFile, names: JournalNames, path: String, header: JournalHeader, end: UInt64, lengthFound: UInt64,
        lastSequence: JournalSequence, chain: UInt32, lockFile: (any StoreFile)?, options: JournalOptions
    ) {
        let found = lengthFound / Self.blockBytes & (options.allocationChoices - 1)
        let choice = options.random() % (options.allocationChoices - 1)
        endingBlock = choice < found ? choice : choice + 1
        self.file = file
        self.names = names
        self.path = path
        fileID = header.fileID
        salt = header.salt
        self.lockFile = lockFile
        self.end = end
        self.fileEnd = end
        self.lastSequence = lastSequence
        self.durableThrough = lastSequence
        self.chain = chain
        self.options = options
    }

    /// Writes the records as one group.
    ///
    /// - Parameter durably: whether to sync. Without it the records may be lost, but never out of order. Much that is not synced is
    ///   synced nevertheless: recovery reads no more behind the last record than `JournalFormat.unfinishedLimitBytes`.
    /// - Throws: `outcomeUnknown` if the group may or may not be found when the file is opened again; every other error
    ///   means that it certainly was not and will not be applied.
    mutating func write(_ records: [Journal.Record], durably: Bool = true) throws(GraphError) {
        try requireOpen()
        try requireLengths(of: records)
        guard !records.isEmpty else { return }
        try requireSameFile()
        try append(records, zerosAhead: records.contains { $0.kind != .mark }, durably: durably)
    }

    /// Makes all that was written durable.
    ///
    /// - Throws: `outcomeUnknown` if the records since the last sync may or may not be found when the file is opened again.
    mutating func sync() throws(GraphError) {
        try requireOpen()
        guard unsyncedBytes > 0 else { return }
        try requireSameFile()
        do throws(IOError) {
            try timedSync()
        } catch {
            throw fail(error)
        }
        didSync()
    }

    private mutating func timedSync() throws(IOError) {
        let start = ContinuousClock.now
        try file.dataSync()
        syncTimes.add(ContinuousClock.now - start)
    }

    private mutating func didSync(isClosed: Bool = false) {
        durableThrough = lastSequence
        unsyncedBytes = 0
        rememberEnd(isClosed: isClosed)
    }

    /// Ends the file with a close record and cuts off the zeros ahead.
    ///
    /// Whatever it throws, the writer is closed and every earlier group is as durable as it was.
    mutating func close(_ payload: [UInt8]) throws(GraphError) {
        if phase == .closed { return }
        defer { phase = .closed }
        // After a failure the file is not touched again: the next open finds out what it holds.
        guard phase == .open else { return }
        let record = Journal.Record(kind: .close, payload: payload)
        try requireLengths(of: [record])
        try requireSameFile()
        try append([record], zerosAhead: false, durably: true)
        guard fileEnd > end else { return }
        do throws(IOError) {
            try repeatingInterrupted { () throws(IOError) in try file.truncate(to: end) }
            try file.dataSync()
        } catch {
            throw error.graphError(path: path)
        }
    }

    /// Fails if nothing may be written any more, as `write` does. If that cannot be found out, the next group has to.
    mutating func requireUsable() throws(GraphError) {
        try requireOpen()
        let difference: String?
        do throws(IOError) {
            difference = try names.difference(lengthBytes: fileEnd)
        } catch {
            throw error.graphError(path: path)
        }
        if let difference { throw endForGood(difference) }
    }

    /// Takes no more groups, for a reason outside the file.
    mutating func endForGood(_ reason: String) -> GraphError {
        phase = .failed(reason: reason)
        return .storeFailed(path: path, reason: reason)
    }

    /// Stores the end of what is durable in the lock file. It tells followers how far they may read, and reveals damage that would
    /// be hard to find otherwise; whatever is written succeeds without it.
    func rememberEnd(isClosed: Bool = false) {
        let remembered = JournalEnd(
            fileID: fileID, sequence: lastSequence, offset: end, chain: chain, isClosed: isClosed)
        if let lockFile { try? remembered.write(to: lockFile) }
    }

    private func requireOpen() throws(GraphError) {
        switch phase {
        case .open: return
        case .failed(let reason): throw .storeFailed(path: path, reason: reason)
        case .closed: throw .closed(path: path)
        }
    }

    private func requireLengths(of records: [Journal.Record]) throws(GraphError) {
        let limit = min(options.transactionLimitBytes, JournalFormat.payloadLimitBytes)
        for record in records where record.payload.count > limit {
            throw .transactionTooLarge(lengthBytes: record.payload.count, limitBytes: limit)
        }
    }

    /// Fails if the file or its lock file was removed, moved, replaced, truncated or extended, which ends all promises.
    private mutating func requireSameFile() throws(GraphError) {
        let difference: String?
        do throws(IOError) {
            difference = try names.difference(lengthBytes: fileEnd)
        } catch {
            phase = .failed(reason: error.summary)
            throw error.graphError(path: path)
        }
        guard let difference else { return }
        phase = .failed(reason: difference)
        throw .storeFailed(path: path, reason: difference)
    }

    private mutating func append(
        _ records: [Journal.Record], zerosAhead: Bool, durably: Bool
    ) throws(GraphError) {
        var group = ByteWriter(
            capacity: records.reduce(0) { $0 + JournalFormat.frameBytes(payloadBytes: $1.payload.count) })
        var sequence = lastSequence
        var nextChain = chain
        for record in records {
            sequence = sequence.next
            nextChain = JournalFrame.append(
                record, sequence: sequence, durableThrough: durableThrough, chain: nextChain, salt: salt, to: &group)
        }
        let groupEnd = end + UInt64(group.count)
        let durably = durably || unsyncedBytes + UInt64(group.count) > JournalFormat.unsyncedLimitBytes
        do throws(IOError) {
            try file.writeFully(group.bytes, at: end)
        } catch {
            throw reject(error, through: groupEnd)
        }
        var newFileEnd = max(fileEnd, groupEnd)
        do throws(IOError) {
            if zerosAhead, groupEnd > fileEnd { newFileEnd = try allocate(after: groupEnd) }
            if durably { try timedSync() }
        } catch {
            throw fail(error)
        }
        end = groupEnd
        fileEnd = newFileEnd
        lastSequence = sequence
        chain = nextChain
        if durably {
            didSync(isClosed: records.last?.kind == .close)
        } else if records.contains(where: { $0.kind != .mark }) {
            unsyncedBytes += UInt64(group.count)
        }
    }

    /// Writes zeros behind a group that has reached the end of the file, to be synced with it.
    ///
    /// A disk too full for them does not fail the group.
    private func allocate(after groupEnd: UInt64) throws(IOError) -> UInt64 {
        let ahead = min(max(groupEnd, options.allocationMinimumBytes), options.allocationMaximumBytes)
        let blocks = (groupEnd + ahead + Self.blockBytes - 1) / Self.blockBytes
        let target = (blocks + (endingBlock &- blocks) & (options.allocationChoices - 1)) * Self.blockBytes
        do throws(IOError) {
            try file.writeZeros(groupEnd..<target)
            return target
        } catch {
            guard error.reason == .diskFull else { throw error }
            try repeatingInterrupted { () throws(IOError) in try file.truncate(to: groupEnd) }
            return groupEnd
        }
    }

    /// Takes back a group that found no space.
    ///
    /// Its bytes carry this file's salt and the next sequences, so they must not reappear: they are overwritten and synced
    /// before the file is cut.
    private mutating func reject(_ error: IOError, through groupEnd: UInt64) -> GraphError {
        guard error.reason == .diskFull else { return fail(error) }
        do throws(IOError) {
            let length = try repeatingInterrupted { () throws(IOError) in try file.status().lengthBytes }
            var isZero = true
            do throws(IOError) {
                let rejectedEnd = min(groupEnd, length)
                if rejectedEnd > end { try file.writeZeros(end..<rejectedEnd) }
            } catch {
                guard error.reason == .diskFull else { throw error }
                isZero = false
            }
            try file.dataSync()
            if unsyncedBytes > 0 { didSync() }
            let target = isZero ? fileEnd : end
            if length != target {
                try repeatingInterrupted { () throws(IOError) in try file.truncate(to: target) }
                try file.dataSync()
                fileEnd = target
            }
            return .diskFull(path: path)
        } catch {
            return fail(error)
        }
    }

    private mutating func fail(_ error: IOError) -> GraphError {
        phase = .failed(reason: error.summary)
        return .outcomeUnknown(path: path, reason: error.summary)
    }
}
