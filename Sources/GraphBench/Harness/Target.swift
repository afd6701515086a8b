/// What a workload is expected to reach; a workload meets its targets when it meets every one.
enum Target: Equatable, Sendable {
    /// At least so many times as fast (or as small) as SQLite.
    case timesSQLite(Double)
    /// At most so many times as slow (or as large) as the side in native Swift's place.
    case within(Double, Baseline)
    /// At least so many times as fast (or as small) as that side.
    case times(Double, Baseline)
    /// At most so many seconds slower than that side.
    case atMostMore(Double, than: Baseline)
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
        case .within(let factor, let baseline): "≤ \(Figures.limit(factor))x \(baseline.word)"
        case .times(let factor, let baseline): "≥ \(Figures.limit(factor))x \(baseline.word)"
        case .atMostMore(let seconds, let baseline): "≤ \(baseline.word) + \(Figures.secondsLimit(seconds))"
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
        case .within(let factor, _):
            guard let native else { return .unknown }
            return engine <= factor * native ? .met : .missed
        case .times(let factor, _):
            guard let native else { return .unknown }
            return native >= factor * engine ? .met : .missed
        case .atMostMore(let seconds, _):
            guard let native else { return .unknown }
            return engine <= native + seconds ? .met : .missed
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
