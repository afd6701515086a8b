#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An operator that compares by order.
enum ComparisonKind {
    case less, lessOrEqual, greater, greaterOrEqual

    init(_ operation: PredicateExpressions.ComparisonOperator) throws {
        self =
            switch operation {
            case .lessThan: .less
            case .lessThanOrEqual: .lessOrEqual
            case .greaterThan: .greater
            case .greaterThanOrEqual: .greaterOrEqual
            @unknown default: throw GraphError.predicateNotSupported("the operator \(operation)")
            }
    }

    /// The same comparison with its sides swapped.
    var swapped: ComparisonKind {
        switch self {
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        }
    }

    func function<V: Comparable>(for type: V.Type) -> (V, V) -> Bool {
        if type == String.self {
            let compare = function { NormalForm.precedes($0, $1) }
            return { compare(unsafeBitCast($0, to: String.self), unsafeBitCast($1, to: String.self)) }
        }
        if type == Date.self {
            let compare = function(for: Double.self)
            return { compare(Date.seconds($0), Date.seconds($1)) }
        }
        return switch self {
        case .less: { $0 < $1 }
        case .lessOrEqual: { $0 <= $1 }
        case .greater: { $0 > $1 }
        case .greaterOrEqual: { $0 >= $1 }
        }
    }

    /// The comparison in a total order.
    private func function(_ precedes: @escaping (String, String) -> Bool) -> (String, String) -> Bool {
        switch self {
        case .less: { precedes($0, $1) }
        case .lessOrEqual: { !precedes($1, $0) }
        case .greater: { precedes($1, $0) }
        case .greaterOrEqual: { !precedes($0, $1) }
        }
    }

    /// The keys of values that compare so with one that has these keys, and whether only those values have them: the keys of NaN,
    /// which compares with nothing, are at the ends.
    func range(_ key: PropertyKey) -> (KeyRange, isExact: Bool) {
        switch self {
        case .less: (KeyRange(from: [], upTo: key.first, includesUpper: false), key.isExact)
        case .lessOrEqual: (KeyRange(from: [], upTo: key.last, includesUpper: true), key.isExact)
        // Behind all entries with the key, which end with eight bytes of a row number.
        case .greater:
            (KeyRange(from: key.last + repeatElement(.max, count: 9), upTo: nil, includesUpper: true), key.isExact)
        case .greaterOrEqual: (KeyRange(from: key.first, upTo: nil, includesUpper: true), key.isExact)
        }
    }
}

/// Tests of one property against a value. The common types have loops of their own; others ask their type's operators.
extension PredicateCompiler {
    func equality<V: Equatable>(_ offset: Int, _ value: V) -> RowCondition {
        if V.self == Int.self { return Self.equals(offset, unsafeBitCast(value, to: Int.self)) }
        if V.self == String.self { return Self.equals(offset, unsafeBitCast(value, to: String.self)) }
        if V.self == Bool.self { return Self.equals(offset, unsafeBitCast(value, to: Bool.self)) }
        if V.self == Double.self { return Self.equals(offset, unsafeBitCast(value, to: Double.self)) }
        if V.self == Date.self { return Self.equals(offset, unsafeBitCast(value, to: Date.self)) }
        if V.self == UUID.self { return Self.equals(offset, unsafeBitCast(value, to: UUID.self)) }
        if V.self == Int64.self { return Self.equals(offset, unsafeBitCast(value, to: Int64.self)) }
        if V.self == Int32.self { return Self.equals(offset, unsafeBitCast(value, to: Int32.self)) }
        if V.self == Int?.self { return Self.equals(offset, unsafeBitCast(value, to: Int?.self)) }
        if V.self == String?.self { return Self.equals(offset, unsafeBitCast(value, to: String?.self)) }
        if V.self == Double?.self { return Self.equals(offset, unsafeBitCast(value, to: Double?.self)) }
        if V.self == Date?.self { return Self.equals(offset, unsafeBitCast(value, to: Date?.self)) }
        if let target = value as? any ObjectIdentifying, V.self is any RelationshipValue.Type {
            return Self.equals(offset, target.rowNumber)
        }
        return RowCondition(at: offset, FunctionTest<V> { $0 == value })
    }

    func order<V: Comparable>(_ offset: Int, _ kind: ComparisonKind, _ value: V) -> RowCondition {
        if V.self == Int.self { return Self.compares(offset, kind, unsafeBitCast(value, to: Int.self)) }
        if V.self == Double.self { return Self.compares(offset, kind, unsafeBitCast(value, to: Double.self)) }
        if V.self == Date.self { return Self.dates(offset, kind, Date.seconds(value)) }
        if V.self == Int64.self { return Self.compares(offset, kind, unsafeBitCast(value, to: Int64.self)) }
        if V.self == Int32.self { return Self.compares(offset, kind, unsafeBitCast(value, to: Int32.self)) }
        if V.self == Float.self { return Self.compares(offset, kind, unsafeBitCast(value, to: Float.self)) }
        let compare = kind.function(for: V.self)
        return RowCondition(at: offset, FunctionTest<V> { compare($0, value) })
    }

    @inline(__always)
    private static func equals<V: Equatable>(_ offset: Int, _ value: V) -> RowCondition {
        RowCondition(at: offset, Equals(value: value))
    }

    private static func dates(_ offset: Int, _ kind: ComparisonKind, _ seconds: Double) -> RowCondition {
        switch kind {
        case .less: RowCondition(at: offset, DateTest(test: Less(value: seconds)))
        case .lessOrEqual: RowCondition(at: offset, DateTest(test: LessOrEqual(value: seconds)))
        case .greater: RowCondition(at: offset, DateTest(test: Greater(value: seconds)))
        case .greaterOrEqual: RowCondition(at: offset, DateTest(test: GreaterOrEqual(value: seconds)))
        }
    }

    @inline(__always)
    private static func compares<V: Comparable>(_ offset: Int, _ kind: ComparisonKind, _ value: V) -> RowCondition {
        switch kind {
        case .less: RowCondition(at: offset, Less(value: value))
        case .lessOrEqual: RowCondition(at: offset, LessOrEqual(value: value))
        case .greater: RowCondition(at: offset, Greater(value: value))
        case .greaterOrEqual: RowCondition(at: offset, GreaterOrEqual(value: value))
        }
    }
}

private struct DateTest<Test: PropertyTest>: PropertyTest where Test.Value == Double {
    let test: Test
    func matches(_ date: Date) -> Bool { test.matches(date.seconds) }
}

private struct Equals<Value: Equatable>: PropertyTest {
    let value: Value
    func matches(_ other: Value) -> Bool { other == value }
}

private struct Less<Value: Comparable>: PropertyTest {
    let value: Value
    func matches(_ other: Value) -> Bool { other < value }
}

private struct LessOrEqual<Value: Comparable>: PropertyTest {
    let value: Value
    func matches(_ other: Value) -> Bool { other <= value }
}

private struct Greater<Value: Comparable>: PropertyTest {
    let value: Value
    func matches(_ other: Value) -> Bool { other > value }
}

private struct GreaterOrEqual<Value: Comparable>: PropertyTest {
    let value: Value
    func matches(_ other: Value) -> Bool { other >= value }
}

struct HasPrefix: PropertyTest {
    let prefix: String
    func matches(_ text: String) -> Bool { text.hasCharacters(prefix) }
}
