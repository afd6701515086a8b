@testable import Graph

extension Sequence<SimulatedDisk.Moment> {
    /// Cuts the power at every moment: with each subset of the pending changes of names kept, and of many at least none, all and
    /// each prefix, each with none of the other pending changes, all of them, and so many random choices of them.
    ///
    /// - Parameter body: gets what is left, the moment, and what to say of a failure.
    /// - Returns: how many cuts there are, of which a part is tried; see `Sweep`.
    func forEachPowerCut(
        seed: UInt64, randomMasks: Int = 1,
        _ body: (_ medium: Medium, _ moment: SimulatedDisk.Moment, _ comment: String) async throws -> Void
    ) async rethrows -> Int {
        var random = SeededGenerator(seed: seed)
        var count = 0
        for (number, moment) in enumerated() {
            for mask in [0, .max] + (0..<randomMasks).map({ _ in random.next() }) {
                for names in moment.medium.nameMasks {
                    count += 1
                    guard Sweep.tries(count) else { continue }
                    let medium = moment.medium.crashed(keeping: mask, keepingNames: names, using: &random)
                    try await body(medium, moment, "moment \(number) (\(moment.operation)), \(mask), \(names)")
                }
            }
        }
        return count
    }
}
