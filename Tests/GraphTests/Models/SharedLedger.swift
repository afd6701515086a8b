@testable import Graph

/// Several stores in memory that begin as copies of one, and save to one log.
struct SharedLedger: Sendable {
    struct Writer: Sendable {
        let coordinator: Coordinator
        let freshness = Freshness()
    }

    let log: SimulatedLog
    private(set) var writers: [Writer] = []
    /// What all of them begin with.
    private let start: Snapshot
    private let counters: [RowNumber]

    init(_ origin: Coordinator, writers count: Int, seed: UInt64, on executor: SeededExecutor) async throws {
        start = origin.snapshot
        counters = await origin.usedCounters
        log = SimulatedLog(seed: seed, start: start.commit.number)
        for number in 0..<count {
            let coordinator = try await Coordinator(
                start.schema, path: nil, fileSystem: PosixFileSystem(), options: JournalOptions(),
                checksEveryCommit: seed % 8 == 0, taskExecutor: executor,
                initial: (start, counters, origin.storeID, nil),
                log: log.connection(number, executor: executor), clock: StepClock())
            writers.append(Writer(coordinator: coordinator))
        }
        log.setFaulty(true)
    }

    /// Has all stores take over the whole log. They must be the same then.
    func catchUp(_ recorder: HistoryRecorder) async {
        for (name, count) in log.counts { for _ in 0..<count { recorder.count(name) } }
        log.setFaulty(false)
        for writer in writers {
            do {
                try await writer.coordinator.catchUp()
            } catch GraphError.closed {
                continue
            } catch {
                recorder.note("a store cannot catch up: \(error)")
            }
            let end = start.commit.number + UInt64(log.records.count)
            if writer.coordinator.snapshot.commit.number != end {
                recorder.note("a store has commit \(writer.coordinator.snapshot.commit), and the log \(end)")
            }
            recorder.see(writer.coordinator.snapshot)
        }
    }

    /// The states to which the log leads.
    func states() throws -> [LedgerState] {
        var replay = StoreReplay(
            from: start, counters: counters, SchemaRecord(start.schema), consumers: [:], path: "log")
        var snapshots = [start]
        for bytes in log.records {
            let record = try SharedRecord(
                bytes, of: start.token.store, schema: SharedRecord.schemaNumber(start.schema), path: "log")
            try replay.apply(.commit, record.payload)
            snapshots.append(replay.snapshot)
        }
        return LedgerState.chain(snapshots)
    }
}
