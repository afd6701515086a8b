public import Observation
private import Synchronization

/// Tells observation tracking what of a context was read, and what of that has changed.
///
/// One registrar serves all objects, with a key for each property of each row: so objects carry nothing for it. What has
/// changed is the difference of two states, whatever led from one to the other: a write, a merge, an undo.
///
/// Confined to its context, but for `access(_ key:)`: what a condition of the program passes on to another task may read there.
final class ContextObservation: Observable, @unchecked Sendable {
    /// A property of a row; of a row as a whole, or of all rows, if the rest is nil; or whether there is such a row. A relationship
    /// without a row stands for the members of all.
    struct Key: Hashable, Sendable {
        let entity: Int
        var row: RowNumber?
        var property: Int?

        static let existence = -1
        /// Whether the row is inserted, changed or deleted.
        static let kind = -2
    }

    /// What can be asked of a context as a whole.
    enum Fact: Hashable, Sendable {
        case hasChanges
        case canUndo
        case canRedo
        case autosaveError
    }

    private let registrar = ObservationRegistrar()
    /// The state up to which changes were told.
    private var told: Snapshot
    let schema: Schema
    /// What the next turn of `tell` has to report besides what states show.
    private var noted: Set<Key> = []
    /// Whether anything was read at all that somebody may track.
    private let wasRead = Atomic(false)
    /// The changes up to which the kinds of rows' changes were told; nil until somebody asked for one.
    private var toldChanges: ChangeSet?
    /// The facts that somebody asked for, and what the last answers were.
    private var answers: [Fact: Int] = [:]
    /// Facts of which somebody got another answer than those who asked before, whom nobody has told yet.
    private var untoldFacts: Set<Fact> = []

    init(_ state: Snapshot) {
        told = state
        schema = state.schema
    }

    /// Never read: what counts is that its key paths are equal if their keys are.
    private subscript(key: Key) -> Void { () }
    private subscript(fact: Fact) -> Void { () }

    func access(_ key: Key) {
        wasRead.store(true, ordering: .relaxed)
        registrar.access(self, keyPath: \.[key])
    }

    /// - Parameter changes: the ones that there are now.
    func accessKind(of id: RowID, _ changes: @autoclosure () -> ChangeSet) {
        if toldChanges == nil { toldChanges = changes() }
        registrar.access(self, keyPath: \.[Key(entity: id.entity, row: id.row, property: Key.kind)])
    }

    /// - Parameter answer: another one whenever the fact is another one.
    func access(_ fact: Fact, answer: Int) {
        if let before = answers.updateValue(answer, forKey: fact), before != answer { untoldFacts.insert(fact) }
        registrar.access(self, keyPath: \.[fact])
    }

    /// Tells of what is asked of changes, and not of values, as far as somebody asked. Code of the program may run.
    ///
    /// - Parameter answer: what a fact is now.
    func tell(_ changes: ChangeSet, _ schema: Schema, answer: (Fact) -> Int) {
        if let before = toldChanges {
            toldChanges = changes
            var rows: [RowID] = []
            for entity in schema.entities.indices {
                changes[entity].forEachDifference(from: before[entity]) {
                    rows.append(RowID(entity: entity, row: $0))
                }
            }
            for id in rows { tell(Key(entity: id.entity, row: id.row, property: Key.kind)) }
        }
        guard !answers.isEmpty else { return }
        var others: Set<Fact> = []
        swap(&others, &untoldFacts)
        for (fact, before) in answers {
            let now = answer(fact)
            guard now != before else { continue }
            answers[fact] = now
            others.insert(fact)
        }
        for fact in others { registrar.withMutation(of: self, keyPath: \.[fact]) {} }
    }

    /// Tells of all that has changed up to a state. Code of the program may run.
    func tell(_ state: Snapshot) {
        let before = told
        told = state
        guard wasRead.load(ordering: .relaxed) else { return }
        tellNoted()
        guard !before.isIdentical(to: state) else { return }
        let difference = SnapshotDifference(before: before, after: state)
        for entity in state.schema.entities.indices { tellRows(of: entity, difference) }
        // After all rows: an observer that reads members anew when told of them would be told of their rows once more.
        for (entity, description) in state.schema.entities.enumerated() {
            for relationship in description.toManys {
                let owners = difference.changedOwners(through: relationship)
                for owner in owners { tell(Key(entity: entity, row: owner, property: relationship.property)) }
                if !owners.isEmpty { tell(Key(entity: entity, property: relationship.property)) }
            }
        }
    }

    private func tellRows(of entity: Int, _ difference: SnapshotDifference) {
        let properties = difference.schema.entities[entity].properties
        var isChanged = false
        difference.forEachRow(of: entity) { id, old, new in
            isChanged = true
            tell(Key(entity: entity, row: id.row))
            if old == nil || new == nil { tell(Key(entity: entity, row: id.row, property: Key.existence)) }
            for (number, property) in properties.enumerated() where property.isStored {
                if let old, let new, property.isIdentical(in: old, new) {
                    continue
                }
                tell(Key(entity: entity, row: id.row, property: number))
            }
        }
        if isChanged { tell(Key(entity: entity)) }
    }

    /// Notes that an object is to show another value of a property, to be told when the context's state has moved.
    func note(_ property: Int, of id: RowID) {
        if wasRead.load(ordering: .relaxed) { noted.insert(Key(entity: id.entity, row: id.row, property: property)) }
    }

    private func tellNoted() {
        guard !noted.isEmpty else { return }
        var keys: Set<Key> = []
        swap(&keys, &noted)
        for key in keys {
            tell(key)
            tell(Key(entity: key.entity, row: key.row))
        }
    }

    /// Tells of one property.
    func tell(_ property: Int, of id: RowID) {
        tell(Key(entity: id.entity, row: id.row))
        tell(Key(entity: id.entity, row: id.row, property: property))
    }

    private func tell(_ key: Key) {
        registrar.withMutation(of: self, keyPath: \.[key]) {}
    }
}

/// Properties of objects, and what fetches find, can be tracked by `withObservationTracking` and by views in contexts that were
/// made for it: see `Context.init`.
extension ManagedObject: Observable {}
