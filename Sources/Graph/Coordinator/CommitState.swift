/// Decides what becomes of a save: checks it against the newest state and merges it. A value without clock, file or
/// suspension, so that every decision can be tested as a function.
struct CommitState: Sendable {
    /// The newest state. Ahead of the published one while a sync is under way.
    private(set) var head: Snapshot
    /// The last commits, each in the place that its number gives it.
    private var recent = [RecentCommit?](repeating: nil, count: recentLimit)

    private struct RecentCommit {
        let origin: ChangeOrigin?
        let changes: RecentChanges

        /// Whether it changed a row; nil if that is not kept.
        func hasChanged(_ id: RowID) -> Bool? {
            switch changes {
            case .rows(let changes): changes.kind(of: id) != nil
            case .states(let before, let after): before.version(of: id) != after.version(of: id)
            case .many: nil
            }
        }
    }

    private enum RecentChanges {
        case rows(ChangeSet)
        /// Of a commit that was made elsewhere.
        case states(before: Snapshot, after: Snapshot)
        /// More than are kept.
        case many
    }

    private static let recentLimit = 32
    private static let recentRowLimit = 1000

    init(head: Snapshot) {
        self.head = head
    }

    /// Checks a save and merges it with what others committed since its base. Head does not move until `accept`.
    ///
    /// - Throws: all offenders of the first stage that finds any: conflicts, then uniqueness, then references, then
    ///   denied deletes, then counts, then what `validate()` refuses.
    func prepare(_ request: SaveRequest) throws(GraphError) -> PreparedCommit {
        let isFastForward = request.state.base.commit == head.commit && !request.state.hasDetachedBases
        var merged = request.state
        var resolved: [RowID] = []
        if isFastForward {
            merged.dropRequirements()
        } else {
            if let reads = request.reads {
                let conflicts = reads.conflicts(of: request, with: head, originOfTheirs: origin(ofChangeOf:))
                guard conflicts.isEmpty else { throw .conflicts(ErrorList(conflicts)) }
            }
            let merge = Merge(
                head: head,
                comparison: .versions,
                policy: request.policy,
                originOfTheirs: origin(ofChangeOf:)
            )
            (merged, resolved) = try merge.run(request.state, origin: request.origin)
        }
        let applied = try merged.applyRules(
            isForgiving: request.policy.kind != .error, uniqueness: request.uniqueness)
        let isEmpty = merged.isUnchanged
        if !isEmpty { merged.number(head.commit.next) }
        var origin = request.origin
        origin.commit = head.commit.next
        return PreparedCommit(
            state: merged,
            origin: origin,
            isAsRequested: isFastForward && !applied.isChanged,
            replacements: applied.uniqueness.replacements,
            overwritten: applied.uniqueness.overwritten,
            resolved: resolved,
            isEmpty: isEmpty
        )
    }

    mutating func accept(_ commit: PreparedCommit) {
        head = commit.state.snapshot
        let changes = commit.state.changes
        recent[Self.place(of: commit.number.number)] = RecentCommit(
            origin: commit.origin, changes: changes.count <= Self.recentRowLimit ? .rows(changes) : .many)
    }

    /// Takes over a commit that was made elsewhere.
    mutating func accept(_ step: PublishedSnapshot.Step) {
        let isSmall = step.rowCount <= Self.recentRowLimit
        recent[Self.place(of: step.snapshot.commit.number)] = RecentCommit(
            origin: step.origin, changes: isSmall ? .states(before: head, after: step.snapshot) : .many)
        head = step.snapshot
    }

    /// Takes back the commits after a state that turned out to be the last durable one.
    mutating func reset(to durable: Snapshot) {
        for number in (durable.commit.number..<head.commit.number).suffix(Self.recentLimit) {
            recent[Self.place(of: number + 1)] = nil
        }
        head = durable
    }

    private static func place(of commit: UInt64) -> Int { Int(commit % UInt64(recentLimit)) }

    /// Who changed a row last, if it was not long ago.
    private func origin(ofChangeOf place: RowID) -> ChangeOrigin? {
        for number in stride(from: head.commit.number, to: 0, by: -1).prefix(Self.recentLimit) {
            // One that is too large to keep may have changed it.
            guard let commit = recent[Self.place(of: number)], let hasChanged = commit.hasChanged(place) else {
                return nil
            }
            if hasChanged { return commit.origin }
        }
        return nil
    }
}

/// What a save comes to.
struct PreparedCommit: Sendable {
    /// The state after the commit, on the state before it, with the changes that lead from one to the other.
    var state: WorkingState
    let origin: ChangeOrigin
    /// Whether the save stands in it exactly as it was made: nobody else committed in between, and the delete rules
    /// had nothing to add.
    let isAsRequested: Bool
    /// New rows that gave way to others.
    let replacements: Replacements
    /// Rows that have taken over what those had.
    let overwritten: Set<RowID>
    /// The rows whose conflicts the policy has resolved.
    let resolved: [RowID]
    /// Whether nothing of the save is left to do; then it takes no number.
    let isEmpty: Bool

    /// When it was accepted, in nanoseconds since 1970.
    var time: UInt64 = 0

    var number: CommitNumber { state.snapshot.commit }
    var step: PublishedSnapshot.Step {
        PublishedSnapshot.Step(
            snapshot: state.snapshot, origin: origin, time: time, rowCount: state.changes.count)
    }
}

extension WorkingState {
    /// Applies and checks all rules but those about others' changes.
    ///
    /// - Parameters:
    ///   - isForgiving: whether references to rows that are gone become nil, where that is allowed.
    ///   - uniqueness: what new rows with others' unique values do; nil if the schema decides.
    /// - Returns: what new rows that gave way to others came to, and whether anything was changed.
    mutating func applyRules(
        isForgiving: Bool, uniqueness: UniquenessPolicy? = nil
    ) throws(GraphError) -> (uniqueness: UniquenessResolution, isChanged: Bool) {
        var isChanged = applyDeleteRules()
        if isForgiving, dropDanglingReferences() { isChanged = true }
        let resolution = try resolveUniqueness(uniqueness)
        try requireTargets()
        var denied = deniedDeletes()
        denied += deniedReplacements(resolution)
        guard denied.isEmpty else { throw .deleteDenied(denied) }
        var failures = countFailures()
        if failures.isEmpty { failures = validationFailures() }
        guard failures.isEmpty else { throw .validationFailed(failures) }
        return (resolution, isChanged || !resolution.replacements.isEmpty)
    }

    /// The rules that also hold between a context and its parent: what uncommitted rows are still to become cannot break them.
    mutating func checkReferences(isForgiving: Bool) throws(GraphError) {
        _ = applyDeleteRules()
        if isForgiving { _ = dropDanglingReferences() }
        try requireTargets()
    }

    private func requireTargets() throws(GraphError) {
        let dangling = danglingReferences()
        guard dangling.isEmpty else { throw .danglingReferences(dangling) }
    }
}

extension Outcome {
    init(_ commit: PreparedCommit, on newest: Snapshot) {
        self.init(
            base: ContextBase(snapshot: newest),
            isAsCaptured: commit.isAsRequested && !commit.isEmpty && newest.commit == commit.number,
            replacements: commit.replacements,
            overwritten: commit.overwritten,
            resolved: commit.resolved,
            commit: commit.isEmpty ? nil : (commit.number, commit.state.difference)
        )
    }
}
