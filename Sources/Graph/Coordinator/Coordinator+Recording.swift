/// Records that are no saves, between the groups of saves.
extension Coordinator {
    /// Runs the body between two groups of commits.
    ///
    /// - Parameter isReceiving: whether it may also if the store has the commits of another one.
    func withTurn<Result: Sendable>(
        isReceiving: Bool = false, _ body: () async throws(GraphError) -> Result
    ) async throws(GraphError) -> Result {
        if let ending = state.ending { throw ending }
        if !isReceiving, let refusal = state.storage.refusal { throw refusal }
        guard journal != nil else { return try await body() }
        try await waitForTurn()
        defer { passOn() }
        return try await body()
    }

    /// Appends records that are no saves, if there is a file. The caller has the turn.
    func append(_ records: [Journal.Record], durably: Bool = true) async throws(GraphError) {
        guard let journal else { return }
        var isSynced = false
        do throws(GraphError) {
            isSynced = try await journal.write(records, durably: durably)
        } catch {
            switch error {
            case .diskFull, .transactionTooLarge: break
            default:
                let ending = error.asEarlierFailure(path: path)
                state.end(ending)
                doubtCommits(ending)
            }
            throw error
        }
        if isSynced { syncedCommit = written.snapshot.commit } else { startMarkTimer() }
        automaticCompaction?.didWrite(records.reduce(0) { $0 + $1.frameBytes })
    }
}
