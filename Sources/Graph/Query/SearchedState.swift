private import Synchronization

/// The state that a fetch searches, in which conditions of the program follow references.
@usableFromInline
final class SearchedState: Sendable {
    private let snapshot: Snapshot
    private let followedEntities = Mutex<Set<Int>>([])

    /// Set while a condition of the program is evaluated.
    @usableFromInline static let current = TaskLocal<SearchedState?>(wrappedValue: nil)

    @usableFromInline
    init(_ snapshot: Snapshot) {
        self.snapshot = snapshot
    }

    /// The entities that references have led to.
    var followed: Set<Int> { followedEntities.withLock { $0 } }

    /// A property of the object that a reference leads to; nil if it leads to none.
    func value<Target, V>(of reference: ToOne<Target>, _ keyPath: KeyPath<Target, V>) -> V? {
        guard let entity = snapshot.schema.index(of: Target.self) else { return nil }
        if followedEntities.withLock({ $0.insert(entity).inserted }) {
            snapshot.reader?.followReferences(to: entity)
        }
        return withExtendedLifetime(snapshot) {
            snapshot.address(of: reference.row, ofType: Target.self)?
                .row(as: Target.self, in: snapshot.entities[entity].rows.layout).pointee[keyPath: keyPath]
        }
    }
}
