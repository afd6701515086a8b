/// Look-ups by one property. With an index that begins with the property they take O(log *n* + *k* log *k*) for *k* results among
/// *n* objects, and without one they look at all objects. The results are the same, in insertion order.
extension Snapshot {
    /// The value of the first object that has a value in a property: of the one object, if the property is unique.
    ///
    /// ```swift
    /// let ada = snapshot.first(\Person.email, equals: "ada@example.com")
    /// ```
    ///
    /// Values are equal as `==` says; enumerations and other types with a raw value are if the raw values are, in which 0.0 and -0.0
    /// differ and NaN equals itself. A property without an index is searched for in all objects.
    ///
    /// Complexity: O(log *n* + *k*) with an index that begins with the property, for *k* such objects; else O(*n*).
    @inlinable
    public func first<E: Entity, V: Equatable & Sendable>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        equals value: V
    ) -> E? {
        self.value(at: firstRow(keyPath, equals: value))
    }

    /// The value of the first object that has these values in two properties: of the one object, if the combination is unique.
    ///
    /// ```swift
    /// let package = snapshot.first(\Package.name, equals: "swift", \.version, equals: "6.3")
    /// ```
    ///
    /// Values are equal as ``first(_:equals:)`` says. More than two properties are for a predicate, which uses the same indexes.
    ///
    /// Complexity: O(log *n* + *k*) with an index that begins with both properties, for *k* such objects; else that of
    /// ``fetchValues(_:equals:)`` for either property.
    public func first<E: Entity, V: Equatable & Sendable, W: Equatable & Sendable>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        equals value: V,
        _ otherKeyPath: any KeyPath<E, W> & Sendable,
        equals otherValue: W
    ) -> E? {
        let (first, second) = (
            PropertyCondition(keyPath, equals: value), PropertyCondition(otherKeyPath, equals: otherValue)
        )
        guard let row = firstRow(first, second) else { return nil }
        return schema.index(of: E.self).flatMap { entities[$0].rows.value(of: row) }
    }

    /// The values of the objects that have a value in a property, in insertion order; equal as ``first(_:equals:)`` says.
    ///
    /// Complexity: O(log *n* + *k* log *k*) with an index that begins with the property, for *k* results; else O(*n*).
    @inlinable
    public func fetchValues<E: Entity, V: Equatable & Sendable>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        equals value: V
    ) -> [E] {
        var values: [E] = []
        lookUp(keyPath, equals: value) { _, row in
            values.append(row.pointee)
            return true
        }
        return values
    }

    /// The values of the objects whose property is in a range, in insertion order. nil is in no range.
    ///
    /// ```swift
    /// let thirties = snapshot.fetchValues(\Person.age, in: 30..<40)
    /// ```
    ///
    /// Complexity: O(log *n* + *k* log *k*) with an index that begins with the property, for *k* results; else O(*n*).
    @inlinable
    public func fetchValues<E: Entity, V: OrderedAttributeValue, R: RangeExpression<V.NonOptional>>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        in range: R
    ) -> [E] {
        var values: [E] = []
        lookUp(keyPath, in: range) { _, row in
            values.append(row.pointee)
            return true
        }
        return values
    }

    /// The values of the objects whose property begins with a text, in insertion order. What begins is what `starts(with:)` says:
    /// characters count, and canonical equivalents are equal.
    ///
    /// Complexity: O(log *n* + *k* log *k*) with an index that begins with the property, for *k* results; else O(*n*).
    @inlinable
    public func fetchValues<E: Entity, V: OrderedAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        startingWith prefix: String
    ) -> [E] where V.NonOptional == String {
        var values: [E] = []
        lookUp(keyPath, startingWith: prefix) { _, row in
            values.append(row.pointee)
            return true
        }
        return values
    }

    /// The identifiers of the objects that have a value in a property; otherwise the same as ``fetchValues(_:equals:)``.
    ///
    /// Complexity: that of `fetchValues`.
    public func fetchIDs<E: Entity, V: Equatable & Sendable>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        equals value: V
    ) -> [PersistentID<E>] {
        lookUpIDs(PropertyCondition(keyPath, equals: value))
    }

    /// The identifiers of the objects whose property is in a range; otherwise the same as ``fetchValues(_:in:)``.
    ///
    /// Complexity: that of `fetchValues`.
    public func fetchIDs<E: Entity, V: OrderedAttributeValue, R: RangeExpression<V.NonOptional>>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        in range: R
    ) -> [PersistentID<E>] {
        lookUpIDs(PropertyCondition(keyPath, in: range))
    }

    /// The identifiers of the objects whose property begins with a text; otherwise the same as
    /// ``fetchValues(_:startingWith:)``.
    ///
    /// Complexity: that of `fetchValues`.
    public func fetchIDs<E: Entity, V: OrderedAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        startingWith prefix: String
    ) -> [PersistentID<E>] where V.NonOptional == String {
        lookUpIDs(PropertyCondition(keyPath, startingWith: prefix))
    }

    /// The number of objects that have a value in a property; equal as ``first(_:equals:)`` says.
    ///
    /// Complexity: O(log *n*) with an index that begins with the property; O(log *n* + *k*) for *k* objects where equal
    /// values may differ in their bits, as numbers with a fraction and dates; else O(*n*).
    public func fetchCount<E: Entity, V: Equatable & Sendable>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        equals value: V
    ) -> Int {
        count(PropertyCondition(keyPath, equals: value))
    }

    /// The number of objects whose property is in a range. nil is in no range.
    ///
    /// Complexity: that of ``fetchCount(_:equals:)``.
    public func fetchCount<E: Entity, V: OrderedAttributeValue, R: RangeExpression<V.NonOptional>>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        in range: R
    ) -> Int {
        count(PropertyCondition(keyPath, in: range))
    }

    /// The number of objects whose property begins with a text, as ``fetchValues(_:startingWith:)`` says.
    ///
    /// Complexity: O(log *n* + *k*) with an index that begins with the property, for *k* objects; else O(*n*).
    public func fetchCount<E: Entity, V: OrderedAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        startingWith prefix: String
    ) -> Int where V.NonOptional == String {
        count(PropertyCondition(keyPath, startingWith: prefix))
    }

    // MARK: Searching

    // In these the body is the program's code, where the compiler knows the type of the rows and how to copy them.

    @usableFromInline
    func lookUp<E: Entity, V: Equatable>(
        _ keyPath: any KeyPath<E, V> & Sendable, equals value: V,
        _ body: (RowNumber, UnsafePointer<E>) -> Bool
    ) {
        lookUp(PropertyCondition(keyPath, equals: value), body)
    }

    @usableFromInline
    func lookUp<E: Entity, V: OrderedAttributeValue, R: RangeExpression<V.NonOptional>>(
        _ keyPath: any KeyPath<E, V> & Sendable, in range: R, _ body: (RowNumber, UnsafePointer<E>) -> Bool
    ) {
        lookUp(PropertyCondition(keyPath, in: range), body)
    }

    @usableFromInline
    func lookUp<E: Entity, V: OrderedAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable, startingWith prefix: String,
        _ body: (RowNumber, UnsafePointer<E>) -> Bool
    ) where V.NonOptional == String {
        lookUp(PropertyCondition(keyPath, startingWith: prefix), body)
    }

    /// The first row that has a value.
    @usableFromInline
    func firstRow<E: Entity, V: Equatable>(
        _ keyPath: any KeyPath<E, V> & Sendable, equals value: V
    ) -> FoundRow? {
        guard let entity = schema.index(of: E.self) else { return nil }
        let row: RowNumber?
        if reader == nil, let offset = MemoryLayout<E>.offset(of: keyPath),
            let index = schema.entities[entity].equalityIndex(at: offset, ObjectIdentifier(V.self)),
            let found = withUnsafePointer(to: value, { entities[entity].firstRow(in: index, $0) })
        {
            row = found
        } else {
            row = firstRow(PropertyCondition(keyPath, equals: value))
        }
        return row.flatMap { row in
            entities[entity].rows.address(of: row).map { FoundRow(number: row, address: $0) }
        }
    }

    /// The first row that matches, by the shortest way.
    func firstRow<E, V>(_ condition: PropertyCondition<E, V>) -> RowNumber? {
        guard let entity = schema.index(of: E.self) else { return nil }
        noteLookUp(condition, entity)
        if let (index, keys) = plan(condition, condition.property(of: schema.entities[entity]), entity),
            keys.areExact, let key = keys.only,
            schema.entities[entity].indexes[index].rest.isEmpty
        {
            return key.withUnsafeBytes { entities[entity].indexes[index].firstRow(withPrefix: $0) }
        }
        var first: RowNumber?
        forEachMatch(condition, entity) { row, _ in
            first = row
            return false
        }
        return first
    }

    /// The first row that meets two conditions.
    func firstRow<E, V, W>(_ first: PropertyCondition<E, V>, _ second: PropertyCondition<E, W>) -> RowNumber? {
        guard let entity = schema.index(of: E.self) else { return nil }
        let description = schema.entities[entity]
        let properties = (first.property(of: description), second.property(of: description))
        noteLookUp(of: entity, [first.propertyKeys(in: description), second.propertyKeys(in: description)])
        let isFirst = properties.0.flatMap { description.index(of: $0) } != nil
        let matches = (
            first.test(properties.0.map { description.properties[$0] }),
            second.test(properties.1.map { description.properties[$0] })
        )
        if let (number, isSwapped) = description.compoundIndex(of: properties.0, properties.1),
            let one = first.onlyKey(in: description), let other = second.onlyKey(in: description)
        {
            let index = entities[entity].indexes[number]
            let ranks = (isSwapped ? other + one : one + other).withUnsafeBytes { index.ranks(of: .prefix($0)) }
            return index.cursor(at: ranks).min()
        }
        var found: RowNumber?
        func take(_ row: RowNumber, _ value: UnsafePointer<E>) -> Bool {
            if isFirst ? matches.1(value) : matches.0(value) { found = row }
            return found == nil
        }
        followingReferences {
            if isFirst { forEachMatch(first, entity, take) } else { forEachMatch(second, entity, take) }
        }
        return found
    }

    func lookUpIDs<E, V>(_ condition: PropertyCondition<E, V>) -> [PersistentID<E>] {
        var ids: [PersistentID<E>] = []
        lookUp(condition) { row, _ in
            ids.append(PersistentID(row: row))
            return true
        }
        return ids
    }

    func count<E, V>(_ condition: PropertyCondition<E, V>) -> Int {
        guard let entity = schema.index(of: E.self) else { return 0 }
        noteLookUp(condition, entity)
        if let (index, keys) = plan(condition, condition.property(of: schema.entities[entity]), entity),
            keys.areExact
        {
            return keys.range.withIndexRange { entities[entity].indexes[index].count(in: $0) }
        }
        var count = 0
        forEachMatch(condition, entity) { _, _ in
            count += 1
            return true
        }
        return count
    }

    /// Rows that an index finds lie anywhere in memory: where more than this share of all may match, a scan is faster.
    private static let indexShare = 4

    /// Calls the body with the rows that match, in ascending order, until it returns false.
    func lookUp<E, V>(_ condition: PropertyCondition<E, V>, _ body: (RowNumber, UnsafePointer<E>) -> Bool) {
        guard let entity = schema.index(of: E.self) else { return }
        noteLookUp(condition, entity)
        forEachMatch(condition, entity, body)
    }

    private func forEachMatch<E, V>(
        _ condition: PropertyCondition<E, V>, _ entity: Int, _ body: (RowNumber, UnsafePointer<E>) -> Bool
    ) {
        let (description, table) = (schema.entities[entity], entities[entity].rows)
        let property = condition.property(of: description)
        let matches = condition.test(property.map { description.properties[$0] })
        guard let (index, keys) = plan(condition, property, entity),
            let rows = entities[entity].rows(in: keys.range, of: index, share: Self.indexShare)
        else {
            // It cannot throw, since the entity is there. A computed property may follow references.
            followingReferences {
                try? read(by: nil).forEachRow(of: E.self) { row, value in !matches(value) || body(row, value) }
            }
            return
        }
        withExtendedLifetime(table) {
            for start in stride(from: 0, to: rows.count, by: 64) {
                let block = rows[start..<min(start + 64, rows.count)]
                let addresses = table.addresses(of: block)
                description.touch(addresses)
                // An index has no row that its table lacks.
                for (row, address) in zip(block, addresses) {
                    let value = address.row(as: E.self, in: table.layout)
                    guard keys.areExact || matches(value) else { continue }
                    guard body(row, value) else { return }
                }
            }
        }
    }

    private func noteLookUp<E, V>(_ condition: PropertyCondition<E, V>, _ entity: Int) {
        noteLookUp(of: entity, [condition.propertyKeys(in: schema.entities[entity])])
    }

    /// - Parameter conditions: nil for those that any row may meet.
    private func noteLookUp(of entity: Int, _ conditions: @autoclosure () -> [PropertyKeys?]) {
        guard let reader else { return }
        let known = conditions().compactMap { $0 }
        if known.isEmpty { reader.readAll(of: entity) } else { reader.readRows(of: entity, where: known) }
    }

    /// The index to look into, and for what; nil if there is none.
    private func plan<E, V>(
        _ condition: PropertyCondition<E, V>, _ property: Int?, _ entity: Int
    ) -> (index: Int, keys: PropertyCondition<E, V>.Keys)? {
        let description = schema.entities[entity]
        guard let property, let index = description.index(of: property),
            let keys = condition.keys(description.properties[property].operations.key),
            // nil is a reference to row 0.
            !description.indexes[index].skipsNil || keys.only?.contains(where: { $0 != 0 }) ?? false
        else { return nil }
        return (index, keys)
    }
}

extension EntityRows {
    /// The first row with a value, or none; nil for nil that the index leaves out.
    fileprivate func firstRow(in index: EqualityIndex, _ value: UnsafeRawPointer) -> RowNumber?? {
        var key = ByteWriter(capacity: 64)
        guard index.append(value, &key) || !index.skipsNil else { return nil }
        return .some(key.bytes.withUnsafeBytes { indexes[index.number].firstRow(withPrefix: $0) })
    }

    /// The rows with keys in a range, in ascending order; nil if they are more than a share of all.
    fileprivate func rows(in keys: KeyRange, of index: Int, share: Int) -> [RowNumber]? {
        keys.withIndexRange { range in
            let ranks = indexes[index].ranks(of: range)
            // A few are found faster than a scan begins.
            guard ranks.count <= max(rows.count / share, 16) else { return nil }
            return indexes[index].cursor(at: ranks).sorted()
        }
    }
}

extension EntityDescription {
    fileprivate func equalityIndex(at offset: Int, _ type: ObjectIdentifier) -> EqualityIndex? {
        equalityIndexes.first { $0.offset == offset && $0.type == type }
    }

    /// An index whose keys begin with two properties, and whether in the other order.
    fileprivate func compoundIndex(of first: Int?, _ second: Int?) -> (number: Int, isSwapped: Bool)? {
        guard let first, let second else { return nil }
        for (number, index) in indexes.enumerated() {
            guard let next = index.rest.first?.property else { continue }
            if index.first.property == first, next == second { return (number, false) }
            if index.first.property == second, next == first { return (number, true) }
        }
        return nil
    }
}
