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
        let offset = try orderedProperty(keyPath).property.offset
        let failure = ObjectGroup<E>.Failure()
        return try groups(keyPath, predicate).map { rows in
            let group = ObjectGroup<E>(rows: rows, snapshot: self, failure: failure)
            let result = try body(group)
            if let error = failure.error { throw error }
            let key = (rows[rows.startIndex] + offset).assumingMemoryBound(to: V.self).pointee
            return (key, result)
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

    /// The rows of each group, in the order of the keys; in a group, in insertion order. The addresses are valid while this state
    /// is.
    private func groups<E: Entity>(
        _ keyPath: PartialKeyPath<E>,
        _ predicate: Predicate<E>?
    ) throws -> [ArraySlice<UnsafeRawPointer>] {
        let (_, property, key) = try orderedProperty(keyPath)
        var (keys, bytes) = (KeyTable(), ByteWriter(capacity: 64))
        var (rows, numbers) = ([UnsafeRawPointer](), [UInt32]())
        /// By the group's number: first how many rows it has, then where its next row goes.
        var places: [Int] = []
        try forEachBlock(of: E.self, where: predicate) { block in
            for row in block {
                let number = keys.number(of: row + property.offset, key, &bytes)
                if number == places.count { places.append(0) }
                places[number] += 1
                rows.append(row)
                numbers.append(UInt32(number))
            }
        }
        let order = keys.ascending
        var (start, ranges) = (0, [Range<Int>]())
        for number in order {
            ranges.append(start..<start + places[number])
            (places[number], start) = (start, start + places[number])
        }
        // A counting sort: each row goes to the end of its group.
        let sorted = [UnsafeRawPointer](unsafeUninitializedCapacity: rows.count) { sorted, count in
            for (row, number) in zip(rows, numbers) {
                (sorted.baseAddress.unsafelyUnwrapped + places[Int(number)]).initialize(to: row)
                places[Int(number)] += 1
            }
            count = rows.count
        }
        return ranges.map { sorted[$0] }
    }
}
