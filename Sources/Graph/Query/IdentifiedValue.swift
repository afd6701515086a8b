/// The value of an object with its identifier, as one fetch gives them: what a list shows, or a copy to edit, and which object it
/// belongs to.
///
/// ```swift
/// var draft = try snapshot.fetchIdentifiedValues(Person.self)[0]
/// draft.name = "Ada"                                            // changes the copy
/// try await context.transaction { [draft] in $0[draft.id]?.name = draft.name }
/// ```
///
/// The properties of the value are at hand as if they were its own, except those that are called `id` or `value`.
@dynamicMemberLookup
public struct IdentifiedValue<E: Entity>: Identifiable, Sendable {
    /// Identifies the object.
    public let id: PersistentID<E>
    /// The object's row as a plain value.
    public var value: E

    /// A value with the identifier of its object.
    @inlinable
    public init(id: PersistentID<E>, value: E) {
        self.id = id
        self.value = value
    }

    @inlinable
    init(_ row: RowNumber, at address: UnsafeRawPointer) {
        self.init(id: PersistentID(row: row), value: address.assumingMemoryBound(to: E.self).pointee)
    }

    /// A property of the value.
    @inlinable
    public subscript<V>(dynamicMember keyPath: KeyPath<E, V>) -> V { value[keyPath: keyPath] }

    /// A property of the value; a new one changes this copy and nothing else.
    @inlinable
    public subscript<V>(dynamicMember keyPath: WritableKeyPath<E, V>) -> V {
        get { value[keyPath: keyPath] }
        set { value[keyPath: keyPath] = newValue }
    }
}

extension IdentifiedValue: Equatable where E: Equatable {}

extension IdentifiedValue: Hashable where E: Hashable {}

extension IdentifiedValue: CustomStringConvertible {
    /// `Person/p26: ` and the value.
    public var description: String { "\(id): \(value)" }
}
