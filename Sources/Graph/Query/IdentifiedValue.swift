/// An object's value together with its identifier: an item of a list, or a copy to edit that still names its object.
///
/// ```swift
/// var draft = try snapshot.fetchIdentifiedValues(Person.self)[0]
/// draft.name = "Ada"                                            // changes the copy
/// try await context.transaction { [draft] in $0[draft.id]?.name = draft.name }
/// ```
///
/// It has the value's properties as its own, except those that are called `id` or `value`.
@dynamicMemberLookup
public struct IdentifiedValue<E: Entity>: Identifiable, Sendable {
    /// Identifies the object.
    public let id: PersistentID<E>
    /// The object's row as a plain value.
    public var value: E

    /// A value with the identifier of its object.
    ///
    /// Complexity: O(1).
    @inlinable
    public init(id: PersistentID<E>, value: E) {
        self.id = id
        self.value = value
    }

    /// A property of the value.
    ///
    /// Complexity: O(1).
    @inlinable
    public subscript<V>(dynamicMember keyPath: KeyPath<E, V>) -> V { value[keyPath: keyPath] }

    /// A property of the value. Writing it changes this copy and nothing else.
    ///
    /// Complexity: O(1).
    @inlinable
    public subscript<V>(dynamicMember keyPath: WritableKeyPath<E, V>) -> V {
        get { value[keyPath: keyPath] }
        set { value[keyPath: keyPath] = newValue }
    }
}

extension IdentifiedValue: Equatable where E: Equatable {}

extension IdentifiedValue: Hashable where E: Hashable {}

extension IdentifiedValue: CustomStringConvertible {
    /// The identifier and the value: `Person/p26: ` and the value's own description.
    public var description: String { "\(id): \(value)" }
}
