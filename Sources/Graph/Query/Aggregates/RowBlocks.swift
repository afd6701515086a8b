#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Snapshot {
    /// Calls the body with the addresses of all rows that match, in insertion order, some at a time. They are valid while this
    /// state is.
    func forEachBlock<E: Entity>(
        of type: E.Type,
        where predicate: Predicate<E>?,
        _ body: (UnsafeBufferPointer<UnsafeRawPointer>) throws -> Void
    ) throws {
        var block: [UnsafeRawPointer] = []
        block.reserveCapacity(1_024)
        func add(_ address: UnsafeRawPointer) throws {
            block.append(address)
            guard block.count == 1_024 else { return }
            try block.withUnsafeBufferPointer(body)
            block.removeAll(keepingCapacity: true)
        }
        if let predicate {
            try search(FetchDescriptor(predicate: predicate)) { _, value in try add(UnsafeRawPointer(value)) }
        } else {
            try entities[entityIndex(of: type)].rows.forEachRow { _, _, address in try add(address) }
        }
        try withExtendedLifetime(self) { try block.withUnsafeBufferPointer(body) }
    }

    /// A stored property.
    ///
    /// - Throws: `GraphError.notOrdered` for a computed one.
    func property<E: Entity>(_ keyPath: PartialKeyPath<E>) throws -> (number: Int, property: Property) {
        let entity = schema.entities[try entityNumber(of: E.self)]
        guard let number = entity.number(of: keyPath),
            entity.properties[number].isStored
        else { throw GraphError.notOrdered(entity.name(of: keyPath) ?? "\(keyPath)") }
        return (number, entity.properties[number])
    }

    /// A stored property and its order.
    ///
    /// - Throws: `GraphError.notOrdered` for another one.
    func orderedProperty<E: Entity>(
        _ keyPath: PartialKeyPath<E>
    ) throws -> (number: Int, property: Property, key: KeyOperations) {
        let (number, property) = try property(keyPath)
        guard let key = property.operations.key else {
            throw GraphError.notOrdered("\(schema.entities[try entityNumber(of: E.self)].name).\(property.name)")
        }
        return (number, property, key)
    }

    /// The index of a property alone.
    func index<E: Entity>(of property: Int, _ type: E.Type) throws -> (IndexDescription, OrderedIndex, RowTable)? {
        let entity = try entityIndex(of: type)
        let indexes = schema.entities[entity].indexes
        return indexes.firstIndex { $0.first.property == property && $0.rest.isEmpty }
            .map { (indexes[$0], entities[entity].indexes[$0], entities[entity].rows) }
    }
}

/// Finds the least or the greatest value of a property, of equal ones the first, in each of some groups. nil is neither.
struct ExtremeValue<V: OrderedAttributeValue> {
    private let offset: Int
    private let key: KeyOperations
    private let isMaximum: Bool
    /// Where the value of each group is.
    var best: [UnsafeRawPointer?]

    init(offset: Int, key: KeyOperations, isMaximum: Bool, groups: Int = 1) {
        (self.offset, self.key, self.isMaximum) = (offset, key, isMaximum)
        best = Array(repeating: nil, count: groups)
    }

    func value(of group: Int = 0) -> V.NonOptional? {
        best[group].flatMap { V.nonOptional($0.assumingMemoryBound(to: V.self).pointee) }
    }

    /// - Parameter groups: that of each row; nil where all are of the first one.
    mutating func look(
        at rows: UnsafeBufferPointer<UnsafeRawPointer>, groups: UnsafeBufferPointer<UInt32>? = nil
    ) {
        best.withUnsafeMutableBufferPointer { best in
            for (place, row) in rows.enumerated() {
                let (candidate, group) = (row + offset, groups.map { Int($0[place]) } ?? 0)
                if let best = best[group],
                    !(isMaximum ? key.precedes(best, candidate) : key.precedes(candidate, best))
                {
                    continue
                }
                if V.nonOptional(candidate.assumingMemoryBound(to: V.self).pointee) != nil { best[group] = candidate }
            }
        }
    }
}
