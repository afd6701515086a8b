private import Synchronization

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A predicate that asks for one value of one property, such as `$0.email == email`, which programs ask again and again: it is
/// looked up as by ``Snapshot/first(_:equals:)``, without being compiled.
private protocol EqualityLookup: SendableMetatype {
    func firstRow(in snapshot: Snapshot) -> FoundRow?
    /// Whether equal values have equal keys.
    var isPossible: Bool { get }
}

/// Looks up what an expression of one type asks for. Nil if it cannot be looked up.
private typealias Lookup = @Sendable (any StandardPredicateExpression<Bool>, Snapshot) -> FoundRow??

/// By type of expression. To ask Swift whether a type conforms takes longer than a look-up in an index.
private let lookups = Mutex<[ObjectIdentifier: Lookup]>([:])

private func makeLookup(_ expression: any StandardPredicateExpression<Bool>) -> Lookup {
    func lookup<Expression: EqualityLookup>(_ expression: Expression) -> Lookup {
        { expression, snapshot in
            guard let expression = expression as? Expression, expression.isPossible else { return nil }
            return .some(expression.firstRow(in: snapshot))
        }
    }
    guard let expression = expression as? any EqualityLookup else { return { _, _ in nil } }
    return lookup(expression)
}

extension Snapshot {
    /// The first row that a predicate finds, if that is a look-up; else nil.
    @usableFromInline
    func lookUp(_ expression: any StandardPredicateExpression<Bool>) -> FoundRow?? {
        let type = ObjectIdentifier(Swift.type(of: expression))
        let lookup = lookups.withLock { lookups in
            if let known = lookups[type] { return known }
            let made = makeLookup(expression)
            lookups[type] = made
            return made
        }
        return lookup(expression, self)
    }
}

extension FetchDescriptor {
    /// The expression of a fetch of one object by nothing else.
    var onlyExpression: (any StandardPredicateExpression<Bool>)? {
        guard sortBy.isEmpty, after == nil, fetchOffset == 0, fetchLimit != 0 else { return nil }
        return predicate?.expression
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
    fileprivate func firstRow(in snapshot: Snapshot) -> FoundRow? { snapshot.firstRow(lhs.keyPath, equals: rhs.value) }

    fileprivate var isPossible: Bool { !hasOwnEquality(rhs.value) }
}

/// Whether a type may call values equal whose raw values, and so their keys, are not.
func hasOwnEquality<V>(_ value: V) -> Bool {
    let type = (V.self as? any OptionalValue.Type)?.wrappedType ?? V.self
    guard type is any RawRepresentable.Type else { return false }
    let mirror = Mirror(reflecting: value)
    let wrapped = mirror.displayStyle == .optional ? mirror.children.first.map { Mirror(reflecting: $0.value) } : mirror
    return wrapped?.displayStyle != .enum
}
