/// Goes from commit to commit of a file, in either direction.
///
/// It reads the file in pieces, and holds one state.
struct CommitWalk: ~Copyable {
    /// One commit.
    struct Passed {
        let head: CommitRecord.Head
        /// nil unless they were asked for.
        let changes: CommitChanges?
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

    /// - Parameters:
    ///   - end: the state after the last one of the commits.
    ///   - isWhole: whether a state of the walk becomes a snapshot.
    init(_ commits: RecordedCommits, from end: Snapshot, isWhole: Bool = false) {
        self.commits = commits
        step = CommitStep(PastState(end, isWhole: isWhole), path: commits.file.path)
        position = commits.places.count
        window = commits.file.window()
    }

    var state: PastState { step.state }
    var isAtStart: Bool { position == 0 }
    var isAtEnd: Bool { position == commits.places.count }

    /// The commit ahead, with what it changed; nil at the end.
    mutating func goOn() throws(GraphError) -> Passed? {
        guard !isAtEnd else { return nil }
        let passed = try pass(position, isBack: false, keepsChanges: true)
        position += 1
        return passed
    }

    /// The commit behind, which is ahead then; nil at the start.
    ///
    /// - Parameter keepsChanges: whether what the commit changed is asked for.
    mutating func goBack(keepsChanges: Bool = true) throws(GraphError) -> Passed? {
        guard !isAtStart else { return nil }
        try hold(before: position)
        let passed = try pass(position - 1, isBack: true, keepsChanges: keepsChanges)
        position -= 1
        return passed
    }

    /// Goes back to the state after a commit, which is faster than going from one to the next.
    mutating func goBack(to commit: CommitNumber) throws(GraphError) {
        while state.commit > commit, try goBack(keepsChanges: false) != nil {
            if position & 1_023 == 0, Task.isCancelled { throw .cancelled }
        }
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
        _ index: Int, isBack: Bool, keepsChanges: Bool
    ) throws(GraphError) -> Passed {
        let (file, offset) = (commits.file, commits.places[index].offset)
        let tokens = (before: commits.token(before: index), after: commits.token(after: index))
        let record = try commits.commit(at: index, in: &window).record
        do {
            var changes = keepsChanges ? CommitChanges(state.schema, tokens) : nil
            try step.apply(record, isBack: isBack, keeping: &changes)
            step.state.token = isBack ? tokens.before : tokens.after
            return Passed(head: try CommitRecord.head(of: record), changes: changes, bytes: record.count)
        } catch let error as GraphError {
            throw error
        } catch {
            let reason = "while history was read: \((error as? ByteReader.Failure)?.reason ?? "\(error)")"
            throw .invalidRecord(path: file.path, offset: offset, sequence: 0, reason: reason)
        }
    }
}
