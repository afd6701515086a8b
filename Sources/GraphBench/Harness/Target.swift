/// What a workload is expected to reach; a workload meets its targets when it meets every one.
enum Target: Equatable, Sendable {
    /// At least so many times as fast (or as small) as SQLite.
    case timesSQLite(Double)
    /// At most so many times as slow (or as large) as the native code.
    case withinNative(Double)
    /// At most so many times as slow as Graph alone: see ``Baseline/alone``.
    case withinAlone(Double)
    /// At most so many times as slow (or as large) as with flat values: see ``Baseline/flat``.
    case withinFlat(Double)
    /// At most so many seconds or bytes.
    case atMost(Double, Workload.Limit)

    enum Verdict: String, Sendable {
        case met
        case missed
        /// A side that the target compares with was not measured.
        case unknown = "–"
    }

    var text: String {
        switch self {
        case .timesSQLite(let factor): "≥ \(Figures.limit(factor))x SQLite"
        case .withinNative(let factor): "≤ \(Figures.limit(factor))x native"
        case .withinAlone(let factor): "≤ \(Figures.limit(factor))x alone"
        case .withinFlat(let factor): "≤ \(Figures.limit(factor))x flat"
        case .atMost(let amount, .seconds): "≤ \(Figures.secondsLimit(amount))"
        case .atMost(let amount, .bytes): "≤ \(Figures.limit(amount)) B"
        }
    }

    /// - Parameter native: the figure in the native side's place, whichever side made it.
    func verdict(engine: Double?, sqlite: Double?, native: Double?) -> Verdict {
        guard let engine else { return .unknown }
        switch self {
        case .timesSQLite(let factor):
            guard let sqlite else { return .unknown }
            return sqlite >= factor * engine ? .met : .missed
        case .withinNative(let factor), .withinAlone(let factor), .withinFlat(let factor):
            guard let native else { return .unknown }
            return engine <= factor * native ? .met : .missed
        case .atMost(let amount, _):
            return engine <= amount ? .met : .missed
        }
    }

    /// Missed as soon as one is missed, met when all are.
    static func verdict(_ verdicts: [Verdict]) -> Verdict {
        if verdicts.contains(.missed) { return .missed }
        return verdicts.isEmpty || verdicts.contains(.unknown) ? .unknown : .met
    }

    /// How many were met.
    static func summary(_ verdicts: [Verdict]) -> String {
        let met = verdicts.count { $0 == .met }
        let missed = verdicts.count { $0 == .missed }
        return "\(met) met, \(missed) missed, \(verdicts.count - met - missed) without a verdict"
    }
}

extension Workload {
    /// The kind of an absolute limit.
    enum Limit: Sendable {
        case seconds
        case bytes
    }
}
