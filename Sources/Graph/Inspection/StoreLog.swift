/// The commits that a file has, those that its last compaction has retained among them.
package struct StoreLog: Sendable {
    package struct Commit: Sendable {
        package let number: UInt64
        /// The text of the program's token of it.
        package let token: String
        /// In nanoseconds since 1970; what the clock of the program's machine said.
        package let time: UInt64
        /// Who saved, if the program said so.
        package let author: String
        /// The length of the record's payload.
        package let bytes: Int
        /// By entity, in the schema's order, without those that did not change.
        package let changes: [Changes]
        /// The objects and links that it changed; nil if the log was not asked for them.
        package let details: [Detail]?

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
            return StoredValue.map(
                [
                    entry("commit", .number("\(number)")), entry("token", .text(token)),
                    entry("time", .number("\(time)")), entry("author", .text(author)),
                    entry("bytes", .number("\(bytes)")),
                    entry("changes", .map(changes)),
                ] + (details.map { [entry("objects", .list($0.map(\.json)))] } ?? [])
            ).description
        }
    }

    /// So many objects of an entity. One of which only links changed counts as none.
    package struct Changes: Sendable, Equatable {
        package let entity: String
        package var inserted = 0
        package var updated = 0
        package var deleted = 0
    }

    /// What a commit did to one object or link.
    package enum Detail: Sendable {
        /// With the properties that are in its row, not those that follow from other rows.
        case inserted(Object)
        /// With the properties that changed.
        case updated(Object, before: [StoredValue])
        /// With its last values.
        case deleted(Object)
        /// A link that files record by itself, of many to many or of an order; one that moves in its order is removed and added.
        case link(relationship: String, owner: UInt64, member: UInt64, isAdded: Bool)

        package typealias Object = StoreInspection.Object

        fileprivate var json: StoredValue {
            func map(_ entries: [(key: String, value: StoredValue)]) -> StoredValue {
                .map(entries.map { .init(key: .text($0.key), value: $0.value) })
            }
            func json(_ change: String, _ object: Object, before: [StoredValue]? = nil) -> StoredValue {
                map(
                    [
                        ("change", .text(change)), ("entity", .text(object.entity)), ("row", .number("\(object.row)")),
                        ("values", map(object.values.map { ($0.property, $0.value) })),
                    ] + (before.map { [("before", map(Array(zip(object.values.map(\.property), $0))))] } ?? []))
            }
            return switch self {
            case .inserted(let object): json("inserted", object)
            case .updated(let object, let before): json("updated", object, before: before)
            case .deleted(let object): json("deleted", object)
            case .link(let relationship, let owner, let member, let isAdded):
                map([
                    ("change", .text(isAdded ? "linked" : "unlinked")), ("relationship", .text(relationship)),
                    ("owner", .number("\(owner)")), ("member", .number("\(member)")),
                ])
            }
        }
    }

    /// The oldest first.
    package let commits: [Commit]
    /// The commit of the oldest state that the file leads back to; 0 for the empty one.
    package let firstCommit: UInt64

    /// Reads a file as ``StoreInspection`` does.
    ///
    /// - Parameter hasDetails: whether the log has the objects and links that each commit changed.
    ///
    /// Complexity: O(file), and memory for what each commit is summarized to, or for all values that it changed.
    package init(reading path: String, hasDetails: Bool = false) async throws(GraphError) {
        let (contents, replay) = try await Journal.read(
            at: path, fileSystem: PosixFileSystem(), options: JournalOptions(),
            into: try StoreReplay(path: path, keepsIndexes: false),
            replay: { (replay: inout StoreReplay, entry) throws(GraphError) in try replay.apply(entry) },
            finish: { (replay: inout StoreReplay) throws(GraphError) in _ = try replay.finish() })
        let newest = replay.snapshot.with(store: contents.storeID)
        let file = contents.tail.readFile
        (commits, firstCommit) = try await Journal.onExecutor { () throws(GraphError) in
            let recorded = try RecordedCommits(file, since: nil, through: newest.token)
            var walk = CommitWalk(recorded, from: newest)
            try walk.goBack(to: recorded.start.commit)
            var commits: [Commit] = []
            while let passed = try walk.goOn(), let changes = passed.changes {
                commits.append(Commit(passed.head, changes, bytes: passed.bytes, hasDetails: hasDetails))
            }
            return (commits, recorded.start.commit.number)
        }
    }
}

extension Snapshot {
    /// The state of a file, which does not say itself of which store it is.
    fileprivate func with(store: StoreID) -> Snapshot {
        var snapshot = self
        snapshot.token.store = store
        return snapshot
    }
}

extension StoreLog.Commit {
    /// - Parameter bytes: the length of the record's payload.
    init(_ head: CommitRecord.Head, _ states: some StateChanges, bytes: Int, hasDetails: Bool) {
        let changes = states.schema.entities.enumerated().map { number, entity in
            var changes = StoreLog.Changes(entity: entity.name)
            states.forEachRow(of: number) { _, old, new in
                changes.inserted += old == nil ? 1 : 0
                changes.deleted += new == nil ? 1 : 0
                changes.updated += old == nil || new == nil ? 0 : 1
            }
            return changes
        }
        self.init(
            number: head.number.number, token: "\(states.tokens.after)", time: head.time, author: head.author,
            bytes: bytes,
            changes: changes.filter { $0 != StoreLog.Changes(entity: $0.entity) },
            details: hasDetails ? states.details : nil)
    }
}

extension StateChanges {
    /// What differs, by entity and then by relationship.
    fileprivate var details: [StoreLog.Detail] {
        var details: [StoreLog.Detail] = []
        forEachRow { id, old, new in
            func object(_ values: [(property: String, value: StoredValue)]) -> StoreLog.Detail.Object {
                StoreLog.Detail.Object(
                    entity: schema.entities[id.entity].name, row: id.row, version: version(of: id)?.number ?? 0,
                    values: values)
            }
            let (oldValues, newValues) = (
                old.map { storedValues(of: id, at: $0) }, new.map { storedValues(of: id, at: $0) }
            )
            switch (oldValues, newValues) {
            case (let old?, let new?):
                let changed = zip(old, new).filter { $0.value != $1.value }
                details.append(.updated(object(changed.map(\.1)), before: changed.map(\.0.value)))
            case (nil, let new?): details.append(.inserted(object(new)))
            case (let old?, nil): details.append(.deleted(object(old)))
            case (nil, nil): break
            }
        }
        return details
            + linkChanges().map {
                .link(
                    relationship: "\($0.owner.entityName).\($0.property)", owner: $0.owner.row, member: $0.member.row,
                    isAdded: $0.isMade)
            }
    }

    /// The properties that are in the row itself. Members follow from other rows, and from links.
    private func storedValues(
        of id: RowID, at address: UnsafeRawPointer
    ) -> [(property: String, value: StoredValue)] {
        let entity = schema.entities[id.entity]
        return entity.properties.indices.filter { number in !entity.toManys.contains { $0.property == number } }
            .map { (property: entity.properties[$0].name, value: entity.storedValue(of: $0, at: address)) }
    }
}
