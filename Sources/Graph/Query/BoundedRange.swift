#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The ranges whose bounds an index can be searched for.
protocol BoundedRange<Bound> {
    associatedtype Bound: Comparable
    var bounds: (lower: Bound?, upper: Bound?, includesUpper: Bool) { get }
}

extension RangeExpression {
    /// Whether such a range contains a value. Texts and dates compare with its bounds as in all conditions, which is otherwise than by
    /// their own operators.
    static var containment: (Self, Bound) -> Bool {
        guard Bound.self == String.self || Bound.self == Date.self, let type = self as? any BoundedRange<Bound>.Type
        else {
            return { $0.contains($1) }
        }
        return containment(type)
    }

    /// - Parameter type: this type.
    private static func containment<R: BoundedRange<Bound>>(_ type: R.Type) -> (Self, Bound) -> Bool {
        let isAtLeast = ComparisonKind.greaterOrEqual.function(for: Bound.self)
        let isAtMost = ComparisonKind.lessOrEqual.function(for: Bound.self)
        let isBelow = ComparisonKind.less.function(for: Bound.self)
        return { range, value in
            let bounds = unsafeBitCast(range, to: R.self).bounds
            if let lower = bounds.lower, !isAtLeast(value, lower) { return false }
            return bounds.upper.map { (bounds.includesUpper ? isAtMost : isBelow)(value, $0) } ?? true
        }
    }
}

extension Range: BoundedRange {
    var bounds: (lower: Bound?, upper: Bound?, includesUpper: Bool) { (lowerBound, upperBound, false) }
}

extension ClosedRange: BoundedRange {
    var bounds: (lower: Bound?, upper: Bound?, includesUpper: Bool) { (lowerBound, upperBound, true) }
}

extension PartialRangeFrom: BoundedRange {
    var bounds: (lower: Bound?, upper: Bound?, includesUpper: Bool) { (lowerBound, nil, true) }
}

extension PartialRangeUpTo: BoundedRange {
    var bounds: (lower: Bound?, upper: Bound?, includesUpper: Bool) { (nil, upperBound, false) }
}

extension PartialRangeThrough: BoundedRange {
    var bounds: (lower: Bound?, upper: Bound?, includesUpper: Bool) { (nil, upperBound, true) }
}
