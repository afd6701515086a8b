@testable import Graph

/// Runs a program on the engine and on the model side by side and compares all that can be seen.
///
/// The context that acted is compared after each step, but only every other time if that made changes and nothing else; the
/// store after each save. All contexts are compared every 15th step and at the end, one of them thoroughly: what a step has
/// no hand in cannot change, unless contexts share what they must not.
struct StoreProgramRun {
    struct Mismatch: Error, CustomStringConvertible {
        let description: String
    }

    private struct Abandoned: Error {}

    private let path: String?
    /// For saves in flight.
    private let disk: GatedDisk?
    /// Whether contexts keep groups to undo.
    private let undoes: Bool
    private var coordinator: Coordinator
    private var contexts: [Context]
    private var held: [HeldObjects?]
    private var models: [ContextModel]
    /// Which contexts take over others' commits.
    private var merging = Array(repeating: false, count: StoreProgram.contextCount)
    private var head = StoreModel()
    private var everSaved: Set<StoreModel.ID> = []
    /// By entity, the row number that comes next.
    private var next = StoreShape.entities.map { _ in RowNumber(1) }

    /// - Parameter path: where the store's file is to be; nil runs in memory, where reopening does nothing.
    static func mismatch(of program: StoreProgram, path: String?) async -> Mismatch? {
        do {
            let disk = program.hasFlights && path == nil ? GatedDisk() : nil
            var run = try await StoreProgramRun(path: path, disk, undoes: program.hasUndo)
            for (number, step) in program.steps.enumerated() {
                do {
                    try await run.perform(step)
                    if number % 2 == 0 || !step.isChange { try await run.compare(step.context) }
                    if number % 15 == 14 || number == program.steps.count - 1 {
                        try await run.compareAll(thoroughly: number / 15 % StoreProgram.contextCount)
                    }
                } catch {
                    try? await run.coordinator.close()
                    return Mismatch(description: "step \(number), \(step): \(error)")
                }
            }
            try await run.coordinator.close()
            return nil
        } catch {
            return Mismatch(description: "\(error)")
        }
    }

    private init(path: String?, _ disk: GatedDisk?, undoes: Bool) async throws {
        (self.path, self.disk, self.undoes) = (path, disk, undoes)
        let coordinator = try await Self.open(path, disk)
        self.coordinator = coordinator
        contexts = (0..<StoreProgram.contextCount).map { _ in Context(coordinator) }
        // Objects that are held have to keep up; others are made anew each time.
        held = contexts.indices.map { $0 == 1 ? nil : HeldObjects() }
        models = contexts.map { _ in ContextModel(base: StoreModel()) }
        await startHistories()
    }

    private mutating func startHistories() async {
        guard undoes else { return }
        for (number, context) in contexts.enumerated() {
            await context.perform { $0.undoLimit = 1_000 }
            models[number].undo.start(at: models[number])
        }
    }

    private static func open(_ path: String?, _ disk: GatedDisk?) async throws -> Coordinator {
        if let disk {
            let schema = try Schema(StoreShape.types.map { EntityDescription($0) })
            return try await Coordinator(
                schema, path: JournalFixture.path, fileSystem: disk, options: JournalFixture.options())
        }
        return try await Coordinator(
            for: Library.Book.self,
            Library.Author.self,
            Library.Chapter.self,
            Library.Cover.self,
            Library.Tag.self,
            Library.Shelf.self,
            Library.Room.self,
            at: path
        )
    }

    // MARK: Steps

    private mutating func perform(_ step: StoreProgram.Step) async throws {
        models[step.context].undo.endGroup(at: models[step.context])
        everSaved.formUnion(head.rows.keys)
        try await take(step)
        models[step.context].undo.endGroup(at: models[step.context])
        try await catchUp()
    }

    /// Waits until the contexts that merge by themselves have merged.
    private mutating func catchUp() async throws {
        for c in contexts.indices where merging[c] && models[c].base.commits < head.commits {
            models[c].undo.endGroup(at: models[c])
            models[c].refresh(to: head, keepingBases: true)
            while await contexts[c].baseCommitNumber < head.commits { await Task.yield() }
        }
    }

    private mutating func change(_ changes: [StoreProgram.Change], in c: Int) async throws {
        let looksAtEach = models[c].isLookedAt
        let changes = changes.compactMap { models[c].perform($0, next: &next) }
        try await contexts[c].perform { context in
            try context.perform(changes, looksAtEach: looksAtEach)
        }
    }

    private mutating func take(_ step: StoreProgram.Step) async throws {
        let c = step.context
        switch step.action {
        case .change(let changes):
            try await change(changes, in: c)
        case .undo where models[c].undo.canUndo:
            models[c].undoOrRedo(isUndo: true)
            await contexts[c].undo()
        case .redo where models[c].undo.canRedo:
            models[c].undoOrRedo(isUndo: false)
            await contexts[c].redo()
        case .undo:
            try await undoSaved(c)
        case .undoOverOthers(let other, let changes):
            if other != c {
                let actions: [StoreProgram.Action] = [
                    .rollbackToLatest, .change(changes), .save(rollsBackOnFailure: true, .error),
                ]
                for action in actions {
                    try await perform(StoreProgram.Step(context: other, action: action))
                }
                try await perform(StoreProgram.Step(context: c, action: .refresh))
            }
            try await perform(StoreProgram.Step(context: c, action: .undo))
        case .redo:
            break
        case .setMerging(let isOn):
            merging[c] = isOn
            await contexts[c].perform { $0.automaticallyMergesChanges = isOn }
        case .saveInFlight(let flight):
            try await save(c, while: flight)
        case .onCoordinator(let transaction):
            try await run(transaction)
        case .transaction(let transaction):
            try await run(transaction, in: c)
        case .nested(let nested):
            try await run(nested, in: c)
        case .save(let rollsBackOnFailure, let policy):
            try await save(c, rollsBackOnFailure: rollsBackOnFailure, policy)
        case .discard(let numbers):
            let changes = models[c].changes
            let changed = changes.inserted.union(changes.updated).union(changes.deleted)
                .union(models[c].required.keys).sorted()
            guard !changed.isEmpty else { return }
            let ids = Set(numbers.map { changed[$0 % changed.count] }).sorted()
            models[c].discard(ids)
            await contexts[c].perform { context in context.discard(ids.map { AnyPersistentID($0) }) }
        case .rollback:
            await contexts[c].rollback()
            models[c].rollback(to: models[c].base)
        case .rollbackToLatest:
            await contexts[c].rollback(to: .latest)
            models[c].rollback(to: head)
        case .refresh:
            let expected = models[c].overlaps(with: head)
            models[c].refresh(to: head)
            try Context.compare(await contexts[c].refresh(), with: expected)
        case .reopen:
            try await reopen()
        }
    }

    /// Takes back a saved group, which is a change of its own, does it again, and takes it back again to save that or not. What
    /// that leads to depends on what others have done; then the context begins anew.
    private mutating func undoSaved(_ c: Int) async throws {
        let model = models[c]
        guard let (before, after) = model.undo.savedGroup, !model.hasChanges else { return }
        let (current, result, remainders) = await contexts[c].perform { context in
            let current = context.storeModel()
            let remainders = context.undo()
            return (current, context.storeModel(), remainders)
        }
        try SavedUndo(before: before, after: after, current: current, result: result, remainders: remainders).check()
        await contexts[c].redo()
        try await compare(c)
        await contexts[c].undo()
        try await contexts[c].perform { context in
            let again = context.storeModel()
            try demand(again.rows == result.rows && again.lists == result.lists) { "undone again, it is another" }
            try context.compareStructures()
        }
        if next.reduce(0, +) % 2 == 0 {
            await contexts[c].rollback()
            try await compare(c)
            // What was dropped was the undo.
            await contexts[c].undo()
            let again = await contexts[c].perform { $0.storeModel() }
            try demand(again.rows == result.rows && again.lists == result.lists) { "undone after all, it is another" }
        } else {
            try await saveUndo(of: c, current, result)
        }
        await contexts[c].rollback(to: .latest)
        models[c].rollback(to: head)
        await contexts[c].perform { $0.undoLimit = 0 }
        await contexts[c].perform { $0.undoLimit = 1_000 }
        models[c].undo.start(at: models[c])
    }

    /// - Parameters:
    ///   - before: what there was before the undo.
    ///   - after: what it led to.
    private mutating func saveUndo(of c: Int, _ before: StoreModel, _ after: StoreModel) async throws {
        do {
            try await contexts[c].save(mergePolicy: .error)
        } catch {
            // What follows from rows that are there again, or not any more, others may deny.
            return
        }
        let saved = StoreModel(coordinator.snapshot)
        try checkSaved(undo: after, saved, isCurrent: models[c].base.commits == head.commits)
        head = saved
        try await compareStore()
        let (current, result, remainders) = await contexts[c].perform { context in
            let current = context.storeModel()
            let remainders = context.redo()
            return (current, context.storeModel(), remainders)
        }
        // What the hooks did to what was undone belongs to that.
        var undone = after
        for (id, row) in after.rows where row != before.rows[id] {
            var row = row
            StoreShape.willSave(&row, of: id.entity)
            if saved.rows[id]?.attributes == row.attributes { undone.rows[id]?.attributes = row.attributes }
        }
        try SavedUndo(before: before, after: undone, current: current, result: result, remainders: remainders).check()
        try await contexts[c].perform { try $0.compareStructures() }
    }

    /// Nothing that comes back takes anything over, or away: a row is as it was shown, or as others have left it.
    ///
    /// - Parameter isCurrent: whether nobody had committed what was not shown. What that cascades from may be deleted.
    private func checkSaved(undo shown: StoreModel, _ saved: StoreModel, isCurrent: Bool) throws {
        // New rows give way, and hand over what they have.
        guard shown.rows.keys.allSatisfy({ saved.rows[$0] != nil || everSaved.contains($0) }) else { return }
        for (id, row) in saved.rows {
            var ours = shown.rows[id]
            var expected = [ours?.attributes, head.rows[id]?.attributes]
            if ours != nil { StoreShape.willSave(&ours!, of: id.entity) }
            expected.append(ours?.attributes)
            try demand(expected.contains(row.attributes)) {
                "saving an undo made \(row) of \(id), not one of \(expected)"
            }
        }
        for id in shown.rows.keys where isCurrent && head.rows[id] != nil {
            try demand(saved.rows[id] != nil) { "saving an undo deleted \(id)" }
        }
    }

    private mutating func run(_ transaction: StoreProgram.Transaction, in c: Int) async throws {
        let (isAbandoned, policy) = (transaction.isAbandoned, transaction.policy)
        let savepoint = models[c]
        let oldHead = head
        let looksAtEach = models[c].isLookedAt
        let rolledBack = transaction.rolledBack.compactMap { models[c].perform($0, next: &next) }
        models[c] = savepoint
        let changes = transaction.changes.compactMap { models[c].perform($0, next: &next) }
        models[c].undo.endGroup(at: models[c])
        var expected: ContextModel.Failure?
        var replaced: [StoreModel.ID: StoreModel.ID] = [:]
        if isAbandoned {
            models[c] = savepoint
        } else {
            do throws(ContextModel.Failure) {
                replaced = try models[c].save(to: &head, policy)
            } catch {
                expected = error
                models[c] = savepoint
            }
        }
        var actual: ContextModel.Failure?
        do {
            try await contexts[c].transaction(mergePolicy: policy.mergePolicy) { [held = held[c]] context in
                try context.perform(rolledBack, looksAtEach: looksAtEach)
                if !rolledBack.isEmpty { context.rollback() }
                try context.perform(changes, looksAtEach: looksAtEach)
                if isAbandoned { throw Abandoned() }
                held?.hold(context.insertedObjects)
            }
        } catch is Abandoned {
        } catch let error as GraphError {
            actual = try ContextModel.Failure(error)
        } catch {
            throw error
        }
        try await compareOutcome(c, expected, actual, replaced, since: oldHead)
    }

    private mutating func run(_ nested: StoreProgram.Nested, in c: Int) async throws {
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
        try await run(inner: nested.inner, nested.policy, in: context, &child)
        for action in nested.meanwhile { try await perform(StoreProgram.Step(context: c, action: action)) }
        try await context.perform { [child] context in try context.compare(with: child, held: nil) }
        guard !nested.isAbandoned else { return }
        var expected: ContextModel.Failure?
        do throws(ContextModel.Failure) {
            try child.save(into: &models[c], nested.policy)
        } catch {
            expected = error
        }
        var actual: ContextModel.Failure?
        do {
            try await context.save()
        } catch {
            actual = try ContextModel.Failure(error, of: .parent)
        }
        try await compareOutcome(c, expected, actual, [:], since: head)
        try await context.perform { [child] context in try context.compare(with: child, held: nil) }
    }

    /// A context nested in the nested one.
    private mutating func run(
        inner: [StoreProgram.Change],
        _ policy: StorePolicy,
        in parent: Context,
        _ model: inout ContextModel
    ) async throws {
        guard !inner.isEmpty else { return }
        var child = model.nested
        let changes = inner.compactMap { child.perform($0, next: &next) }
        let context = await Context(parent: parent, mergePolicy: policy.mergePolicy)
        try await context.perform { [child] context in
            try context.perform(changes)
            try context.compare(with: child, held: nil)
        }
        var (expected, actual): (ContextModel.Failure?, ContextModel.Failure?)
        do throws(ContextModel.Failure) {
            try child.save(into: &model, policy)
        } catch {
            expected = error
        }
        do {
            try await context.save()
        } catch {
            actual = try ContextModel.Failure(error, of: .parent)
        }
        try demand(actual == expected) { "the innermost save gave \(actual as Any), not \(expected as Any)" }
    }

    /// A save that the disk holds up, while the context goes on.
    private mutating func save(_ c: Int, while flight: StoreProgram.Flight) async throws {
        let rival = self.rival(of: c, flight)
        var newHead = rival?.head ?? head
        let rivalHead = newHead
        var captured = models[c]
        var commit: ContextModel.Commit?
        if captured.hasChanges { commit = try? captured.commit(to: &newHead, flight.policy) }
        guard let disk, let commit, newHead.commits > rivalHead.commits else {
            try await save(c, rollsBackOnFailure: false, flight.policy)
            return try await change(flight.changes, in: c)
        }
        disk.hold()
        func start(_ context: Context) -> Task<Void, any Error> {
            Task { try await context.save(mergePolicy: flight.policy.mergePolicy) }
        }
        let rivalSave = rival.map { start(contexts[$0.context]) }
        if rival != nil { await disk.waitForArrival() }
        let save = start(contexts[c])
        if rival == nil {
            await disk.waitForArrival()
        } else {
            while await !contexts[c].isSaveUnderWay { await Task.yield() }
        }
        captured = models[c]
        models[c].move(to: captured.whileSaving)
        models[c].undo.didMove(to: models[c], isRefresh: false)
        do {
            try await change(flight.changes, in: c)
            models[c].undo.endGroup(at: models[c])
            switch flight.end {
            case .nothing:
                break
            case .rollback:
                await contexts[c].rollback()
                models[c].move(to: captured.whileSaving)
                models[c].undo.didRollBack(to: models[c], isSaving: captured.undo)
            case .undo:
                await contexts[c].undo()
                if models[c].undo.isInReach(captured.undo) { models[c].undoOrRedo(isUndo: true) }
            }
            try await contexts[c].perform { [model = models[c]] context in
                try context.compare(with: model, held: nil, isSaving: true)
            }
        } catch {
            // Nothing else would end the save.
            disk.release()
            throw error
        }
        if flight.isFailing { disk.fill() }
        disk.release()
        do {
            try await rivalSave?.value
            try await save.value
            try demand(!flight.isFailing) { "a save succeeded on a full disk" }
        } catch let error as GraphError {
            guard case .diskFull = error, flight.isFailing else { throw error }
        }
        let oldHead = head
        var later = models[c]
        if flight.isFailing {
            disk.disk.stopFailing()
            func onTop(_ state: ContextModel) -> ContextModel {
                var model = captured
                model.undo = UndoModel()
                model.absorb(state)
                return model
            }
            let undo = later.undo
            later = onTop(later)
            later.undo = undo
            later.undo.didFail(what: captured.undo, as: later, onTop)
        } else {
            head = newHead
            let result = captured.result(of: commit, newHead)
            func onTop(_ state: ContextModel) -> ContextModel {
                var model = state
                if result.rows != model.base.rows { model.refresh(to: result) }
                for id in captured.returning.keys where model.base.rows[id] != nil {
                    model.count(id, from: newHead.versions[id])
                }
                for id in commit.settled where model.base.rows[id] != nil {
                    model.count(id, from: captured.version(id))
                }
                model.refresh(to: newHead, keepingBases: true)
                return model
            }
            let undo = later.undo
            later.undo = UndoModel()
            later = onTop(later)
            later.undo = undo
            later.undo.didRunHooks(on: captured.work.rows, commit.request, through: captured.undo)
            later.undo.didSave(what: captured.undo, as: later, onTop)
        }
        models[c] = later
        let replaced = flight.isFailing ? [:] : commit.replaced
        try await compareOutcome(c, nil, nil, replaced, since: oldHead)
        if let rival {
            models[rival.context] = rival.model
            try await compareOutcome(rival.context, nil, nil, rival.replaced, since: head)
            // One that merges by itself is doing so.
            if !merging[rival.context] { try await compare(rival.context) }
        }
        guard !replaced.isEmpty else { return }
        // What later changes of objects that gave way become is for other tests.
        await contexts[c].reset()
        models[c].rollback(to: head)
        if undoes { models[c].undo.start(at: models[c]) }
    }

    /// What becomes of another context that saves just before, if it can, and of the store by that.
    private func rival(of c: Int, _ flight: StoreProgram.Flight) -> Rival? {
        guard let r = flight.rival, r != c, !flight.isFailing, models[r].hasChanges else { return nil }
        var rival = Rival(context: r, model: models[r], head: head)
        rival.model.undo.endGroup(at: rival.model)
        guard let replaced = try? rival.model.save(to: &rival.head, flight.policy), rival.head.commits > head.commits
        else { return nil }
        rival.replaced = replaced
        return rival
    }

    private struct Rival {
        let context: Int
        var model: ContextModel
        var head: StoreModel
        var replaced: [StoreModel.ID: StoreModel.ID] = [:]
    }

    /// Runs a transaction that tries again after conflicts.
    private mutating func run(_ transaction: StoreProgram.OnCoordinator) async throws {
        let script = TransactionScript()
        let task = Task { [coordinator] in
            defer { script.finish() }
            try await coordinator.transaction(
                isolation: transaction.isSerializable ? .serializable : .snapshot,
                mergePolicy: transaction.policy.mergePolicy
            ) { context in
                guard let (changes, model) = await script.beginAttempt() else { return }
                try context.perform(changes)
                // All that a serializable transaction reads counts.
                if !transaction.isSerializable { try context.compare(with: model, held: nil) }
                await script.endAttempt()
                if transaction.isAbandoned { throw Abandoned() }
            }
        }
        let policy = transaction.isSerializable ? .error : transaction.policy
        var number = 0
        var last: (base: UInt64, outcome: Result<StoreModel, ContextModel.Failure>)?
        while await script.attemptBegins() {
            if let (base, outcome) = last {
                let isExpected: Bool
                switch outcome {
                case .success: isExpected = transaction.isSerializable && base < head.commits
                case .failure(let failure): isExpected = failure.stage == .conflicts || base < head.commits
                }
                try demand(isExpected) { "attempt \(number) was followed by another one, after \(outcome)" }
            }
            var model = ContextModel(base: head)
            let changes = transaction.changes.compactMap { model.perform($0, next: &next) }
            script.tell(changes, model)
            await script.attemptEnds()
            if number == 0, !transaction.meanwhile.isEmpty {
                try await perform(StoreProgram.Step(context: transaction.other, action: .change(transaction.meanwhile)))
                try await perform(
                    StoreProgram.Step(context: transaction.other, action: .save(rollsBackOnFailure: true, .error)))
            }
            number += 1
            let base = model.base.commits
            var newHead = head
            do throws(ContextModel.Failure) {
                _ = try model.save(to: &newHead, policy)
                last = (base, .success(newHead))
            } catch {
                last = (base, .failure(error))
            }
            script.mayEnd()
        }
        let oldHead = head
        do {
            try await task.value
            guard case .success(let newHead) = last?.outcome, !transaction.isAbandoned else {
                throw Mismatch(description: "the transaction succeeded, not \(last as Any)")
            }
            head = newHead
        } catch is Abandoned {
            try demand(transaction.isAbandoned) { "the transaction was abandoned" }
        } catch let error as GraphError {
            guard case .failure(let expected) = last?.outcome, try ContextModel.Failure(error) == expected else {
                throw Mismatch(description: "the transaction gave \(error), not \(last as Any)")
            }
        }
        if head.commits != oldHead.commits || coordinator.snapshot.commit.number != head.commits {
            try await compareStore()
        }
    }

    /// The same as a transaction that waits.
    private mutating func runTransaction(
        _ nested: StoreProgram.Nested,
        _ child: ContextModel,
        _ rolledBack: [StoreChange],
        _ changes: [StoreChange],
        in c: Int
    ) async throws {
        let (began, mayEnd) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
        let transaction = Task { [context = contexts[c]] in
            try await context.transaction(mergePolicy: nested.policy.mergePolicy) { context in
                defer { began.continuation.finish() }
                try context.perform(rolledBack)
                if !rolledBack.isEmpty { context.rollback() }
                try context.perform(changes)
                began.continuation.finish()
                for await _ in mayEnd.stream {}
                try context.compare(with: child, held: nil)
                if nested.isAbandoned { throw Abandoned() }
            }
        }
        for await _ in began.stream {}
        do {
            for action in nested.meanwhile { try await perform(StoreProgram.Step(context: c, action: action)) }
        } catch {
            mayEnd.continuation.finish()
            throw error
        }
        let oldHead = head
        models[c].undo.endGroup(at: models[c])
        let savepoint = models[c]
        var child = child
        var expected: ContextModel.Failure?
        var replaced: [StoreModel.ID: StoreModel.ID] = [:]
        if !nested.isAbandoned {
            do throws(ContextModel.Failure) {
                try child.save(into: &models[c], nested.policy)
                models[c].undo.endGroup(at: models[c])
                replaced = try models[c].save(to: &head, nested.policy)
            } catch {
                expected = error
                models[c] = savepoint
            }
        }
        mayEnd.continuation.finish()
        var actual: ContextModel.Failure?
        do {
            try await transaction.value
        } catch is Abandoned {
        } catch let error as GraphError {
            actual = try ContextModel.Failure(error, of: expected?.isOfParent == true ? .parent : .store)
        } catch {
            throw error
        }
        try await compareOutcome(c, expected, actual, replaced, since: oldHead)
    }

    private mutating func save(_ c: Int, rollsBackOnFailure: Bool, _ policy: StorePolicy) async throws {
        let oldHead = head
        var expected: ContextModel.Failure?
        var replaced: [StoreModel.ID: StoreModel.ID] = [:]
        do throws(ContextModel.Failure) {
            replaced = try models[c].save(to: &head, policy)
        } catch {
            expected = error
        }
        var actual: ContextModel.Failure?
        do {
            try await contexts[c].save(mergePolicy: policy.mergePolicy)
        } catch {
            actual = try ContextModel.Failure(error)
        }
        try await compareOutcome(c, expected, actual, replaced, since: oldHead)
        if actual != nil, rollsBackOnFailure {
            await contexts[c].rollback(to: .latest)
            models[c].rollback(to: head)
        }
    }

    private func compareOutcome(
        _ c: Int,
        _ expected: ContextModel.Failure?,
        _ actual: ContextModel.Failure?,
        _ replaced: [StoreModel.ID: StoreModel.ID],
        since oldHead: StoreModel
    ) async throws {
        try demand(actual == expected) {
            "the save gave \(actual.map { "\($0)" } ?? "no error"), not \(expected.map { "\($0)" } ?? "no error")"
        }
        if let held = held[c], !replaced.isEmpty {
            try await contexts[c].perform { _ in try held.compareReplacements(replaced) }
        }
        if head.commits != oldHead.commits || coordinator.snapshot.commit.number != head.commits {
            try await compareStore()
        }
    }

    private mutating func reopen() async throws {
        guard path != nil || disk != nil else { return }
        try await coordinator.close()
        let coordinator = try await Self.open(path, disk)
        self.coordinator = coordinator
        contexts = contexts.map { _ in Context(coordinator) }
        held = held.map { $0 == nil ? nil : HeldObjects() }
        models = models.map { _ in ContextModel(base: head) }
        merging = merging.map { _ in false }
        await startHistories()
        try await compareStore()
    }

    // MARK: Comparing

    private func compareStore() async throws {
        let findings = coordinator.check()
        try demand(findings.isEmpty) { "check: \(findings)" }
        let commit = coordinator.snapshot.commit.number
        try demand(commit == head.commits) { "\(commit) commits, not \(head.commits)" }
        try await Context(coordinator).perform { [head] context in
            do {
                try context.compare(with: ContextModel(base: head), held: nil)
                try context.compareVersions(with: head)
            } catch {
                throw Mismatch(description: "the store: \(error)")
            }
        }
    }

    private func compare(_ c: Int) async throws {
        try await contexts[c].perform { [model = models[c], held = held[c]] context in
            try context.compare(with: model, held: held)
        }
    }

    private func compareAll(thoroughly chosen: Int) async throws {
        for (number, context) in contexts.enumerated() {
            try await context.perform { [model = models[number], held = held[number]] context in
                do {
                    try context.compare(with: model, held: held)
                    if number == chosen { try context.compareThoroughly(with: model) }
                } catch {
                    throw Mismatch(description: "context \(number): \(error)")
                }
            }
        }
    }
}

extension ContextModel.Failure {
    /// - Throws: the error, if it is none that a save gives by the rules.
    fileprivate init(_ error: GraphError, of comparison: ContextModel.Comparison = .store) throws {
        switch error {
        case .conflicts(let conflicts) where comparison == .parent:
            self.init(.conflicts, conflicts.map { "\($0.id) \($0.newVersion.number == 0 ? "deleted" : "changed")" })
        case .conflicts(let conflicts):
            self.init(.conflicts, conflicts.map { "\($0.id) \($0.oldVersion) \($0.newVersion)" })
        case .notUnique(let violations):
            self.init(.notUnique, violations.map { "\($0.id) \($0.property)" })
        case .danglingReferences(let references):
            self.init(.dangling, references.map { "\($0.id) \($0.property) \($0.target)" })
        case .deleteDenied(let denied):
            self.init(
                .denied,
                denied.map {
                    "\($0.id) \($0.relationship) \($0.remainingCount) \($0.remaining)"
                        + ($0.isReplaced ? " replaced" : "")
                })
        case .validationFailed(let failures):
            self.init(.invalid, failures.map { "\($0.id) \($0.property ?? "")" })
        default:
            throw error
        }
    }

    /// Whether conflicts with the context that the saving one is nested in were found.
    fileprivate var isOfParent: Bool {
        stage == .conflicts && offenders.allSatisfy { $0.hasSuffix("deleted") || $0.hasSuffix("changed") }
    }

    private init(_ stage: Stage, _ offenders: [String]) {
        self.init(stage: stage, offenders: Set(offenders))
    }
}

func demand(_ holds: Bool, _ message: () -> String) throws {
    if !holds { throw StoreProgramRun.Mismatch(description: message()) }
}

extension Context {
    fileprivate var baseCommitNumber: UInt64 { state.base.commit.number }
}
