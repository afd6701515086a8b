/// A save whose answer was lost: its changes are pending again, and may be in the log all the same.
struct DoubtfulSave {
    let receipt: SaveReceipt
    /// What it took, on each base that the context has had since then.
    var captured: [WorkingState]
    /// The same with what `willSave()` did to it.
    let request: WorkingState
    let willSaveChangedRows: Bool
    /// The last step to undo that it took.
    let step: UInt64
}

/// Saves that are in doubt.
extension ContextState {
    /// Takes note that nobody knows whether the log has the save in flight.
    func doubtSave() {
        guard let inFlight, let receipt else { return }
        doubts.append(
            DoubtfulSave(
                receipt: receipt, captured: [inFlight.state], request: inFlight.request,
                willSaveChangedRows: willSaveChangedRows, step: history.takenStep))
    }

    /// Takes note of what became of saves that were in doubt. If one has turned out to be in the log, only what was changed since
    /// is still pending.
    ///
    /// - Parameter base: what the context is about to read; nil for the newest state.
    /// - Returns: whether one was.
    @discardableResult
    func settleDoubts(before base: Snapshot? = nil) -> Bool {
        guard !doubts.isEmpty, inFlight == nil, transactionStarts.isEmpty,
            let newest = base?.commit ?? published?.value.commit
        else { return false }
        doubts.removeAll(where: \.receipt.isLost)
        for doubt in doubts {
            guard let outcome = doubt.receipt.arrived, outcome.base.snapshot.commit <= newest else { continue }
            doubts = []
            settle(doubt, as: outcome)
            return true
        }
        return false
    }

    /// Ends a save as if its answer had come only now.
    private func settle(_ doubt: DoubtfulSave, as outcome: Outcome) {
        flush()
        history.note(working)
        let shown = flushed
        let captured = doubt.captured(for: working)
        inFlight = (captured, doubt.request, [])
        willSaveChangedRows = doubt.willSaveChangedRows
        working = working.since(captured)
        history.resumeSave(through: doubt.step, goingOnFrom: working)
        var outcome = outcome
        outcome.isAsCaptured = false
        didSave(outcome, countingFrom: { $0.since(doubt.captured(for: $0)) })
        if autosaveError != nil { autosaveError = nil }
        if let commit = outcome.commit {
            let difference = SnapshotDifference(before: shown, after: flushed)
            followers.send(.didSave(ContextSave(saved: commit.change, commit: commit.number, shown: difference)))
        }
        tellChanges()
    }
}

extension DoubtfulSave {
    /// What it took, on the base of a later state.
    func captured(for state: WorkingState) -> WorkingState {
        captured.last { $0.base.isIdentical(to: state.base) } ?? captured[captured.count - 1]
    }
}

extension WorkingState {
    /// What was changed since an earlier state of the same changes, counted from that.
    func since(_ captured: WorkingState) -> WorkingState {
        var later = WorkingState(base: captured.snapshot, reads: reads)
        _ = later.revert(UndoStep(before: self, after: captured), replaced: [])
        later.requireAgain(self, keeping: .all, besides: captured)
        for (list, members) in missingMembers {
            let others = members.subtracting(captured.missingMembers[list] ?? [])
            if !others.isEmpty { later.missingMembers[list] = others }
        }
        return later
    }
}
