#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// Arithmetic that fails where Swift's own operators would stop the program.

extension PredicateExpressions.Arithmetic: PredicateNode where LHS: PredicateNode, RHS: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Output> {
        let (lhs, rhs) = (try lhs.term(compiler), try rhs.term(compiler))
        if let type = Output.self as? any FixedWidthInteger.Type { return compiler.noting(checked(type, lhs, rhs)) }
        return switch op {
        case .multiply where Output.self == Decimal.self:
            compiler.noting(lhs.combined(with: rhs) { try product($0, $1) })
        case .add: lhs.combined(with: rhs) { $0 + $1 }
        case .subtract: lhs.combined(with: rhs) { $0 - $1 }
        case .multiply: lhs.combined(with: rhs) { $0 * $1 }
        @unknown default: throw GraphError.predicateNotSupported("the operator \(op)")
        }
    }

    private func checked<I: FixedWidthInteger>(_ type: I.Type, _ lhs: Term<Output>, _ rhs: Term<Output>) -> Term<Output>
    {
        switch op {
        case .add:
            lhs.combined(with: rhs) { try checkedResult(of: "+", type, $0, $1) { $0.addingReportingOverflow($1) } }
        case .subtract:
            lhs.combined(with: rhs) { try checkedResult(of: "-", type, $0, $1) { $0.subtractingReportingOverflow($1) } }
        default:
            lhs.combined(with: rhs) {
                try checkedResult(of: "*", type, $0, $1) { $0.multipliedReportingOverflow(by: $1) }
            }
        }
    }
}

extension PredicateExpressions.UnaryMinus: PredicateNode where Wrapped: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Output> {
        let wrapped = try wrapped.term(compiler)
        if let type = Output.self as? any FixedWidthInteger.Type { return compiler.noting(checked(type, wrapped)) }
        return wrapped.mapped { -$0 }
    }

    private func checked<I: FixedWidthInteger>(_ type: I.Type, _ wrapped: Term<Output>) -> Term<Output> {
        wrapped.mapped { value in
            try checkedResult(of: "-", type, .zero, value) { $0.subtractingReportingOverflow($1) }
        }
    }
}

extension PredicateExpressions.IntDivision: PredicateNode where LHS: PredicateNode, RHS: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Output> {
        let (lhs, rhs) = (try lhs.term(compiler), try rhs.term(compiler))
        return compiler.noting(division("/", lhs, rhs, { $0 / $1 }, IntegerDivision(remainder: false)))
    }
}

extension PredicateExpressions.IntRemainder: PredicateNode where LHS: PredicateNode, RHS: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Output> {
        let (lhs, rhs) = (try lhs.term(compiler), try rhs.term(compiler))
        return compiler.noting(division("%", lhs, rhs, { $0 % $1 }, IntegerDivision(remainder: true)))
    }
}

extension PredicateExpressions.FloatDivision: PredicateNode where LHS: PredicateNode, RHS: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Output> {
        try lhs.term(compiler).combined(with: rhs.term(compiler)) { $0 / $1 }
    }
}

private struct IntegerDivision {
    let remainder: Bool

    func callAsFunction<I: FixedWidthInteger>(_ lhs: I, _ rhs: I) -> (I, Bool) {
        let result = remainder ? lhs.remainderReportingOverflow(dividingBy: rhs) : lhs.dividedReportingOverflow(by: rhs)
        return (result.partialValue, result.overflow)
    }
}

private func division<N: BinaryInteger>(
    _ name: String, _ lhs: Term<N>, _ rhs: Term<N>, _ plain: @escaping (N, N) -> N, _ division: IntegerDivision
) -> Term<N> {
    func checked<I: FixedWidthInteger>(_ type: I.Type) -> Term<N> {
        lhs.combined(with: rhs) { lhs, rhs in
            guard rhs != 0 else { throw PredicateFailure("\(lhs) \(name) 0 is a division by zero") }
            return try checkedResult(of: name, type, lhs, rhs) { division($0, $1) }
        }
    }
    if let type = N.self as? any FixedWidthInteger.Type { return checked(type) }
    return lhs.combined(with: rhs) { lhs, rhs in
        guard rhs != 0 else { throw PredicateFailure("\(lhs) \(name) 0 is a division by zero") }
        return plain(lhs, rhs)
    }
}

/// FoundationEssentials' `*` stops the program where the exponent of a product, before zeros at its end are dropped, is below the
/// smallest one.
///
/// - Precondition: `N` is `Decimal`.
private func product<N: Numeric>(_ lhs: N, _ rhs: N) throws -> N {
    let (left, right) = (unsafeBitCast(lhs, to: Decimal.self), unsafeBitCast(rhs, to: Decimal.self))
    let exponent = left.exponent + right.exponent
    guard exponent < Int(Int8.min), left.isNormal, right.isNormal else { return lhs * rhs }
    let digits = (left.significand * right.significand).magnitude
    guard exponent + digits.exponent >= Int(Int8.min) else {
        throw PredicateFailure("\(left) * \(right) has more decimal places than Decimal")
    }
    let result = Decimal(sign: left.sign == right.sign ? .plus : .minus, exponent: exponent, significand: digits)
    return unsafeBitCast(result, to: N.self)
}

/// - Precondition: `I` and `N` are the same type.
private func checkedResult<I: FixedWidthInteger, N>(
    of name: String, _ type: I.Type, _ lhs: N, _ rhs: N, _ operation: (I, I) -> (partialValue: I, overflow: Bool)
) throws -> N {
    let (left, right) = (unsafeBitCast(lhs, to: I.self), unsafeBitCast(rhs, to: I.self))
    let (result, overflow) = operation(left, right)
    guard !overflow else { throw PredicateFailure("\(left) \(name) \(right) overflows \(type)") }
    return unsafeBitCast(result, to: N.self)
}
