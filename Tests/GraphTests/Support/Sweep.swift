/// How much of a long sweep a run tries, such as one over all operations that may fail.
///
/// `swift test` tries one case of 29, others each time: a prime, so that no kind of case that comes at intervals is left out. With
/// `GRAPH_SWEEPS=1`, as in `.ci/campaign sweeps`, it tries all.
enum Sweep {
    static let isWhole = Seeds.setting("GRAPH_SWEEPS") == 1
    private static let share = 29
    private static let phase = Int.random(in: 0..<share)

    /// Whether this run tries the case with a number. A sweep within a sweep tries a larger share, and that is a prime too.
    static func tries(_ number: Int, of share: Int = share) -> Bool {
        isWhole || (number + phase).isMultiple(of: share)
    }

    /// One of several files, or kinds of them, for the case with a number; all of them in a whole sweep.
    static func choices<Choice>(_ choices: [Choice], for number: Int) -> [Choice] {
        isWhole ? choices : [choices[(number + phase) % choices.count]]
    }

    /// Those of the seeds that this run tries.
    static func seeds(_ seeds: Range<UInt64>) -> [UInt64] { seeds.filter { tries(Int($0)) } }

    /// How many cases of a kind a run meets at least, of which the whole sweep meets more than `count`. A part may meet few.
    static func least(_ count: Int) -> Int { isWhole ? count : count / (4 * share) }
}
