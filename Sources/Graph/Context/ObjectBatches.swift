/// The objects that a descriptor asks for, some at a time, so that a long result does not take memory as a whole.
///
/// The sequence takes the identifiers when it is made. Objects are made when their batch comes, and show what the context shows
/// then; those that are deleted by then are left out, so that a batch may be shorter, and none is empty. Between two batches the
/// context may change, save and refresh. An object that nobody holds after its batch goes.
///
/// ```swift
/// for try await people in try context.batches(of: FetchDescriptor<Person>(), size: 1_000) {
///     for person in people { person.visits += 1 }
///     try await context.save()
/// }
/// ```
public struct ObjectBatches<E: Entity>: AsyncSequence {
    private let context: Context
    private let ids: [PersistentID<E>]
    private let size: Int

    init(_ context: Context, _ ids: [PersistentID<E>], size: Int) {
        (self.context, self.ids, self.size) = (context, ids, size)
    }

    /// Begins with the first batch.
    public func makeAsyncIterator() -> Iterator {
        Iterator(context: context, rest: ids[...], size: size)
    }

    /// Goes from batch to batch.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let context: Context
        fileprivate var rest: ArraySlice<PersistentID<E>>
        fileprivate let size: Int

        /// The next objects; nil at the end.
        ///
        /// - Precondition: it is called where the context runs.
        /// - Throws: `CancellationError` if the task is cancelled.
        ///
        /// Complexity: O(*k* log *n*) for a batch of *k* among *n* objects of the entity.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> [ManagedObject<E>]? {
            while !rest.isEmpty {
                try Task.checkCancellation()
                let batch = rest.prefix(size)
                rest = rest.dropFirst(size)
                let objects = context.requireObjects(of: Array(batch))
                if !objects.isEmpty { return objects }
            }
            return nil
        }

        /// The same from no particular isolation, in which no context runs.
        public mutating func next() async throws -> [ManagedObject<E>]? {
            try await next(isolation: nil)
        }
    }
}

/// Carries objects out of a closure that runs where they are used, as `Actor.assumeIsolated` makes sure.
private struct UncheckedObjects<E: Entity>: @unchecked Sendable {
    let objects: [ManagedObject<E>]
}

extension Context {
    /// The objects that a descriptor asks for, in batches: see ``ObjectBatches``.
    ///
    /// - Precondition: the size is positive.
    /// - Throws: what ``Snapshot/fetchValues(_:)`` throws.
    ///
    /// Complexity: that of ``Snapshot/fetchIDs(_:)``. It takes 8 bytes for each object until the last batch.
    public func batches<E: Entity>(of descriptor: FetchDescriptor<E>, size: Int) throws -> ObjectBatches<E> {
        precondition(size > 0, "batches of \(size) objects")
        return ObjectBatches(self, try fetchIDs(descriptor), size: size)
    }

    /// The objects that there are, where the context runs; elsewhere the program stops.
    fileprivate nonisolated func requireObjects<E: Entity>(of ids: [PersistentID<E>]) -> [ManagedObject<E>] {
        assumeIsolated { context in
            // What the last batch brought into memory goes.
            context.registry.endTurn()
            return UncheckedObjects(objects: ids.compactMap { context[$0] })
        }.objects
    }
}
