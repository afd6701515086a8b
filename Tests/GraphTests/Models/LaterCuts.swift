@testable import Graph

/// Power cuts at each moment of a program that came to a disk on which something had gone wrong before.
struct LaterCuts {
    private(set) var outcomes = Histogram()
    private let oracle: CrashedStore
    private let comment: String
    private var found: [UInt64: Int] = [:]

    init(_ oracle: CrashedStore, _ comment: String) {
        (self.oracle, self.comment) = (oracle, comment)
    }

    /// Cuts the power so many times at each moment at which something has changed.
    mutating func open(
        _ moments: [SimulatedDisk.Moment], each count: Int, using random: inout SeededGenerator
    ) throws {
        for (number, moment) in CrashWorkload.distinct(moments).enumerated() {
            let label = moment.label
            for _ in 0..<count {
                let cut = PowerCut.random(of: moment.medium, using: &random)
                let comment = "moment \(number) (\(moment.operation)), \(cut)"
                try open(cut.remains(of: moment.medium), moment, label, comment)
            }
        }
    }

    private mutating func open(
        _ medium: Medium, _ moment: SimulatedDisk.Moment, _ label: String, _ cut: String
    ) throws {
        let fingerprint = medium.fingerprint
        do {
            if let number = found[fingerprint] {
                outcomes.add(label, Histogram.equal)
                guard number >= moment.acknowledged else {
                    throw CrashedStore.Failure("commit \(number), and \(moment.acknowledged) was acknowledged")
                }
                return
            }
            let outcome = try oracle.open(medium, acknowledged: moment.acknowledged)
            found[fingerprint] = outcome.wasCreated ? -1 : outcome.number
            outcomes.add(label, outcome.name)
        } catch { throw CrashedStore.Failure("\(comment) \(cut): \(error)") }
    }
}
