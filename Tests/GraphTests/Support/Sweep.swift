/// How much of a long sweep a run tries, such as one over all operations that may fail.
///
/// `swift test` tries a twelfth of it, another twelfth each time. With `GRAPH_SWEEPS=1`, as in `.ci/campaign sweeps`, it tries all.
enum Sweep {
    static let isWhole = Seeds.setting("GRAPH_SWEEPS") == 1
    private static let share = 12
    private static let phase = Int.random(in: 0..<share)

    /// Whether this run tries the case with a number.
    static func tries(_ number: Int) -> Bool { isWhole || (number + phase).isMultiple(of: share) }

    /// Those of the seeds that this run tries.
    static func seeds(_ seeds: Range<UInt64>) -> [UInt64] { seeds.filter { tries(Int($0)) } }

    /// How many cases of a kind a run meets at least, of which the whole sweep meets more than `count`. A part may meet few.
    static func least(_ count: Int) -> Int { isWhole ? count : count / (4 * share) }
}
