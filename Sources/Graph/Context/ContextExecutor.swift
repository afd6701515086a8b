/// Where a context runs.
///
/// Contexts on one executor take turns there, and code on it reaches each of them without waiting: see `Context.sync`. Their
/// objects stay separate: a relationship between objects of two contexts is a programming error and stops the program.
public struct ContextExecutor: Sendable {
    let unowned: UnownedSerialExecutor
    /// Keeps the executor alive.
    private let owner: (any AnyObject & Sendable)?
    private let precondition: @Sendable (String) -> Void

    /// The main actor's executor.
    public static let main = ContextExecutor(
        unowned: MainActor.sharedUnownedExecutor,
        owner: nil,
        precondition: { MainActor.preconditionIsolated($0) }
    )

    /// A program's own executor.
    ///
    /// Complexity: O(1).
    public static func custom(_ executor: some SerialExecutor) -> ContextExecutor {
        ContextExecutor(
            unowned: executor.asUnownedSerialExecutor(),
            owner: executor,
            precondition: { executor.preconditionIsolated($0) }
        )
    }

    /// One of its own, on the threads that all actors share.
    static func new() -> ContextExecutor {
        let actor = `context: use objects, sync and atomically where it runs; elsewhere pass ids or values, and await`()
        return ContextExecutor(
            unowned: actor.unownedExecutor,
            owner: actor,
            precondition: { actor.preconditionIsolated($0) }
        )
    }

    var isMain: Bool { owner == nil }

    /// Stops the program unless it is running there.
    func requireCurrent(_ message: @autoclosure () -> String) {
        precondition(message())
    }

}

/// Lends its executor: an actor that says itself where it runs cannot have the one that it would have otherwise.
///
/// When a program uses an object elsewhere, the Swift runtime ends it before a message of ours is asked for. It prints which
/// executor it expected, by the name of this type: so the name says what to do.
actor `context: use objects, sync and atomically where it runs; elsewhere pass ids or values, and await` {}

/// An actor that runs where its context does, and so uses the context and its objects without waiting.
///
/// ```swift
/// actor Importer: ContextActor {
///     let context: Context
///     private var teams: [Team.Object] = []
///
///     init(_ coordinator: Coordinator) { context = Context(coordinator) }
///
///     func load() throws { teams = try withContext { try $0.fetch(Team.self) } }
///     func rename(to name: String) { for team in teams { team.name = name } }
/// }
/// ```
public protocol ContextActor: Actor {
    /// The actor's context. Return the same one each time.
    nonisolated var context: Context { get }
}

extension ContextActor {
    /// The context's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { context.unownedExecutor }

    /// Runs a closure on the context at once and returns its result, which may be objects.
    ///
    /// Complexity: that of ``Context/sync(isolation:_:)``.
    @discardableResult
    public func withContext<Result>(_ body: @Sendable (isolated Context) throws -> Result) rethrows -> Result {
        try context.sync(body)
    }
}
