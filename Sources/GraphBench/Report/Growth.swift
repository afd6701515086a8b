/// How the figures of one workload grow from the smallest number of people to the largest.
struct Growth: Sendable {
    /// Growth that differs by less is the same: the difference that one figure needs before it means anything.
    static let noise = 1.5

    let workload: Workload
    /// Smallest size first.
    let results: [WorkloadResult]

    /// - Parameter sizes: the results of each size, smallest first, of the same workloads in the same order.
    static func all(_ sizes: [[WorkloadResult]]) -> [Growth] {
        guard let first = sizes.first else { return [] }
        return first.indices.map { index in
            Growth(workload: first[index].workload, results: sizes.map { $0[index] })
        }
    }

    /// The figure of Graph or a peer at the largest size over that at the smallest.
    func factor(_ side: Side) -> Double? {
        guard side == .engine || workload.isPeer(side), let small = results.first?.median(side),
            let large = results.last?.median(side), small > 0
        else {
            return nil
        }
        return large / small
    }

    /// By how much Graph's figure may grow: as much as SQLite's, or as cache misses make native code's, and noise; a
    /// figure that stays the same may do so even where theirs fall. A workload without either says its own limit.
    /// Graph alone sets none: what makes the one figure grow may make the other.
    var limit: Double? {
        let peers = [factor(.sqlite), factor(.native)].compactMap { $0 }
        return peers.max().map { max(1, $0) * Self.noise } ?? workload.growthLimit
    }

    var verdict: Target.Verdict {
        guard let factor = factor(.engine), let limit else { return .unknown }
        return factor <= limit ? .met : .missed
    }
}
