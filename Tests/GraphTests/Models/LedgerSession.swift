import Synchronization

@testable import Graph

/// One program among several: runs transactions, in all forms that there are, and records them.
struct LedgerSession: Sendable {
    let number: Int
    let coordinator: Coordinator
    let recorder: HistoryRecorder
    let level: IsolationLevel
    /// Whether the disk, or the log, may.
    let mayFail: Bool
    /// Since when the coordinator's state is the newest one; nil if it always is.
    let freshness: Freshness?
    /// Where the tasks are that have no other place.
    let executor: SeededExecutor?
    var random: SeededGenerator

    private struct Abandoned: Error {}

    /// How a transaction is run.
    private enum Form: CaseIterable {
        /// On a context that lives longer, step by step, and ended by a save.
        case steps
        /// In one go.
        case closure
        /// On a context nested in the one that lives longer.
        case nested
        /// On a fresh context, again and again until it succeeds.
        case coordinator
        /// The same, and it waits for another one in a task that knows nothing of it.
        case waiting
        /// Reads of the coordinator's newest state.
        case snapshot
    }

    private struct Plan: Sendable {
        /// With how often to yield after each.
        var steps: [(step: LedgerStep, yields: Int)] = []
        var isAbandoned = false
        /// Whether the context of a transaction on the coordinator is told to save by itself, which it must not.
        var autosaves = false
        /// Whether somebody goes on with such a context when the transaction has ended.
        var isLeaked = false
    }

    /// A moment before the coordinator's state was taken, and behind all commits that it may lack.
    private func moment() -> Int { freshness?.moment ?? recorder.now() }

    /// Has the coordinator take over what a log has, if there is one, and the connection holds.
    private mutating func catchUp() async {
        guard let freshness, Bool.random(using: &random) else { return }
        let now = recorder.now()
        do {
            try await coordinator.catchUp()
            freshness.advance(to: now)
        } catch GraphError.logUnavailable {
        } catch GraphError.closed where mayFail {
        } catch {
            recorder.note("session \(number) does not catch up: \(error)")
        }
    }

    mutating func run() async {
        var begin = moment()
        let context = Context(coordinator, isolation: level)
        for _ in 0..<Int.random(in: 2...4, using: &random) {
            await catchUp()
            if Bool.random(using: &random) {
                let now = moment()
                await context.refresh()
                begin = now
            }
            let plan = plan()
            switch Form.allCases.randomElement(using: &random) ?? .steps {
            case .coordinator:
                await Self.runOnCoordinator(plan, session: -number, self)
            case .waiting:
                await Self.runOnCoordinator(plan, waitingFor: self.plan(), session: -number, self)
            case .snapshot:
                await readSnapshot(plan)
            case let form:
                let base = await context.baseState.commit
                let transaction = recorder.begin(session: number, at: begin, on: base)
                let now = moment()
                let outcome = await outcome { try await run(plan, as: form, on: context, transaction) }
                let newest = await context.baseState
                recorder.see(newest)
                transaction.end(outcome)
                recorder.count("\(form) \(outcome)")
                if case .committed = outcome {
                    transaction.checkDeletes(in: newest)
                    // Without changes there was nothing to save, and the base stayed.
                    if newest.commit != base { begin = now }
                } else {
                    begin = await giveUp(form, on: context) ?? begin
                }
            }
        }
    }

    /// Goes on after a failure, in one of the ways in which nothing of it stays.
    ///
    /// - Returns: a moment before the context's base was taken, if it has a new one.
    private mutating func giveUp(_ form: Form, on context: Context) async -> Int? {
        let now = moment()
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            await context.rollback()
            return nil
        // What a closure did is undone already.
        case 1 where form != .steps:
            return nil
        case 2 where form != .steps:
            await context.refresh()
        default:
            await context.rollback(to: .latest)
        }
        return now
    }

    private mutating func chance(_ times: Int) -> Bool { Int.random(in: 0..<times, using: &random) == 0 }

    private mutating func plan() -> Plan {
        var plan = Plan()
        for _ in 0..<Int.random(in: 1...5, using: &random) {
            plan.steps.append(
                (.random(&random, hasRelations: recorder.hasSignatures), Int.random(in: 0...2, using: &random)))
        }
        plan.isAbandoned = chance(12)
        (plan.autosaves, plan.isLeaked) = (chance(4), chance(8))
        return plan
    }

    private func run(
        _ plan: Plan,
        as form: Form,
        on context: Context,
        _ transaction: HistoryRecorder.Transaction
    ) async throws {
        let recorder = recorder
        switch form {
        case .steps, .coordinator, .waiting, .snapshot:
            for (step, yields) in plan.steps {
                try await context.perform { context in
                    transaction.add(try context.take(step, recorder.choices()))
                }
                for _ in 0..<yields { await Task.yield() }
            }
            if plan.isAbandoned { throw Abandoned() }
            await context.perform { transaction.sign(on: $0) }
            try await context.save()
        case .closure:
            try await context.transaction { context in
                for (step, _) in plan.steps { transaction.add(try context.take(step, recorder.choices())) }
                if plan.isAbandoned { throw Abandoned() }
                transaction.sign(on: context)
            }
        case .nested:
            try await context.transaction { context in
                for (step, yields) in plan.steps {
                    transaction.add(try context.take(step, recorder.choices()))
                    for _ in 0..<yields { await Task.yield() }
                }
                if plan.isAbandoned { throw Abandoned() }
                transaction.sign(on: context)
            }
        }
    }

    /// Every attempt is a transaction of the history. One that is followed by another was rejected. Fresh contexts are ahead of
    /// the one that lives longer, and so no part of its session.
    private static func runOnCoordinator(
        _ plan: Plan,
        waitingFor other: Plan? = nil,
        session: Int,
        _ this: LedgerSession
    ) async {
        let attempts = Attempts(this.recorder, session: session) { this.moment() }
        let recorder = this.recorder
        let outcome = await this.outcome {
            try await this.coordinator.transaction(isolation: this.level, retries: 2) { context in
                let transaction = attempts.begin(on: context)
                if plan.autosaves { context.autosave = .zero }
                for (step, yields) in plan.steps {
                    transaction.add(try context.take(step, recorder.choices()))
                    for _ in 0..<yields { await Task.yield() }
                }
                if let other {
                    // A detached task, for which the turn to retry cannot be told from somebody else's.
                    await Task.detached(executorPreference: this.executor) {
                        await runOnCoordinator(other, session: session - 100, this)
                    }.value
                }
                if !plan.isAbandoned { transaction.sign(on: context) }
                attempts.bodyEnds()
                if plan.isAbandoned { throw Abandoned() }
            }
        }
        if let context = attempts.context {
            let newest = await context.baseState
            recorder.see(newest)
            if case .committed = outcome { attempts.current?.checkDeletes(in: newest) }
        }
        if plan.isLeaked, let context = attempts.context { await this.goOn(with: context) }
        attempts.end(outcome)
        recorder.count("\(other == nil ? "coordinator" : "waiting") \(outcome)")
    }

    /// R20: whatever is done with the context of a transaction that has ended goes nowhere, and says so.
    private func goOn(with context: Context) async {
        let choices = recorder.choices()
        await context.perform { context in
            _ = context.insert(Ledger.Account(stamp: choices.stamp, branch: ToOne(choices.branch(0))))
        }
        do {
            try await context.save()
            recorder.note("session \(number): a save after the end of a transaction succeeded")
        } catch GraphError.transactionEnded {
        } catch {
            recorder.note("session \(number): \(error) after the end of a transaction")
        }
    }

    /// A transaction that only reads: one state, whatever happens meanwhile.
    private func readSnapshot(_ plan: Plan) async {
        let begin = moment()
        let snapshot = coordinator.snapshot
        recorder.see(snapshot)
        let transaction = recorder.begin(session: -number, at: begin, on: snapshot.commit)
        for (step, yields) in plan.steps {
            transaction.add(snapshot.take(step, recorder.choices()))
            for _ in 0..<yields { await Task.yield() }
        }
        transaction.end(.committed(nil))
        recorder.count("snapshot")
    }

    private func outcome(of body: () async throws -> Void) async -> History.Outcome {
        do {
            try await body()
            return .committed(nil)
        } catch {
            switch error {
            case is Abandoned, GraphError.cancelled, GraphError.conflicts, GraphError.retriesExhausted: break
            case GraphError.deleteDenied where recorder.hasSignatures,
                GraphError.notUnique where recorder.hasSignatures,
                GraphError.danglingReferences where recorder.hasSignatures:
                recorder.count("rules broken")
            case GraphError.outcomeUnknown where mayFail, GraphError.commitInDoubt where mayFail: return .unknown
            case GraphError.diskFull where mayFail, GraphError.storeFailed where mayFail,
                GraphError.closed where mayFail, GraphError.logUnavailable where mayFail:
                recorder.count("saves that failed")
            default: recorder.note("session \(number): \(error)")
            }
            return .rejected
        }
    }
}

extension Context {
    /// The committed state that this context reads.
    var baseState: Snapshot { state.base }
}

/// Up to when a coordinator has what others have saved to its log: who was over then comes before who begins with its state.
final class Freshness: Sendable {
    private let state = Mutex(0)

    var moment: Int { state.withLock { $0 } }

    func advance(to moment: Int) { state.withLock { $0 = max($0, moment) } }
}

/// The attempts of one transaction on the coordinator.
private final class Attempts: Sendable {
    private let recorder: HistoryRecorder
    private let session: Int
    private let moment: @Sendable () -> Int
    private let state: Mutex<(begin: Int, context: Context?, current: HistoryRecorder.Transaction?)>

    init(_ recorder: HistoryRecorder, session: Int, moment: @escaping @Sendable () -> Int) {
        (self.recorder, self.session, self.moment) = (recorder, session, moment)
        state = Mutex((moment(), nil, nil))
    }

    /// The context of the last attempt.
    var context: Context? { state.withLock { $0.context } }

    /// The last attempt.
    var current: HistoryRecorder.Transaction? { state.withLock { $0.current } }

    func begin(on context: isolated Context) -> HistoryRecorder.Transaction {
        end(.rejected)
        let base = context.baseState.commit
        return state.withLock { state in
            let transaction = recorder.begin(session: session, at: state.begin, on: base)
            (state.context, state.current) = (context, transaction)
            return transaction
        }
    }

    /// The next attempt, if there is one, takes its base after this moment.
    func bodyEnds() {
        let now = moment()
        state.withLock { $0.begin = now }
    }

    func end(_ outcome: History.Outcome) {
        state.withLock { $0.current }?.end(outcome)
    }
}
