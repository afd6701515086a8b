/// The objects that have one value of a property, as ``Snapshot/grouped(_:by:where:_:)->[(V,Result)]`` shows them.
///
/// Its figures are those of ``Snapshot``. What they would throw, the grouping throws when the closure returns.
public struct ObjectGroup<E: Entity> {
    let groups: RowGroups
    let number: Int

    /// The number of objects.
    public var count: Int { groups.counts[number] }

    /// The sum of a property's values; 0 of none.
    ///
    /// Complexity: O(1) once any group was asked for the same, which takes O(*n*) for *n* objects of all groups.
    public func sum<V: NumericAttributeValue>(_ keyPath: any KeyPath<E, V> & Sendable) -> V.Sum {
        let total = total(keyPath)
        if let sum = V.sum(of: total) { return sum }
        groups.note { throw try groups.snapshot.overflow(keyPath) }
        guard let zero = V.sum(of: NumericTotal()) else { preconditionFailure("nothing adds up to too much") }
        return zero
    }

    /// The average of a property's values; nil of none.
    ///
    /// Complexity: that of ``sum(_:)``.
    public func average<V: NumericAttributeValue>(_ keyPath: any KeyPath<E, V> & Sendable) -> V.Average? {
        V.average(of: total(keyPath))
    }

    /// The least of a property's values; nil if there is none.
    ///
    /// Complexity: that of ``sum(_:)``.
    public func minimum<V: OrderedAttributeValue>(_ keyPath: any KeyPath<E, V> & Sendable) -> V.NonOptional? {
        groups.extreme(keyPath, isMaximum: false, of: number)
    }

    /// The greatest of a property's values; nil if there is none.
    ///
    /// Complexity: that of ``sum(_:)``.
    public func maximum<V: OrderedAttributeValue>(_ keyPath: any KeyPath<E, V> & Sendable) -> V.NonOptional? {
        groups.extreme(keyPath, isMaximum: true, of: number)
    }

    private func total<V: NumericAttributeValue>(_ keyPath: any KeyPath<E, V> & Sendable) -> NumericTotal {
        groups.total(keyPath)?[number] ?? NumericTotal()
    }
}

/// The rows of a grouping, and the figures of all groups that one of them was asked for: they come from one walk along the rows as
/// they lie in memory, where a walk for each group would wait for every row.
final class RowGroups {
    let snapshot: Snapshot
    let rows: [UnsafeRawPointer]
    /// The group of each row.
    let numbers: [UInt32]
    /// The number of rows of each group.
    let counts: [Int]
    private var totals: [Int: NumericTotal] = [:]
    private var extremes: [Extreme: [UnsafeRawPointer?]] = [:]
    /// What went wrong first.
    private(set) var error: (any Error)?

    private struct Extreme: Hashable {
        let property: Int
        let isMaximum: Bool
    }

    init(_ rows: [UnsafeRawPointer], _ numbers: [UInt32], _ counts: [Int], in snapshot: Snapshot) {
        (self.rows, self.numbers, self.counts, self.snapshot) = (rows, numbers, counts, snapshot)
    }

    /// The totals of all groups.
    func total<E: Entity, V: NumericAttributeValue>(_ keyPath: any KeyPath<E, V> & Sendable) -> NumericTotal? {
        note {
            let (number, property) = try snapshot.property(keyPath)
            if let total = totals[number] { return total }
            var total = NumericTotal(groups: counts.count)
            withColumn { V.add(AttributeColumn(rows: $0, groups: $1, offset: property.offset), to: &total) }
            totals[number] = total
            return total
        }
    }

    func extreme<E: Entity, V: OrderedAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable, isMaximum: Bool, of group: Int
    ) -> V.NonOptional? {
        note {
            let (number, property, key) = try snapshot.orderedProperty(keyPath)
            var extreme = ExtremeValue<V>(
                offset: property.offset, key: key, isMaximum: isMaximum, groups: counts.count)
            if let best = extremes[Extreme(property: number, isMaximum: isMaximum)] {
                extreme.best = best
            } else {
                withColumn { extreme.look(at: $0, groups: $1) }
                extremes[Extreme(property: number, isMaximum: isMaximum)] = extreme.best
            }
            return withExtendedLifetime(snapshot) { extreme.value(of: group) }
        } ?? nil
    }

    private func withColumn(_ body: (UnsafeBufferPointer<UnsafeRawPointer>, UnsafeBufferPointer<UInt32>) -> Void) {
        withExtendedLifetime(snapshot) {
            rows.withUnsafeBufferPointer { rows in numbers.withUnsafeBufferPointer { body(rows, $0) } }
        }
    }

    @discardableResult
    func note<Result>(_ body: () throws -> Result) -> Result? {
        do { return try body() } catch {
            self.error = self.error ?? error
            return nil
        }
    }
}
