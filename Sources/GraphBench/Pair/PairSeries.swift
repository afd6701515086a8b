/// Two sides of one workload, measured in turn: what slows the machine down for a while slows both.
struct PairSeries: Sendable {
    enum Verdict: String, Sendable {
        case faster
        case slower
        case same
    }

    /// One run of one side.
    struct Figure: Equatable, Sendable {
        /// For one unit of the workload.
        let amount: Double
        let answer: UInt64
    }

    /// Measures the run of a number; 0 is the warm-up.
    typealias Run = (_ number: Int) async throws -> Figure

    /// Ratios within this factor of 1 are no difference.
    static let leastFactor = 1.05

    private(set) var this: [Double] = []
    private(set) var other: [Double] = []
    /// Answers that differ, one sentence for each.
    private(set) var mismatches: [String] = []

    /// Warms both sides up and measures so many pairs: this side first, then the other one first, and so on.
    static func measure(
        pairs: Int, this: Run, other: Run, progress: (_ pair: Int) -> Void = { _ in }
    ) async throws -> PairSeries {
        var series = PairSeries()
        for number in 0...pairs {
            progress(number)
            let figures: (this: Figure, other: Figure)
            if number.isMultiple(of: 2) {
                let first = try await other(number)
                figures = (try await this(number), first)
            } else {
                let first = try await this(number)
                figures = (first, try await other(number))
            }
            series.add(number, figures.this, figures.other)
        }
        return series
    }

    mutating func add(_ number: Int, _ this: Figure, _ other: Figure) {
        if this.answer != other.answer {
            mismatches.append("run \(number): \(this.answer) and \(other.answer)")
        }
        guard number > 0 else { return }
        self.this.append(this.amount)
        self.other.append(other.amount)
    }

    /// How many times as fast or as small as the other side this one is, of each pair.
    ///
    /// - Precondition: there is at least one pair.
    var ratios: Quartiles { Quartiles(zip(this, other).map { $1 / $0 }) }

    /// A difference counts if the middle half of the ratios is beyond it.
    var verdict: Verdict {
        let ratios = ratios
        if ratios.lower > Self.leastFactor { return .faster }
        return ratios.upper < 1 / Self.leastFactor ? .slower : .same
    }
}
