import Foundation

/// A logarithmic axis between round numbers, with 1 on it.
struct LogScale: Sendable {
    let ticks: [Double]
    private let start: Double
    private let end: Double

    /// - Parameters:
    ///   - values: what has to fit; those that are no positive numbers are left out.
    ///   - start: where the axis begins on paper.
    ///   - end: where it ends.
    init(covering values: [Double], from start: Double, to end: Double) {
        let exponents = values.filter { $0 > 0 && $0.isFinite }.map(log10) + [0]
        // One step of 1, 2, 5 beyond decades is enough: bars should use the width there is.
        let steps = (-12...12).flatMap { decade in [1.0, 2, 5].map { $0 * pow(10, Double(decade)) } }
        let least = pow(10, exponents.min() ?? 0)
        let most = pow(10, exponents.max() ?? 0)
        let lowest = steps.last { $0 <= least * 1.000_001 } ?? 1e-12
        let highest = steps.first { $0 >= most * 0.999_999 && $0 > lowest } ?? 5e12
        let inside = steps.filter { $0 >= lowest * 0.999_999 && $0 <= highest * 1.000_001 }
        let decades = inside.filter { abs(log10($0) - log10($0).rounded()) < 1e-9 }
        ticks = inside.count <= 10 ? inside : decades
        self.start = start
        self.end = end
        bounds = (log10(lowest), log10(highest))
    }

    private let bounds: (Double, Double)

    /// Where a value is on paper; at an end of the axis if it is beyond it.
    func position(_ value: Double) -> Double {
        guard value > 0 else { return start }
        let share = (log10(value) - bounds.0) / (bounds.1 - bounds.0)
        return start + min(1, max(0, share)) * (end - start)
    }
}
