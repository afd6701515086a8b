import Testing

@testable import Graph

/// What `dryRun` says, against what the save then does.
struct PreviewTests {
    /// What a commit did to the rows of a bank or a school.
    private static func changes(from old: Snapshot, to new: Snapshot) -> [ChangeKind: [AnyPersistentID]] {
        var changes: [ChangeKind: [AnyPersistentID]] = [:]
        for entity in new.schema.entities.indices {
            let (old, rows) = (old.entities[entity].rows, new.entities[entity].rows)
            let name = new.schema.entities[entity].name
            rows.forEachRow { row, version, _ in
                guard version != old.version(of: row) else { return }
                let kind: ChangeKind = old.contains(row) ? .updated : .inserted
                changes[kind, default: []].append(AnyPersistentID(entityName: name, row: row))
            }
            old.forEachRow { row, _, _ in
                guard !rows.contains(row) else { return }
                changes[.deleted, default: []].append(AnyPersistentID(entityName: name, row: row))
            }
        }
        return changes
    }

    /// Has a save previewed, which changes nothing, and then happen, which is what was previewed.
    private func expectPreview(
        of context: Context,
        _ coordinator: Coordinator,
        _ policy: MergePolicy? = nil,
        _ location: SourceLocation = #_sourceLocation
    ) async -> SavePreview {
        let before = coordinator.snapshot
        let pending = await context.perform { context in
            [context.insertedObjects, context.updatedObjects, context.deletedObjects].map { $0.map(\.anyID) }
        }
        let preview = await context.dryRun(mergePolicy: policy)
        #expect(await context.dryRun(mergePolicy: policy).error == preview.error, sourceLocation: location)
        #expect(coordinator.snapshot.commit == before.commit, sourceLocation: location)
        let pendingStill = await context.perform { context in
            [context.insertedObjects, context.updatedObjects, context.deletedObjects].map { $0.map(\.anyID) }
        }
        #expect(pending == pendingStill, sourceLocation: location)
        var error: GraphError?
        do {
            try await context.save(mergePolicy: policy)
        } catch let failure {
            error = failure
        }
        #expect(preview.error == error, sourceLocation: location)
        let changes = Self.changes(from: before, to: coordinator.snapshot)
        #expect(preview.inserted == changes[.inserted] ?? [], sourceLocation: location)
        #expect(preview.updated == changes[.updated] ?? [], sourceLocation: location)
        #expect(preview.deleted == changes[.deleted] ?? [], sourceLocation: location)
        return preview
    }

    @Test(arguments: Policy.allCases)
    func `a preview is what the save then does, under every policy`(policy: Policy) async throws {
        let rivals = try await Rivals()
        let (accounts, client) = try await rivals.start { context in
            let client = context.insert(Client(name: "Ada"))
            let accounts = (0...5).map { context.insert(Account(balance: $0)) }
            client.accounts.append(accounts[5])
            context.insert(Advisor(favorite: ToOne(accounts[2].id)))
            return (accounts.map(\.id), client.id)
        }
        try await rivals.change { context in
            context[accounts[0]]?.balance = 10
            context[accounts[1]]?.balance = 11
            context[accounts[2]]?.delete()
            context[accounts[3]]?.delete()
            context[accounts[4]]?.memo = "ours alone"
            context[client]?.delete()
            context.insert(Account(memo: "new"))
            context.insert(Account(memo: "refers", client: ToOne(client)))
        } theirs: { context in
            context[accounts[0]]?.balance = 20
            context[accounts[1]]?.delete()
            context[accounts[2]]?.balance = 22
            context[accounts[5]]?.balance = 25
            context.insert(Account(balance: 7, client: ToOne(client)))
        }
        let preview = await expectPreview(of: rivals.ours, rivals.coordinator, policy.value)
        #expect((preview.error != nil) == (policy == .error))
        if policy == .objectTrump {
            #expect(preview.inserted.contains(AnyPersistentID(accounts[1])))
            #expect(preview.deleted.count == 5)
        }
        if policy == .rollback { #expect(preview.deleted == [AnyPersistentID(accounts[3])]) }
    }

    @Test func `a preview knows what gives way, what fails, and what is nothing`() async throws {
        let coordinator = try await Coordinator.school()
        let context = Context(coordinator)
        let nothing = await expectPreview(of: context, coordinator)
        #expect(nothing.error == nil && nothing.inserted.isEmpty)
        let old = try await context.transaction { $0.insert(Student(name: "Ada", email: "a")).id }
        let new = await context.perform { $0.insert(Student(name: "Countess", email: "a")).id }
        let upsert = await expectPreview(of: context, coordinator)
        #expect(upsert.replaced == [AnyPersistentID(new): AnyPersistentID(old)])
        #expect(upsert.updated == [AnyPersistentID(old)] && upsert.inserted.isEmpty)

        await context.perform { _ = $0.insert(Lecture(title: "of no course")) }
        let failure = await expectPreview(of: context, coordinator)
        guard case .validationFailed? = failure.error else {
            Issue.record("no failure")
            return
        }
        #expect(failure.inserted.isEmpty)
    }

    @Test func `a preview has willSave run, without the context's noticing`() async throws {
        let coordinator = try await Coordinator(for: Stamped.self, checksEveryCommit: true)
        let context = Context(coordinator)
        let id = await context.perform { $0.insert(Stamped()).id }
        #expect(await expectPreview(of: context, coordinator).error == nil)
        #expect(coordinator.snapshot.value(for: id)?.count == 1)
        try await context.perform { try $0.object(for: id).text = "changed" }
        _ = await context.dryRun()
        let count = await context.perform { $0[id]?.count }
        #expect(count == 1)
        _ = await expectPreview(of: context, coordinator)
        #expect(coordinator.snapshot.value(for: id)?.count == 2)
    }

    @Test func `a preview asks rules, and says what they refuse`() async throws {
        struct Refused: Error {}
        let rivals = try await Rivals(.custom(.entity(Account.self) { _, _, _ in throw Refused() }))
        let id = try await rivals.start { $0.insert(Account()).id }
        try await rivals.change {
            try $0.object(for: id).balance = 1
        } theirs: {
            try $0.object(for: id).balance = 2
        }
        let preview = await expectPreview(of: rivals.ours, rivals.coordinator)
        guard case .conflicts(let conflicts)? = preview.error else {
            Issue.record("no conflicts")
            return
        }
        #expect(conflicts.map(\.reason) == ["Refused()"])
        let counted = MergePolicy.custom(.property(\Account.balance, .counter))
        #expect(await expectPreview(of: rivals.ours, rivals.coordinator, counted).updated == [AnyPersistentID(id)])
        #expect(rivals.row(id)?.balance == 3)
    }

    @Test func `a nested context's preview is what its parent takes`() async throws {
        let coordinator = try await Coordinator.bank()
        let parent = Context(coordinator)
        let (one, other) = try await parent.transaction { context in
            (context.insert(Account(balance: 1)).id, context.insert(Account(balance: 2)).id)
        }
        let child = await Context(parent: parent)
        try await child.perform { context in
            try context.object(for: one).balance = 10
            try context.object(for: other).delete()
            context.insert(Account(balance: 3))
        }
        let preview = await child.dryRun()
        #expect(preview.error == nil && preview.inserted.count == 1)
        #expect(preview.updated == [AnyPersistentID(one)] && preview.deleted == [AnyPersistentID(other)])
        #expect(await parent.hasChanges == false)
        try await parent.perform { try $0.object(for: one).balance = 20 }
        guard case .conflicts(let conflicts)? = await child.dryRun().error else {
            Issue.record("no conflicts")
            return
        }
        #expect(conflicts.map(\.id) == [AnyPersistentID(one)])
        #expect(await child.dryRun(mergePolicy: .rollback).deleted == [AnyPersistentID(other)])
        #expect(await child.hasChanges)
    }
}

/// Counts its saves, and is none without.
private struct Stamped: Entity {
    var text = ""
    var count = 0

    static let schema = EntitySchema<Stamped>("Stamped") {
        $0.attribute("text", \.text)
        $0.attribute("count", \.count)
    }

    mutating func willSave() { count += 1 }

    func validate() throws {
        if count == 0 { throw ValidationError(\Self.count, "must not be 0") }
    }
}
