/// The middle of several figures, and the middle half of them.
struct Quartiles: Equatable, Sendable {
    let lower: Double
    let median: Double
    let upper: Double

    /// Between two figures a quartile lies where the line between them is.
    ///
    /// - Precondition: there is at least one figure.
    init(_ figures: [Double]) {
        precondition(!figures.isEmpty, "quartiles of no figures")
        let sorted = figures.sorted()
        func quantile(_ share: Double) -> Double {
            let place = share * Double(sorted.count - 1)
            let below = Int(place)
            let above = min(below + 1, sorted.count - 1)
            return sorted[below] + (sorted[above] - sorted[below]) * (place - Double(below))
        }
        lower = quantile(0.25)
        median = quantile(0.5)
        upper = quantile(0.75)
    }
}
