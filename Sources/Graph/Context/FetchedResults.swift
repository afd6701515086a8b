public import Observation

/// The objects that a descriptor asks for, in its order, kept up to date: by edits of this context, saves, merges, rollbacks,
/// undo, whatever changes what a fetch would return.
///
/// ```swift
/// let adults = try context.results(FetchDescriptor<Person>(predicate: #Predicate { $0.age >= 18 }))
/// person.age = 18
/// adults.objects.contains(person)     // true
/// ```
///
/// It belongs to its context as objects do, and is not `Sendable`. It holds identifiers, and makes objects when they are looked at.
/// Where the context is observable, observers of `objects`, `count` and `sections` are told once when another object is to be
/// shown at any place; the values that an object shows are tracked by the object. Nothing is computed until somebody reads.
public final class FetchedResults<E: Entity> {
    private let state: ContextState
    /// That of the rows. Another one than `wanted` while that one fails.
    private(set) var definition: ResultDefinition<E>
    private var wanted: ResultDefinition<E>
    private var isDefined = true
    /// The state in which `wanted` failed: it would again.
    private var failedState: Snapshot?
    private var rows: ResultRows<E>
    private var test: ResultTest<E>
    private weak var feed: ResultFeed<E>?

    private let registrar = ObservationRegistrar()
    /// Whether there may be observers who are not told yet. All of them have read `objects`.
    private var isTracked = false
    private var isAmongTracked = false
    /// Whether the result shows other objects, or another error, than when one of them read it: whoever reads it moves it.
    private var (showsOthers, hasOtherError) = (false, false)

    private var failure: (any Error)? {
        didSet { if oldValue.map({ "\($0)" }) != failure.map({ "\($0)" }) { hasOtherError = true } }
    }

    /// Why the result does not show what ``descriptor`` asks for: its predicate fails, or it sorts by a key path of no property.
    /// Meanwhile the result shows what it showed before; nil once it follows. It is computed like ``objects``, and observers are
    /// told.
    public var error: (any Error)? {
        _ = current
        if state.isObservable { registrar.access(self, keyPath: \.error) }
        return failure
    }

    init(_ definition: ResultDefinition<E>, _ state: ContextState) throws {
        (self.definition, wanted) = (definition, definition)
        self.state = state
        let snapshot = Self.snapshot(of: state, definition)
        test = try ResultTest(definition, in: snapshot)
        rows = try ResultRows(definition, in: snapshot)
        note()
    }

    /// A transaction depends on all that the result does.
    private func note() {
        guard let reads = state.reads else { return }
        test.note(to: reads, of: rows.entity, rows.followed)
    }

    private static func snapshot(of state: ContextState, _ definition: ResultDefinition<E>) -> Snapshot {
        let flushed = state.flushed
        return definition.descriptor.includesPendingChanges ? flushed : state.base
    }

    /// What the result is to show. Setting it fetches anew, and tells observers; see ``error`` for one that fails, which is tried
    /// again whenever somebody reads.
    public var descriptor: FetchDescriptor<E> {
        get { wanted.descriptor }
        set {
            guard state.registry != nil else { return }
            wanted = ResultDefinition(newValue, sectionedBy: definition.section, spare: definition.spare)
            (isDefined, failedState) = (false, nil)
            feed?.define(wanted)
            follow()
            tellObservers()
        }
    }

    /// The objects as they are now. The collection does not change: of an object that is deleted later it has the last value.
    public var objects: FetchedObjects<E> {
        let rows = current
        return FetchedObjects(state: state, rows: rows, range: 0..<rows.count)
    }

    /// The number of objects.
    public var count: Int { current.count }

    /// The objects section by section, in order; none if the result was made without sections.
    public var sections: [FetchedSection<E>] {
        let rows = current
        return zip(rows.sections, rows.sectionRanges).map { section, range in
            FetchedSection(
                id: ResultSectionID(key: section.key),
                objects: FetchedObjects(state: state, rows: rows, range: range))
        }
    }

    /// How the result differs from now on, at the end of each turn of the context that changes it: of a `perform`, a `sync`, a
    /// transaction, a save, a merge; what is changed outside of these is told soon after.
    ///
    /// The sequence is `Sendable` and does not retain the context. ``ResultUpdate/values`` is the list that an update leads to;
    /// ``objects`` may be newer.
    ///
    /// Complexity: that of ``count``, and O(1) for the sequence.
    public var updates: ResultUpdates<E> {
        let rows = followed()
        let feed = self.feed ?? ResultFeed(wanted, state.flushed, base: state.base)
        if self.feed == nil {
            self.feed = feed
            state.followers.add(feed)
            if let context = state.reference.context { context.coordinator.followed.add(state.followers) }
        }
        feed.turnEnded(state.flushed, base: state.base)
        return ResultUpdates(.turns(feed), from: rows, isOfEarlierDefinition: !isDefined)
    }

    // MARK: Following

    /// The rows to show, for somebody who may track them.
    private var current: ResultRows<E> {
        let rows = followed()
        if state.isObservable {
            registrar.access(self, keyPath: \.objects)
            if !isTracked { (isTracked, showsOthers, hasOtherError) = (true, false, false) }
            if !isAmongTracked {
                isAmongTracked = true
                state.trackedResults.append(TrackedResultsReference(results: self))
            }
        }
        return rows
    }

    private func followed() -> ResultRows<E> {
        follow()
        return rows
    }

    /// Moves to what the context shows now.
    private func follow() {
        if !isDefined, failedState?.isIdentical(to: Self.snapshot(of: state, wanted)) == true { return }
        do {
            if isDefined { try move() } else { try define() }
            failure = nil
        } catch {
            failure = error
            // Any object may have decided that.
            Self.snapshot(of: state, wanted).read(by: state.reads).noteAll()
        }
    }

    private func move() throws {
        let changes = try rows.move(to: Self.snapshot(of: state, definition), test)
        if changes.isStructural { showsOthers = true }
        note()
    }

    private func define() throws {
        let snapshot = Self.snapshot(of: state, wanted)
        failedState = snapshot
        let newTest = try ResultTest(wanted, in: snapshot)
        rows = try ResultRows(wanted, in: snapshot)
        (definition, test, isDefined, failedState, showsOthers) = (wanted, newTest, true, nil, true)
        note()
    }

    private func tellObservers() {
        guard isTracked else { return }
        isTracked = false
        registrar.withMutation(of: self, keyPath: \.objects) {}
    }
}

extension FetchedResults: TrackedResults {
    func tell() {
        guard isTracked else { return }
        follow()
        if showsOthers { return tellObservers() }
        guard hasOtherError else { return }
        hasOtherError = false
        registrar.withMutation(of: self, keyPath: \.error) {}
    }
}

extension FetchedResults: Observable {}

/// Unavailable: a result belongs to its context.
@available(
    *, unavailable,
    message: "a result stays in its context, as its objects do: pass values, identifiers, or its 'updates'"
)
extension FetchedResults: @unchecked Sendable {}

/// The objects of a result, made when they are looked at.
public struct FetchedObjects<E: Entity>: RandomAccessCollection {
    let state: ContextState
    let rows: ResultRows<E>
    let range: Range<Int>

    /// 0.
    public var startIndex: Int { 0 }
    /// The number of elements.
    public var endIndex: Int { range.count }

    /// The object at an index: one that the context has in memory, or a new one.
    ///
    /// Complexity: O(log *n*) for *n* objects of the entity.
    public subscript(index: Int) -> ManagedObject<E> {
        precondition(index >= 0 && index < range.count, "index \(index) in a result of \(range.count) objects")
        return state.object(of: rows.row(at: range.lowerBound + index), shownBy: rows)
    }

    /// The identifiers of the objects.
    ///
    /// Complexity: O(*k*) for *k* objects.
    public var ids: [PersistentID<E>] { rows.rows(in: range).map { PersistentID(row: $0) } }
}

/// Objects of a result with one value of the property that makes its sections; at least one.
public struct FetchedSection<E: Entity>: RandomAccessCollection, Identifiable {
    /// The same for as long as the section has the same value, in all results with these sections.
    public let id: ResultSectionID
    let objects: FetchedObjects<E>

    /// 0.
    public var startIndex: Int { 0 }
    /// The number of elements.
    public var endIndex: Int { objects.endIndex }

    /// The object at an index. The first one has the property's value that is that of all of them.
    ///
    /// Complexity: O(log *n*) for *n* objects of the entity.
    public subscript(index: Int) -> ManagedObject<E> { objects[index] }
}

/// Tells sections of a result apart.
public struct ResultSectionID: Hashable, Sendable {
    let key: [UInt8]
}
