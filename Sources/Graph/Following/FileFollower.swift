/// Follows a file on a thread of its own, and shows the commits as they become durable.
actor FileFollower {
    private nonisolated let executor: any SerialExecutor
    /// nil when it has ended.
    private var file: FollowedFile?
    private(set) var ending: GraphError?
    private let path: String
    private let show: @Sendable ([FollowedFile.Step]) -> Void
    private let didEnd: @Sendable (GraphError) -> Void

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - show: called with the next commits, one call after the other.
    ///   - didEnd: called once, and nothing is shown afterwards.
    init(
        _ file: FollowedFile, show: @escaping @Sendable ([FollowedFile.Step]) -> Void,
        didEnd: @escaping @Sendable (GraphError) -> Void
    ) {
        executor = JournalExecutor(label: "graph.follower")
        path = file.location.text
        (self.file, self.show, self.didEnd) = (file, show, didEnd)
    }

    /// Shows all that is durable by now. Others have their turn between one group of commits and the next.
    nonisolated func catchUp() async throws(GraphError) {
        while try await showNext() {
            if Task.isCancelled { throw .cancelled }
        }
    }

    /// Returns false if there is nothing more to show.
    private func showNext() throws(GraphError) -> Bool {
        do throws(GraphError) {
            guard let steps = try file?.advance() else { throw ending ?? .closed(path: path) }
            guard !steps.isEmpty else { return false }
            show(steps)
            return true
        } catch {
            end(error)
            throw error
        }
    }

    /// Opens the history up to the newest commit that is durable.
    nonisolated func historyReader(_ request: HistoryRequest) async throws(GraphError) -> HistoryReader? {
        try await catchUp()
        return try await openHistory(request)
    }

    private func openHistory(_ request: HistoryRequest) throws(GraphError) -> HistoryReader? {
        guard let file else { return nil }
        let newest = file.snapshot
        if let token = request.token {
            guard token.store == newest.token.store else { throw .tokenOfOtherStore(token) }
            guard token.commit <= newest.commit else { throw .historyDiverged(token) }
        }
        guard try request.isBehind(newest) else { return nil }
        return HistoryReader(file.readFile, newest, through: newest.commit, request)
    }

    /// Releases the file.
    func end(_ error: GraphError) {
        guard ending == nil else { return }
        (file, ending) = (nil, error)
        didEnd(error)
    }

    /// Shows commits whenever the file changes, until it ends or the task is cancelled.
    nonisolated func run(_ location: JournalLocation, _ fileSystem: any StoreFileSystem) async {
        let changes = FileChanges(of: location, in: fileSystem)
        while !Task.isCancelled {
            let seen = changes.count
            do throws(GraphError) {
                try await catchUp()
            } catch {
                return
            }
            await changes.wait(after: seen)
        }
    }
}
