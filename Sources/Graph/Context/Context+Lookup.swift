/// Look-ups by one property, with unsaved changes applied; what they cost is what those of a ``Snapshot`` cost. A serializable
/// transaction depends on the part of the property's values that they ask for, and on nothing else.
extension Context {
    /// The first object that has a value in a property: the one, if the property is unique. Equal as
    /// ``Snapshot/first(_:equals:)`` says.
    ///
    /// ```swift
    /// let ada = context.first(\Person.email, equals: "ada@example.com") ?? context.insert(Person(email: "ada@example.com"))
    /// ```
    ///
    /// Complexity: that of ``Snapshot/first(_:equals:)``.
    public func first<E: Entity, V: Equatable & Sendable>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        equals value: V
    ) -> ManagedObject<E>? {
        state.searched(true).firstRow(keyPath, equals: value).flatMap { self[PersistentID(row: $0.number)] }
    }

    /// The first object that has these values in two properties: the one, if the combination is unique.
    ///
    /// Complexity: that of ``Snapshot/first(_:equals:_:equals:)``.
    public func first<E: Entity, V: Equatable & Sendable, W: Equatable & Sendable>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        equals value: V,
        _ otherKeyPath: any KeyPath<E, W> & Sendable,
        equals otherValue: W
    ) -> ManagedObject<E>? {
        let row = state.searched(true).firstRow(
            PropertyCondition(keyPath, equals: value), PropertyCondition(otherKeyPath, equals: otherValue))
        return row.flatMap { self[PersistentID(row: $0)] }
    }

    /// The objects that have a value in a property, in insertion order; equal as ``Snapshot/first(_:equals:)`` says.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:equals:)``.
    public func fetch<E: Entity, V: Equatable & Sendable>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        equals value: V
    ) -> [ManagedObject<E>] {
        objects(PropertyCondition(keyPath, equals: value))
    }

    /// The objects whose property is in a range, in insertion order. nil is in no range.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:in:)``.
    public func fetch<E: Entity, V: OrderedAttributeValue, R: RangeExpression<V.NonOptional>>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        in range: R
    ) -> [ManagedObject<E>] {
        objects(PropertyCondition(keyPath, in: range))
    }

    /// The objects whose property begins with a text, in insertion order.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:startingWith:)``.
    public func fetch<E: Entity, V: OrderedAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        startingWith prefix: String
    ) -> [ManagedObject<E>] where V.NonOptional == String {
        objects(PropertyCondition(keyPath, startingWith: prefix))
    }

    /// The values of the objects that have a value in a property, without making objects; otherwise the same as `fetch`.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:equals:)``.
    public func fetchValues<E: Entity, V: Equatable & Sendable>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        equals value: V
    ) -> [E] {
        state.searched(true).fetchValues(keyPath, equals: value)
    }

    /// The values of the objects whose property is in a range, without making objects; otherwise the same as `fetch`.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:in:)``.
    public func fetchValues<E: Entity, V: OrderedAttributeValue, R: RangeExpression<V.NonOptional>>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        in range: R
    ) -> [E] {
        state.searched(true).fetchValues(keyPath, in: range)
    }

    /// The values of the objects whose property begins with a text, without making objects; otherwise the same as `fetch`.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:startingWith:)``.
    public func fetchValues<E: Entity, V: OrderedAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        startingWith prefix: String
    ) -> [E] where V.NonOptional == String {
        state.searched(true).fetchValues(keyPath, startingWith: prefix)
    }

    /// The identifiers of the objects that have a value in a property; otherwise the same as `fetch`.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:equals:)``.
    public func fetchIDs<E: Entity, V: Equatable & Sendable>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        equals value: V
    ) -> [PersistentID<E>] {
        state.searched(true).fetchIDs(keyPath, equals: value)
    }

    /// The identifiers of the objects whose property is in a range; otherwise the same as `fetch`.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:in:)``.
    public func fetchIDs<E: Entity, V: OrderedAttributeValue, R: RangeExpression<V.NonOptional>>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        in range: R
    ) -> [PersistentID<E>] {
        state.searched(true).fetchIDs(keyPath, in: range)
    }

    /// The identifiers of the objects whose property begins with a text; otherwise the same as `fetch`.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:startingWith:)``.
    public func fetchIDs<E: Entity, V: OrderedAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        startingWith prefix: String
    ) -> [PersistentID<E>] where V.NonOptional == String {
        state.searched(true).fetchIDs(keyPath, startingWith: prefix)
    }

    /// The number of objects that have a value in a property; otherwise the same as `fetch`.
    ///
    /// Complexity: that of ``Snapshot/fetchCount(_:equals:)``.
    public func fetchCount<E: Entity, V: Equatable & Sendable>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        equals value: V
    ) -> Int {
        state.searched(true).fetchCount(keyPath, equals: value)
    }

    /// The number of objects whose property is in a range; otherwise the same as `fetch`.
    ///
    /// Complexity: that of ``Snapshot/fetchCount(_:in:)``.
    public func fetchCount<E: Entity, V: OrderedAttributeValue, R: RangeExpression<V.NonOptional>>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        in range: R
    ) -> Int {
        state.searched(true).fetchCount(keyPath, in: range)
    }

    /// The number of objects whose property begins with a text; otherwise the same as `fetch`.
    ///
    /// Complexity: that of ``Snapshot/fetchCount(_:startingWith:)``.
    public func fetchCount<E: Entity, V: OrderedAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        startingWith prefix: String
    ) -> Int where V.NonOptional == String {
        state.searched(true).fetchCount(keyPath, startingWith: prefix)
    }

    private func objects<E, V>(_ condition: PropertyCondition<E, V>) -> [ManagedObject<E>] {
        let snapshot = state.searched(true)
        guard let entity = snapshot.schema.index(of: E.self) else { return [] }
        let maker = ObjectMaker<E>(state, registry, entity: entity)
        var objects: [ManagedObject<E>] = []
        snapshot.lookUp(condition) { row, value in
            objects.append(maker.object(for: row, at: value))
            return true
        }
        return objects
    }
}
