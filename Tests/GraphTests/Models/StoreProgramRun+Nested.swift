@testable import Graph

/// Contexts nested in each other, down to the third level below those of the store, each of which goes on while the inner ones
/// live.
extension StoreProgramRun {
    /// A context, and what it should see.
    private struct Level {
        let context: Context
        var model: ContextModel
    }

    mutating func run(_ nested: StoreProgram.Nested, in c: Int) async throws {
        var child = models[c].nested
        guard !nested.isTransaction else {
            let rolledBack = nested.rolledBack.compactMap { child.perform($0, next: &next) }
            child = models[c].nested
            let changes = nested.changes.compactMap { child.perform($0, next: &next) }
            return try await runTransaction(nested, child, rolledBack, changes, in: c)
        }
        let changes = nested.changes.compactMap { child.perform($0, next: &next) }
        let context = await Context(parent: contexts[c], mergePolicy: nested.policy.mergePolicy)
        try await context.perform { context in
            try context.perform(changes)
        }
        var levels = [Level(context: contexts[c], model: models[c]), Level(context: context, model: child)]
        if let inner = nested.inner { try await run(inner, &levels) }
        models[c] = levels[0].model
        for action in nested.meanwhile { try await perform(StoreProgram.Step(context: c, action: action)) }
        levels[0].model = models[c]
        try await compareLast(of: levels)
        guard !nested.isAbandoned else { return }
        try await saveLast(of: &levels, nested.policy)
        models[c] = levels[0].model
        if coordinator.snapshot.commit.number != head.commits { try await compareStore() }
    }

    private mutating func run(_ inner: StoreProgram.Inner, _ levels: inout [Level]) async throws {
        guard let outer = levels.last else { return }
        let context = await Context(parent: outer.context, mergePolicy: inner.policy.mergePolicy)
        levels.append(Level(context: context, model: outer.model.nested))
        for step in inner.steps { try await take(step, &levels) }
        let last = levels.removeLast()
        for step in inner.meanwhile { try await take(step, &levels) }
        levels.append(last)
        try await compareLast(of: levels)
        if !inner.isAbandoned { try await saveLast(of: &levels, inner.policy) }
        levels.removeLast()
        try await compareLast(of: levels)
    }

    /// Takes a step in the innermost context.
    private mutating func take(_ step: StoreProgram.InnerStep, _ levels: inout [Level]) async throws {
        let last = levels.count - 1
        let context = levels[last].context
        switch step {
        case .change(let changes):
            let looksAtEach = levels[last].model.isLookedAt
            let changes = changes.compactMap { levels[last].model.perform($0, next: &next) }
            // It is compared later: to look at it may change what comes of it.
            return try await context.perform { try $0.perform(changes, looksAtEach: looksAtEach) }
        case .discard(let numbers):
            let ids = levels[last].model.changed(numbers)
            levels[last].model.discard(ids)
            await context.perform { $0.discard(ids.map { AnyPersistentID($0) }) }
        case .rollback:
            levels[last].model.rollback(to: levels[last].model.base)
            await context.rollback()
        case .rollbackToLatest:
            levels[last].model.rollback(to: levels[last - 1].model.nested.base)
            await context.rollback(to: .latest)
        case .refresh:
            levels[last].model.refresh(to: levels[last - 1].model.nested.base)
            _ = await context.refresh()
        case .save(let policy):
            try await saveLast(of: &levels, policy)
        case .nested(let inner):
            try await run(inner, &levels)
        }
        try await compareLast(of: levels)
    }

    /// Saves the innermost context into the one around it.
    private func saveLast(of levels: inout [Level], _ policy: StorePolicy) async throws {
        let last = levels.count - 1
        var (expected, actual): (ContextModel.Failure?, ContextModel.Failure?)
        var (inner, outer) = (levels[last].model, levels[last - 1].model)
        outer.undo.endGroup(at: outer)
        do throws(ContextModel.Failure) {
            try inner.save(into: &outer, policy)
        } catch {
            expected = error
        }
        outer.undo.endGroup(at: outer)
        (levels[last].model, levels[last - 1].model) = (inner, outer)
        do {
            try await levels[last].context.save(mergePolicy: policy.mergePolicy)
        } catch {
            actual = try ContextModel.Failure(error, of: .parent)
        }
        try demand(actual == expected) {
            "the save on level \(last) gave \(actual.map { "\($0)" } ?? "no error"), not "
                + (expected.map { "\($0)" } ?? "no error")
        }
        try await compareLast(of: levels)
    }

    private func compareLast(of levels: [Level]) async throws {
        guard let level = levels.last else { return }
        try await level.context.perform { [model = level.model] context in
            do {
                try context.compare(with: model, held: nil)
            } catch {
                throw Mismatch(description: "level \(levels.count - 1): \(error)")
            }
        }
    }
}

extension ContextModel {
    /// Which objects numbers stand for that are read modulo the count of those with changes.
    func changed(_ numbers: [Int]) -> [StoreModel.ID] {
        let changes = changes
        let changed = changes.inserted.union(changes.updated).union(changes.deleted).union(required.keys).sorted()
        return changed.isEmpty ? [] : Set(numbers.map { changed[$0 % changed.count] }).sorted()
    }
}
