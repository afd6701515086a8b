#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// `#Predicate` cannot name other predicates; these put them together.

extension Predicate {
    /// What meets all of these predicates; everything, if there are none. They are asked in this order, and none after the first
    /// that is not met. Any number may be put together, one after the other too, but only 200 inside one another where `all`,
    /// `any` and `not` alternate: more are `GraphError/predicateNotSupported(_:)`.
    ///
    /// ```swift
    /// var conditions: [Predicate<Person>] = [#Predicate { $0.age >= 18 }]
    /// if let city { conditions.append(#Predicate { $0.city == city }) }
    /// let people = try snapshot.fetchValues(Person.self, where: .all(conditions))
    /// ```
    ///
    /// Complexity: O(*k*) for *k* predicates.
    public static func all<E: Entity>(_ predicates: [Predicate<E>]) -> Predicate<E> {
        Predicate<E> { CombinedPredicates(predicates: predicates, areAllNeeded: true, variable: $0) }
    }

    /// What meets all of these predicates.
    ///
    /// Complexity: O(*k*) for *k* predicates.
    public static func all<E: Entity>(_ predicates: Predicate<E>...) -> Predicate<E> { .all(predicates) }

    /// What meets any of these predicates; nothing, if there are none.
    ///
    /// Complexity: O(*k*) for *k* predicates.
    public static func any<E: Entity>(_ predicates: [Predicate<E>]) -> Predicate<E> {
        Predicate<E> { CombinedPredicates(predicates: predicates, areAllNeeded: false, variable: $0) }
    }

    /// What meets any of these predicates.
    ///
    /// Complexity: O(*k*) for *k* predicates.
    public static func any<E: Entity>(_ predicates: Predicate<E>...) -> Predicate<E> { .any(predicates) }

    /// What does not meet a predicate.
    ///
    /// Complexity: O(1).
    public static func not<E: Entity>(_ predicate: Predicate<E>) -> Predicate<E> {
        Predicate<E> {
            PredicateExpressions.build_Negation(
                CombinedPredicates(predicates: [predicate], areAllNeeded: true, variable: $0))
        }
    }
}

/// Predicates about the same object.
private struct CombinedPredicates<E: Entity>: StandardPredicateExpression {
    /// What is deeper could use up a thread's stack.
    private static var deepest: Int { 200 }

    let predicates: [Predicate<E>]
    let areAllNeeded: Bool
    let variable: PredicateExpressions.Variable<E>
    /// How many of these are inside one another, this one included.
    private let depth: Int

    /// Takes the parts of predicates that are put together in the same way instead of these, so that conditions which are added
    /// one by one lie side by side.
    init(predicates: [Predicate<E>], areAllNeeded: Bool, variable: PredicateExpressions.Variable<E>) {
        (self.areAllNeeded, self.variable) = (areAllNeeded, variable)
        var (parts, depth): ([Predicate<E>], Int) = ([], 1)
        for predicate in predicates {
            if let other = predicate.expression as? CombinedPredicates, other.areAllNeeded == areAllNeeded {
                parts += other.predicates
                depth = max(depth, other.depth)
            } else {
                parts.append(predicate)
                depth = max(depth, 1 + Self.depth(of: predicate))
            }
        }
        (self.predicates, self.depth) = (parts, depth)
    }

    private static func depth(of predicate: Predicate<E>) -> Int {
        switch predicate.expression {
        case let combined as CombinedPredicates: combined.depth
        case let negated as PredicateExpressions.Negation<CombinedPredicates>: negated.wrapped.depth
        default: 0
        }
    }

    private func requireDepth() throws {
        guard depth <= Self.deepest else {
            throw GraphError.predicateNotSupported(
                "it is put together of others that are more than \(Self.deepest) inside one another")
        }
    }

    func evaluate(_ bindings: PredicateBindings) throws -> Bool {
        try requireDepth()
        let value = try variable.evaluate(bindings)
        return areAllNeeded
            ? try predicates.allSatisfy { try $0.evaluate(value) } : try predicates.contains { try $0.evaluate(value) }
    }

    // A predicate's nodes must be Codable. Foundation's archives know Foundation's nodes only.

    init(from decoder: any Decoder) throws { throw GraphError.predicateNotSupported("it is put together of others") }

    func encode(to encoder: any Encoder) throws {
        throw GraphError.predicateNotSupported("it is put together of others, which have to be encoded")
    }
}

extension CombinedPredicates: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Bool> {
        try requireDepth()
        let terms = try predicates.map { predicate in
            compiler.name(predicate.variable.key, as: variable.key)
            return try compiler.term(of: predicate.expression)
        }
        return terms.isEmpty ? Term(constant: areAllNeeded) : joined(terms[...], compiler)
    }

    /// By halves, so that thousands of predicates are no deeper than a dozen.
    private func joined(_ terms: ArraySlice<Term<Bool>>, _ compiler: PredicateCompiler) -> Term<Bool> {
        guard terms.count > 1 else { return terms[terms.startIndex] }
        let middle = terms.startIndex + terms.count / 2
        let (left, right) = (joined(terms[..<middle], compiler), joined(terms[middle...], compiler))
        return areAllNeeded ? compiler.and(left, right) : compiler.or(left, right)
    }
}
