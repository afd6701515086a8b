/// One criterion of a sort: a stored property and a direction.
///
/// The order is that of `OrderedAttributeValue`; rows that compare equal under all criteria come in the order of their
/// insertion.
public struct Ordering<E: Entity>: Sendable {
    @usableFromInline let keyPath: any PartialKeyPath<E> & Sendable
    @usableFromInline let isDescending: Bool

    init(_ keyPath: any PartialKeyPath<E> & Sendable, isDescending: Bool) {
        self.keyPath = keyPath
        self.isDescending = isDescending
    }

    /// Small values first, nil before all.
    public static func ascending<V: OrderedAttributeValue>(_ keyPath: any KeyPath<E, V> & Sendable) -> Ordering {
        Ordering(keyPath, isDescending: false)
    }

    /// Large values first, nil after all.
    public static func descending<V: OrderedAttributeValue>(_ keyPath: any KeyPath<E, V> & Sendable) -> Ordering {
        Ordering(keyPath, isDescending: true)
    }

    /// By the raw value, small ones first.
    public static func ascending<V: RawRepresentable>(_ keyPath: any KeyPath<E, V> & Sendable) -> Ordering
    where V.RawValue: OrderedAttributeValue {
        Ordering(keyPath, isDescending: false)
    }

    /// By the raw value, large ones first.
    public static func descending<V: RawRepresentable>(_ keyPath: any KeyPath<E, V> & Sendable) -> Ordering
    where V.RawValue: OrderedAttributeValue {
        Ordering(keyPath, isDescending: true)
    }

    /// By the raw value, small ones first, nil before all.
    public static func ascending<V: RawRepresentable>(_ keyPath: any KeyPath<E, V?> & Sendable) -> Ordering
    where V.RawValue: OrderedAttributeValue {
        Ordering(keyPath, isDescending: false)
    }

    /// By the raw value, large ones first, nil after all.
    public static func descending<V: RawRepresentable>(_ keyPath: any KeyPath<E, V?> & Sendable) -> Ordering
    where V.RawValue: OrderedAttributeValue {
        Ordering(keyPath, isDescending: true)
    }
}

/// An ordering whose property has been found in the schema: compares rows by address.
@usableFromInline
struct RowOrder: Sendable {
    private let criteria:
        [(offset: Int, isDescending: Bool, precedes: @Sendable (UnsafeRawPointer, UnsafeRawPointer) -> Bool)]

    /// - Throws: `GraphError.notOrdered` for a property that is computed, not stored.
    init<E>(_ orderings: [Ordering<E>], in entity: EntityDescription) throws(GraphError) {
        var criteria: [(Int, Bool, @Sendable (UnsafeRawPointer, UnsafeRawPointer) -> Bool)] = []
        for ordering in orderings {
            let keyPath: AnyKeyPath = ordering.keyPath
            guard let property = entity.properties.first(where: { ($0.keyPath as AnyKeyPath) == keyPath }),
                let key = property.operations.key
            else { throw .notOrdered("\(keyPath)") }
            criteria.append((property.offset, ordering.isDescending, key.precedes))
        }
        self.criteria = criteria
    }

    @usableFromInline
    func precedes(_ lhs: FoundRow, _ rhs: FoundRow) -> Bool {
        for (offset, isDescending, precedes) in criteria {
            if precedes(lhs.address + offset, rhs.address + offset) { return !isDescending }
            if precedes(rhs.address + offset, lhs.address + offset) { return isDescending }
        }
        return lhs.number < rhs.number
    }
}
