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
