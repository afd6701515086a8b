/// Marks the last group as durable once the store is idle.
extension Coordinator {
    /// Has the last group marked once nothing was written for a while, so that the file itself shows that the group was durable.
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
                guard let now = await self?.markUnlessWritten(since: groups) else { return }
                groups = now
            }
        }
    }

    /// Writes a mark, unless there was a group since, or one is under way; then returns how many there are by now.
    private func markUnlessWritten(since groups: Int) async -> Int? {
        guard state.ending == nil, let journal else { return nil }
        guard writtenGroups == groups, !state.queue.isBusy else { return writtenGroups }
        // The mark takes its place in the order of the file as a save does: counters in a file never go down.
        guard (try? await waitForTurn()) != nil else { return nil }
        markTimer = nil
        // After a failure that is more than a full disk the journal takes no more groups, and the next save says so.
        let counters = usedCounters
        if (try? await journal.mark(Self.encode(counters: counters))) != nil { writtenCounters = counters }
        state.queue.passOn()
        return nil
    }
}
