import Foundation

/// What a server was seen to do under mixed work for some minutes.
struct SoakReport: Sendable {
    /// A kind of work.
    enum Work: String, CaseIterable, Sendable {
        case read = "reads of a snapshot"
        case commit = "durable commits, ten writers"
        case transaction = "serializable transactions"
        case list = "a list on the main actor"
        case undo = "undo of a save, saved"
        case cancellation = "transactions cancelled"
        case sync = "bare syncs beside it"
    }

    /// What there was at one second.
    struct Sample: Sendable {
        let second: Int
        let commits: Int
        let residentBytes: Int
    }

    var latencies: [Work: LatencyHistogram] = [:]
    var samples: [Sample] = []
    /// What should not have happened, one sentence for each.
    var faults: [String] = []
    var conflicts = 0
    var compactions = 0

    mutating func add(_ work: Work, seconds: Double) {
        latencies[work, default: LatencyHistogram()].add(seconds: seconds)
    }

    mutating func add(_ other: SoakReport) {
        for (work, histogram) in other.latencies { latencies[work, default: LatencyHistogram()].add(histogram) }
        faults += other.faults
        conflicts += other.conflicts
    }

    // MARK: Targets

    /// The resident memory at the end through that after the first minute, or the first half of a shorter run: means of ten
    /// seconds.
    var growth: Double? {
        let first = min(60, samples.count / 2)
        guard first >= 10 else { return nil }
        func mean(_ part: ArraySlice<Sample>) -> Double {
            part.reduce(0) { $0 + Double($1.residentBytes) } / Double(part.count)
        }
        return mean(samples.suffix(10)) / mean(samples[first - 10..<first])
    }

    /// Within 5 %: less is no fault.
    var keepsItsMemory: Bool { (growth ?? 1) <= 1.05 }

    /// The slowest hundredth of the durable commits, through their median and through the slowest hundredth of bare syncs.
    var tail: (overMedian: Double, overSyncs: Double) {
        let commits = latencies[.commit] ?? LatencyHistogram()
        let syncs = latencies[.sync] ?? LatencyHistogram()
        let slow = commits.quantile(0.99)
        return (slow / max(commits.quantile(0.5), 1e-9), slow / max(syncs.quantile(0.99), 1e-9))
    }

    /// A sync that is slow by itself is not Graph's.
    var keepsItsTail: Bool { tail.overMedian < 5 || tail.overSyncs < 1.5 }

    var text: String {
        var lines = ["work                            times       p50       p99   slowest"]
        for work in Work.allCases {
            guard let histogram = latencies[work], histogram.count > 0 else { continue }
            let figures = [
                Figures.count(histogram.count), Figures.seconds(histogram.quantile(0.5)),
                Figures.seconds(histogram.quantile(0.99)), Figures.seconds(histogram.maximum),
            ]
            let columns = figures.map { String(repeating: " ", count: max(0, 9 - $0.count)) + $0 }
            let name = work.rawValue.padding(toLength: 28, withPad: " ", startingAt: 0)
            lines.append(name + columns.joined(separator: " "))
        }
        let growth = growth.map { Figures.factor($0) } ?? "–"
        lines += [
            "",
            "conflicts that writers met \(Figures.count(conflicts)), compactions \(compactions)",
            "memory at the end, of that after the first minute: \(growth) (≤ 1.05x: \(keepsItsMemory ? "met" : "missed"))",
            "p99 of commits: \(Figures.factor(tail.overMedian)) their median, \(Figures.factor(tail.overSyncs)) that of bare syncs"
                + " (< 5x or < 1.5x: \(keepsItsTail ? "met" : "missed"))",
        ]
        return lines.joined(separator: "\n")
    }
}
