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

/// A sort whose properties have been found in the schema: compares rows by address.
@usableFromInline
struct RowOrder: Sendable {
    struct Criterion: Sendable {
        let property: Int
        let offset: Int
        let isDescending: Bool
        let precedes: @Sendable (UnsafeRawPointer, UnsafeRawPointer) -> Bool
    }

    let criteria: [Criterion]

    /// - Throws: `GraphError.notOrdered` for a property that is computed, not stored.
    init<E>(_ orderings: [Ordering<E>], in entity: EntityDescription) throws(GraphError) {
        var criteria: [Criterion] = []
        for ordering in orderings {
            let keyPath: AnyKeyPath = ordering.keyPath
            guard let number = entity.properties.firstIndex(where: { ($0.keyPath as AnyKeyPath) == keyPath }),
                let key = entity.properties[number].operations.key
            else { throw .notOrdered("\(keyPath)") }
            criteria.append(
                Criterion(
                    property: number,
                    offset: entity.properties[number].offset,
                    isDescending: ordering.isDescending,
                    precedes: key.precedes
                )
            )
        }
        self.criteria = criteria
    }

    @usableFromInline
    func precedes(_ lhs: FoundRow, _ rhs: FoundRow) -> Bool {
        for criterion in criteria {
            let (left, right) = (lhs.address + criterion.offset, rhs.address + criterion.offset)
            if criterion.precedes(left, right) { return !criterion.isDescending }
            if criterion.precedes(right, left) { return criterion.isDescending }
        }
        return lhs.number < rhs.number
    }
}
