/// A row's properties as the object's own: reading, and writing with what follows from it.
extension ManagedObject {
    /// The current value of a property.
    ///
    /// Complexity: that of ``value``.
    @inlinable
    public subscript<V>(dynamicMember keyPath: KeyPath<E, V>) -> V {
        checkIsolation()
        return _fastPath(epoch.isCurrent) ? read(keyPath) : caughtUp { keyPath }[keyPath: keyPath]
    }

    /// The current value of a property. Every fetch and traversal sees a new value at once, and the context's next save stores
    /// it; writing an equal value is no change.
    ///
    /// Complexity: that of ``value``; to write also O(log *n*) for each index of the property, among *n* objects, when the
    /// context writes the row.
    @_disfavoredOverload @inlinable
    public subscript<V>(dynamicMember keyPath: WritableKeyPath<E, V>) -> V {
        get {
            checkIsolation()
            return _fastPath(epoch.isCurrent) ? read(keyPath) : caughtUp { keyPath }[keyPath: keyPath]
        }
        set {
            checkIsolation()
            if _slowPath(!Self.isPlain(keyPath)) {
                writeObserved(isRelationship: false) { $0[keyPath: keyPath] = newValue }
            } else if _fastPath(isDirty && !maintainsInverses) {
                replace(keyPath, by: newValue)
            } else if maintainsInverses {
                writeMaintainingInverses { $0[keyPath: keyPath] = newValue }
            } else if beginWrite() {
                replace(keyPath, by: newValue)
            }
        }
    }

    /// The object that this one refers to; nil if there is none. Writing it changes the inverse at once.
    ///
    /// - Precondition: a new value belongs to the same context.
    ///
    /// Complexity: O(1) to read if the context has the target in memory, otherwise O(log *n*) for *n* objects; O(log *n*) to
    /// write, at once or with the row.
    @inlinable
    public subscript<Target>(dynamicMember keyPath: WritableKeyPath<E, ToOne<Target>>) -> ManagedObject<Target>? {
        get {
            checkIsolation()
            let reference = _fastPath(epoch.isCurrent) ? read(keyPath) : caughtUp { keyPath }[keyPath: keyPath]
            return reference.id.flatMap { contextState.object(for: $0, in: contextState.registry) }
        }
        set {
            if let newValue { contextState.requireOwn(newValue) }
            setReference(keyPath, to: ToOne(newValue?.id))
        }
    }

    /// The reference as the row stores it. Writing it changes the inverse at once; a save checks that the new target exists.
    ///
    /// Complexity: that of ``value`` to read; O(log *n*) to write, among *n* objects, at once or with the row.
    @_disfavoredOverload @inlinable
    public subscript<Target>(dynamicMember keyPath: WritableKeyPath<E, ToOne<Target>>) -> ToOne<Target> {
        get {
            checkIsolation()
            return _fastPath(epoch.isCurrent) ? read(keyPath) : caughtUp { keyPath }[keyPath: keyPath]
        }
        set {
            setReference(keyPath, to: newValue)
        }
    }

    /// Whether a key path leads to memory in the row, so that reading and writing through it runs no code of the program. For key
    /// paths that are written out, as those of dynamic members are, the compiler knows.
    @inlinable @inline(__always)
    static func isPlain(_ keyPath: PartialKeyPath<E>) -> Bool { MemoryLayout<E>.offset(of: keyPath) != nil }

    /// The value of a property of an object that has caught up.
    @inlinable @inline(__always)
    func read<V>(_ keyPath: KeyPath<E, V>) -> V {
        if _fastPath(Self.isPlain(keyPath)) { return row[keyPath: keyPath] }
        return readComputed { $0[keyPath: keyPath] }
    }

    @usableFromInline @inline(never)
    func readComputed<V>(_ body: (E) -> V) -> V {
        let copy = row
        return body(copy)
    }

    /// Writes to memory in the row, and releases what was there when that is done.
    @inlinable @inline(__always)
    func replace<V>(_ keyPath: WritableKeyPath<E, V>, by newValue: V) {
        var value = newValue
        swap(&row[keyPath: keyPath], &value)
    }

    @inlinable
    func setReference<Target>(_ keyPath: WritableKeyPath<E, ToOne<Target>>, to target: ToOne<Target>) {
        if _slowPath(!Self.isPlain(keyPath)) {
            writeObserved(isRelationship: maintainsInverses) { $0[keyPath: keyPath] = target }
        } else if _fastPath(!maintainsInverses) {
            guard isDirty || beginWrite() else { return }
            row[keyPath: keyPath] = target
        } else {
            writeRelationship { $0[keyPath: keyPath] = target }
        }
    }

    /// Writes to an object whose references change other objects. Any property may set them, if it is the program's own.
    ///
    /// - Parameter body: runs no code of the program, and may be called twice.
    @usableFromInline @inline(never)
    func writeMaintainingInverses(_ body: (inout E) -> Void) {
        guard isDirty || beginWrite() else { return }
        var changed = row
        body(&changed)
        if !contextState.isObservable, contextState.haveSameMaintainedReferences(&changed, &row, entity) {
            swap(&row, &changed)
        } else {
            writeRelationship { row in
                changed = row
                body(&changed)
                swap(&row, &changed)
            }
            contextState.didWriteTransients(of: rowID)
        }
    }

    /// Writes what changes other objects too: between what was written before and what is written after, so that the last write
    /// wins, at whichever end.
    ///
    /// - Parameter body: runs no code of the program.
    @usableFromInline
    func writeRelationship(_ body: (inout E) -> Void) {
        contextState.flush()
        guard beginWrite() else { return }
        body(&row)
        contextState.flushRelationships()
    }

    /// Writes what runs code of the program, an observer or a setter, which may do anything to the object and its context. So it
    /// runs on a copy, and what has changed in that is put on what the object is when it returns.
    ///
    /// - Parameter isRelationship: whether other objects are to follow at once.
    @usableFromInline @inline(never)
    func writeObserved(isRelationship: Bool, _ body: (inout E) -> Void) {
        if !epoch.isCurrent { catchUp() }
        guard isDirty || (isWritable && contextState.registry != nil) else { return }
        let before = row
        var changed = before
        body(&changed)
        if !isRelationship, !maintainsInverses {
            guard isDirty || beginWrite() else { return }
            contextState.put(&changed, since: before, over: row, entity)
            swap(&row, &changed)
        } else {
            contextState.flush()
            guard beginWrite() else { return }
            contextState.put(&changed, since: before, over: row, entity)
            swap(&row, &changed)
            contextState.flushRelationships()
            contextState.didWriteTransients(of: rowID)
        }
    }

    /// The objects that refer to this one, or are linked to it. Writing a new value makes only the additions, removals and
    /// moves that lead to it.
    ///
    /// - Precondition: the property is a stored one; new members belong to the same context.
    ///
    /// Complexity: O(1) to read, which looks at no members. O(*k* log *n*) to write, for *k* old and new members among *n*
    /// objects.
    public subscript<Target>(dynamicMember keyPath: WritableKeyPath<E, ToMany<Target>>) -> RelatedObjects<Target> {
        get { relatedObjects(keyPath) }
        set { relatedObjects(keyPath).replaceMembers(by: newValue) }
    }

    func relatedObjects<Target>(_ keyPath: KeyPath<E, ToMany<Target>>) -> RelatedObjects<Target> {
        RelatedObjects(
            context: contextState, owner: id.row, relationship: contextState.schema.toMany(keyPath, of: entity))
    }

    /// The plain value of the relationship. Writing it makes exactly these objects the members, at once. Reading it returns a
    /// value without members.
    ///
    /// Complexity: that of ``value`` to read; O(*k* log *n*) to write, for *k* old and new members among *n* objects.
    @_disfavoredOverload
    public subscript<Target>(dynamicMember keyPath: WritableKeyPath<E, ToMany<Target>>) -> ToMany<Target> {
        get { value[keyPath: keyPath] }
        set {
            if Self.isPlain(keyPath) {
                writeRelationship { $0[keyPath: keyPath] = newValue }
            } else {
                writeObserved(isRelationship: true) { $0[keyPath: keyPath] = newValue }
            }
        }
    }
}
