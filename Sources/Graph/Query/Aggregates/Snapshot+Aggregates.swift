#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Figures of all objects, or of those that match, without their values. Properties must be stored ones; else they throw
/// `GraphError.notOrdered`. They throw what ``fetchValues(_:)`` throws, too. nil does not count.
extension Snapshot {
    /// The sum of a property's values; 0 of none.
    ///
    /// ```swift
    /// let total = try snapshot.sum(\Person.balance, where: #Predicate { $0.age > 64 })
    /// ```
    ///
    /// - Throws: `GraphError.sumOverflow` if the type has no such number.
    ///
    /// Complexity: O(*n*) for *n* objects of the entity; with a predicate, that of ``fetchCount(_:)-(FetchDescriptor<E>)``.
    public func sum<E: Entity, V: NumericAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        where predicate: Predicate<E>? = nil
    ) throws -> V.Sum {
        guard let sum = V.sum(of: try total(keyPath, predicate)) else { throw try overflow(keyPath) }
        return sum
    }

    /// The average of a property's values; nil of none.
    ///
    /// Complexity: that of ``sum(_:where:)``.
    public func average<E: Entity, V: NumericAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        where predicate: Predicate<E>? = nil
    ) throws -> V.Average? {
        V.average(of: try total(keyPath, predicate))
    }

    /// The least of a property's values, in the order of sorting; nil if there is none.
    ///
    /// Complexity: O(log *n*) for *n* objects of the entity if the property has an index and there is no predicate; else that of
    /// ``sum(_:where:)``.
    public func minimum<E: Entity, V: OrderedAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        where predicate: Predicate<E>? = nil
    ) throws -> V.NonOptional? {
        try extreme(keyPath, predicate, isMaximum: false)
    }

    /// The greatest of a property's values, in the order of sorting; nil if there is none.
    ///
    /// Complexity: that of ``minimum(_:where:)``.
    public func maximum<E: Entity, V: OrderedAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        where predicate: Predicate<E>? = nil
    ) throws -> V.NonOptional? {
        try extreme(keyPath, predicate, isMaximum: true)
    }

    /// The values that a property has, each once, nil among them: in their order if the property has an index and there is no
    /// predicate, otherwise in the order in which each comes first.
    ///
    /// Values are the same if neither sorts before the other.
    ///
    /// Complexity: O(*k* log *n*) for *k* values among *n* objects with an index and without a predicate; else that of
    /// ``sum(_:where:)``, and O(*k*).
    public func distinct<E: Entity, V: Sendable>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        where predicate: Predicate<E>? = nil
    ) throws -> [V] {
        let (number, property, key) = try orderedProperty(keyPath)
        func value(_ row: UnsafeRawPointer) -> V { (row + property.offset).assumingMemoryBound(to: V.self).pointee }
        if predicate == nil, let (description, index, table) = try index(of: number, E.self), !description.skipsNil {
            return withExtendedLifetime(table) { index.firstRows(description, table).map(value) }
        }
        var (numbers, values) = (ValueNumbers<V>(key), [V]())
        try forEachBlock(of: E.self, where: predicate) { rows in
            for row in rows where numbers.number(of: row + property.offset) == values.count {
                values.append(value(row))
            }
        }
        return values
    }

    private func total<E: Entity, V: NumericAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        _ predicate: Predicate<E>?
    ) throws -> NumericTotal {
        let offset = try property(keyPath).property.offset
        var total = NumericTotal()
        try forEachBlock(of: E.self, where: predicate) {
            V.add(AttributeColumn(rows: $0, offset: offset), to: &total)
        }
        return total
    }

    func overflow<E: Entity>(_ keyPath: PartialKeyPath<E>) throws -> GraphError {
        .sumOverflow("\(schema.entities[try entityNumber(of: E.self)].name).\(try property(keyPath).property.name)")
    }

    private func extreme<E: Entity, V: OrderedAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        _ predicate: Predicate<E>?,
        isMaximum: Bool
    ) throws -> V.NonOptional? {
        let (number, property, key) = try orderedProperty(keyPath)
        var extreme = ExtremeValue<V>(offset: property.offset, key: key, isMaximum: isMaximum)
        if predicate == nil, let (description, index, table) = try index(of: number, E.self) {
            // The least keys may be those of nil, one for each level of optionals.
            let rows =
                isMaximum
                ? index.lastRow(description, table)
                : index.firstRows(description, table, limit: optionalDepth(of: V.self) + 1)
            return withExtendedLifetime(table) {
                rows.withUnsafeBufferPointer { extreme.look(at: $0) }
                return extreme.value()
            }
        }
        try forEachBlock(of: E.self, where: predicate) { extreme.look(at: $0) }
        return withExtendedLifetime(self) { extreme.value() }
    }
}

/// Walks from one key to the next. The addresses are valid while the table is.
extension OrderedIndex {
    /// The first row of each key.
    fileprivate func firstRows(
        _ description: IndexDescription,
        _ table: RowTable,
        limit: Int = .max
    ) -> [UnsafeRawPointer] {
        var (rows, rank, key) = ([UnsafeRawPointer](), 0, ByteWriter(capacity: 64))
        while rank < count, rows.count < limit, let row = table.address(of: withEntry(at: rank) { KeyBytes($0).row }) {
            rows.append(row)
            rank = rankOfKey(of: row, description, &key).upperBound
        }
        return rows
    }

    /// The first row of the last key.
    fileprivate func lastRow(_ description: IndexDescription, _ table: RowTable) -> [UnsafeRawPointer] {
        var key = ByteWriter(capacity: 64)
        guard count > 0, let last = table.address(of: withEntry(at: count - 1) { KeyBytes($0).row }) else { return [] }
        let first = rankOfKey(of: last, description, &key).lowerBound
        return table.address(of: withEntry(at: first) { KeyBytes($0).row }).map { [$0] } ?? []
    }

    private func rankOfKey(
        of row: UnsafeRawPointer,
        _ description: IndexDescription,
        _ key: inout ByteWriter
    ) -> Range<Int> {
        key.removeAll()
        _ = description.appendKey(ofRowAt: row, to: &key)
        return key.bytes.withUnsafeBytes { rank(of: .entry($0))..<rank(of: .pastPrefix($0)) }
    }
}
