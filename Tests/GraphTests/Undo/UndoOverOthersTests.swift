import Testing

@testable import Graph

@Entity private struct Item {
    var x = 0
    var y = 0
}

@Entity private struct Doc {
    var title = ""
    var item: ToOne<Item> = nil
    var tags: ToMany<Tag> = []
}

@Entity private struct Tag {
    var count = 0
    @Relationship(inverse: \Doc.tags) var docs: ToMany<Doc> = []
}

/// Takes what grows from it along when it is deleted.
@Entity private struct Sprig {
    var length = 0
    var parent: ToOne<Sprig> = nil
    @Relationship(.cascade, inverse: \Sprig.parent) var children: ToMany<Sprig> = []
    var touches: ToMany<Sprig> = []
    @Relationship(inverse: \Sprig.touches) var touched: ToMany<Sprig> = []
}

/// R22: an undo takes back what its group did, and nothing that others did.
struct UndoOverOthersTests {
    private static func store() async throws -> Coordinator {
        try await Coordinator(for: Item.self, Doc.self, Tag.self, checksEveryCommit: true)
    }

    private static func context(_ coordinator: Coordinator, _ policy: MergePolicy = .error) async -> Context {
        let context = Context(coordinator, mergePolicy: policy)
        await context.perform { $0.undoLimit = 9 }
        return context
    }

    @Test(arguments: [false, true])
    func `R22 an object comes back with what others have linked to it meanwhile`(isByItself: Bool) async throws {
        let coordinator = try await Self.store()
        let (doc, other, tag) = try await coordinator.transaction { context in
            (context.insert(Doc()).id, context.insert(Doc()).id, context.insert(Tag()).id)
        }
        let context = await Self.context(coordinator)
        await context.perform { $0.automaticallyMergesChanges = isByItself }
        await context.perform { $0[tag]?.delete() }
        try await coordinator.transaction { context in
            if let tag = context[tag] { context[doc]?.tags.insert(tag) }
            context[other]?.title = "theirs"
        }
        if isByItself {
            while await context.commit < coordinator.snapshot.commit { await Task.yield() }
        } else {
            await context.refresh()
        }
        #expect(await context.undo() == [])
        #expect(await context.hasChanges == false)
        #expect(await context.perform { $0[tag]?.docs.ids } == [doc])
        try await context.save()
        #expect(try coordinator.snapshot.related(\Doc.tags, of: doc) == [tag])
        // And is deleted again with all that.
        #expect(await context.redo() == [])
        #expect(await context.perform { $0[tag] == nil && $0[doc]?.tags.count == 0 })
    }

    @Test func `R22 what was changed before a delete is there again after its undo, on top of what others changed`()
        async throws
    {
        let coordinator = try await Self.store()
        let id = try await coordinator.transaction { $0.insert(Item(x: 1)).id }
        let context = await Self.context(coordinator)
        await context.perform { $0[id]?.x = 2 }
        await context.perform { $0[id]?.delete() }
        try await coordinator.transaction { $0[id]?.y = 7 }
        await context.refresh()
        #expect(await context.undo() == [])
        await context.perform { #expect($0[id]?.x == 2 && $0[id]?.y == 7) }
        #expect(await context.undo() == [])
        await context.perform { #expect($0[id]?.x == 1 && $0[id]?.y == 7) }
        #expect(await context.hasChanges == false)
    }

    @Test func `R22 a delete that a policy dropped leaves nothing to undo of what others have set`() async throws {
        let coordinator = try await Self.store()
        let (doc, first, second) = try await coordinator.transaction { context in
            let (first, second, doc) = (context.insert(Item()), context.insert(Item()), context.insert(Doc()))
            doc.item = first
            return (doc.id, first.id, second.id)
        }
        let context = await Self.context(coordinator, .rollback)
        await context.perform { $0[doc]?.delete() }
        try await coordinator.transaction { $0[doc]?.item = $0[second] }
        try await context.save()
        #expect(await context.undo() == [UndoConflict(id: AnyPersistentID(doc), property: nil)])
        #expect(await context.hasChanges == false)
        try await context.save(mergePolicy: .error)
        #expect(coordinator.snapshot.value(for: doc)?.item.id == second)
        _ = first
    }

    @Test func `R22 a reference to an object whose delete was dropped stays as others left it`() async throws {
        let coordinator = try await Self.store()
        let (doc, item) = try await coordinator.transaction { context in
            let (item, doc) = (context.insert(Item()), context.insert(Doc()))
            doc.item = item
            return (doc.id, item.id)
        }
        let context = await Self.context(coordinator, .mergeByPropertyStoreTrump)
        await context.perform { $0[item]?.delete() }
        try await coordinator.transaction { context in
            context[item]?.x = 1
            context[doc]?.item = nil
        }
        try await context.save()
        #expect(coordinator.snapshot.value(for: item)?.x == 1)
        _ = await context.undo()
        #expect(await context.perform { $0[doc]?.item == nil })
        #expect(await context.hasChanges == false)
    }

    @Test func `R22 a saved insert that others have linked or referred to stays`() async throws {
        let coordinator = try await Self.store()
        let doc = try await coordinator.transaction { $0.insert(Doc()).id }
        let context = await Self.context(coordinator)
        let tag = try await context.transaction { $0.insert(Tag()).id }
        let item = try await context.transaction { $0.insert(Item()).id }
        try await coordinator.transaction { context in
            if let tag = context[tag] { context[doc]?.tags.insert(tag) }
            context[doc]?.item = context[item]
        }
        await context.refresh()
        #expect(await context.undo() == [UndoConflict(id: AnyPersistentID(item), property: nil)])
        #expect(await context.undo() == [UndoConflict(id: AnyPersistentID(tag), property: nil)])
        try await context.save()
        #expect(coordinator.snapshot.value(for: doc)?.item.id == item)
        #expect(try coordinator.snapshot.related(\Doc.tags, of: doc) == [tag])
    }

    // MARK: Groups

    @Test func `R22 one perform that waits is one group`() async throws {
        let coordinator = try await Self.store()
        let id = try await coordinator.transaction { $0.insert(Item(x: 1)).id }
        let context = await Self.context(coordinator)
        await context.perform { inner in
            inner[id]?.x = 2
            await context.perform { _ = $0.insert(Tag()) }
            inner[id]?.y = 2
        }
        #expect(await context.undo() == [])
        await context.perform { #expect($0[id]?.x == 1 && $0[id]?.y == 0) }
        #expect(await context.hasChanges == false)
    }

    @Test func `R22 what changes nothing in the end is no group`() async throws {
        let coordinator = try await Self.store()
        let id = try await coordinator.transaction { $0.insert(Item(x: 1)).id }
        let context = await Self.context(coordinator)
        await context.perform { $0[id]?.x = 2 }
        await context.perform { $0.insert(Item()).delete() }
        await context.perform { context in
            context[id]?.y = 1
            _ = context.hasChanges
            context[id]?.y = 0
        }
        #expect(await context.undo() == [])
        await context.perform { #expect($0[id]?.x == 1) }
        #expect(await context.canUndo == false)
    }

    @Test func `R37 in a transaction nothing is undone, and a rollback goes back to its beginning`() async throws {
        let coordinator = try await Self.store()
        let id = try await coordinator.transaction { $0.insert(Item(x: 1)).id }
        let context = await Self.context(coordinator)
        await context.perform { $0[id]?.x = 2 }
        try await context.transaction { context in
            #expect(context.canUndo == false)
            #expect(context.undo() == [])
            context[id]?.y = 1
            context.rollback()
            #expect(context[id]?.x == 2 && context[id]?.y == 0)
        }
        #expect(coordinator.snapshot.value(for: id)?.x == 2)
        await context.perform { $0[id]?.x = 3 }
        try await context.transaction { context in
            context.undoLimit = 5
            await context.perform { $0[id]?.y = 1 }
            #expect(context.undo() == [])
            #expect(context[id]?.y == 1)
            context.rollback()
            #expect(context[id]?.x == 3 && context[id]?.y == 0)
        }
        #expect(coordinator.snapshot.value(for: id)?.x == 3 && coordinator.snapshot.value(for: id)?.y == 0)
    }

    /// What a transaction that waits does to go back.
    enum WayBack: CaseIterable { case rollback, rollbackToLatest, reset }

    @Test(
        .bug(id: "rollback to the parent", "it went to what others had done meanwhile"),
        arguments: WayBack.allCases, [false, true]
    )
    func `R37 a transaction that waits goes back to its beginning, whatever others did`(
        way: WayBack,
        refreshes: Bool
    ) async throws {
        let coordinator = try await Self.store()
        let id = try await coordinator.transaction { $0.insert(Item(x: 1)).id }
        let context = await Self.context(coordinator, .mergeByPropertyObjectTrump)
        await context.perform { $0[id]?.x = 2 }
        try await context.transaction { nested in
            let item = try nested.object(for: id)
            item.y = 1
            await context.perform { $0[id]?.x = 3 }
            if refreshes {
                await nested.refresh()
                #expect(item.x == 3 && item.y == 1)
            }
            switch way {
            case .rollback: nested.rollback()
            case .rollbackToLatest: await nested.rollback(to: .latest)
            case .reset: await nested.reset()
            }
            #expect(item.x == 2 && item.y == 0 && !item.hasChanges && !nested.hasChanges)
            #expect(item.version == RowVersion(1))
            // An inner one has a beginning of its own.
            item.y = 4
            try await nested.transaction { inner in
                inner[id]?.y = 5
                inner.rollback()
                #expect(inner[id]?.y == 4)
            }
            #expect(item.y == 4)
        }
        #expect(coordinator.snapshot.value(for: id)?.x == 3 && coordinator.snapshot.value(for: id)?.y == 4)
    }

    @Test func `R37 in a transaction of the coordinator there is one beginning, too`() async throws {
        let coordinator = try await Self.store()
        let id = try await coordinator.transaction { $0.insert(Item(x: 1)).id }
        try await coordinator.transaction { context in
            context[id]?.y = 1
            await context.rollback(to: .latest)
            #expect(context[id]?.y == 0 && !context.hasChanges)
            context[id]?.x = 2
        }
        #expect(coordinator.snapshot.value(for: id)?.x == 2)
    }

    @Test(
        .bug(id: "undone requirement", "others' change went unseen after an undo of something else"),
        arguments: [false, true]
    )
    func `R36 what is required after a group stays required when that is undone`(redoes: Bool) async throws {
        let coordinator = try await Self.store()
        let (id, other, third) = try await coordinator.transaction { context in
            (context.insert(Item(x: 1)).id, context.insert(Item(x: 1)).id, context.insert(Item(x: 1)).id)
        }
        let context = await Self.context(coordinator)
        await context.perform { $0[id]?.x = 2 }
        await context.perform { context in
            context[id]?.y = 3
            // With the group.
            if let other = context[other] { context.require(unchanged: other) }
        }
        await context.perform { context in if let third = context[third] { context.require(unchanged: third) } }
        await context.undo()
        if redoes {
            await context.redo()
            await context.undo()
        }
        try await coordinator.transaction { $0[other]?.x = 9 }
        try await coordinator.transaction { $0[third]?.x = 9 }
        let error = try #require(await #expect(throws: GraphError.self) { try await context.save() })
        guard case .conflicts(let conflicts) = error else { throw error }
        #expect(conflicts.map(\.id) == [AnyPersistentID(third)])
    }

    /// R1, R21: only what was in the store has a version, whatever became of it between contexts.
    @Test func `R1 an insert that the parent dropped and the child brought back is version 1`() async throws {
        let coordinator = try await Self.store()
        for _ in 0..<3 { try await coordinator.transaction { _ = $0.insert(Tag()) } }
        let parent = Context(coordinator)
        let id = await parent.perform { $0.insert(Item(x: 5)).id }
        let child = await Context(parent: parent, mergePolicy: .overwrite)
        await child.perform { $0[id]?.x = 6 }
        await parent.rollback()
        try await child.save()
        try await parent.save()
        #expect(coordinator.snapshot.version(of: id) == RowVersion(1))
    }

    /// A move changes no row, and so nothing that the group had changed.
    @Test func `R36 an undo leaves an object at the place that others gave it`() async throws {
        let coordinator = try await Coordinator.bank()
        let (client, first, second) = try await coordinator.transaction { context in
            let accounts = [context.insert(Account(balance: 1)), context.insert(Account(balance: 2))]
            let client = context.insert(Client())
            client.accounts += accounts
            return (client.id, accounts[0].id, accounts[1].id)
        }
        let context = await Self.context(coordinator)
        await context.perform { $0[first]?.memo = "ours" }
        try await context.save()
        try await coordinator.transaction { $0[client]?.accounts.move(from: 0, to: 1) }
        await context.refresh()
        #expect(await context.undo() == [])
        #expect(await context.perform { $0[client]?.accounts.ids } == [second, first])
        #expect(await context.perform { $0[first]?.memo } == "")
        try await context.save()
        #expect(try coordinator.snapshot.related(\Client.accounts, of: client) == [second, first])
    }

    @Test(
        .bug(id: "silent position", "of a group that was not saved, a position that stayed others' was not named"),
        arguments: [false, true]
    )
    func `R36 a member that the group moved and others moved on stays there, and the undo says so`(isSaved: Bool)
        async throws
    {
        let coordinator = try await Coordinator.bank()
        let (client, ids) = try await coordinator.transaction { context in
            let client = context.insert(Client())
            let accounts = (0..<3).map { context.insert(Account(balance: $0)) }
            client.accounts += accounts
            return (client.id, accounts.map(\.id))
        }
        let context = await Self.context(coordinator)
        await context.perform { $0[client]?.accounts.move(from: 0, to: 2) }
        if isSaved { try await context.save() }
        try await coordinator.transaction { context in
            if let account = context[ids[0]] { context[client]?.accounts.insert(account, at: 1) }
        }
        await context.refresh()
        #expect(await context.undo() == [UndoConflict(id: AnyPersistentID(client), property: "accounts")])
        #expect(await context.perform { $0[client]?.accounts.ids } == [ids[1], ids[0], ids[2]])
        #expect(await context.hasChanges == false)
    }

    /// Saves two chains of six sprigs, has others change something, and undoes it. Returns the sprigs that stay, and the
    /// conflicts.
    private static func undoChains(
        after change: @Sendable (isolated Context, [Sprig.ID]) throws -> Void
    ) async throws -> (kept: [RowNumber], conflicts: [RowNumber]) {
        let coordinator = try await Coordinator(for: Sprig.self, checksEveryCommit: true)
        let context = await Self.context(coordinator)
        let ids = try await context.transaction { context in
            var sprigs: [Sprig.Object] = []
            for length in 0..<12 {
                let sprig = context.insert(Sprig(length: length))
                if length % 6 != 0 { sprig.parent = sprigs[length - 1] }
                sprigs.append(sprig)
            }
            return sprigs.map(\.id)
        }
        try await coordinator.transaction { try change($0, ids) }
        await context.refresh()
        let conflicts = await context.undo()
        try await context.save()
        return (try coordinator.snapshot.fetchIDs(Sprig.self).map(\.row), conflicts.map(\.id.row))
    }

    @Test(
        .bug(id: "undo after a refresh that had nothing to tell", "others' change was overwritten silently"),
        arguments: [false, true])
    func `R32 what an undo puts back over others' change is an overlap unless the refresh has named it`(
        isSaved: Bool
    ) async throws {
        let coordinator = try await Coordinator(for: Item.self, checksEveryCommit: true)
        let id = try await coordinator.transaction { $0.insert(Item(x: 2, y: 2)).id }
        let context = await Self.context(coordinator)
        if isSaved {
            // What is undone and done again is no change when the refresh comes.
            try await context.transaction { try $0.object(for: id).x = 5 }
            _ = await context.undo()
            _ = await context.redo()
        } else {
            try await context.perform { try $0.object(for: id).x = 5 }
            try await context.perform { try $0.object(for: id).x = 2 }
        }
        try await context.perform { try $0.object(for: id).y = 3 }
        try await coordinator.transaction { context in
            let item = try context.object(for: id)
            (item.x, item.y) = (7, 7)
        }
        #expect(await context.refresh().map(\.properties) == [["y"]])
        try await context.perform { try $0.object(for: id).y = 4 }
        _ = await context.undo()
        _ = await context.undo()
        _ = await context.undo()
        #expect(try await context.perform { try $0.object(for: id).x } == (isSaved ? 2 : 5))
        let error = await #expect(throws: GraphError.self) { try await context.save() }
        guard case .conflicts(let conflicts) = error else { throw try #require(error) }
        #expect(conflicts.first?.differences.map(\.property).contains("x") == true && conflicts.totalCount == 1)
        #expect(coordinator.snapshot.value(for: id)?.x == 7)
    }

    @Test func `R36 a refresh resolves overlaps of the states of before, too, which came by themselves`() async throws {
        let coordinator = try await Coordinator(for: Item.self, checksEveryCommit: true)
        let id = try await coordinator.transaction { $0.insert(Item(x: 2, y: 2)).id }
        let context = await Self.context(coordinator)
        await context.perform { $0.automaticallyMergesChanges = true }
        try await context.perform { try $0.object(for: id).x = 5 }
        try await coordinator.transaction { try $0.object(for: id).x = 7 }
        while await context.commit < coordinator.snapshot.commit { await Task.yield() }
        try await context.perform { try $0.object(for: id).y = 3 }
        // The context has the state already, and the program knows now.
        #expect(await context.refresh().map(\.properties) == [["x"]])
        #expect(await context.undo() == [])
        try await context.save()
        #expect(coordinator.snapshot.value(for: id)?.x == 5 && coordinator.snapshot.value(for: id)?.y == 2)
    }

    @Test(arguments: [false, true])
    func `R36 a delete that is done again overwrites only what a refresh has named`(isNamed: Bool) async throws {
        let coordinator = try await Coordinator(for: Item.self, checksEveryCommit: true)
        let id = try await coordinator.transaction { $0.insert(Item(x: 2, y: 2)).id }
        let context = await Self.context(coordinator)
        try await context.perform { try $0.object(for: id).x = 5 }
        try await context.perform { try $0.object(for: id).delete() }
        _ = await context.undo()
        try await coordinator.transaction { context in
            let item = try context.object(for: id)
            (item.x, item.y) = (7, isNamed ? 2 : 7)
        }
        #expect(await context.refresh().map(\.properties) == [["x"]])
        _ = await context.redo()
        if isNamed {
            try await context.save()
            #expect(coordinator.snapshot.value(for: id) == nil)
        } else {
            let error = await #expect(throws: GraphError.self) { try await context.save() }
            guard case .conflicts(let conflicts) = error else { throw try #require(error) }
            #expect(conflicts.map(\.id) == [AnyPersistentID(id)])
            #expect(coordinator.snapshot.value(for: id)?.y == 7)
        }
    }

    @Test func `R36 of an object that is changed and required a refresh names all that others changed`() async throws {
        let coordinator = try await Coordinator(for: Item.self, checksEveryCommit: true)
        let id = try await coordinator.transaction { $0.insert(Item(x: 2, y: 2)).id }
        let context = await Self.context(coordinator)
        try await context.perform { context in
            let item = try context.object(for: id)
            context.require(unchanged: item)
            item.x = 5
        }
        _ = await context.perform { $0.insert(Item()) }
        try await coordinator.transaction { context in
            let item = try context.object(for: id)
            (item.x, item.y) = (7, 7)
        }
        #expect(await context.refresh().map(\.properties) == [["x", "y"]])
        // Required again, as others left it.
        _ = await context.undo()
        try await context.save()
        #expect(coordinator.snapshot.value(for: id)?.x == 5 && coordinator.snapshot.value(for: id)?.y == 7)
    }

    @Test(arguments: [false, true])
    func `R32 what a refresh has named stays known after another one, unless others go on`(
        isChangedAgain: Bool
    ) async throws {
        let coordinator = try await Coordinator(for: Item.self, checksEveryCommit: true)
        let id = try await coordinator.transaction { $0.insert(Item(x: 2, y: 2)).id }
        let context = await Self.context(coordinator)
        try await context.perform { try $0.object(for: id).x = 5 }
        try await coordinator.transaction { try $0.object(for: id).x = 7 }
        #expect(await context.refresh().map(\.properties) == [["x"]])
        // It is as others have it when the next refresh looks.
        try await context.perform { try $0.object(for: id).x = 7 }
        try await coordinator.transaction { context in
            let item = try context.object(for: id)
            (item.x, item.y) = (isChangedAgain ? 8 : 7, 7)
        }
        #expect(await context.refresh().isEmpty)
        _ = await context.undo()
        #expect(try await context.perform { try $0.object(for: id).x } == 5)
        if isChangedAgain {
            await #expect(throws: GraphError.self) { try await context.save() }
        } else {
            try await context.save()
        }
        #expect(coordinator.snapshot.value(for: id)?.x == (isChangedAgain ? 8 : 5))
    }

    @Test func `R22 of a chain of inserted objects those stay from which others' change is reached`() async throws {
        let changed = try await Self.undoChains { context, ids in try context.object(for: ids[9]).length = -1 }
        #expect(changed.kept == [7, 8, 9, 10] && changed.conflicts == [7, 8, 9, 10])
        let extended = try await Self.undoChains { context, ids in
            _ = context.insert(Sprig(parent: ToOne(ids[9])))
        }
        #expect(extended.kept == [7, 8, 9, 10, 13] && extended.conflicts == [7, 8, 9, 10])
        let linked = try await Self.undoChains { context, ids in
            context.insert(Sprig()).touches.insert(try context.object(for: ids[9]))
        }
        #expect(linked.kept == [7, 8, 9, 10, 13] && linked.conflicts == [7, 8, 9, 10])
    }

    @Test func `R22 inserted objects that others have linked go only with what takes both along`() async throws {
        let apart = try await Self.undoChains { context, ids in
            try context.object(for: ids[11]).touches.insert(try context.object(for: ids[5]))
        }
        #expect(apart.kept == Array(1...12) && apart.conflicts == Array(1...12))
        let together = try await Self.undoChains { context, ids in
            try context.object(for: ids[11]).touches.insert(try context.object(for: ids[8]))
        }
        #expect(together.kept == [] && together.conflicts == [])
    }

    @Test func `R22 what takes both linked objects along may come after them`() async throws {
        let coordinator = try await Coordinator(for: Sprig.self, checksEveryCommit: true)
        let context = await Self.context(coordinator)
        let (one, two) = try await context.transaction { context in
            let (one, two, parent) = (context.insert(Sprig()), context.insert(Sprig()), context.insert(Sprig()))
            (one.parent, two.parent) = (parent, parent)
            return (one.id, two.id)
        }
        try await coordinator.transaction { context in
            try context.object(for: one).touches.insert(try context.object(for: two))
        }
        await context.refresh()
        _ = await context.undo()
        #expect(try await context.perform { try $0.fetchCount(Sprig.self) } == 0)
    }
}

extension Context {
    fileprivate var commit: CommitNumber { state.base.commit }
}
