import Synchronization

@testable import Graph

/// Runs tasks and the default actors that they visit on one thread, one job at a time, in an order that a seed fixes.
///
/// A job is what a task does between two suspensions. A task that prefers this executor goes through it at every yield and
/// at every hop to an actor and back, so that each of these is a place where others may come in between. So do its child
/// tasks. What escapes: unstructured `Task {}`, `Task.sleep`, and actors with an executor of their own.
final class SeededExecutor: TaskExecutor {
    /// How the next job is chosen.
    enum Strategy: Sendable, Hashable {
        /// Any that waits is as likely as any other.
        case uniform
        /// Probabilistic concurrency testing (Burckhardt et al. 2010): each task has a random priority, the highest goes
        /// on until it waits, and at a few random steps the running task falls behind all others. A bug that needs
        /// `changes` + 1 events in one order comes up with a probability of at least 1 / (tasks · steps ^ changes) a
        /// run, however unlikely it is under uniform choice. An actor's turn counts for the task that asked for it.
        case priorities(changes: Int, steps: Int)
    }

    fileprivate struct WaitingJob {
        let job: UnownedJob
        /// By order of appearance.
        let task: Int
    }

    fileprivate struct State {
        var random: SeededGenerator
        var waiting: [WaitingJob] = []
        /// The runtime's identifiers of tasks go up with all tasks of the process; these numbers start at 0.
        var tasks: [UInt64: Int] = [:]
        var priorities: [UInt64] = []
        /// The steps at which the running task falls behind; the last one is the next.
        var changePoints: [Int] = []
        /// The task of each step so far.
        var trace: [Int] = []
    }

    /// After so many steps a program is taken for one that never ends.
    private static let stepLimit = 100_000

    private let strategy: Strategy
    private let state: Mutex<State>

    init(seed: UInt64, strategy: Strategy) {
        self.strategy = strategy
        var random = SeededGenerator(seed: seed)
        var changePoints: [Int] = []
        if case .priorities(let changes, let steps) = strategy {
            changePoints = (0..<changes).map { _ in Int.random(in: 1...max(steps, 1), using: &random) }
        }
        state = Mutex(State(random: random, changePoints: changePoints.sorted(by: >)))
    }

    /// Uniform choice for even seeds, priorities for odd ones.
    convenience init(seed: UInt64, sessions: Int) {
        self.init(
            seed: seed,
            strategy: seed.isMultiple(of: 2) ? .uniform : .priorities(changes: 2, steps: 60 * sessions)
        )
    }

    /// Which task had each step: the schedule.
    var trace: [Int] { state.withLock { $0.trace } }

    func enqueue(_ job: consuming ExecutorJob) {
        let name = job.description
        let job = UnownedJob(job)
        state.withLock { state in
            state.waiting.append(WaitingJob(job: job, task: state.task(named: name)))
        }
    }

    /// Runs a program to its end on the calling thread.
    ///
    /// - Parameter drain: called after each job. Waits for whatever the job has started elsewhere, so that the schedule
    ///   does not depend on how long that takes.
    /// - Returns: what the program returns; nil if it hangs, with nothing left to run, or goes on without end.
    func run<Result: Sendable>(
        drain: () -> Void = {},
        _ program: @escaping @Sendable () async -> Result
    ) -> Result? {
        let result = Cell<Result>()
        Task(executorPreference: self) { result.put(await program()) }
        var steps = 0
        while steps < Self.stepLimit, let job = next() {
            job.runSynchronously(on: asUnownedTaskExecutor())
            drain()
            steps += 1
        }
        return result.content
    }

    private func next() -> UnownedJob? {
        state.withLock { state -> UnownedJob? in
            guard !state.waiting.isEmpty else { return nil }
            let place =
                switch strategy {
                case .uniform: Int.random(in: state.waiting.indices, using: &state.random)
                case .priorities: state.highestPriority()
                }
            let chosen = state.waiting.remove(at: place)
            state.trace.append(chosen.task)
            return chosen.job
        }
    }
}

extension SeededExecutor.State {
    /// The number of a job's task. A job without a name is an actor's turn: it belongs to the task that is running.
    mutating func task(named name: String) -> Int {
        let digits = name.utf8.drop { !Self.isDigit($0) }.prefix(while: Self.isDigit)
        guard !digits.isEmpty else { return trace.last ?? 0 }
        let identifier = digits.reduce(0) { $0 * 10 + UInt64($1 - UInt8(ascii: "0")) }
        if let task = tasks[identifier] { return task }
        tasks[identifier] = priorities.count
        // Above the priorities that change points give.
        priorities.append(random.next() | 1 << 63)
        return priorities.count - 1
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// The place of the job to run next, the one that came first among those of one task.
    mutating func highestPriority() -> Int {
        let place = placeOfHighestPriority
        guard let change = changePoints.last, change <= trace.count + 1 else { return place }
        changePoints.removeLast()
        priorities[waiting[place].task] = UInt64(changePoints.count)
        return placeOfHighestPriority
    }

    private var placeOfHighestPriority: Int {
        var highest = 0
        for place in waiting.indices.dropFirst()
        where priorities[waiting[place].task] > priorities[waiting[highest].task] {
            highest = place
        }
        return highest
    }
}

/// Where a task leaves its result.
private final class Cell<Content: Sendable>: Sendable {
    private let stored = Mutex<Content?>(nil)

    var content: Content? { stored.withLock { $0 } }

    func put(_ content: Content) { stored.withLock { $0 = content } }
}
