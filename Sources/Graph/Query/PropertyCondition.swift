/// What a look-up asks of one property: a value, a range of values, or a text's beginning.
///
/// `matches` decides. The bounds say which keys an index has to be searched for, and may leave in some more.
struct PropertyCondition<E: Entity, V> {
    let keyPath: any KeyPath<E, V> & Sendable
    private let lower: V?
    private let upper: V?
    private let includesUpper: Bool
    /// Whether `lower` is the beginning of a text instead of a bound.
    private let isPrefix: Bool
    var matches: (V) -> Bool
    /// Whether values match that have the key of `lower`, if the property has keys.
    private let comparesKeys: Bool
    /// Whether the bounds are those of `matches`.
    private let hasBounds: Bool

    /// Values are equal as their type says, but values that are stored as raw values when those are.
    init(_ keyPath: any KeyPath<E, V> & Sendable, equals value: V) where V: Equatable {
        self.keyPath = keyPath
        (lower, upper, includesUpper, isPrefix) = (value, value, true, false)
        matches = { $0 == value }
        hasBounds = true
        let type = (V.self as? any OptionalValue.Type)?.wrappedType ?? V.self
        comparesKeys = type is any RawRepresentable.Type
    }

    /// - Parameter range: of a type that Graph does not know, is asked about each value.
    init<R: RangeExpression>(_ keyPath: any KeyPath<E, V> & Sendable, in range: R)
    where V: OrderedAttributeValue, R.Bound == V.NonOptional {
        self.keyPath = keyPath
        let bounds = (range as? any BoundedRange<R.Bound>)?.bounds
        lower = bounds?.lower.map(V.including)
        upper = bounds?.upper.map(V.including)
        includesUpper = bounds?.includesUpper ?? true
        (isPrefix, comparesKeys) = (false, false)
        hasBounds = bounds != nil
        let contains = R.containment
        matches = { value in V.nonOptional(value).map { contains(range, $0) } ?? false }
    }

    init(_ keyPath: any KeyPath<E, V> & Sendable, startingWith prefix: V.NonOptional)
    where V: OrderedAttributeValue, V.NonOptional == String {
        self.keyPath = keyPath
        (lower, upper, includesUpper) = (V.including(prefix), nil, true)
        (isPrefix, comparesKeys, hasBounds) = (true, false, false)
        matches = { value in V.nonOptional(value)?.hasCharacters(prefix) ?? false }
    }
}

extension PropertyCondition {
    /// The property in the entity; nil for a computed one.
    func property(of entity: EntityDescription) -> Int? {
        entity.property(at: keyPath).flatMap { entity.properties[$0].isStored ? $0 : nil }
    }

    /// The keys of values that match.
    struct Keys {
        let range: KeyRange
        /// Whether those of no other values are among them.
        let areExact: Bool
        /// The one key, if there is one alone.
        var only: [UInt8]?
    }

    /// Nil if the property's values have no order.
    func keys(_ operations: KeyOperations?) -> Keys? {
        guard let operations else { return nil }
        func key(_ value: V) -> [UInt8] {
            var key = ByteWriter(capacity: 64)
            _ = withUnsafePointer(to: value) { operations.append($0, &key) }
            return key.bytes
        }
        if isPrefix {
            // Without the end mark.
            let beginning = lower.map { Array(key($0).dropLast(2)) } ?? []
            return Keys(range: KeyRange(from: beginning, upTo: beginning, includesUpper: true), areExact: false)
        }
        var (first, last) = (lower.map(key), upper.map(key))
        var areExact = hasBounds
        if let equals = operations.equals, !comparesKeys {
            // Zeros are at neither end, and NaN is outside of both.
            areExact =
                hasBounds && lower.map(matches) == true && last != nil
                && ![first, last].contains { $0 == equals.least || $0 == equals.greatest }
            if first == equals.greatest { first = equals.least }
            if last == equals.least, includesUpper { last = equals.greatest }
        }
        // The keys of optionals have their first byte for not being nil, one for each level.
        if first == nil, let last { first = Array(last.prefix(optionalDepth(of: V.self))) }
        return Keys(
            range: KeyRange(from: first ?? [], upTo: last, includesUpper: includesUpper), areExact: areExact,
            only: includesUpper && first == last ? first : nil)
    }

    /// What is known of the keys of rows that match; nil if nothing is.
    func propertyKeys(in entity: EntityDescription) -> PropertyKeys? {
        guard let property = property(of: entity), let keys = keys(entity.properties[property].operations.key) else {
            return nil
        }
        return PropertyKeys(property: property, keys: keys.range)
    }

    /// The key of all values that match and of no others; nil if there is none such.
    func onlyKey(in entity: EntityDescription) -> [UInt8]? {
        guard let property = property(of: entity), let keys = keys(entity.properties[property].operations.key),
            keys.areExact
        else { return nil }
        return keys.only
    }

    /// A test of rows.
    func test(_ property: Property?) -> (UnsafePointer<E>) -> Bool {
        if comparesKeys, let property, let key = property.operations.key, let lower {
            return { row in
                withUnsafePointer(to: lower) { lower in
                    let value = UnsafeRawPointer(row) + property.offset
                    return !key.precedes(value, lower) && !key.precedes(lower, value)
                }
            }
        }
        guard let offset = property?.keyPathOffset else { return { matches($0.pointee[keyPath: keyPath]) } }
        return { row in matches((UnsafeRawPointer(row) + offset).assumingMemoryBound(to: V.self).pointee) }
    }
}

extension EntityDescription {
    /// The property that a key path leads to; nil for one that leads into a property's value or is computed.
    func property<Root, V>(at keyPath: KeyPath<Root, V>) -> Int? {
        let offset = MemoryLayout<Root>.offset(of: keyPath)
        return properties.firstIndex { property in
            offset.map { $0 == property.keyPathOffset && property.valueType == V.self }
                ?? ((property.keyPath as AnyKeyPath) == (keyPath as AnyKeyPath))
        }
    }
}
