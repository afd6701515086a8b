private import Synchronization

/// Opening a file whose schema is another one than the program's.
extension StoreOpening {
    /// A file as its own schema has it.
    struct Original: Sendable {
        let snapshot: Snapshot
        let counters: [RowNumber]
        let record: SchemaRecord
    }

    /// The file as the program sees it.
    private struct Migrated: Sendable {
        var snapshot: Snapshot
        var counters: [RowNumber]
        var changes: [SchemaChange]
    }

    /// Where the program's plan takes over, and what follows from the schemas alone until then.
    private struct Route {
        /// From the file's schema to that of a version, or the program's.
        let comparison: SchemaComparison
        /// The remaining steps, each with the version to which it leads.
        let steps: ArraySlice<(step: MigrationStep, schema: Schema)>
    }

    /// Reads the file by its own schema, makes of it what the program's schema asks for, and puts a file with that in its place.
    /// The old one stays beside it. If anything fails, the file is as before.
    ///
    /// - Throws: `.schemaMismatch`, with what cannot be converted; `.migrationFailed`, with objects that do not fit;
    ///   `.migrationStepFailed`; and what opening and compacting throw.
    func migrate() async throws(GraphError) -> OpenedStore {
        let (journal, replay) = try await replayOriginal { (original) throws(GraphError) in
            _ = try route(from: original)
        }
        guard !journal.wasCreated else { return empty(journal) }
        let original = replay.original
        let migrated = try await convert(original)
        let record = SchemaRecord(schema).following(original.record)
        let successor = try await journal.makeSuccessor(
            schema: record.bytes,
            baseCommit: migrated.snapshot.commit,
            executor: JournalExecutor(label: "graph.migration")
        )
        do throws(GraphError) {
            let checkpoint = CheckpointWriter(
                migrated.snapshot, record, counters: migrated.counters, time: PosixFileSystem.nanosecondsSince1970())
            try await checkpoint.write(to: successor)
            let seal = Coordinator.encode(counters: migrated.counters)
            try await journal.replace(by: try await successor.seal(seal), keepsOld: true)
        } catch {
            await successor.abandon()
            throw error
        }
        return OpenedStore(
            journal: journal,
            snapshot: migrated.snapshot,
            counters: migrated.counters,
            record: record,
            diagnostics: journal.diagnostics + StoreDiagnostic.changes(migrated.changes)
        )
    }

    /// Finds out what opening the file would do, and does nothing to it.
    func preview() async throws(GraphError) -> MigrationPreview {
        do throws(IOError) {
            _ = try fileSystem.status(StorePath(path))
        } catch {
            throw error.reason == .missing
                ? .unusableFile(path: path, reason: "there is no file") : error.graphError(path: path)
        }
        let found = Found()
        do throws(GraphError) {
            // A file is written to only after the last check has agreed.
            _ = try await replayOriginal { (original) throws(GraphError) in
                found.original.withLock { $0 = original }
                throw .closed(path: path)
            }
        } catch {
            guard case .closed = error else { throw error }
        }
        guard let original = found.original.withLock({ $0 }) else { throw .closed(path: path) }
        let comparison = SchemaComparison(
            from: original.snapshot.schema, to: schema, rowCounts: original.rowCounts, dropping: dropping)
        do throws(GraphError) {
            let migrated = try await convert(original)
            return MigrationPreview(changes: migrated.changes, failures: [])
        } catch {
            switch error {
            case .migrationFailed(_, let failures):
                return MigrationPreview(changes: comparison.changes, failures: failures)
            case .schemaMismatch:
                // A program that is older than the file is refused for changes that another one may make.
                let changes =
                    comparison.refused.isEmpty
                    ? comparison.changes.map { $0.handled(.refused, advice: SchemaChange.olderProgram) }
                    : comparison.changes
                return MigrationPreview(changes: changes, failures: [])
            default: throw error
            }
        }
    }

    /// What a preview finds in a file that it does not open.
    private final class Found: Sendable {
        let original = Mutex<Original?>(nil)
    }

    private func replayOriginal(
        _ check: @escaping @Sendable (Original) throws(GraphError) -> Void
    ) async throws(GraphError) -> (Journal, StoreReplay) {
        try await open(
            into: try StoreReplay(path: path, keepsIndexes: false),
            replay: { (replay: inout StoreReplay, entry: JournalEntry) throws(GraphError) in try replay.apply(entry) },
            finish: { (replay: inout StoreReplay) throws(GraphError) in
                _ = try replay.finish()
                try check(replay.original)
                return []
            }
        )
    }

    // MARK: Converting

    /// Whether the plan has something to say about a file of this schema, of which the program itself needs none but notes.
    func hasSteps(for record: SchemaRecord) throws(GraphError) -> Bool {
        let schema = try Schema(record)
        let snapshot = Snapshot(schema: schema)
        return try !route(from: Original(snapshot: snapshot, counters: [], record: record)).steps.isEmpty
    }

    /// - Throws: `.schemaMismatch` if the file fits neither the program's schema nor a version of its plan.
    private func route(from original: Original) throws(GraphError) -> Route {
        let old = original.snapshot.schema
        let program = SchemaRecord(schema)
        let direct = SchemaComparison(
            from: old, to: schema, rowCounts: original.rowCounts, dropping: dropping)
        if original.record.earlier.contains(program.fingerprint), direct.changes.contains(where: { !$0.isNeutral }) {
            throw .schemaMismatch(path: path, differences: SchemaChange.refusals(ofOlderProgram: direct.changes))
        }
        var routes: [Route] = []
        if let plan {
            let schemas = try plan.schemas()
            let steps = Array(zip(plan.steps, schemas.dropFirst()).map { (step: $0, schema: $1) })
            for (number, version) in schemas.enumerated() {
                let comparison = SchemaComparison(
                    from: old, to: version, rowCounts: original.rowCounts, dropping: dropping)
                routes.append(Route(comparison: comparison, steps: steps[number...]))
            }
        }
        // The version that needs the fewest changes; of several, the oldest one.
        let possible = routes.filter { $0.comparison.refused.isEmpty }
        if let route = possible.min(by: { $0.comparison.changes.count < $1.comparison.changes.count }) { return route }
        let nearest = routes.map(\.comparison).min { $0.refused.count < $1.refused.count } ?? direct
        guard direct.refused.isEmpty else {
            let refused = nearest.refused.isEmpty ? direct.refused : nearest.refused
            throw .schemaMismatch(path: path, differences: ErrorList(refused.map(\.description)))
        }
        return Route(comparison: direct, steps: [])
    }

    private func convert(_ original: Original) async throws(GraphError) -> Migrated {
        let route = try route(from: original)
        let direct = SchemaComparison(
            from: original.snapshot.schema, to: schema, rowCounts: original.rowCounts, dropping: dropping)
        var (snapshot, counters) = try convert(
            original.snapshot, original.counters, route.comparison, route.steps.isEmpty)
        for (step, version) in route.steps {
            let comparison = SchemaComparison(
                from: snapshot.schema, to: version, rowCounts: snapshot.entities.map(\.rows.count))
            let (start, next) = try convert(snapshot, counters, comparison, false)
            let coordinator = try await Coordinator(of: start, counters: next)
            do {
                try await step.run(snapshot, coordinator)
            } catch {
                throw .migrationStepFailed(
                    path: path, from: "\(step.source)", to: "\(step.target)",
                    reason: "\(error)".shortened(to: 400))
            }
            (snapshot, counters) = (coordinator.snapshot, await coordinator.usedCounters)
        }
        if snapshot.schema !== schema {
            let comparison = SchemaComparison(
                from: snapshot.schema, to: schema, rowCounts: snapshot.entities.map(\.rows.count))
            guard comparison.refused.isEmpty else {
                throw .schemaMismatch(path: path, differences: ErrorList(comparison.refused.map(\.description)))
            }
            (snapshot, counters) = try convert(snapshot, counters, comparison, true)
        }
        snapshot.commit = original.snapshot.commit.next
        return Migrated(
            snapshot: snapshot, counters: counters,
            changes: direct.changes.map { $0.handling == .refused ? $0.handled(.converted) : $0 })
    }

    /// - Parameter isLast: whether the rules have to hold afterwards.
    private func convert(
        _ snapshot: Snapshot,
        _ counters: [RowNumber],
        _ comparison: SchemaComparison,
        _ isLast: Bool
    ) throws(GraphError) -> (Snapshot, [RowNumber]) {
        let conversion = SnapshotConversion(snapshot, comparison, isLast: isLast)
        guard conversion.failures.isEmpty else {
            throw .migrationFailed(path: path, failures: conversion.failures)
        }
        return (conversion.result, comparison.entities.map { $0.number.map { counters[$0] } ?? 1 })
    }
}

extension StoreOpening.Original {
    var rowCounts: [Int] { snapshot.entities.map(\.rows.count) }
}

extension StoreReplay {
    var original: StoreOpening.Original {
        StoreOpening.Original(snapshot: snapshot, counters: counters, record: fileRecord)
    }
}

extension StoreDiagnostic {
    /// What opening the file has changed in its schema.
    static func changes(_ changes: [SchemaChange]) -> [StoreDiagnostic] {
        changes.map { StoreDiagnostic($0.handling == .recorded ? .recordedChange : .convertedChange, $0.description) }
    }
}
