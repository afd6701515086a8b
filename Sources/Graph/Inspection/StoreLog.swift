/// The commits that a file has beside the state of its last compaction.
package struct StoreLog: Sendable {
    package struct Commit: Sendable {
        package let number: UInt64
        /// In nanoseconds since 1970; what the clock of the program's machine said.
        package let time: UInt64
        /// Who saved, if the program said so.
        package let author: String
        /// The length of the record's payload.
        package let bytes: Int
        /// By entity, in the schema's order, without those that did not change.
        package let changes: [Changes]

        /// A JSON object in one line.
        package var json: String {
            func entry(_ key: String, _ value: StoredValue) -> StoredValue.Entry {
                .init(key: .text(key), value: value)
            }
            let changes = changes.map { changes in
                entry(
                    changes.entity,
                    .map([
                        entry("inserted", .number("\(changes.inserted)")),
                        entry("updated", .number("\(changes.updated)")),
                        entry("deleted", .number("\(changes.deleted)")),
                    ]))
            }
            return StoredValue.map([
                entry("commit", .number("\(number)")), entry("time", .number("\(time)")),
                entry("author", .text(author)), entry("bytes", .number("\(bytes)")), entry("changes", .map(changes)),
            ]).description
        }
    }

    /// So many objects of an entity. One of which only links changed counts as none.
    package struct Changes: Sendable, Equatable {
        package let entity: String
        package var inserted = 0
        package var updated = 0
        package var deleted = 0
    }

    /// The oldest first.
    package let commits: [Commit]
    /// The commit whose state the last compaction has written; 0 without one.
    package let firstCommit: UInt64

    /// Reads a file as ``StoreInspection`` does.
    ///
    /// Complexity: O(file), and memory for what each commit is summarized to.
    package init(reading path: String) async throws(GraphError) {
        let start = Reading(replay: try StoreReplay(path: path, keepsIndexes: false))
        let (_, reading) = try await Journal.read(
            at: path, fileSystem: PosixFileSystem(), options: JournalOptions(), into: start,
            replay: { (reading: inout Reading, entry) throws(GraphError) in try reading.take(entry) },
            finish: { (reading: inout Reading) throws(GraphError) in _ = try reading.replay.finish() })
        commits = reading.commits
        firstCommit = reading.replay.baseCommit.number
    }

    private struct Reading {
        var replay: StoreReplay
        var commits: [Commit] = []

        mutating func take(_ entry: JournalEntry) throws(GraphError) {
            let before = replay.snapshot
            try replay.apply(entry)
            guard entry.kind == .commit, let head = try? CommitRecord.head(of: entry.payload) else { return }
            let difference = replay.snapshot.difference(from: before)
            let changes = before.schema.entities.enumerated().map { number, entity in
                var changes = Changes(entity: entity.name)
                difference.forEachRow(of: number) { _, old, new in
                    changes.inserted += old == nil ? 1 : 0
                    changes.deleted += new == nil ? 1 : 0
                    changes.updated += old == nil || new == nil ? 0 : 1
                }
                return changes
            }
            commits.append(
                Commit(
                    number: head.number.number, time: head.time, author: head.author, bytes: entry.payload.count,
                    changes: changes.filter { $0 != Changes(entity: $0.entity) }))
        }
    }
}
