/// Transactions that have met a conflict stand in line.
extension Coordinator {
    /// A place in the line of transactions that have met a conflict.
    func retryTicket() -> RetryLine.Ticket { retryLine.nextTicket() }

    /// Waits until no other transaction is trying again. Instead of backing off for a time that is a guess, they stand in line: the
    /// one in front meets only those that try for the first time. Returns at once while the turn lasts.
    func beginRetry(_ ticket: RetryLine.Ticket) async {
        guard !retryLine.take(ticket) else { return }
        await withCheckedContinuation { continuation in
            retryLine.wait(ticket, continuation)
            watchRetries()
        }
    }

    func endRetry(_ ticket: RetryLine.Ticket) {
        retryLine.end(ticket)
    }

    /// Has turns end that last too long, for as long as somebody waits for that.
    private func watchRetries() {
        guard retryWatch == nil else { return }
        retryWatch = Task(executorPreference: taskExecutor) { [weak self, clock] in
            while let turn = await self?.retryTurnToWatch() {
                try? await clock.sleep(for: RetryLine.longestTurn)
                await self?.endRetryTurn(turn)
            }
        }
    }

    private func retryTurnToWatch() -> RetryLine.Turn? {
        let turn = retryLine.contendedTurn
        if turn == nil { retryWatch = nil }
        return turn
    }

    private func endRetryTurn(_ turn: RetryLine.Turn) {
        retryLine.end(turn)
    }
}
