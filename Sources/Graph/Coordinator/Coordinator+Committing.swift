/// From a save to its answer.
extension Coordinator {
    /// Checks, records and publishes a save.
    nonisolated(nonsending) func commit(_ request: SaveRequest) async throws(GraphError) -> Outcome {
        switch try await submit(request) {
        case .done(let outcome):
            return outcome
        case .waiting(let ticket, let commit):
            try await turn(of: ticket).get()
            return outcome(of: commit)
        }
    }

    private enum Submission {
        case done(Outcome)
        case waiting(CommitTicket, PreparedCommit)
    }

    private func submit(_ request: SaveRequest) async throws(GraphError) -> Submission {
        if sharing != nil { return .done(outcome(of: try await share(request))) }
        if lateAppends.pauseMilliseconds > 0 { await giveWay() }
        var trace = tracer.map { _ in CommitTrace(store: path, origin: request.origin) }
        do throws(GraphError) {
            if let ending = state.ending { throw ending }
            return try await submit(request, &trace)
        } catch {
            report(&trace, error)
            throw error
        }
    }

    private func submit(
        _ request: SaveRequest,
        _ trace: inout CommitTrace?
    ) async throws(GraphError) -> Submission {
        let (commit, admission): (PreparedCommit, CoordinatorState.Admission)
        do throws(GraphError) {
            (commit, admission) = try state.admit(
                request, at: PosixFileSystem.nanosecondsSince1970(),
                isNewestPublished: state.commits.head.commit == published.value.commit, &trace)
        } catch {
            // The answer may rest on a commit that is not published yet.
            try await waitForPublication()
            throw error
        }
        switch admission {
        case .nothing:
            try await waitForPublication()
            report(&trace)
        case .accepted:
            published.publish([commit.step])
            report(&trace)
        case .published(let isFirst):
            published.publish([commit.step])
            if isFirst { leadInBackground() }
        case .leads:
            try await lead().get()
        case .waits(let ticket):
            // The first one behind a group leads the next one. It waits here, since its context may be busy when its turn
            // comes.
            guard state.queue.count == 1 else { return .waiting(ticket, commit) }
            try await turn(of: ticket).get()
        }
        return .done(outcome(of: commit))
    }

    private nonisolated func outcome(of commit: PreparedCommit) -> Outcome {
        Outcome(commit, on: published.value)
    }

    /// Tells the tracer what became of a save, once.
    func report(_ trace: inout CommitTrace?, _ error: GraphError? = nil) {
        guard var report = trace.take(), let tracer else { return }
        report.error = error
        tracer(report)
    }

    /// What a save would come to.
    func preview(_ request: SaveRequest) async throws(GraphError) -> PreparedCommit {
        if let ending = state.ending { throw ending }
        // What it is checked against may turn out not to be committed.
        try await waitForPublication()
        return try state.commits.prepare(request)
    }

    /// How many answers wait for the next group.
    var waitingSaveCount: Int { state.queue.count }

    /// Returns when every commit so far is published; throws what kept one of them from it.
    func waitForPublication() async throws(GraphError) {
        if state.queue.isBusy { try await waitForEarlier(.none) }
    }

    /// Returns when every commit so far is written, or even durable.
    func waitForEarlier(_ durability: Durability) async throws(GraphError) {
        var entry = CommitQueue.Entry()
        entry.durability = durability
        if let ticket = state.queue.append(entry) {
            try await turn(of: ticket).get()
        } else {
            try await lead().get()
        }
    }

    /// What became of a save that stood in line.
    nonisolated(nonsending) func turn(of ticket: CommitTicket) async -> Result<Void, GraphError> {
        switch await ticket.turn() {
        case .lead: await lead()
        case .done(let result): result
        }
    }

    /// Writes the next group, whose saves have returned. The coordinator stays until that is done.
    private func leadInBackground() {
        Task(executorPreference: taskExecutor) { _ = await self.lead() }
    }

    /// Ends the turn of a leader.
    func passOn() {
        if state.queue.passOn() { leadInBackground() }
    }

    /// Writes the group whose first save calls this, and answers all others of it.
    func lead() async -> Result<Void, GraphError> {
        while state.queue.isWorthWaiting() { await Task.yield() }
        var group = state.queue.takeGroup(limitBytes: JournalFormat.groupLimitBytes)
        let records = group.compactMap(\.record).map { Journal.Record(kind: .commit, payload: $0) }
        let isDurable = group.contains { $0.durability == .full }
        let start = ContinuousClock.now
        var failure: GraphError?
        var isSynced = false
        if let journal, !records.isEmpty || isDurable {
            do throws(GraphError) {
                isSynced = try await journal.write(records, durably: isDurable)
            } catch {
                failure = error
            }
        }
        let duration = ContinuousClock.now - start
        for place in group.indices {
            group[place].trace?.groupSize = records.count
            group[place].trace?.writing = duration
        }
        if let failure {
            fail(&group, failure)
            state.queue.stall()
        } else {
            publish(&group, after: records, isSynced: isSynced)
            passOn()
        }
        return failure.map { .failure($0.about(group.first?.step?.snapshot.commit)) } ?? .success(())
    }

    /// Takes note of what was written, publishes the group and answers its saves.
    private func publish(_ group: inout [CommitQueue.Entry], after records: [Journal.Record], isSynced: Bool) {
        if let last = group.last(where: { $0.record != nil }), let step = last.step, let counters = last.counters {
            servedRecords?.add(group, after: written.snapshot.token)
            written = (step.snapshot, counters)
        }
        if isSynced { syncedCommit = written.snapshot.commit }
        published.publish(group.filter { !$0.isPublished }.compactMap(\.step))
        for place in group.indices {
            report(&group[place].trace)
            group[place].answer(.success(()))
        }
        guard !records.isEmpty else { return }
        startMarkTimer()
        automaticCompaction?.didWrite(records.reduce(0) { $0 + $1.frameBytes })
        compactIfWorthwhile()
    }

    /// Unless it is published, the group is not in the store, and neither is what was checked on top of it.
    private func fail(_ group: inout [CommitQueue.Entry], _ error: GraphError) {
        var (followers, errorOfFollowers) = state.fail(group, error, published: published.value, path: path)
        if state.ending != nil {
            doubtCommits(errorOfFollowers)
        } else {
            // What is in line is written when there is room.
            group.removeAll(where: \.isPublished)
            startMarkTimer()
        }
        for place in group.indices {
            let error = error.about(group[place].step?.snapshot.commit)
            report(&group[place].trace, error)
            group[place].answer(.failure(error))
        }
        for place in followers.indices {
            report(&followers[place].trace, errorOfFollowers)
            followers[place].answer(.failure(errorOfFollowers))
        }
    }
}
