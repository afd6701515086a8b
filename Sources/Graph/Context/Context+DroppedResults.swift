// A closure with one expression returns it, as `{ $0.insert(row) }` does, and an object cannot be returned. So these forms drop an
// object, in place of what the compiler would say. They are more special than those that return any result, which the compiler
// therefore takes for everything else. Closures that wait have none: the compiler would check each of them twice.

extension Context {
    /// Runs a closure on this context. The object that the closure returns stays there.
    ///
    /// Complexity: that of the `perform` that returns a result.
    @discardableResult
    public func perform<E>(
        _ body: @Sendable (isolated Context) throws -> ManagedObject<E>
    ) async rethrows -> ObjectLeftInContext<E> {
        try inTurn { context in
            _ = try body(context)
            return ObjectLeftInContext()
        }
    }

    /// Runs a closure on this context and saves, as the `transaction` that returns a result does. The object that the closure
    /// returns stays there.
    ///
    /// Complexity: that of the `transaction` that returns a result.
    @discardableResult
    public func transaction<E>(
        mergePolicy: MergePolicy? = nil,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @Sendable (isolated Context) throws -> ManagedObject<E>
    ) async throws -> ObjectLeftInContext<E> {
        try await saving(mergePolicy, fileID, line) {
            _ = try body(self)
            return ObjectLeftInContext()
        }
    }
}

extension Coordinator {
    /// Runs a closure on a fresh context and commits, as the `transaction` that returns a result does. The object that the
    /// closure returns is released with that context.
    ///
    /// Complexity: that of the `transaction` that returns a result.
    @_disfavoredOverload @discardableResult
    public nonisolated func transaction<E>(
        isolation: IsolationLevel = .snapshot,
        retries: Int = 32,
        mergePolicy: MergePolicy = .error,
        author: String? = nil,
        durability: Durability = .none,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @Sendable (isolated Context) async throws -> ManagedObject<E>
    ) async throws -> ObjectLeftInContext<E> {
        try await transaction(
            isolation: isolation,
            retries: retries,
            mergePolicy: mergePolicy,
            author: author,
            durability: durability,
            fileID: fileID,
            line: line
        ) { context in
            _ = try await body(context)
            return ObjectLeftInContext()
        }
    }
}

/// What `perform` and `transaction` return for a closure that returns an object: an empty value, since an object cannot leave
/// its context.
///
/// ```swift
/// try await context.transaction { $0.insert(Team(name: "Analysts")) }                 // the result is not used
/// let id = try await context.transaction { $0.insert(Team(name: "Analysts")).id }     // an identifier leaves
/// ```
@dynamicMemberLookup
public struct ObjectLeftInContext<E: Entity>: Sendable {
    /// Unavailable: the object stays in its context.
    @available(
        *, unavailable,
        message: "the object stays in its context: return its 'id' or its 'value' from the closure, or use it inside"
    )
    public subscript<V>(dynamicMember keyPath: KeyPath<ManagedObject<E>, V>) -> V {
        get { fatalError() }
        nonmutating set { _ = newValue }
    }

    /// Unavailable: the object stays in its context.
    @available(*, unavailable, message: "the object stays in its context: delete it in the closure")
    public func delete() {}
}
