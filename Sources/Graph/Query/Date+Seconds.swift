#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Date {
    /// What searches compare. A date's own `<=` and `>=` negate `<`, so that they hold between NaN and every date; but in an index
    /// NaN is at the ends. So it is in no range, as it is in none of numbers.
    var seconds: Double { timeIntervalSinceReferenceDate }

    /// - Parameter value: a date.
    static func seconds<V>(_ value: V) -> Double { unsafeBitCast(value, to: Date.self).seconds }
}

/// A range of dates, which contains no NaN.
struct DateRange: Sendable {
    private let lower: Double?
    private let upper: Double?
    private let includesUpper: Bool

    /// nil if the bounds are no dates.
    init?<Bound>(_ bounds: (lower: Bound?, upper: Bound?, includesUpper: Bool)) {
        guard Bound.self == Date.self else { return nil }
        (lower, upper) = (bounds.lower.map(Date.seconds), bounds.upper.map(Date.seconds))
        includesUpper = bounds.includesUpper
    }

    var hasBoundsInOrder: Bool { lower?.isNaN != true && upper?.isNaN != true }

    /// - Parameter date: a date.
    func contains<V>(_ date: V) -> Bool {
        let seconds = Date.seconds(date)
        if let lower, !(seconds >= lower) { return false }
        return upper.map { seconds < $0 || includesUpper && seconds == $0 } ?? !seconds.isNaN
    }
}
