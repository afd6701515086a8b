import Synchronization

/// The saves that wait for the disk: group commit (DeWitt et al. 1984) with the first to come as the leader.
///
/// Saves that arrive while a group is being written form the next one, which goes to the file with one sync. No task of its
/// own does the writing: the first save of a group writes for all of it, then hands the next group to its first save.
struct CommitQueue {
    /// What a waiting save is told.
    enum Turn: Sendable {
        /// Write the next group; this save is its first.
        case lead
        case done(Result<Void, GraphError>)
    }

    /// One save's place.
    struct Entry {
        /// The state to publish once it is durable; nil for one who only waits until what came before is durable.
        var step: PublishedSnapshot.Step?
        var record: [UInt8]?
        /// The row counters in that record.
        var counters: [RowNumber]?
        /// Up to where everything is to be written, or synced, when this is answered.
        var durability = Durability.none
        /// Whether the save has returned, and its state is published. Nobody waits for such an entry.
        var isPublished = false
        var trace: CommitTrace?
        /// Whether this is nobody's save, but the turn of something that has to run between two groups. It leads always, and a
        /// group of its own.
        var isExclusive = false
        /// Where the save waits; nil if it leads.
        fileprivate(set) var ticket: CommitTicket?

        var recordBytes: Int { record.map { JournalFormat.frameBytes(payloadBytes: $0.count) } ?? 0 }

        func answer(_ result: Result<Void, GraphError>) {
            ticket?.give(.done(result))
        }
    }

    private var entries: [Entry] = []
    /// The length of the records in it.
    private(set) var bytes = 0
    /// Whether the disk was full when the first ones, which are published, were to be written.
    private(set) var isStalled = false
    /// How many close the store. What is published must be written then, so no more is published before it is written.
    var closingCount = 0
    /// Whether somebody is leading.
    private(set) var isBusy = false
    private var lastGroupCount = 0
    /// How many were here when the leader last gave way, and how often in a row that has brought nobody.
    private var (lastSeen, idleTurns) = (0, 0)

    private static let idleTurnLimit = 8
    /// So many bytes may wait to be written after their saves have returned. With the record of the save that leads, they fit into
    /// one group.
    private static let publishedLimitBytes = 8 << 20

    var count: Int { entries.count }

    /// Whether a save may return before it is written.
    func hasRoom(for entry: Entry) -> Bool {
        !isStalled && closingCount == 0 && bytes + entry.recordBytes <= Self.publishedLimitBytes
    }

    /// Puts a save in line and returns what it waits for; nil if it leads at once, or is published: then somebody has to lead if
    /// nobody does.
    mutating func append(_ entry: Entry) -> CommitTicket? {
        var entry = entry
        if isBusy, !entry.isPublished { entry.ticket = CommitTicket() }
        // What does not save need not wait for room on the disk.
        entries.insert(entry, at: entry.isExclusive && !isBusy ? 0 : entries.count)
        bytes += entry.recordBytes
        isBusy = true
        return entry.ticket
    }

    /// Whether the leader is to let others run before it takes the group.
    ///
    /// Saves that were answered together tend to come back together, and the first to be back would sync alone while the others
    /// are on their way: every second group would be one save. So the leader gives way while fewer are here than were in the
    /// last group, but not when that has brought nobody for a few turns. Timers do the same by a guess (Helland et al. 1987).
    mutating func isWorthWaiting() -> Bool {
        guard entries.count < lastGroupCount else { return false }
        idleTurns = entries.count == lastSeen ? idleTurns + 1 : 0
        lastSeen = entries.count
        return idleTurns < Self.idleTurnLimit
    }

    /// Takes all that wait, for the leader to write; no more than the first ones whose records take so many bytes in the file,
    /// but always one.
    mutating func takeGroup(limitBytes: Int = .max) -> [Entry] {
        var (end, bytes) = (0, 0)
        while end < entries.count {
            bytes += entries[end].recordBytes
            if end > 0, bytes > limitBytes || entries[end].isExclusive || entries[0].isExclusive { break }
            end += 1
        }
        let group = Array(entries[..<end])
        entries.removeFirst(end)
        self.bytes -= group.reduce(0) { $0 + $1.recordBytes }
        (lastGroupCount, lastSeen, idleTurns) = (group.count { $0.record != nil }, 0, 0)
        return group
    }

    mutating func takeAll() -> [Entry] {
        defer { (entries, bytes) = ([], 0) }
        return entries
    }

    /// Takes all that wait for an answer.
    ///
    /// - Parameter published: of the group that could not be written, to be kept with the others, until there is room.
    mutating func takeWaiting(keeping published: [Entry]) -> [Entry] {
        let waiting = entries.filter { !$0.isPublished }
        entries = published + entries.filter(\.isPublished)
        bytes = entries.reduce(0) { $0 + $1.recordBytes }
        return waiting
    }

    /// Ends the leader's turn: the next in line leads, or nobody. Returns whether somebody has to lead, because the next save
    /// has been answered already.
    mutating func passOn() -> Bool {
        isStalled = false
        guard !entries.isEmpty else {
            isBusy = false
            return false
        }
        guard let ticket = entries[0].ticket else { return true }
        ticket.give(.lead)
        entries[0].ticket = nil
        return false
    }

    /// Ends the leader's turn after it found the disk full: the next one to come tries again.
    mutating func stall() {
        isStalled = !entries.isEmpty
        isBusy = false
    }
}

/// Where a save waits for its turn. One that is only to be answered does so where it was called from: an answer that went by the
/// coordinator would cost all of a group a place in the coordinator's line.
final class CommitTicket: Sendable {
    private enum State {
        case open
        case waiting(CheckedContinuation<CommitQueue.Turn, Never>)
        case given(CommitQueue.Turn)
    }

    private let state = Mutex(State.open)

    /// To be called once.
    nonisolated(nonsending) func turn() async -> CommitQueue.Turn {
        await withCheckedContinuation { continuation in
            let given: CommitQueue.Turn? = state.withLock { state in
                if case .given(let turn) = state { return turn }
                state = .waiting(continuation)
                return nil
            }
            if let given { continuation.resume(returning: given) }
        }
    }

    fileprivate func give(_ turn: CommitQueue.Turn) {
        let waiting: CheckedContinuation<CommitQueue.Turn, Never>? = state.withLock { state in
            defer { state = .given(turn) }
            if case .waiting(let continuation) = state { return continuation }
            return nil
        }
        waiting?.resume(returning: turn)
    }
}
