import Dispatch
import Synchronization

/// Opening a file whose schema is another one than the program's.
extension StoreOpening {
    /// A file as its own schema has it.
    struct Original: Sendable {
        private(set) var snapshot: Snapshot
        let counters: [RowNumber]
        let record: SchemaRecord
        var consumers: [String: HistoryToken] = [:]
        /// The oldest state to which it leads back.
        var oldest = HistoryToken()
        /// How many rows each entity has, or is taken to have.
        let rowCounts: [Int]
        /// Whether there are none.
        let isEmpty: Bool

        /// Releases rows, links and indexes on another thread, since that takes long. Schema and token stay.
        mutating func release() {
            let (box, token) = (Box(snapshot), snapshot.token)
            snapshot = Snapshot(schema: snapshot.schema)
            snapshot.token = token
            DispatchQueue.global().async { box.empty() }
        }

        /// Whoever holds the box last does not hold what was in it.
        private final class Box: Sendable {
            private let snapshot: Mutex<Snapshot?>

            init(_ snapshot: Snapshot) { self.snapshot = Mutex(snapshot) }

            func empty() { snapshot.withLock { $0 = nil } }
        }
    }

    /// The file as the program sees it.
    private struct Migrated: Sendable {
        var snapshot: Snapshot
        var counters: [RowNumber]
        var changes: [SchemaChange]
        /// Whether an older program looks at the file, which has more.
        let isPartial: Bool
        /// Of the commit that makes the state, in nanoseconds since 1970.
        let time: UInt64
        /// nil if history ends here.
        var conversion: CommitConversion?
        /// Properties of which some values lack parts that the program's types do not read.
        let unread: Set<String>
    }

    /// Where the program's plan takes over, and what follows from the schemas alone until then.
    private struct Route {
        /// From the file's schema to the program's.
        let direct: SchemaComparison
        /// From the file's schema to that of a version, or the program's.
        let comparison: SchemaComparison
        /// The remaining steps, each with the version to which it leads.
        let steps: ArraySlice<(step: MigrationStep, schema: Schema)>
        /// Whether the program is older than the file.
        var isOlder = false
    }

    /// Reads the file by its own schema, makes of it what the program's schema asks for, and puts a file with that in its place,
    /// unless the file is only read. The old one stays beside it. If anything fails, the file is as before.
    ///
    /// - Parameter unreadable: why the file was not opened as it is, although its schema is the program's: a value that its type
    ///   does not take. This is thrown if the conversion takes it neither.
    /// - Throws: `.schemaMismatch`, with what cannot be converted; `.migrationFailed`, with objects that do not fit;
    ///   `.migrationStepFailed`; and what opening and compacting throw.
    func migrate(unreadable: GraphError? = nil) async throws(GraphError) -> OpenedStore {
        // Whoever opens the file is to learn of its damage: if the conversion fails, nothing is repaired.
        let isDamaged = Mutex(false)
        let found = Mutex<Original?>(nil)
        var looking = self
        looking.options.willRepair = { [path] () throws(GraphError) in
            isDamaged.withLock { $0 = true }
            throw .schemaMismatch(path: path, differences: [])
        }
        do throws(GraphError) {
            return try await looking.replaceFile(unreadable) { original in found.withLock { $0 = original } }
        } catch {
            guard isDamaged.withLock({ $0 }), let original = found.withLock({ $0 }) else { throw error }
            let migrated = try await migrated(original, unreadable)
            return try await replaceFile(unreadable, (original.snapshot.token, migrated))
        }
    }

    /// - Parameter ready: what a state comes to.
    private func replaceFile(
        _ unreadable: GraphError?, _ ready: (state: HistoryToken, migrated: Migrated)? = nil,
        noting note: @escaping @Sendable (Original?) -> Void = { _ in }
    ) async throws(GraphError) -> OpenedStore {
        var (source, original) = try await replayOriginal { (original) throws(GraphError) in
            _ = try route(from: original)
            note(original)
        }
        // Nothing was damaged: the file's state is released as soon as it is converted.
        note(nil)
        guard !source.wasCreated else { return empty(source) }
        let migrated: Migrated
        if let ready, ready.state == original.snapshot.token {
            migrated = ready.migrated
        } else {
            migrated = try await self.migrated(original, unreadable)
        }
        original.release()
        let record = programRecord.following(original.record)
        var checkpoint = CheckpointFigures()
        if let journal = source.journal {
            checkpoint = try await replace(journal, with: original, by: migrated, record, unreadable)
        }
        return OpenedStore(
            source: source,
            snapshot: migrated.snapshot,
            counters: migrated.counters,
            record: record,
            diagnostics: source.diagnostics + StoreDiagnostic.changes(migrated.changes)
                + migrated.unread.sorted().map { StoreDiagnostic.unreadValues(of: $0, isConverted: true) },
            checkpoint: checkpoint,
            consumers: original.consumers,
            isPartial: migrated.isPartial,
            isMigrated: !isReadOnly,
            isConverted: isReadOnly
        )
    }

    private func migrated(_ original: Original, _ unreadable: GraphError?) async throws(GraphError) -> Migrated {
        do throws(GraphError) {
            return try await convert(original)
        } catch {
            if case .migrationFailed = error, let unreadable, try !hasSteps(for: original.record, isEmpty: false) {
                throw unreadable
            }
            throw error
        }
    }

    private func replace(
        _ journal: Journal, with original: Original, by migrated: Migrated, _ record: SchemaRecord,
        _ unreadable: GraphError?
    ) async throws(GraphError) -> CheckpointFigures {
        let checkpoint = CheckpointWriter(
            migrated.snapshot, record, counters: migrated.counters, consumers: original.consumers,
            time: migrated.time)
        let history = try await history(of: journal, original, migrated, unreadable)
        let successor = try await journal.makeSuccessor(
            schema: record.bytes, baseCommit: migrated.snapshot.commit,
            executor: JournalExecutor(label: "graph.migration"))
        do throws(GraphError) {
            let figures = try await checkpoint.write(to: successor, with: history, meter)
            let seal = RowCounters.encode(migrated.counters)
            try await journal.replace(byMigrated: try await successor.seal(seal))
            return figures
        } catch {
            await successor.abandon()
            throw error
        }
    }

    /// What the new file retains of the commits that led to the old state; nil for nothing.
    private func history(
        of journal: Journal, _ original: Original, _ migrated: Migrated, _ unreadable: GraphError?
    ) async throws(GraphError) -> RetainedCommits? {
        guard let conversion = migrated.conversion else { return nil }
        let token = migrated.snapshot.token
        let head = CommitRecord.Head(number: token.commit, time: migrated.time, author: "")
        let consumers = original.consumers.values
        let request = RetentionRequest(
            retention: retention, unreadSince: RetentionRequest.unreadSince(consumers, oldest: original.oldest),
            now: migrated.time)
        let migration = RetainedCommits.Migration(
            conversion: conversion, token: token,
            record: CommitRecord.withoutChanges(head, counters: migrated.counters))
        do throws(GraphError) {
            let file = try await journal.openToRead()
            let commits = try await RetainedCommits(file, through: original.snapshot.token, request, migration)
                .selected()
            // Of a schema that has not changed, values of the past are refused like those of today.
            if let unreadable, commits.hasUnreadableValues { throw unreadable }
            return commits
        } catch {
            // The state was read as a whole, and does not depend on what led to it. After an error of the disk the opening may be
            // tried again, and then keeps its history.
            if case .corrupt = error { return nil }
            throw error
        }
    }

    /// Finds out what opening the file would do, and only reads it.
    func preview() async throws(GraphError) -> MigrationPreview {
        var reading = self
        reading.isReadOnly = true
        let original = try await reading.replayOriginal { (_) throws(GraphError) in }.original
        let comparison = SchemaComparison(
            from: original.snapshot.schema, to: schema, rowCounts: original.rowCounts, dropping: dropping)
        do throws(GraphError) {
            let migrated = try await convert(original)
            return MigrationPreview(changes: migrated.changes, failures: [])
        } catch {
            switch error {
            case .migrationFailed(_, let failures):
                return MigrationPreview(changes: comparison.changes, failures: failures)
            case .schemaMismatch(_, let differences):
                guard !comparison.changes.isEmpty else { throw error }
                // A program that is older than the file, say, is refused for changes that another one may make.
                let changes =
                    comparison.refused.isEmpty
                    ? comparison.changes.map { $0.handled(.refused, advice: differences.first) } : comparison.changes
                return MigrationPreview(changes: changes, failures: [])
            default: throw error
            }
        }
    }

    private func replayOriginal(
        _ check: @escaping @Sendable (Original) throws(GraphError) -> Void
    ) async throws(GraphError) -> (source: StoreSource, original: Original) {
        let (source, replay) = try await open(
            into: try StoreReplay(path: path, keepsIndexes: false),
            replay: { (replay: inout StoreReplay, entry: JournalEntry) throws(GraphError) in try replay.apply(entry) },
            finish: { (replay: inout StoreReplay) throws(GraphError) in
                _ = try replay.finish()
                try check(replay.original)
                return []
            }
        )
        return (source, replay.original)
    }

    // MARK: Converting

    /// Whether the plan has something to say about a file of this schema, of which the program itself needs none but notes.
    func hasSteps(for record: SchemaRecord, isEmpty: Bool) throws(GraphError) -> Bool {
        try !route(from: try Self.original(of: record, rowCount: 0, isEmpty: isEmpty)).steps.isEmpty
    }

    /// What opening a file of this schema makes of the differences, if it has objects.
    ///
    /// - Throws: `.schemaMismatch` if it would be refused.
    func changes(from record: SchemaRecord) throws(GraphError) -> [SchemaChange] {
        let route = try route(
            from: try Self.original(of: record, rowCount: SchemaComparison.someRows, isEmpty: false))
        return route.direct.changes.map { $0.handling == .refused ? $0.handled(.converted) : $0 }
    }

    private static func original(
        of record: SchemaRecord, rowCount: Int, isEmpty: Bool
    ) throws(GraphError) -> Original {
        let schema = try Schema(record)
        return Original(
            snapshot: Snapshot(schema: schema), counters: [], record: record,
            rowCounts: schema.entities.map { _ in rowCount }, isEmpty: isEmpty)
    }

    /// What the program says of its schema.
    var programRecord: SchemaRecord { SchemaRecord(schema, version: plan?.newestVersion) }

    /// - Throws: `.schemaMismatch` if the file is newer than the program, fits neither the program's schema nor a version of its
    ///   plan, or has something that cannot be converted.
    private func route(from original: Original) throws(GraphError) -> Route {
        let comparison = { (schema: Schema) in
            SchemaComparison(
                from: original.snapshot.schema, to: schema, rowCounts: original.rowCounts, dropping: dropping)
        }
        let direct = comparison(schema)
        var directRoute = Route(direct: direct, comparison: direct, steps: [])
        let schemas = try plan?.schemas(endingWith: schema) ?? []
        let hadSchema = isOlder(than: original.record, schemas)
        directRoute.isOlder = hadSchema || plan?.unknownVersion(of: original.record) != nil
        // It may look at a file that has all that it knows, unchanged, and more.
        if directRoute.isOlder, isReadOnly, direct.changes.allSatisfy({ $0.isNeutral || $0.isRemoval }) {
            return directRoute
        }
        try refuseNewerFile(original.record, direct, hadSchema: hadSchema)
        guard let plan, !plan.steps.isEmpty else { return try checked(directRoute) }
        let comparisons = schemas.map(comparison)
        let number = try number(of: original, in: plan, schemas, comparisons, direct)
        let steps = Array(zip(plan.steps, schemas.dropFirst()).map { (step: $0, schema: $1) })
        guard number < steps.count else { return try checked(directRoute) }
        return try checked(Route(direct: direct, comparison: comparisons[number], steps: steps[number...]))
    }

    /// - Throws: `.schemaMismatch` if a newer version of the program has opened the file, which this one must not convert back.
    private func refuseNewerFile(
        _ record: SchemaRecord, _ direct: SchemaComparison, hadSchema: Bool
    ) throws(GraphError) {
        if let unknownVersion = plan?.unknownVersion(of: record) {
            throw .schemaMismatch(
                path: path,
                differences: [
                    "the file is of version \(unknownVersion.shortened(to: 400)), which the migration plan lacks: "
                        + "a newer version of this program has opened it, or the plan has lost that version"
                ])
        }
        if hadSchema, direct.changes.contains(where: { !$0.isNeutral }) {
            throw .schemaMismatch(path: path, differences: SchemaChange.refusals(ofOlderProgram: direct.changes))
        }
    }

    /// Finds the version of the plan that a file has. It is certain if the file names it or has exactly its schema; of several
    /// with that schema it is the oldest, since programs of the later ones have a plan and name them. Otherwise a file that no
    /// step has to touch must not run one, and none may be left out: if either is possible, it is refused.
    ///
    /// - Parameters:
    ///   - schemas: of the plan's versions.
    ///   - comparisons: of the file's schema with these.
    ///   - direct: of the file's schema with the program's.
    /// - Throws: `.schemaMismatch` if the file fits neither the program's schema nor a version of its plan, or several.
    private func number(
        of original: Original, in plan: MigrationPlan, _ schemas: [Schema], _ comparisons: [SchemaComparison],
        _ direct: SchemaComparison
    ) throws(GraphError) -> Int {
        let record = original.record
        if let version = record.version, let number = plan.versions.lastIndex(of: version) { return number }
        if let number = schemas.firstIndex(where: { SchemaRecord($0).entities == record.entities }) { return number }
        func possible(_ comparisons: [SchemaComparison]) -> [Int] {
            comparisons.indices.filter { number in
                let isLast = number == plan.steps.count
                return comparisons[number].refused.isEmpty && !comparisons[number].removes
                    && (isLast || !record.earlier.contains(SchemaRecord(schemas[number]).fingerprint))
            }
        }
        func accepted(_ found: Int) throws(GraphError) -> Int {
            guard found == plan.steps.count, !original.isEmpty, direct.changes.contains(where: { !$0.isNeutral }) else {
                return found
            }
            // It may come from an earlier version, to which the program then added something.
            let title =
                "the file names no version of the migration plan, and steps may be meant for it: "
                + "declare its schema as a version of the plan"
            throw .schemaMismatch(path: path, differences: ErrorList([title] + direct.changes.map(\.description)))
        }
        let found = possible(comparisons.dropLast() + [direct])
        if found.count == 1 { return try accepted(found[0]) }
        guard !found.isEmpty else { throw mismatch(comparisons.dropLast() + [direct], plan.versions) }
        // Where there are no objects more is possible. But a version is the same for all its files.
        let certain = possible((comparisons.dropLast() + [direct]).map(\.asIfThereWereObjects))
        if certain.count == 1 { return try accepted(certain[0]) }
        let names = found.map { plan.versions[$0] }.joined(separator: ", ").shortened(to: 400)
        throw .schemaMismatch(
            path: path,
            differences: [
                "the file may be of any of these versions: \(names); declare its schema as a version of the plan"
            ])
    }

    /// Whether the file had the program's schema before, and the program is not the newer one all the same: a plan may lead back
    /// to an earlier schema. Then it has the file's version, or its schema if the file names no version, before the last one.
    ///
    /// - Parameter schemas: of the plan's versions.
    private func isOlder(than record: SchemaRecord, _ schemas: [Schema]) -> Bool {
        guard record.earlier.contains(programRecord.fingerprint) else { return false }
        guard let version = record.version, let plan else {
            return !schemas.dropLast().contains { SchemaRecord($0).entities == record.entities }
        }
        return !plan.versions.dropLast().contains(version)
    }

    private func checked(_ route: Route) throws(GraphError) -> Route {
        try refuse(route.comparison.refused)
        return route
    }

    private func refuse(_ changes: [SchemaChange]) throws(GraphError) {
        guard changes.isEmpty else {
            throw .schemaMismatch(path: path, differences: ErrorList(changes.map(\.description)))
        }
    }

    /// No version is like the file: says how the nearest one differs from it, which is the one with the fewest differences that
    /// stand in the way, and of several the newest.
    private func mismatch(_ comparisons: [SchemaComparison], _ versions: [String]) -> GraphError {
        let advice = "no version of the plan has the file's schema: declare it as one"
        let obstacles = comparisons.map { comparison in
            comparison.refused
                + comparison.changes.filter { $0.isRemoval && $0.handling != .refused }
                .map { $0.handled(.refused, advice: advice) }
        }
        let nearest = obstacles.indices.reversed().min { obstacles[$0].count < obstacles[$1].count } ?? 0
        let title =
            "the file is of no version of the migration plan; the nearest one is \(versions[nearest].shortened(to: 400))"
        return .schemaMismatch(path: path, differences: ErrorList([title] + obstacles[nearest].map(\.description)))
    }

    private func convert(_ original: Original) async throws(GraphError) -> Migrated {
        let route = try route(from: original)
        var (snapshot, counters, replacedNulls, unread) = try convert(
            original.snapshot, original.counters, route.comparison, isLast: route.steps.isEmpty, isStep: false)
        for (step, version) in route.steps {
            let comparison = SchemaComparison(
                from: snapshot.schema, to: version, rowCounts: snapshot.entities.map(\.rows.count), dropping: dropping)
            try refuse(comparison.changes.filter(\.isUncertain))
            let (start, next, replaced, parts) = try convert(
                snapshot, counters, comparison, isLast: false, isStep: true)
            let coordinator = try await Coordinator(of: start, counters: next)
            do {
                try await step.run(snapshot, coordinator)
            } catch {
                throw .migrationStepFailed(
                    path: path, from: "\(step.source)", to: "\(step.target)",
                    reason: "\(error)".shortened(to: 400))
            }
            (snapshot, counters) = (coordinator.snapshot, await coordinator.usedCounters)
            replacedNulls += replaced
            unread.formUnion(parts)
        }
        if snapshot.schema !== schema {
            let comparison = SchemaComparison(
                from: snapshot.schema, to: schema, rowCounts: snapshot.entities.map(\.rows.count), dropping: dropping)
            try refuse(comparison.refused)
            let (last, next, replaced, parts) = try convert(
                snapshot, counters, comparison, isLast: true, isStep: false)
            (snapshot, counters) = (last, next)
            replacedNulls += replaced
            unread.formUnion(parts)
        }
        // Rows have no later version than the state has commits, so those of the steps count. Without them, what is only read has
        // no commit of its own.
        if !isReadOnly { snapshot.token.commit = max(snapshot.commit, original.snapshot.commit.next) }
        snapshot.token.fingerprint = original.snapshot.token.fingerprint
        // No record leads there. Two migrations of copies of one file may make different states.
        let time = options.nanosecondsSince1970()
        if snapshot.commit != original.snapshot.commit { snapshot.token.add(time) }
        let keepsHistory = route.steps.isEmpty && !isReadOnly && retention != .none
        return Migrated(
            snapshot: snapshot, counters: counters,
            changes: route.direct.changes.map { $0.handling == .refused ? $0.handled(.converted) : $0 } + replacedNulls,
            isPartial: isReadOnly && route.isOlder, time: time,
            conversion: keepsHistory ? CommitConversion(route.comparison, newest: snapshot) : nil, unread: unread)
    }

    /// - Parameters:
    ///   - isLast: whether the rules have to hold afterwards.
    ///   - isStep: whether a step follows, which replaces values that nobody knows or can read.
    private func convert(
        _ snapshot: Snapshot,
        _ counters: [RowNumber],
        _ comparison: SchemaComparison,
        isLast: Bool,
        isStep: Bool
    ) throws(GraphError) -> (Snapshot, [RowNumber], replacedNulls: [SchemaChange], unread: Set<String>) {
        let conversion = SnapshotConversion(snapshot, comparison, isLast: isLast, isStep: isStep, meter)
        guard conversion.failures.isEmpty else {
            throw .migrationFailed(path: path, failures: conversion.failures)
        }
        let next = comparison.entities.map { $0.number.map { counters[$0] } ?? 1 }
        return (conversion.result, next, conversion.replacedNulls, conversion.unread)
    }
}

extension StoreReplay {
    var original: StoreOpening.Original {
        StoreOpening.Original(
            snapshot: snapshot, counters: counters, record: fileRecord, consumers: consumers,
            oldest: oldest ?? HistoryToken(), rowCounts: snapshot.entities.map(\.rows.count),
            isEmpty: snapshot.entities.allSatisfy { $0.rows.count == 0 })
    }
}

extension StoreDiagnostic {
    /// What opening the file has changed in its schema.
    static func changes(_ changes: [SchemaChange]) -> [StoreDiagnostic] {
        changes.map { StoreDiagnostic($0.handling == .recorded ? .recordedChange : .convertedChange, $0.description) }
    }
}
