/// A report of one save, which shows what a program commits.
///
/// With `GRAPH_TRACE=1` in the environment, Graph prints each one to standard error:
///
/// ```
/// graph: commit 27 to photos.graph by import (App/Library.swift:12): Image +3 ~1 −0; 213 bytes, 4 commits written in 0.8 ms
/// graph: refused by photos.graph (App/Library.swift:31): could not merge changes: 1 conflict …
/// ```
///
/// If the disk fails after saves have returned, as it can below ``Durability/full``, one more report has the error
/// ``GraphError/outcomeUnknown(path:commit:reason:)``: the error and `origin` name the first commit that may be lost. It comes when
/// the disk fails, before any save or ``Coordinator/sync()`` meets the failure.
public struct CommitTrace: Sendable, CustomStringConvertible {
    /// How many rows of one entity the commit wrote.
    public struct EntityCount: Sendable, Hashable {
        /// The entity's name.
        public let entity: String
        /// The rows inserted, changed and deleted.
        public internal(set) var inserted = 0, updated = 0, deleted = 0
    }

    /// The file's path, or `memory` for a store without a file.
    public let store: String
    /// Who saved, and where in the program; with the commit's number if there was a commit.
    public internal(set) var origin: ChangeOrigin
    /// Why there was no commit; nil if there was one, or nothing to save.
    public internal(set) var error: GraphError?
    /// The entities whose rows the commit wrote, in the order in which the store was opened with them.
    public internal(set) var rows: [EntityCount] = []
    /// How many links and places of members the commit added and removed, at one end of each relationship.
    public internal(set) var addedLinks = 0, removedLinks = 0
    /// How many conflicts the merge policy resolved.
    public internal(set) var resolvedConflicts = 0
    /// The size of the commit's record; 0 without a file.
    public internal(set) var recordBytes = 0
    /// How many commits shared one write and sync.
    public internal(set) var groupSize = 1
    /// How long writing and syncing them took; zero without a file.
    public internal(set) var writing = Duration.zero

    /// Whether the environment asks for traces on standard error.
    static var isPrinted: Bool { PosixFileSystem.environment("GRAPH_TRACE") == "1" }

    /// Prints to standard error, if the environment asks for that.
    static var printer: (@Sendable (CommitTrace) -> Void)? {
        guard isPrinted else { return nil }
        return { trace in PosixFileSystem.writeToStandardError(trace.description) }
    }

    init(store: String, origin: ChangeOrigin) {
        self.store = store
        self.origin = origin
    }

    mutating func count(_ commit: PreparedCommit) {
        let (state, schema) = (commit.state, commit.state.schema)
        origin = commit.origin
        resolvedConflicts = commit.resolved.count
        for (entity, changes) in state.changes.entities where !changes.isEmpty {
            var count = EntityCount(entity: schema.entities[entity].name)
            changes.forEachChange { _, kind, _ in
                switch kind {
                case .inserted: count.inserted += 1
                case .updated: count.updated += 1
                case .deleted: count.deleted += 1
                }
            }
            rows.append(count)
        }
        state.difference.forEachLinkTable { number, table, difference in
            guard table.isRecorded(as: number) else { return }
            addedLinks += difference.added.count
            removedLinks += difference.removed.count
        }
    }

    /// One line, or several for an error with several items.
    public var description: String {
        let who = origin.who.isEmpty ? "" : " " + origin.who
        if let error { return "graph: refused by \(store)\(who): \(error)" }
        let outcome = origin.commit.map { "commit \($0) to \(store)" } ?? "nothing to do in \(store)"
        var parts = rows.map { "\($0.entity) +\($0.inserted) ~\($0.updated) −\($0.deleted)" }
        if addedLinks + removedLinks > 0 { parts.append("links +\(addedLinks) −\(removedLinks)") }
        var text = "graph: \(outcome)\(who)" + (parts.isEmpty ? "" : ": ") + parts.joined(separator: ", ")
        if resolvedConflicts > 0 {
            text += "; \(resolvedConflicts) conflict\(resolvedConflicts == 1 ? "" : "s") resolved"
        }
        if recordBytes > 0 {
            let milliseconds = Double(writing / .microseconds(1)) / 1000
            text +=
                "; \(recordBytes) bytes, \(groupSize) commit\(groupSize == 1 ? "" : "s") written in \(milliseconds) ms"
        }
        return text
    }
}

extension StoreDiagnostic {
    /// What `GRAPH_TRACE=1` prints.
    func traceLine(path: String) -> String { "graph: opened \(path): \(self)" }

    static func trace(_ diagnostics: [StoreDiagnostic], path: String) {
        guard !diagnostics.isEmpty, CommitTrace.isPrinted else { return }
        for diagnostic in diagnostics { PosixFileSystem.writeToStandardError(diagnostic.traceLine(path: path)) }
    }
}
