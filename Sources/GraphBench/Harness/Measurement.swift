/// What one run of one contender gives back.
struct Measurement: Sendable {
    /// Seconds or bytes, for everything that was measured.
    let amount: Double
    /// By how many rows, commits or queries the amount is divided.
    let count: Int
    /// What the work came to; the answers of all contenders must be equal.
    let answer: UInt64

    var perUnit: Double { amount / Double(max(1, count)) }
}

/// Starts when it is made.
struct Stopwatch {
    private let start = ContinuousClock.now

    var seconds: Double { (ContinuousClock.now - start).inSeconds }
}

extension Duration {
    var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) * 1e-18
    }
}
