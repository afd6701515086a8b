import Testing

@testable import Graph

/// Two contexts of one store, of which the second commits before the first does.
struct Rivals {
    /// Where a merge policy is given.
    enum Place: CaseIterable {
        case context
        case save
    }

    let coordinator: Coordinator
    let ours: Context
    let theirs: Context
    /// What saves of ours are told.
    private let mergePolicy: MergePolicy?

    init(_ policy: MergePolicy = .error, givenTo place: Place = .context, at path: String? = nil) async throws {
        coordinator = try await .bank(at: path)
        ours = Context(coordinator, mergePolicy: place == .context ? policy : .error, author: "us")
        theirs = Context(coordinator, author: "them")
        mergePolicy = place == .save ? policy : nil
        // Objects live on, so that tests see what becomes of the same ones.
        await ours.perform { $0.retainsRegisteredObjects = true }
    }

    /// Commits what both start from.
    func start<Result: Sendable>(_ body: @Sendable (isolated Context) throws -> Result) async throws -> Result {
        let result = try await theirs.transaction(body)
        await ours.refresh()
        try await ours.makeObjects()
        return result
    }

    /// Has ours change something, and theirs commit something.
    func change(
        ours: @Sendable (isolated Context) throws -> Void,
        theirs: @Sendable (isolated Context) throws -> Void
    ) async throws {
        try await self.ours.perform(ours)
        try await self.theirs.transaction(theirs)
    }

    /// Saves ours, and gives back why that failed. The store is right afterwards.
    @discardableResult
    func save(_ policy: MergePolicy? = nil) async -> GraphError? {
        var failure: GraphError?
        do {
            try await ours.save(mergePolicy: policy ?? mergePolicy)
        } catch {
            failure = error
        }
        #expect(coordinator.check() == [])
        return failure
    }

    /// The conflicts that keep ours from being saved.
    func conflicts(_ policy: MergePolicy? = nil) async throws -> [MergeConflict] {
        let before = coordinator.snapshot.commit
        let failure = await save(policy)
        guard case .conflicts(let conflicts)? = failure else {
            Issue.record("no conflicts: \(failure.map { "\($0)" } ?? "saved")")
            return []
        }
        #expect(coordinator.snapshot.commit == before)
        return Array(conflicts)
    }

    /// What is committed.
    func row<E>(_ id: PersistentID<E>) -> E? { coordinator.snapshot.value(for: id) }

    /// 0 for what is not there.
    func version<E>(_ id: PersistentID<E>) -> UInt64 { coordinator.snapshot.version(of: id)?.number ?? 0 }

    /// What the first context's object shows, and that it shows what is committed.
    func expectCommitted<E: Entity & Equatable>(_ id: PersistentID<E>, _ location: SourceLocation = #_sourceLocation)
        async
    {
        let committed = row(id)
        let version = version(id)
        await ours.perform { context in
            let object = context.registeredObject(for: id)
            #expect(context[id]?.value == committed, sourceLocation: location)
            guard let object = object ?? context[id] else { return }
            #expect(object === context[id] || committed == nil, sourceLocation: location)
            #expect(object.isDeleted == (committed == nil), sourceLocation: location)
            #expect(object.version.number == version && !object.hasChanges, sourceLocation: location)
            #expect(context.hasChanges == false, sourceLocation: location)
        }
    }
}

extension Context {
    /// Makes an object of every row.
    fileprivate func makeObjects() throws {
        for description in state.schema.entities { try makeObjects(of: description.type) }
    }

    private func makeObjects<E: Entity>(of type: E.Type) throws {
        _ = try fetch(type)
    }
}

/// The policies without functions of the program.
enum Policy: CaseIterable {
    case error, storeTrump, objectTrump, overwrite, rollback

    var value: MergePolicy {
        switch self {
        case .error: .error
        case .storeTrump: .mergeByPropertyStoreTrump
        case .objectTrump: .mergeByPropertyObjectTrump
        case .overwrite: .overwrite
        case .rollback: .rollback
        }
    }

    /// Those that resolve every conflict.
    static let resolving = allCases.filter { $0 != .error }
}
