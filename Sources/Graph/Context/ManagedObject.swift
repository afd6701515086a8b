/// An object of a context: one row, shown live, with the row's properties as its own.
///
/// ```swift
/// person.age += 1                 // an attribute
/// person.team = team              // a to-one relationship reads and writes as the object, nil where there is none
/// team.members.append(person)     // a to-many relationship is a collection of objects
/// ```
///
/// There is at most one object for each row in a context. An object belongs to its context: it is not `Sendable`, and the
/// compiler rejects code that would take it elsewhere. Pass its `value`, a plain struct, or its `id` instead.
///
/// A transient property is the object's own: nobody else sees what is written to it. It lasts as long as the object, so the
/// program must hold the object.
///
/// If the object's row is deleted, here or elsewhere, `isDeleted` says so, and the object keeps the last value that the
/// context had; so does an object whose insert was rolled back. Writing to it changes nothing, unless it has a change that
/// others' delete left pending: the write then becomes part of that change.
///
/// An object does not retain its context. If it outlives the context, it has no ``context`` and keeps its values and its
/// state, except that it has no changes any more, since nobody can save them. Nobody else sees what is written to it.
///
/// A write may run code of the program: an observer (`didSet`) or a setter. That code may use the object and its context. It
/// gets a copy of the row; what it writes to the object in another way stays, except to a property that the copy changes too.
@dynamicMemberLookup
public final class ManagedObject<E: Entity> {
    /// Identifies the object permanently, from its insert on.
    public let id: PersistentID<E>
    @usableFromInline let contextState: ContextState
    // The exclusivity checks are off because they would protect nothing: the object is not Sendable, so all access is in
    // its context's isolation, and no access to these runs code of the program while it lasts. Getters, setters and observers
    // of the entity work on a copy of the row, and a value that a write replaces is released when the access is over, since
    // the value may have a deinitialiser.

    /// The context's epoch when the object last looked at the working state.
    @exclusivity(unchecked) @usableFromInline var epoch: Epoch
    @usableFromInline let entityNumber: UInt32
    /// Whether a write of its references may change other objects.
    @usableFromInline let maintainsInverses: Bool
    /// Whether the row was written to and the working state does not have it yet.
    @exclusivity(unchecked) @usableFromInline var isDirty: Bool
    @usableFromInline var flags: ObjectFlags
    /// Of the registry's list of objects to keep alive until they are saved: the last one that this object was on.
    @exclusivity(unchecked) @usableFromInline var keptGeneration: UInt64 = 0
    /// What programs read and write; ahead of the context's working state while the object is dirty.
    @exclusivity(unchecked) @usableFromInline var row: E

    /// The entity's number in the schema.
    var entity: Int { Int(entityNumber) }

    /// - Parameters:
    ///   - maintainsInverses: as the context says of the entity.
    ///   - epoch: when the context's working state had the row.
    @inlinable
    init(
        id: PersistentID<E>,
        entity: Int,
        maintainsInverses: Bool,
        state: ContextState,
        row: E,
        flags: ObjectFlags,
        epoch: Epoch,
        isDirty: Bool = false
    ) {
        self.id = id
        entityNumber = UInt32(entity)
        self.maintainsInverses = maintainsInverses
        contextState = state
        self.row = row
        self.flags = flags
        self.isDirty = isDirty
        self.epoch = epoch
    }
}

/// How an object stands to its context.
@usableFromInline
struct ObjectFlags: OptionSet, Sendable {
    @usableFromInline let rawValue: UInt8

    @inlinable
    init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Dirty by its insert: the working state has no such row at all.
    static let new = ObjectFlags(rawValue: 1)
    /// The working state has no such row any more.
    static let deleted = ObjectFlags(rawValue: 2)

    /// The same as `contains(.deleted)`, without the constant's address.
    @inlinable var isDeleted: Bool { rawValue & 2 != 0 }
}

extension ManagedObject {
    /// The row as a plain value, which may go anywhere. Its to-many relationships have no members; see `ToMany`.
    ///
    /// Complexity: O(1), or O(log *n*) for *n* objects of the entity if the context's state has moved since the last access:
    /// by a refresh, a rollback, a delete or a change of relationships, for example.
    @inlinable
    public var value: E {
        checkIsolation()
        return _fastPath(epoch.isCurrent) ? row : caughtUp { nil }
    }

    /// How often the object was committed: 0 until its first save. A deleted object that comes back counts on from the number
    /// of the commit that brings it back. The version is that of the context's base, whatever others have committed since; for
    /// a changed object, that of the base when the change began.
    ///
    /// Complexity: O(log *n*) for *n* objects of the entity.
    public var version: RowVersion { contextState.version(of: rowID) }

    /// The context that the object belongs to; nil once that is gone, since objects do not retain it.
    public var context: Context? { contextState.reference.context }

    /// Whether the object was inserted and is not saved yet.
    ///
    /// Complexity: O(log *n*) for *n* objects of the entity.
    public var isInserted: Bool { contextState.changeKind(of: rowID) == .inserted }

    /// Whether the object differs from what the context read.
    ///
    /// Complexity: O(log *n*) for *n* objects of the entity.
    public var isUpdated: Bool { contextState.changeKind(of: rowID) == .updated }

    /// Whether the context's state lacks the object: deleted here, saved or not, or by others. It does not change any more
    /// once the context is gone.
    ///
    /// Complexity: that of ``value``.
    @inlinable
    public var isDeleted: Bool {
        checkIsolation()
        if !epoch.isCurrent { lookUp() }
        return flags.isDeleted
    }

    /// The object that a save put in the place of this new one, because both had the same unique value; see
    /// `UniquenessPolicy`. This object is then deleted.
    public var replacedBy: PersistentID<E>? {
        contextState.replacement(of: rowID).map { PersistentID(row: $0) }
    }

    /// Whether a save would write or delete this object; false once its context is gone.
    ///
    /// Complexity: O(log *n*) for *n* objects of the entity.
    public var hasChanges: Bool { contextState.changeKind(of: rowID) != nil }

    /// The row in the context's base, without unsaved changes; nil for an object that was never saved.
    ///
    /// Complexity: O(log *n*) for *n* objects of the entity.
    public var committedValue: E? { contextState.committedValue(of: id, entity) }

    /// The attributes and to-one relationships that differ from what the context read, by name: all of them for a new object,
    /// none for a deleted one. To-many relationships are not included: the members, or link tables, store those.
    ///
    /// Complexity: O(log *n*) for *n* objects of the entity, and O(properties).
    public var changedValues: [String: Any] {
        let value = value
        let properties = contextState.changedProperties(of: rowID)
        let pairs = properties.compactMap { property in
            value[keyPath: property.keyPath as AnyKeyPath].map { (property.name, $0) }
        }
        return Dictionary(uniqueKeysWithValues: pairs)
    }

    /// Deletes the object and applies its relationships' delete rules. Does nothing if the object is already deleted.
    ///
    /// Complexity: O(*r* log *n*) for *r* deleted objects, nullified references and removed links, among *n* objects.
    public func delete() {
        // The value that it keeps is the last one.
        if !epoch.isCurrent { catchUp() }
        contextState.delete(rowID)
        // It has the last value, which the base may lack.
        contextState.registry?.keep(self)
    }

    /// Moves the whole context to the newest committed state, with its unsaved changes on top: objects of one context always
    /// show one state. This does not wait: if a save is in flight, the state moves when the save ends. In a nested context the
    /// state stays.
    ///
    /// The next save compares this object with that state, as after `Context.refresh()`. For other objects this counts as an
    /// automatic merge: if others have changed the same property, the save still reports the conflict.
    ///
    /// - Parameter mergeChanges: whether to keep this object's unsaved changes; false drops them first, besides those that a save in
    ///   flight took. If that fails, they are pending again, as after an automatic merge.
    ///
    /// Complexity: that of ``Context/refresh()``.
    public func refresh(mergeChanges: Bool) {
        contextState.refreshObject(rowID, mergeChanges: mergeChanges)
        if let published = contextState.published { contextState.tellCommits(from: published) }
    }

    /// Drops the object's unsaved changes; see `Context.discard(_:)`.
    ///
    /// Complexity: that of ``Context/discard(_:)-(Sequence<AnyPersistentID>)``.
    public func discardChanges() {
        contextState.discard([rowID])
    }
}

extension ManagedObject {
    // MARK: Keeping up with the context

    func requireContext(_ context: Context) {
        precondition(
            self.context === context, "\(id) belongs to another context: use the object that this one has for its 'id'")
    }

    /// Takes over the row from the working state after it moved under the object; transient values stay the object's own.
    @usableFromInline
    func catchUp() {
        guard epoch !== contextState.epoch else { return }
        epoch = contextState.epoch
        guard !isDirty else { return }
        if var current = contextState.row(of: id, entity, instead: row) {
            flags.remove(.deleted)
            swap(&row, &current)
        } else {
            flags.insert(.deleted)
        }
    }

    /// Takes the last value of a row that the context's state is about to lose, or takes back the value that it had before changes
    /// that are dropped.
    func keep(_ last: E) {
        guard !isDirty else { return }
        var last = contextState.withTransients(of: row, last, entity)
        contextState.willShow(last, insteadOf: row, of: rowID)
        swap(&row, &last)
    }

    /// The way of a read after the working state moved, or where reads are tracked. It returns the value, so that the common way
    /// has no call and joins none: for a call the compiler would retain the object. The key path comes in a closure, as one that
    /// was passed on would have to be made on the common way too.
    @usableFromInline @inline(never)
    func caughtUp(_ keyPath: () -> PartialKeyPath<E>?) -> E {
        catchUp()
        if contextState.isObservable { contextState.didRead(rowID, as: E.self, keyPath()) }
        return row
    }

    /// The same where only the row's being there counts.
    @usableFromInline @inline(never)
    func lookUp() {
        catchUp()
        if contextState.isObservable { contextState.didLookUp(rowID) }
    }

    /// Stops a debug build where unsafe code has taken an object elsewhere: what the compiler cannot see.
    @inlinable @inline(__always)
    func checkIsolation() {
        #if DEBUG
            contextState.checkIsolation()
        #endif
    }

    /// Makes the object dirty. False if there is nothing to write to any more.
    @usableFromInline
    func beginWrite() -> Bool {
        checkIsolation()
        if !epoch.isCurrent { catchUp() }
        guard isWritable, contextState.register(dirty: self) else { return false }
        isDirty = true
        return true
    }

    /// Whether what is written is a change: the row is there, or was changed here before others deleted it.
    var isWritable: Bool { !flags.contains(.deleted) || contextState.isLost(rowID) }
}

extension ManagedObject: Hashable {
    /// Whether both are the same object.
    public static func == (lhs: ManagedObject, rhs: ManagedObject) -> Bool { lhs === rhs }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

// Identified by its row, not by its address as classes are otherwise.
extension ManagedObject: Identifiable {}

// Not `CustomStringConvertible`: a real member hides a property of the same name, and `description` is a common one.
extension ManagedObject: CustomDebugStringConvertible {
    /// The identifier and the value, which printing an object shows: `Person/p26 { name = "fan", age = 0 }`.
    public var debugDescription: String {
        let value = value
        let text = withUnsafePointer(to: value) { contextState.schema.entities[entity].describe($0) }
        return "\(id) \(text)\(isDeleted ? " (deleted)" : "")"
    }
}
