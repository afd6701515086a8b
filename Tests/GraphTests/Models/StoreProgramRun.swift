import Foundation

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

    struct Abandoned: Error {}

    let path: String?
    let durability: Durability
    /// For saves in flight.
    let disk: GatedDisk?
    /// Whether contexts keep groups to undo.
    let undoes: Bool
    var coordinator: Coordinator
    var contexts: [Context]
    var held: [HeldObjects?]
    var models: [ContextModel]
    /// Which contexts take over others' commits.
    var merging = Array(repeating: false, count: StoreProgram.contextCount)
    var head = StoreModel()
    var everSaved: Set<StoreModel.ID> = []
    /// By entity, the row number that comes next.
    var next = StoreShape.entities.map { _ in RowNumber(1) }

    /// Whether the file is compacted before half of the reopenings.
    var isCompacted = true
    /// Whether half of the reopenings are of another version of the program.
    var evolves = true
    /// The version that has the file.
    private var version: UInt64 = 0

    /// - Parameter path: where the store's file is to be; nil runs in memory, where reopening does nothing.
    static func mismatch(of program: StoreProgram, path: String?) async -> Mismatch? {
        do {
            let disk = program.hasFlights && path == nil ? GatedDisk() : nil
            var run = try await StoreProgramRun(path: path, program.durability, disk, undoes: program.hasUndo)
            do {
                try await run.perform(program)
            } catch {
                try? await run.coordinator.close()
                throw error
            }
            try await run.coordinator.close()
            return nil
        } catch {
            return Mismatch(description: "\(error)")
        }
    }

    init(path: String?, _ durability: Durability, _ disk: GatedDisk?, undoes: Bool) async throws {
        (self.path, self.durability, self.disk, self.undoes) = (path, durability, disk, undoes)
        let coordinator = try await Self.open(path, durability, disk)
        self.coordinator = coordinator
        contexts = (0..<StoreProgram.contextCount).map { _ in Context(coordinator) }
        // Objects that are held have to keep up; others are made anew each time.
        held = contexts.indices.map { $0 == 1 ? nil : HeldObjects() }
        models = contexts.map { _ in ContextModel(base: StoreModel()) }
        await startHistories()
    }

    mutating func startHistories() async {
        guard undoes else { return }
        for (number, context) in contexts.enumerated() {
            await context.perform { $0.undoLimit = 1_000 }
            models[number].undo.start(at: models[number])
        }
    }

    /// - Parameter version: one of the program's versions that differ in what changes nothing that is seen.
    private static func open(
        _ path: String?, _ durability: Durability, _ disk: GatedDisk?, version: UInt64 = 0
    ) async throws -> Coordinator {
        let schema = try Schema.version(version, of: StoreShape.types)
        if let disk {
            return try await Coordinator(
                schema, path: JournalFixture.path, fileSystem: disk, options: JournalFixture.options())
        }
        return try await Coordinator(
            schema, path: path, fileSystem: PosixFileSystem(), options: JournalOptions(idleMarkDelay: .seconds(1)),
            durability: durability)
    }

    // MARK: Steps

    mutating func perform(_ program: StoreProgram) async throws {
        for (number, step) in program.steps.enumerated() {
            do {
                try await perform(step)
                if number % 2 == 0 || !step.isChange { try await compare(step.context) }
                if number % 15 == 14 || number == program.steps.count - 1 {
                    try await compareAll(thoroughly: number / 15 % StoreProgram.contextCount)
                }
            } catch {
                throw Mismatch(description: "step \(number), \(step): \(error)")
            }
        }
    }

    mutating func perform(_ step: StoreProgram.Step) async throws {
        models[step.context].undo.endGroup(at: models[step.context])
        everSaved.formUnion(head.rows.keys)
        try await take(step)
        models[step.context].undo.endGroup(at: models[step.context])
        await catchUp()
    }

    /// Waits until the contexts that merge by themselves have merged.
    mutating func catchUp() async {
        for c in contexts.indices where merging[c] && models[c].base.commits < head.commits {
            await catchUp(c, with: head)
        }
    }

    /// Waits until a context that merges by itself has taken a commit over.
    mutating func catchUp(_ c: Int, with head: StoreModel) async {
        models[c].undo.endGroup(at: models[c])
        models[c].refresh(to: head, keepingBases: true)
        while await contexts[c].baseCommitNumber < head.commits { await Task.yield() }
    }

    mutating func change(_ changes: [StoreProgram.Change], in c: Int) async throws {
        let looksAtEach = models[c].isLookedAt
        let changes = changes.compactMap { models[c].perform($0, next: &next) }
        try await contexts[c].perform { context in
            try context.perform(changes, looksAtEach: looksAtEach)
        }
    }

    mutating func take(_ step: StoreProgram.Step) async throws {
        let c = step.context
        switch step.action {
        case .change(let changes):
            try await change(changes, in: c)
        case .undo where models[c].undo.canUndo:
            try await undoUnsaved(c, isUndo: true)
        case .redo where models[c].undo.canRedo:
            try await undoUnsaved(c, isUndo: false)
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
                // A program may also look at what it has changed, one object after the other.
                let looksAtEach = changes.count.isMultiple(of: 3)
                let action = looksAtEach ? StoreProgram.Action.refreshObjects(Array(0..<8)) : .refresh
                try await perform(StoreProgram.Step(context: c, action: action))
            }
            try await perform(StoreProgram.Step(context: c, action: .undo))
        case .undoShared(let group):
            try await undo(group, in: c)
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
            let ids = models[c].changed(numbers)
            guard !ids.isEmpty else { return }
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
        case .refreshObjects(let numbers):
            let ids = models[c].changed(numbers)
            await refreshObjects(ids, in: c)
            for id in ids { models[c].refreshObject(id, to: head) }
        case .reopen:
            try await reopen()
        }
    }

    /// Also of objects that are deleted here.
    func refreshObjects(_ ids: [StoreModel.ID], in c: Int) async {
        await contexts[c].perform { context in
            for id in ids {
                guard let entity = context.state.schema.index(named: AnyPersistentID(id).entityName) else { continue }
                context.state.refreshObject(RowID(entity: entity, row: id.row), mergeChanges: true)
            }
        }
    }

    mutating func save(_ c: Int, rollsBackOnFailure: Bool, _ policy: StorePolicy) async throws {
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

    func compareOutcome(
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

    /// A copy has all that the store has, the numbers that come next among it.
    private func goOnWithCopy(of path: String) async throws {
        let copy = path + ".copy"
        try await coordinator.copy(to: copy)
        try await coordinator.close()
        try await Coordinator.destroy(at: path)
        guard rename(copy, path) == 0 else { throw Mismatch(description: "the copy cannot be renamed") }
    }

    mutating func reopen() async throws {
        guard path != nil || disk != nil else { return }
        if isCompacted, head.commits.isMultiple(of: 2) { try await coordinator.compact() }
        if let path, head.commits % 5 == 3 {
            try await goOnWithCopy(of: path)
        } else {
            try await coordinator.close()
        }
        if evolves, head.commits % 2 == 1 { version = head.commits % 7 }
        let coordinator = try await Self.open(path, durability, disk, version: version)
        self.coordinator = coordinator
        // A conversion takes a commit number.
        if coordinator.diagnostics.contains(where: { $0.kind == .convertedChange }) { head.commits += 1 }
        contexts = contexts.map { _ in Context(coordinator) }
        held = held.map { $0 == nil ? nil : HeldObjects() }
        models = models.map { _ in ContextModel(base: head) }
        merging = merging.map { _ in false }
        await startHistories()
        try await compareStore()
    }

    // MARK: Comparing

    func compareStore() async throws {
        let findings = coordinator.snapshot.checkByHand()
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

    func compare(_ c: Int) async throws {
        try await contexts[c].perform { [model = models[c], held = held[c]] context in
            try context.compare(with: model, held: held)
        }
    }

    func compareAll(thoroughly chosen: Int) async throws {
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
    /// - Throws: the error, if the rules do not lead to it.
    init(_ error: GraphError, of comparison: ContextModel.Comparison = .store) throws {
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
    var isOfParent: Bool {
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
