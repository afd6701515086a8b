/// One criterion of a sort: a stored property and a direction.
///
/// Sort by stored properties with an order. A computed property compiles, but the fetch throws `GraphError.notOrdered`, which
/// says where the program names the property.
///
/// The order is that of `OrderedAttributeValue`; rows that compare equal under all criteria come in the order of insertion.
public struct Ordering<E: Entity>: Sendable {
    @usableFromInline let keyPath: any PartialKeyPath<E> & Sendable
    @usableFromInline let isDescending: Bool
    /// Where the program names the property, because a computed property's key path does not know its name.
    let site: CallSite

    init(_ keyPath: any PartialKeyPath<E> & Sendable, isDescending: Bool, _ site: CallSite) {
        self.keyPath = keyPath
        self.isDescending = isDescending
        self.site = site
    }

    /// Smallest values first, nil before all.
    ///
    /// Complexity: O(1).
    public static func ascending<V: OrderedAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        file: StaticString = #fileID,
        line: UInt = #line
    ) -> Ordering {
        Ordering(keyPath, isDescending: false, CallSite(file, line))
    }

    /// Largest values first, nil after all.
    ///
    /// Complexity: O(1).
    public static func descending<V: OrderedAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        file: StaticString = #fileID,
        line: UInt = #line
    ) -> Ordering {
        Ordering(keyPath, isDescending: true, CallSite(file, line))
    }

    /// By the raw value, smallest first.
    ///
    /// Complexity: O(1).
    public static func ascending<V: RawRepresentable>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        file: StaticString = #fileID,
        line: UInt = #line
    ) -> Ordering where V.RawValue: OrderedAttributeValue {
        Ordering(keyPath, isDescending: false, CallSite(file, line))
    }

    /// By the raw value, largest first.
    ///
    /// Complexity: O(1).
    public static func descending<V: RawRepresentable>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        file: StaticString = #fileID,
        line: UInt = #line
    ) -> Ordering where V.RawValue: OrderedAttributeValue {
        Ordering(keyPath, isDescending: true, CallSite(file, line))
    }

    /// By the raw value, smallest first, nil before all.
    ///
    /// Complexity: O(1).
    public static func ascending<V: RawRepresentable>(
        _ keyPath: any KeyPath<E, V?> & Sendable,
        file: StaticString = #fileID,
        line: UInt = #line
    ) -> Ordering where V.RawValue: OrderedAttributeValue {
        Ordering(keyPath, isDescending: false, CallSite(file, line))
    }

    /// By the raw value, largest first, nil after all.
    ///
    /// Complexity: O(1).
    public static func descending<V: RawRepresentable>(
        _ keyPath: any KeyPath<E, V?> & Sendable,
        file: StaticString = #fileID,
        line: UInt = #line
    ) -> Ordering where V.RawValue: OrderedAttributeValue {
        Ordering(keyPath, isDescending: true, CallSite(file, line))
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
        /// Appends bytes in the same order as the values; no value's bytes begin with another's.
        let append: @Sendable (UnsafeRawPointer, inout ByteWriter) -> Bool
    }

    let criteria: [Criterion]

    /// - Throws: `GraphError.notOrdered` for a property that is computed, not stored.
    init<E>(_ orderings: [Ordering<E>], in entity: EntityDescription) throws(GraphError) {
        var criteria: [Criterion] = []
        for ordering in orderings {
            let keyPath: AnyKeyPath = ordering.keyPath
            guard let number = entity.properties.firstIndex(where: { ($0.keyPath as AnyKeyPath) == keyPath }),
                let key = entity.properties[number].operations.key
            else {
                throw .notOrdered(
                    entity.name(of: keyPath) ?? "\(keyPath.readable), in the ordering at \(ordering.site),")
            }
            criteria.append(
                Criterion(
                    property: number,
                    offset: entity.properties[number].offset,
                    isDescending: ordering.isDescending,
                    precedes: key.precedes,
                    append: key.append
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

extension EntityDescription {
    /// The entity and the property, `Person.address.city`; nil for a computed property, whose key path does not know its name.
    func name(of keyPath: AnyKeyPath) -> String? {
        if let property = properties.first(where: { ($0.keyPath as AnyKeyPath) == keyPath }) {
            return "\(name).\(property.name)"
        }
        let path = keyPath.readable
        guard let dot = path.firstIndex(of: "."), !path.contains("<computed") else { return nil }
        return name + path[dot...]
    }
}

extension AnyKeyPath {
    /// `\Person.name`, or `\Person.<computed (String)>` without the address that the key path of a computed property prints.
    fileprivate var readable: String {
        var parts = "\(self)".split(separator: "<computed 0x", omittingEmptySubsequences: false)
        for number in parts.indices.dropFirst() { parts[number] = parts[number].drop { $0.isHexDigit || $0 == " " } }
        return parts.joined(separator: "<computed ")
    }
}
