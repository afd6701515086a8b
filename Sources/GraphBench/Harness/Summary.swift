/// The median of several runs with their spread.
struct Summary: Equatable, Sendable {
    let median: Double
    let minimum: Double
    let maximum: Double

    init(median: Double, minimum: Double, maximum: Double) {
        self.median = median
        self.minimum = minimum
        self.maximum = maximum
    }

    /// - Precondition: there is at least one value.
    init(_ values: [Double]) {
        precondition(!values.isEmpty, "a summary of no runs")
        let sorted = values.sorted()
        let middle = sorted.count / 2
        median = sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
        minimum = sorted[0]
        maximum = sorted[sorted.count - 1]
    }
}
