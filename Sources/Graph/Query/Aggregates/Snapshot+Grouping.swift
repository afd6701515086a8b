#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Snapshot {
    /// What a closure makes of each group of objects that have the same value of a property, in the order of the values, nil
    /// first.
    ///
    /// ```swift
    /// let ages = try snapshot.grouped(Person.self, by: \.age) { (count: $0.count, total: $0.sum(\.balance)) }
    /// for (age, figures) in ages { print(age, figures.count, figures.total) }
    /// ```
    ///
    /// Values are the same if neither sorts before the other; the key is then the first one's.
    ///
    /// - Throws: what the closure throws, what the group's figures would throw, and what ``fetchValues(_:)`` throws;
    ///   `GraphError.notOrdered` for a property that is not stored, or has no order.
    ///
    /// Complexity: that of ``sum(_:where:)``, O(*k* log *k*) for *k* groups, and what the closure does. It takes 12 bytes for each
    /// object that matches.
    public func grouped<E: Entity, V: Sendable, Result>(
        _ type: E.Type = E.self,
        by keyPath: any KeyPath<E, V> & Sendable,
        where predicate: Predicate<E>? = nil,
        _ body: (ObjectGroup<E>) throws -> Result
    ) throws -> [(key: V, result: Result)] {
        let (_, property, key) = try orderedProperty(keyPath)
        var values = ValueNumbers<V>(key)
        var (rows, numbers, counts) = ([UnsafeRawPointer](), [UInt32](), [Int]())
        var keys: [V] = []
        try forEachBlock(of: E.self, where: predicate) { block in
            for row in block {
                let value = row + property.offset
                let number = values.number(of: value)
                if number == counts.count {
                    counts.append(0)
                    keys.append(value.assumingMemoryBound(to: V.self).pointee)
                }
                counts[number] += 1
                rows.append(row)
                numbers.append(UInt32(number))
            }
        }
        let groups = RowGroups(rows, numbers, counts, in: self)
        return try values.ascending.map { number in
            let result = try body(ObjectGroup(groups: groups, number: number))
            if let error = groups.error { throw error }
            return (keys[number], result)
        }
    }

    /// The same by the object that a reference leads to, in the order of insertion of those, nil first.
    ///
    /// Complexity: that of ``grouped(_:by:where:_:)->[(V,Result)]``.
    public func grouped<E: Entity, Target: Entity, Result>(
        _ type: E.Type = E.self,
        by keyPath: any KeyPath<E, ToOne<Target>> & Sendable,
        where predicate: Predicate<E>? = nil,
        _ body: (ObjectGroup<E>) throws -> Result
    ) throws -> [(key: PersistentID<Target>?, result: Result)] {
        let groups: [(key: ToOne<Target>, result: Result)] = try grouped(type, by: keyPath, where: predicate, body)
        return groups.map { ($0.key.id, $0.result) }
    }
}
