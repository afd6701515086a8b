import Foundation
import Graph
import Synchronization

/// Random updates of a store of constant size, with a look at its file after each commit.
enum EngineUpdates {
    struct WrongBalance: Error {
        let person: Int
    }

    static let run: EngineSuite.UpdatesRun = { history, path, progress in
        var history = history
        progress.show("making \(Figures.count(history.rows)) people")
        let recorded = Mutex(0)
        let coordinator = try await Coordinator(
            for: Team.self, Person.self, at: path, durability: .relaxed,
            trace: { trace in recorded.withLock { $0 += trace.recordBytes } })
        let store = try await EngineStore(
            coordinator, rows: history.rows, teams: PeopleData.teamCount(rows: history.rows))
        try await coordinator.compact()
        history.freshBytes = await contentBytes(of: coordinator)
        let before = (recorded: recorded.withLock { $0 }, written: Platform.writtenBytes)
        let (balances, start) = try await update(store, &history, path, progress)
        history.changedBytes = recorded.withLock { $0 } - before.recorded
        if let written = before.written { history.writtenBytes = Platform.writtenBytes.map { $0 - written } }
        if let compaction = await coordinator.lastCompaction, compaction.number > history.compactions.count + 1 {
            history.compactions.append(FileHistory.Compaction(compaction, since: start))
        }
        try await coordinator.compact()
        history.finalBytes = await contentBytes(of: coordinator)
        try await coordinator.close()

        progress.show("reading back")
        let reopened = try await EngineStore.open(path)
        let snapshot = reopened.snapshot
        for (index, balance) in balances.enumerated() where snapshot.value(for: store.people[index])?.balance != balance
        {
            throw WrongBalance(person: index)
        }
        try await reopened.close()
        return history
    }

    /// - Returns: the balances that the store has afterwards, and when it began.
    private static func update(
        _ store: EngineStore, _ history: inout FileHistory, _ path: String, _ progress: ProgressLine
    ) async throws -> ([Double], start: ContinuousClock.Instant) {
        let context = Context(store.coordinator)
        let folder = (path as NSString).deletingLastPathComponent
        var random = SplitMix64(seed: 0x7570_6461_7465)
        let teams = PeopleData.teamCount(rows: history.rows)
        var balances = (0..<history.rows).map { PeopleData.person($0, teams: teams).balance }
        let start = ContinuousClock.now
        var done = 0
        while done < history.updates {
            let begin = ContinuousClock.now
            let count = min(history.commitSize, history.updates - done)
            var changes: [(Person.ID, Double)] = []
            for _ in 0..<count {
                let index = Int.random(in: 0..<history.rows, using: &random)
                balances[index] = Double(done)
                changes.append((store.people[index], Double(done)))
                done += 1
            }
            try await context.setBalances(changes)
            let now = ContinuousClock.now
            let lengths = fileLengths(in: folder)
            history.samples.append(
                FileHistory.Sample(
                    seconds: (now - start).inSeconds, commitSeconds: (now - begin).inSeconds,
                    fileBytes: lengths[path] ?? 0, diskBytes: lengths.values.reduce(0, +)))
            // The first one made the fresh file.
            if let compaction = await store.coordinator.lastCompaction,
                compaction.number > history.compactions.count + 1
            {
                history.compactions.append(FileHistory.Compaction(compaction, since: start))
            }
            progress.show("updating", done: done, of: history.updates)
        }
        return (balances, start)
    }

    /// Without what is allocated ahead.
    private static func contentBytes(of coordinator: Coordinator) async -> Int {
        Int(await coordinator.statistics.file?.length ?? 0)
    }

    /// By path. A file that goes meanwhile has none.
    private static func fileLengths(in folder: String) -> [String: Int] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let lengths = names.map { name in
            let path = "\(folder)/\(name)"
            return (path, (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0)
        }
        return Dictionary(uniqueKeysWithValues: lengths)
    }
}

extension FileHistory.Compaction {
    fileprivate init(_ figures: CompactionFigures, since start: ContinuousClock.Instant) {
        self.init(
            begin: (figures.began - start).inSeconds, end: (figures.ended - start).inSeconds,
            pauseSeconds: figures.longestPause.inSeconds,
            sealSeconds: figures.sealing.inSeconds, renameSeconds: figures.renaming.inSeconds,
            syncSeconds: figures.longestSync.inSeconds,
            oldBytes: Int(figures.oldFileBytes), newBytes: Int(figures.newFileBytes),
            copiedBytes: Int(figures.newFileBytes - figures.checkpointBytes))
    }
}

extension Context {
    /// Sets balances in one commit.
    func setBalances(_ changes: [(Person.ID, Double)]) async throws {
        for (id, balance) in changes { self[id]?.balance = balance }
        try await save()
    }
}
