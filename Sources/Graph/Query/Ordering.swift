/// One criterion of a sort: a stored property and a direction.
///
/// Sort by stored properties with an order. A computed property compiles, but the fetch throws `GraphError.notOrdered`, which
/// says where the program names the property.
///
/// ```swift
/// try snapshot.fetchValues(Person.self, sortedBy: [.ascending(\.team, \.name), .descending(\.age), .ascending(\.name, ignoringCase: true)])
/// ```
///
/// The order is that of `OrderedAttributeValue`; rows that compare equal under all criteria come in the order of insertion. Fetches
/// follow an index where the criteria are the order that it has: properties of the objects themselves, nil first where they
/// ascend and last where they descend, with upper and lower case apart.
public struct Ordering<E: Entity>: Sendable {
    /// The references that lead to the property's object, and the property.
    let path: [any AnyKeyPath & Sendable]
    @usableFromInline let isDescending: Bool
    let nils: NilPlacement
    /// What is compared in place of the property's own keys.
    let foldedKey: KeyOperations?
    /// Where the program names the property, because a computed property's key path does not know its name.
    let site: CallSite

    init(
        _ path: [any AnyKeyPath & Sendable], isDescending: Bool, nils: NilPlacement? = nil,
        foldedKey: KeyOperations? = nil, _ site: CallSite
    ) {
        (self.path, self.isDescending, self.foldedKey, self.site) = (path, isDescending, foldedKey, site)
        self.nils = nils ?? (isDescending ? .last : .first)
    }

    /// Smallest values first.
    ///
    /// Complexity: O(1).
    public static func ascending<V: OrderedAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        nils: NilPlacement = .first,
        file: StaticString = #fileID,
        line: UInt = #line
    ) -> Ordering {
        Ordering([keyPath], isDescending: false, nils: nils, CallSite(file, line))
    }

    /// Largest values first.
    ///
    /// Complexity: O(1).
    public static func descending<V: OrderedAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        nils: NilPlacement = .last,
        file: StaticString = #fileID,
        line: UInt = #line
    ) -> Ordering {
        Ordering([keyPath], isDescending: true, nils: nils, CallSite(file, line))
    }

    /// By the raw value, smallest first.
    ///
    /// Complexity: O(1).
    public static func ascending<V: RawRepresentable>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        file: StaticString = #fileID,
        line: UInt = #line
    ) -> Ordering where V.RawValue: OrderedAttributeValue {
        Ordering([keyPath], isDescending: false, CallSite(file, line))
    }

    /// By the raw value, largest first.
    ///
    /// Complexity: O(1).
    public static func descending<V: RawRepresentable>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        file: StaticString = #fileID,
        line: UInt = #line
    ) -> Ordering where V.RawValue: OrderedAttributeValue {
        Ordering([keyPath], isDescending: true, CallSite(file, line))
    }

    /// By the raw value, smallest first.
    ///
    /// Complexity: O(1).
    public static func ascending<V: RawRepresentable>(
        _ keyPath: any KeyPath<E, V?> & Sendable,
        nils: NilPlacement = .first,
        file: StaticString = #fileID,
        line: UInt = #line
    ) -> Ordering where V.RawValue: OrderedAttributeValue {
        Ordering([keyPath], isDescending: false, nils: nils, CallSite(file, line))
    }

    /// By the raw value, largest first.
    ///
    /// Complexity: O(1).
    public static func descending<V: RawRepresentable>(
        _ keyPath: any KeyPath<E, V?> & Sendable,
        nils: NilPlacement = .last,
        file: StaticString = #fileID,
        line: UInt = #line
    ) -> Ordering where V.RawValue: OrderedAttributeValue {
        Ordering([keyPath], isDescending: true, nils: nils, CallSite(file, line))
    }

    /// By a text, from A to Z. With `ignoringCase`, texts are equal whose `lowercased()` are.
    ///
    /// Complexity: O(1).
    public static func ascending<V: OrderedAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        ignoringCase: Bool,
        nils: NilPlacement = .first,
        file: StaticString = #fileID,
        line: UInt = #line
    ) -> Ordering where V.NonOptional == String {
        Ordering(
            [keyPath], isDescending: false, nils: nils, foldedKey: ignoringCase ? V.lowercasedKey : nil,
            CallSite(file, line))
    }

    /// By a text, from Z to A. With `ignoringCase`, texts are equal whose `lowercased()` are.
    ///
    /// Complexity: O(1).
    public static func descending<V: OrderedAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        ignoringCase: Bool,
        nils: NilPlacement = .last,
        file: StaticString = #fileID,
        line: UInt = #line
    ) -> Ordering where V.NonOptional == String {
        Ordering(
            [keyPath], isDescending: true, nils: nils, foldedKey: ignoringCase ? V.lowercasedKey : nil,
            CallSite(file, line))
    }

    /// By a property of the object that a reference leads to, smallest first. Where it leads to none, that is nil.
    ///
    /// Complexity: O(1).
    public static func ascending<Target, V: OrderedAttributeValue>(
        _ reference: any KeyPath<E, ToOne<Target>> & Sendable,
        _ keyPath: any KeyPath<Target, V> & Sendable,
        nils: NilPlacement = .first,
        file: StaticString = #fileID,
        line: UInt = #line
    ) -> Ordering {
        through(reference, .ascending(keyPath, nils: nils, file: file, line: line))
    }

    /// By a property of the object that a reference leads to, largest first. Where it leads to none, that is nil.
    ///
    /// Complexity: O(1).
    public static func descending<Target, V: OrderedAttributeValue>(
        _ reference: any KeyPath<E, ToOne<Target>> & Sendable,
        _ keyPath: any KeyPath<Target, V> & Sendable,
        nils: NilPlacement = .last,
        file: StaticString = #fileID,
        line: UInt = #line
    ) -> Ordering {
        through(reference, .descending(keyPath, nils: nils, file: file, line: line))
    }

    /// As the objects that a reference leads to are ordered, perhaps through further references:
    /// `.through(\.team, .through(\.lead, .ascending(\.name)))`. Where it leads to none, that is nil.
    ///
    /// Complexity: O(1).
    public static func through<Target>(
        _ reference: any KeyPath<E, ToOne<Target>> & Sendable, _ ordering: Ordering<Target>
    ) -> Ordering {
        Ordering(
            [reference] + ordering.path, isDescending: ordering.isDescending, nils: ordering.nils,
            foldedKey: ordering.foldedKey, ordering.site)
    }
}

extension Ordering: CustomStringConvertible {
    /// `team.name descending`.
    public var description: String {
        let names = path.map { $0.readable.split(separator: ".").dropFirst().joined(separator: ".") }
        return names.joined(separator: ".") + (isDescending ? " descending" : "")
    }
}

/// Where a sort has the objects whose property is nil.
public enum NilPlacement: Sendable {
    /// Before all others.
    case first
    /// After all others.
    case last
}

extension OrderedAttributeValue where NonOptional == String {
    /// The keys of texts in lower case.
    fileprivate static var lowercasedKey: KeyOperations? {
        guard let key = attributeCodec.operations.key else { return nil }
        @Sendable func lowercased(_ address: UnsafeRawPointer) -> Self {
            let value = address.assumingMemoryBound(to: Self.self).pointee
            return nonOptional(value).map { including($0.lowercased()) } ?? value
        }
        return KeyOperations(
            append: { address, writer in withUnsafePointer(to: lowercased(address)) { key.append($0, &writer) } },
            precedes: { lhs, rhs in
                withUnsafePointer(to: lowercased(lhs)) { lhs in
                    withUnsafePointer(to: lowercased(rhs)) { key.precedes(lhs, $0) }
                }
            })
    }
}
