/// The objects that have one value of a property, as ``Snapshot/grouped(_:by:where:_:)->[(V,Result)]`` shows them.
///
/// Its figures are those of ``Snapshot``. What they would throw, the grouping throws when the closure returns.
public struct ObjectGroup<E: Entity> {
    let rows: ArraySlice<UnsafeRawPointer>
    let snapshot: Snapshot
    let failure: Failure

    /// What went wrong first.
    final class Failure {
        var error: (any Error)?
    }

    /// The number of objects.
    public var count: Int { rows.count }

    /// The sum of a property's values; 0 of none.
    ///
    /// Complexity: O(*n*) for *n* objects of the group.
    public func sum<V: NumericAttributeValue>(_ keyPath: any KeyPath<E, V> & Sendable) -> V.Sum {
        let total = total(keyPath)
        if let sum = V.sum(of: total) { return sum }
        note { throw try snapshot.overflow(keyPath) }
        guard let zero = V.sum(of: NumericTotal()) else { preconditionFailure("nothing adds up to too much") }
        return zero
    }

    /// The average of a property's values; nil of none.
    ///
    /// Complexity: O(*n*) for *n* objects of the group.
    public func average<V: NumericAttributeValue>(_ keyPath: any KeyPath<E, V> & Sendable) -> V.Average? {
        V.average(of: total(keyPath))
    }

    /// The least of a property's values; nil if there is none.
    ///
    /// Complexity: O(*n*) for *n* objects of the group.
    public func minimum<V: OrderedAttributeValue>(_ keyPath: any KeyPath<E, V> & Sendable) -> V.NonOptional? {
        extreme(keyPath, isMaximum: false)
    }

    /// The greatest of a property's values; nil if there is none.
    ///
    /// Complexity: O(*n*) for *n* objects of the group.
    public func maximum<V: OrderedAttributeValue>(_ keyPath: any KeyPath<E, V> & Sendable) -> V.NonOptional? {
        extreme(keyPath, isMaximum: true)
    }

    private func total<V: NumericAttributeValue>(_ keyPath: any KeyPath<E, V> & Sendable) -> NumericTotal {
        var total = NumericTotal()
        note {
            let offset = try snapshot.property(keyPath).property.offset
            withExtendedLifetime(snapshot) {
                rows.withUnsafeBufferPointer { V.add(AttributeColumn(rows: $0, offset: offset), to: &total) }
            }
        }
        return total
    }

    private func extreme<V: OrderedAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        isMaximum: Bool
    ) -> V.NonOptional? {
        var value: V.NonOptional?
        note {
            let (_, property, key) = try snapshot.orderedProperty(keyPath)
            var extreme = ExtremeValue<V>(offset: property.offset, key: key, isMaximum: isMaximum)
            withExtendedLifetime(snapshot) {
                rows.withUnsafeBufferPointer { extreme.look(at: $0) }
                value = extreme.value
            }
        }
        return value
    }

    private func note(_ body: () throws -> Void) {
        do { try body() } catch { failure.error = failure.error ?? error }
    }
}
