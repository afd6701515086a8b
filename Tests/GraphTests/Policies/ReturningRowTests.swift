import Testing

@testable import Graph

@Entity private struct Label {
    @Unique(onConflict: .upsert) var key = ""
    var title = ""
}

@Entity private struct Supper {
    @Unique(onConflict: .replace) var title = ""
    var note = ""
    @Relationship(.cascade, inverse: \Part.supper, ordered: true) var parts: ToMany<Part> = []
}

@Entity private struct Part {
    var text = ""
    @Relationship(minimum: 1) var supper: ToOne<Supper> = nil
}

@Entity private struct Point {
    var x = 0
    var y = 0
}

/// R1, R6, R10, R32: rows that come back, by an undo or by a merge policy, are no new rows.
struct ReturningRowTests {
    private static func store() async throws -> Coordinator {
        try await Coordinator(
            for: Label.self, Supper.self, Part.self, Point.self, checksEveryCommit: true)
    }

    private static func context(_ coordinator: Coordinator, _ policy: MergePolicy = .error) async -> Context {
        let context = Context(coordinator, mergePolicy: policy)
        await context.perform { $0.undoLimit = 9 }
        return context
    }

    private static func expectNotUnique(_ context: Context) async {
        let error = await #expect(throws: GraphError.self) { try await context.save() }
        guard case .notUnique = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    // MARK: Unique values

    @Test func `R10 an object whose delete is undone takes nothing from the one that has its value now`() async throws {
        let coordinator = try await Self.store()
        let context = await Self.context(coordinator)
        let label = try await context.transaction { $0.insert(Label(key: "swift", title: "old")).id }
        let supper = try await context.transaction { context in
            let supper = context.insert(Supper(title: "Soup", note: "ours"))
            supper.parts.append(context.insert(Part(text: "ours")))
            return supper.id
        }
        try await context.transaction { context in
            context[label]?.delete()
            context[supper]?.delete()
        }
        let (theirLabel, theirSupper) = try await coordinator.transaction { context in
            let supper = context.insert(Supper(title: "Soup", note: "theirs"))
            for number in 1...3 { supper.parts.append(context.insert(Part(text: "theirs \(number)"))) }
            return (context.insert(Label(key: "swift", title: "theirs")).id, supper.id)
        }
        #expect(await context.undo() == [])
        await Self.expectNotUnique(context)
        await context.perform { context in
            context[label]?.key = "Swift"
            context[supper]?.title = "Stew"
        }
        try await context.save()
        let snapshot = coordinator.snapshot
        #expect(snapshot.value(for: theirLabel)?.title == "theirs" && snapshot.value(for: label)?.title == "old")
        #expect(snapshot.value(for: theirSupper)?.note == "theirs" && snapshot.value(for: supper)?.note == "ours")
        #expect(try snapshot.related(\Supper.parts, of: theirSupper).count == 3)
        #expect(try snapshot.related(\Supper.parts, of: supper).count == 1)
    }

    @Test(arguments: [MergePolicy.mergeByPropertyObjectTrump, .overwrite])
    func `R6 an object that a policy brings back gives way to none`(policy: MergePolicy) async throws {
        let coordinator = try await Self.store()
        let context = await Self.context(coordinator, policy)
        let id = try await context.transaction { $0.insert(Label(key: "swift", title: "old")).id }
        await context.perform { $0[id]?.title = "ours" }
        try await coordinator.transaction { $0[id]?.delete() }
        let other = try await coordinator.transaction { $0.insert(Label(key: "swift", title: "theirs")).id }
        await Self.expectNotUnique(context)
        #expect(coordinator.snapshot.value(for: other)?.title == "theirs")
        // A new one gives way to it.
        try await coordinator.transaction { $0[other]?.delete() }
        await context.perform { _ = $0.insert(Label(key: "swift", title: "new")) }
        try await context.save()
        #expect(coordinator.snapshot.value(for: id)?.title == "new" && coordinator.snapshot.count(of: Label.self) == 1)
    }

    // MARK: Brought back on both sides

    private enum Way: CaseIterable {
        case merge
        case refresh
        case retry
    }

    /// Two contexts bring an object back, which one of them deleted; the other one commits first, with a change.
    private static func bothBringBack(
        _ way: Way,
        edit: @Sendable (isolated Context, PersistentID<Point>) -> Void = { _, _ in }
    ) async throws -> (Coordinator, Context, PersistentID<Point>, [RefreshConflict], GraphError?) {
        let coordinator = try await store()
        let context = await Self.context(coordinator)
        let id = try await context.transaction { $0.insert(Point(x: 1, y: 1)).id }
        let other = await Self.context(coordinator, .overwrite)
        await other.perform { $0[id]?.x = 77 }
        try await context.transaction { $0[id]?.delete() }
        _ = await context.undo()
        await context.perform { edit($0, id) }
        try await other.save()
        var overlaps: [RefreshConflict] = []
        switch way {
        case .merge:
            await context.perform { $0.automaticallyMergesChanges = true }
            while await context.perform({ $0.state.base.commit }) < coordinator.snapshot.commit { await Task.yield() }
        case .refresh:
            overlaps = await context.refresh()
        case .retry:
            break
        }
        var failure: GraphError?
        do {
            if way == .retry { try await context.save(retries: 2) } else { try await context.save() }
        } catch {
            failure = error
        }
        return (coordinator, context, id, overlaps, failure)
    }

    @Test(arguments: Way.allCases)
    private func `R32 an object that others have brought back, too, is as they left it`(way: Way) async throws {
        let (coordinator, context, id, overlaps, failure) = try await Self.bothBringBack(way)
        #expect(overlaps.isEmpty && failure == nil)
        #expect(coordinator.snapshot.value(for: id)?.x == 77)
        #expect(await context.perform { $0[id]?.x } == 77)
    }

    @Test(arguments: Way.allCases)
    private func `R32 what was changed in it here is put on top of that`(way: Way) async throws {
        let (coordinator, _, id, overlaps, failure) = try await Self.bothBringBack(way) { $0[$1]?.y = 5 }
        // Without a merge it counts from the version before.
        #expect(overlaps.isEmpty && failure == nil)
        #expect(coordinator.snapshot.value(for: id)?.x == 77 && coordinator.snapshot.value(for: id)?.y == 5)
    }

    @Test(arguments: Way.allCases)
    private func `R32 what both sides changed in it is an overlap`(way: Way) async throws {
        let (coordinator, _, id, overlaps, failure) = try await Self.bothBringBack(way) { $0[$1]?.x = 5 }
        if way == .refresh {
            #expect(overlaps.map(\.properties) == [["x"]] && failure == nil)
            #expect(coordinator.snapshot.value(for: id)?.x == 5)
        } else {
            guard case .conflicts(let conflicts) = failure else {
                Issue.record("\(String(describing: failure))")
                return
            }
            #expect(conflicts.count == 1 && coordinator.snapshot.value(for: id)?.x == 77)
        }
    }

    @Test(arguments: Way.allCases)
    private func `R32 the same change of it on both sides is an overlap, too`(way: Way) async throws {
        let (coordinator, _, _, overlaps, failure) = try await Self.bothBringBack(way) { $0[$1]?.x = 77 }
        #expect(overlaps.map(\.properties) == (way == .refresh ? [["x"]] : []))
        if way != .refresh {
            guard case .conflicts(let conflicts) = failure else {
                Issue.record("\(String(describing: failure))")
                return
            }
            #expect(conflicts.count == 1)
        }
        #expect(coordinator.snapshot.check() == [])
    }

    @Test(arguments: [true, false])
    func `R32 a counter that both sides bring back and count up is counted up twice`(merges: Bool) async throws {
        let coordinator = try await Self.store()
        let context = await Self.context(coordinator, .custom(.property(\Point.x, .counter)))
        let id = try await context.transaction { $0.insert(Point(x: 1)).id }
        let other = await Self.context(coordinator, .overwrite)
        await other.perform { $0[id]?.x += 1 }
        try await context.transaction { $0[id]?.delete() }
        _ = await context.undo()
        await context.perform { $0[id]?.x += 1 }
        try await other.save()
        if merges {
            await context.perform { $0.automaticallyMergesChanges = true }
            while await context.perform({ $0.state.base.commit }) < coordinator.snapshot.commit { await Task.yield() }
        }
        try await context.save()
        #expect(coordinator.snapshot.value(for: id)?.x == 3)
    }

    @Test(arguments: [MergePolicy.error, .mergeByPropertyObjectTrump])
    func `R32 what was changed before the delete is a change of what comes back`(policy: MergePolicy) async throws {
        let coordinator = try await Self.store()
        let context = await Self.context(coordinator, policy)
        let id = try await context.transaction { $0.insert(Point(x: 1, y: 1)).id }
        let other = await Self.context(coordinator, .overwrite)
        await other.perform { $0[id]?.y = 7 }
        await context.perform { $0[id]?.x = 9 }
        await context.perform { $0[id]?.delete() }
        try await context.save()
        _ = await context.undo()
        #expect(await context.perform { $0[id]?.x } == 9)
        try await other.save()
        do throws(GraphError) {
            try await context.save()
            #expect(policy.kind == .objectTrump)
            #expect(coordinator.snapshot.value(for: id)?.x == 9 && coordinator.snapshot.value(for: id)?.y == 7)
        } catch {
            guard case .conflicts = error, policy.kind == .error else { throw error }
        }
    }

    @Test(arguments: [false, true])
    func `R32 also of an object that was never saved a nested context brings back what its parent has made of it`(
        refreshes: Bool
    ) async throws {
        let coordinator = try await Self.store()
        let parent = await Self.context(coordinator)
        let id = await parent.perform { $0.insert(Point(x: 1)).id }
        let child = await Context(parent: parent)
        await child.perform { context in
            context.undoLimit = 3
            context[id]?.delete()
        }
        try await child.save()
        await parent.perform { context in
            _ = context.undo()
            context[id]?.x = 50
        }
        _ = await child.undo()
        if refreshes { #expect(await child.refresh() == []) }
        try? await child.save()
        #expect(await parent.perform { $0[id]?.x } == 50)
    }

    @Test func `R34 a reference that does not come back with its object is no change of it`() async throws {
        let coordinator = try await Self.store()
        let context = await Self.context(coordinator)
        let (supper, other, part) = try await context.transaction { context in
            let supper = context.insert(Supper(title: "one")).id
            return (supper, context.insert(Supper(title: "two")).id, context.insert(Part(supper: ToOne(supper))).id)
        }
        let mover = await Self.context(coordinator, .overwrite)
        await mover.perform { $0[part]?.supper = ToOne(other) }
        try await context.transaction { $0[part]?.delete() }
        try await coordinator.transaction { $0[supper]?.delete() }
        await context.refresh()
        _ = await context.undo()
        try await mover.save()
        #expect(await context.refresh() == [])
        try await context.save()
        #expect(coordinator.snapshot.value(for: part)?.supper.id == other)
    }

    @Test func `R32 a nested context that brings an object back keeps what its parent has made of it`() async throws {
        let coordinator = try await Self.store()
        let parent = Context(coordinator)
        let id = try await parent.transaction { $0.insert(Point(x: 1)).id }
        let child = await Context(parent: parent)
        await child.perform { context in
            context.undoLimit = 3
            context[id]?.delete()
        }
        try await child.save()
        await parent.rollback()
        await parent.perform { $0[id]?.x = 50 }
        _ = await child.undo()
        #expect(await child.refresh() == [])
        try await child.save()
        #expect(await parent.perform { $0[id]?.x } == 50)
    }

    // MARK: While it is being saved

    private enum Later: CaseIterable {
        case delete
        case update
        case require
    }

    @Test(arguments: Later.allCases)
    private func `R23 what is done to a returning object during its save counts from its commit`(
        later: Later
    ) async throws {
        let disk = GatedDisk()
        var options = JournalOptions()
        options.random = { 7 }
        let coordinator = try await Coordinator(
            Schema([EntityDescription(Point.self)]), path: "/data/store.graph", fileSystem: disk, options: options)
        let context = await Self.context(coordinator)
        let id = try await context.transaction { $0.insert(Point(x: 1)).id }
        for x in 2...4 { try await context.transaction { $0[id]?.x = x } }
        try await context.transaction { $0[id]?.delete() }
        _ = await context.undo()
        disk.hold()
        let save = Task { try await context.save() }
        await disk.waitForArrival()
        try await context.perform { context in
            let object = try #require(context[id])
            switch later {
            case .delete: object.delete()
            case .update: object.x = 9
            case .require:
                context.require(unchanged: object)
                _ = context.insert(Point(x: 10))
            }
        }
        disk.release()
        try await save.value
        try await context.save()
        #expect(coordinator.snapshot.value(for: id)?.x == (later == .delete ? nil : later == .update ? 9 : 4))
    }
}
