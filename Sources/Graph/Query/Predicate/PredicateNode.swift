#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A node of a predicate that Graph evaluates itself. A predicate is compiled if all its nodes are of this kind, which one cast of
/// its root finds out.
protocol PredicateNode: PredicateExpression {
    /// - Throws: `GraphError.predicateNotSupported`.
    func term(_ compiler: PredicateCompiler) throws -> Term<Output>
}

extension PredicateExpressions.Variable: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Output> {
        guard let slot = compiler.slots[key] else {
            throw GraphError.predicateNotSupported("a variable is used outside of the closure that declares it")
        }
        slot.useCount += 1
        let column = Column(slot: slot, property: nil, offset: 0)
        var term = Term(source: slot.source, column: column) {
            slot.address.assumingMemoryBound(to: Output.self).pointee
        }
        term.unwrapped = slot.unwrapped
        return term
    }
}

extension PredicateExpressions.KeyPath: PredicateNode where Root: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Output> {
        try compiler.member(keyPath, of: root.term(compiler))
    }
}

extension PredicateExpressions.Value: PredicateNode {
    func term(_ compiler: PredicateCompiler) -> Term<Output> { Term(constant: value) }
}

extension PredicateExpressions.NilLiteral: PredicateNode {
    func term(_ compiler: PredicateCompiler) -> Term<Output> { Term(constant: nil) }
}

// MARK: Comparisons

extension PredicateExpressions.Equal: PredicateNode where LHS: PredicateNode, RHS: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Bool> {
        try compiler.equal(lhs.term(compiler), rhs.term(compiler))
    }
}

extension PredicateExpressions.NotEqual: PredicateNode where LHS: PredicateNode, RHS: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Bool> {
        compiler.not(compiler.equal(try lhs.term(compiler), try rhs.term(compiler)))
    }
}

extension PredicateExpressions.Comparison: PredicateNode where LHS: PredicateNode, RHS: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Bool> {
        try compiler.compare(lhs.term(compiler), rhs.term(compiler), ComparisonKind(op))
    }
}

extension PredicateExpressions.RangeExpressionContains: PredicateNode
where RangeExpression: PredicateNode, Element: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Bool> {
        try compiler.isElement(element.term(compiler), in: range.term(compiler))
    }
}

extension PredicateExpressions.Range: PredicateNode where LHS: PredicateNode, RHS: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Output> {
        let term: Term<Output> = try lower.term(compiler).combined(with: upper.term(compiler)) { lower, upper in
            guard lower <= upper else { throw PredicateFailure("the range's lower bound is above its upper one") }
            return lower..<upper
        }
        return compiler.noting(term)
    }
}

extension PredicateExpressions.ClosedRange: PredicateNode where LHS: PredicateNode, RHS: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Output> {
        let term: Term<Output> = try lower.term(compiler).combined(with: upper.term(compiler)) { lower, upper in
            guard lower <= upper else { throw PredicateFailure("the range's lower bound is above its upper one") }
            return lower...upper
        }
        return compiler.noting(term)
    }
}

// MARK: Logic

extension PredicateExpressions.Conjunction: PredicateNode where LHS: PredicateNode, RHS: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Bool> {
        try compiler.and(lhs.term(compiler), rhs.term(compiler))
    }
}

extension PredicateExpressions.Disjunction: PredicateNode where LHS: PredicateNode, RHS: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Bool> {
        try compiler.or(lhs.term(compiler), rhs.term(compiler))
    }
}

extension PredicateExpressions.Negation: PredicateNode where Wrapped: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Bool> { compiler.not(try wrapped.term(compiler)) }
}

extension PredicateExpressions.Conditional: PredicateNode
where Test: PredicateNode, If: PredicateNode, Else: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Output> {
        let test = try test.term(compiler)
        let (first, second) = (try trueBranch.term(compiler), try falseBranch.term(compiler))
        let source = test.source.merged(with: first.source).merged(with: second.source)
        return Term(source: source) { try test.value() ? first.value() : second.value() }
    }
}

// MARK: Optionals

extension PredicateExpressions.NilCoalesce: PredicateNode where LHS: PredicateNode, RHS: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Output> {
        let (lhs, rhs) = (try lhs.term(compiler), try rhs.term(compiler))
        var term = Term(source: lhs.source.merged(with: rhs.source)) { try lhs.value() ?? rhs.value() }
        guard let value = rhs.constant else { return term }
        term.coalesced = lhs.column.map { ($0, value) }
        // `if let … else { false }` is such an expression.
        if let access = lhs.accessIfTrue, value as? Bool == false { term = compiler.condition(term, access) }
        return term
    }
}

extension PredicateExpressions.ForcedUnwrap: PredicateNode where Inner: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Output> {
        let term: Term<Output> = try inner.term(compiler).mapped { value in
            guard let value else { throw PredicateFailure("nil is unwrapped with !") }
            return value
        }
        return compiler.noting(term)
    }
}

extension PredicateExpressions.OptionalFlatMap: PredicateNode where LHS: PredicateNode, RHS: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Output> {
        let wrapped = try wrapped.term(compiler)
        let slot = compiler.addVariable(variable.key, of: Wrapped.self, wrapped.source)
        slot.unwrapped = wrapped.column
        let transform = try transform.term(compiler)
        var term = Term<Output>(source: wrapped.source.merged(with: transform.source)) {
            guard let value = try wrapped.value() else { return nil }
            let result = try slot.holding(value, transform.value)
            // `transform` has an optional of the result, or the result itself.
            return RHS.Output.self == Result.self ? (result as! Result) : (result as! Result?)
        }
        // What is known of another value's properties says nothing of the rows.
        if let access = (transform as? Term<Bool>)?.condition?.access, access.isOfRows(of: compiler.root) {
            term.accessIfTrue = access
        }
        return term
    }
}

// MARK: Casts

extension PredicateExpressions.ConditionalCast: PredicateNode where Input: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Output> {
        try input.term(compiler).mapped { $0 as? Desired }
    }
}

extension PredicateExpressions.ForceCast: PredicateNode where Input: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Output> {
        let term: Term<Output> = try input.term(compiler).mapped { value in
            guard let result = value as? Desired else {
                throw PredicateFailure("\(type(of: value)) is no \(Desired.self), which as! needs")
            }
            return result
        }
        return compiler.noting(term)
    }
}

extension PredicateExpressions.TypeCheck: PredicateNode where Input: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Output> {
        try input.term(compiler).mapped { $0 is Desired }
    }
}
