/// Commits whose saves have returned before they were durable.
extension Coordinator {
    /// Returns when every commit so far is durable, whatever its level.
    ///
    /// A store in memory, or one that is only read, has nothing to sync.
    ///
    /// - Throws: `.outcomeUnknown` with the first commit whose save has returned, and which opening the file again may not find;
    ///   the store then takes no more saves. `.diskFull`: commits wait to be written, and saves go on when there is room.
    ///   `.closed`, `.storeFailed`.
    ///
    /// Complexity: O(1) besides one sync, and the writes that it waits for.
    public func sync() async throws(GraphError) {
        if let commitsInDoubt { throw commitsInDoubt }
        if let ending = state.ending { throw ending }
        guard hasUnsyncedCommits || state.queue.isBusy else { return }
        do throws(GraphError) {
            try await waitForEarlier(.full)
        } catch {
            throw commitsInDoubt ?? error
        }
    }

    /// Whether a save has returned whose commit may not be durable.
    var hasUnsyncedCommits: Bool { journal != nil && syncedCommit < published.value.commit }

    /// Writes what is published and not written yet.
    ///
    /// - Throws: if it still waits to be written.
    func writePublished() async throws(GraphError) {
        guard state.queue.isBusy || state.queue.count > 0 else { return }
        do throws(GraphError) {
            try await waitForEarlier(.none)
        } catch {
            if commitsInDoubt == nil, written.snapshot.commit < published.value.commit { throw error }
        }
    }

    /// The store ends, and nobody knows which of the last commits are in the file.
    func doubtCommits(_ ending: GraphError) {
        // What others save to the same log is there.
        guard commitsInDoubt == nil, sharing == nil, hasUnsyncedCommits else { return }
        let reason =
            switch ending {
            case .storeFailed(_, let reason): reason
            default: "\(ending)"
            }
        let first = syncedCommit.next
        let error = GraphError.outcomeUnknown(path: path, commit: first, reason: reason)
        commitsInDoubt = error
        guard let tracer else { return }
        var trace = CommitTrace(store: path, origin: ChangeOrigin())
        trace.origin.commit = first
        trace.error = error
        tracer(trace)
    }

    // MARK: By itself

    /// Has the last commits synced, and then marked once nothing was written for a while, so that the file itself shows that they
    /// were durable.
    ///
    /// One timer serves all groups of a busy time: it looks back when the delay is over, and waits once more if there was a
    /// group meanwhile. While nothing is written there is none.
    func startMarkTimer() {
        writtenGroups += 1
        guard markTimer == nil, state.ending == nil, journal != nil, let idleMarkDelay else { return }
        markTimer = Task(executorPreference: taskExecutor) { [weak self, clock, writtenGroups] in
            var groups = writtenGroups
            while true {
                do { try await clock.sleep(for: idleMarkDelay) } catch { return }
                guard let now = await self?.syncAndMark(unlessWrittenSince: groups) else { return }
                groups = now
            }
        }
    }

    /// Writes a mark, unless there was a group since, or one is under way; then returns how many there are by now.
    private func syncAndMark(unlessWrittenSince groups: Int) async -> Int? {
        guard state.ending == nil, let journal else { return nil }
        // A program learns of a failure from its next save, or from closing.
        if hasUnsyncedCommits { try? await sync() }
        guard state.ending == nil else { return nil }
        guard writtenGroups == groups, !state.queue.isBusy, !hasUnsyncedCommits else { return writtenGroups }
        // The mark takes its place in the order of the file as a save does: counters in a file never go down.
        guard (try? await waitForTurn()) != nil else { return nil }
        markTimer = nil
        // After a failure that is more than a full disk the journal takes no more groups, and the next save says so.
        let counters = usedCounters
        if (try? await journal.mark(RowCounters.encode(counters))) != nil { written.counters = counters }
        passOn()
        return nil
    }
}
