#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A predicate that asks for one value of one property, such as `$0.email == email`, which programs ask again and again: it is
/// looked up as by ``Snapshot/first(_:equals:)``, without being compiled.
protocol EqualityLookup {
    /// Nil if there is none.
    func firstRow(in snapshot: Snapshot) -> RowNumber?
    /// Whether equal values have equal keys.
    var isPossible: Bool { get }
}

extension FetchDescriptor {
    /// The look-up that the fetch of one object comes to; nil if it takes more than that.
    var equalityLookup: (any EqualityLookup)? {
        guard sortBy.isEmpty, after == nil, fetchOffset == 0, includesPendingChanges, fetchLimit != 0, let predicate,
            let lookup = predicate.expression as? any EqualityLookup, lookup.isPossible
        else { return nil }
        return lookup
    }
}

/// The variable of a predicate about an entity.
protocol EntityVariable<Output>: PredicateExpression where Output: Entity {}

extension PredicateExpressions.Variable: EntityVariable where Output: Entity {}

/// A property of the predicate's own rows.
protocol PropertyNode<Output>: PredicateExpression {
    associatedtype Root: EntityVariable
    var keyPath: any KeyPath<Root.Output, Output> & Sendable { get }
}

extension PredicateExpressions.KeyPath: PropertyNode where Root: EntityVariable {}

protocol ConstantNode<Output>: PredicateExpression {
    var value: Output { get }
}

extension PredicateExpressions.Value: ConstantNode {}

extension PredicateExpressions.Equal: EqualityLookup where LHS: PropertyNode, RHS: ConstantNode {
    var condition: PropertyCondition<LHS.Root.Output, LHS.Output> {
        PropertyCondition(lhs.keyPath, equals: rhs.value)
    }

    func firstRow(in snapshot: Snapshot) -> RowNumber? { snapshot.firstRow(condition) }

    var isPossible: Bool { !hasOwnEquality(rhs.value) }
}

/// Whether a type may call values equal whose raw values, and so their keys, are not.
func hasOwnEquality<V>(_ value: V) -> Bool {
    let type = (V.self as? any OptionalValue.Type)?.wrappedType ?? V.self
    guard type is any RawRepresentable.Type else { return false }
    let mirror = Mirror(reflecting: value)
    let wrapped = mirror.displayStyle == .optional ? mirror.children.first.map { Mirror(reflecting: $0.value) } : mirror
    return wrapped?.displayStyle != .enum
}
