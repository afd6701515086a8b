#if canImport(FoundationEssentials)
    public import struct FoundationEssentials.Date
#else
    public import struct Foundation.Date
#endif

/// Commits of the past, one after the other.
///
/// It ends with the newest commit that is durable when the iteration begins, which ``Coordinator/sync()`` makes the newest one of
/// all; those that follow are in ``Coordinator/commits``. It
/// reads while saves go on, and when a compaction replaces the file meanwhile, it goes on in the old one. Commits are made in small
/// groups when they are asked for. Every iteration begins anew, and an error ends it.
public struct CommitHistory: AsyncSequence, Sendable {
    let request: HistoryRequest
    /// Finds the commits; nil if there are none.
    let open: @Sendable (HistoryRequest) async throws(GraphError) -> HistoryReader?

    /// Begins with the first commit, or with the newest one in a history that goes backwards.
    public func makeAsyncIterator() -> Iterator {
        Iterator(request: request, open: open)
    }

    /// Goes from commit to commit.
    public struct Iterator: AsyncIteratorProtocol {
        private let request: HistoryRequest
        /// nil once it was opened.
        private var open: (@Sendable (HistoryRequest) async throws(GraphError) -> HistoryReader?)?
        private var reader: HistoryReader?
        private var group: ArraySlice<Commit> = []

        fileprivate init(
            request: HistoryRequest,
            open: @escaping @Sendable (HistoryRequest) async throws(GraphError) -> HistoryReader?
        ) {
            (self.request, self.open) = (request, open)
        }

        /// The next commit; nil after the last one, or when the task is cancelled.
        ///
        /// - Throws: `.historyExpired`, if commits since the token are not kept any more; `.historyDiverged`, if the token's commit is
        ///   not in this store's history; `.tokenOfOtherStore`. `.valueNotReadable`, if a type cannot read a value of the past.
        ///   `.closed`, `.cancelled`, and errors of the file.
        ///
        /// Complexity: O(changed objects). The first one also takes O(*b*) for *b* bytes of commits in the file,
        /// and O(*c*) for *c* changes since the token.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(GraphError) -> Commit? {
            if let open {
                self.open = nil
                reader = try await open(request)
            }
            if group.isEmpty {
                guard !Task.isCancelled, let reader else { return nil }
                group = try await reader.next()[...]
                if group.isEmpty { self.reader = nil }
            }
            return group.popFirst()
        }

        /// The same from no particular isolation.
        public mutating func next() async throws(GraphError) -> Commit? {
            try await next(isolation: nil)
        }
    }
}

extension Coordinator {
    /// The commits since a token, the oldest first, each with what it changed.
    ///
    /// ```swift
    /// for try await commit in coordinator.history(since: token) {
    ///     for change in commit.changes(of: Person.self) { index.update(change) }
    ///     token = commit.token
    /// }
    /// ```
    ///
    /// A file has the commits since its last compaction, and of those before what its ``HistoryRetention`` says; a store in memory
    /// keeps what that says. Deleted values live on there. Values are of today's types, also those from before a change of the schema.
    /// What has no counterpart among these is not in history, nor is what was before that, or before a step of a ``MigrationPlan``.
    ///
    /// - Parameters:
    ///   - token: of a ``Snapshot``, a ``Commit`` or a ``ContextSave``; nil for all commits that are kept.
    ///   - author: of the contexts whose commits are wanted; nil for all.
    ///   - time: when they were made, by the clock of the machine that made them; nil for any time.
    ///
    /// Complexity: O(1); see ``CommitHistory/Iterator/next(isolation:)``.
    public nonisolated func history(
        since token: HistoryToken? = nil, by author: String? = nil, during time: Range<Date>? = nil
    ) -> CommitHistory {
        history(HistoryRequest(token: token, isWanted: HistoryRequest.condition(author, time)))
    }

    /// The commits since a token that change objects of an entity, the oldest first; otherwise as
    /// ``history(since:by:during:)``. Members and links are in other objects, or in none: a commit that changes nothing else is not
    /// among these.
    ///
    /// Complexity: O(1); see ``CommitHistory/Iterator/next(isolation:)``.
    public nonisolated func history<E: Entity>(
        of type: E.Type, since token: HistoryToken? = nil, by author: String? = nil, during time: Range<Date>? = nil
    ) -> CommitHistory {
        let isWanted = HistoryRequest.condition(author, time)
        return history(HistoryRequest(token: token, isWanted: { isWanted($0) && $0.hasChanges(of: type) }))
    }

    /// The commits that change a property of any object, or insert or delete objects that have it, the oldest first; otherwise as
    /// ``history(since:by:during:)``. Of a to-many relationship, those that change members or their order.
    ///
    /// ```swift
    /// for try await commit in coordinator.history(changing: \Person.email, since: token) {
    ///     for change in commit.changes(in: \Person.email) { addresses.update(change) }
    /// }
    /// ```
    ///
    /// - Precondition: the property is a stored one.
    ///
    /// Complexity: O(1); see ``CommitHistory/Iterator/next(isolation:)``.
    public nonisolated func history<E: Entity>(
        changing property: any PartialKeyPath<E> & Sendable, since token: HistoryToken? = nil, by author: String? = nil,
        during time: Range<Date>? = nil
    ) -> CommitHistory {
        let isWanted = HistoryRequest.condition(author, time)
        return history(HistoryRequest(token: token, isWanted: { isWanted($0) && $0.hasChanges(in: property) }))
    }

    /// The commits that have changed one object, the newest first, as far as they are kept; ``Commit/change(of:)`` has what each of
    /// them did to it.
    ///
    /// Complexity: O(1); see ``CommitHistory/Iterator/next(isolation:)``.
    public nonisolated func history<E>(of id: PersistentID<E>) -> CommitHistory {
        history(HistoryRequest(isNewestFirst: true, isWanted: { $0.change(of: id) != nil }))
    }

    nonisolated func history(_ request: HistoryRequest) -> CommitHistory {
        CommitHistory(request: request) { (request) async throws(GraphError) in try await self.historyReader(request) }
    }
}

extension HistoryRequest {
    static func condition(_ author: String?, _ time: Range<Date>?) -> @Sendable (Commit) -> Bool {
        { commit in
            (author == nil || commit.origin?.author == author) && time?.contains(commit.time) != false
        }
    }
}
