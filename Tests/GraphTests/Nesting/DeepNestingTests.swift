import Testing

@testable import Graph

/// R21: contexts nested in others that are nested themselves.
struct DeepNestingTests {
    private let coordinator: Coordinator
    private let root: Context

    init() async throws {
        coordinator = try await .bank()
        root = Context(coordinator)
    }

    @Test func `R21 conflicts and merges happen at each of three levels`() async throws {
        let id = try await root.account()
        let policy = MergePolicy.custom(.property(\Account.balance, .counter))
        let child = await Context(parent: root, mergePolicy: policy)
        let grandchild = await Context(parent: child)
        #expect(grandchild.parent === child && grandchild.coordinator === coordinator)
        try await grandchild.perform { try $0.object(for: id).balance += 1 }
        try await child.perform { try $0.object(for: id).balance += 10 }
        try await root.perform { try $0.object(for: id).balance += 100 }
        try await Context(coordinator).transaction { try $0.object(for: id).balance += 1000 }
        try await grandchild.save()
        #expect(await child.balance(of: id) == 11)
        try await child.save()
        #expect(await root.balance(of: id) == 111)
        #expect(await root.conflictsOfSave().count == 1)
        try await root.save(mergePolicy: policy)
        #expect(coordinator.snapshot.value(for: id)?.balance == 1111)
        #expect(await grandchild.balance(of: id) == 11)
        // The child is where its save took it.
        await grandchild.refresh()
        #expect(await grandchild.balance(of: id) == 111)
        await child.refresh()
        await grandchild.refresh()
        #expect(await grandchild.balance(of: id) == 1111)
    }

    @Test func `R21 objects of nested contexts show the committed version and value below all levels`() async throws {
        let id = try await root.account(Account(balance: 1))
        try await root.perform { try $0.object(for: id).balance = 2 }
        let child = await Context(parent: root)
        try await child.perform { try $0.object(for: id).balance = 3 }
        let grandchild = await Context(parent: child)
        await grandchild.perform { context in
            #expect(context[id]?.balance == 3 && context[id]?.version == RowVersion(1))
            #expect(context[id]?.committedValue?.balance == 1 && context[id]?.hasChanges == false)
            context[id]?.balance = 4
            #expect(context[id]?.changedValues["balance"] as? Int == 4 && context[id]?.version == RowVersion(1))
        }
        try await grandchild.save()
        try await child.save()
        try await root.save()
        for context in [child, grandchild] { await context.refresh() }
        await grandchild.perform { context in
            #expect(context[id]?.balance == 4 && context[id]?.version == RowVersion(2))
            #expect(context[id]?.committedValue?.balance == 4)
        }
    }

    @Test func `R24 identifiers of all levels are different ones`() async throws {
        let child = await Context(parent: root)
        let grandchild = await Context(parent: child)
        var ids: [Account.ID] = []
        for context in [root, grandchild, child, grandchild, root] {
            ids.append(await context.perform { $0.insert(Account()).id })
        }
        #expect(Set(ids).count == 5)
        await grandchild.rollback()
        #expect(!ids.contains(await child.perform { $0.insert(Account()).id }))
    }

    @Test func `R2 R21 a requirement of a child is checked against its parent, and at the root`() async throws {
        let id = try await root.account()
        let child = await Context(parent: root)
        func require() async throws {
            try await child.perform { context in
                context.require(unchanged: try context.object(for: id))
                context.insert(Club())
            }
        }
        try await require()
        try await root.perform { try $0.object(for: id).balance = 1 }
        #expect(await child.conflictsOfSave().map(\.id) == [AnyPersistentID(id)])
        await root.rollback()
        #expect(await child.conflictsOfSave().isEmpty)
        // The parent changes nothing of it, others do.
        try await Context(coordinator).transaction { try $0.object(for: id).balance = 2 }
        #expect(await root.conflictsOfSave().map(\.id) == [AnyPersistentID(id)])
        await root.refresh()
        try await root.save()
        #expect(coordinator.snapshot.count(of: Club.self) == 1)
    }

    @Test func `R20 R21 transactions of a child reach its parent, and no further`() async throws {
        struct Abandoned: Error {}
        let id = try await root.account()
        let child = await Context(parent: root)
        for isAsync in [false, true] {
            if isAsync {
                try await child.transaction { context in
                    await Task.yield()
                    try context.object(for: id).balance += 1
                }
            } else {
                try await child.transaction { try $0.object(for: id).balance += 1 }
            }
            await #expect(throws: Abandoned.self) {
                try await child.transaction { context in
                    await Task.yield()
                    try context.object(for: id).balance += 100
                    throw Abandoned()
                }
            }
        }
        #expect(await root.balance(of: id) == 2)
        #expect(coordinator.snapshot.value(for: id)?.balance == 0)
        #expect(await child.hasChanges == false)
    }
}
