/// What the command line asks for.
struct Options: Equatable, Sendable {
    enum Command: Equatable, Sendable {
        case measure
        case list
        case help
        /// A file under random updates.
        case updates
        /// A server under mixed work.
        case soak
        /// WordNet, from a folder.
        case wordNet(String)
        /// Two files of results, the older one first.
        case compare(String, String)
        /// Graph beside another build of it or a peer, measured in turn.
        case pair(PairCommand.Opponent)
        /// For the process itself: runs of Graph's side of a workload, for such pairs.
        case runs
        /// For the process itself: how much memory one side's store takes.
        case footprint(Side)
    }

    /// A command line that cannot be followed.
    struct Invalid: Error, Equatable {
        let message: String
    }

    var command = Command.measure
    var suite = Suite.quick
    /// The numbers of people that take the place of the suite's; empty for those of the suite.
    var rows: [Int] = []
    var runs = 3
    /// See ``Setting/seed``; nil for another one in each measurement.
    var seed: UInt64?
    /// The names of the workloads to measure; empty for all.
    var workloads: [String] = []
    /// How many updates the command `updates` makes, and how many of them in a commit.
    var updates = 1_000_000
    var commitSize = 1_000
    /// How long the command `soak` works.
    var minutes = 1
    /// How many pairs the command `pair` measures of each workload.
    var pairs = 15
    var usesPeer = true
    var directory: String?
    var json: String?
    var svg: String?

    /// The numbers of people, smallest first.
    var sizes: [Int] { rows.isEmpty ? suite.sizes : rows }

    static let rowLimits = 1_000...100_000_000
    static let runLimits = 1...1_000
    static let seedLimits = 1...1_000_000_000
    static let pairLimits = 15...1_000
    static let updateLimits = 1...1_000_000_000
    static let commitLimits = 1...1_000_000
    static let minuteLimits = 1...10_000

    static let help = """
        usage: GraphBench [options]
               GraphBench compare OLD.json NEW.json
               GraphBench pair OTHER [--pairs N] [--workload NAME]… [--rows N] [--suite NAME] [--seed N] [--directory DIR]
               GraphBench wordnet [DIRECTORY] [--directory DIR]
               GraphBench updates [--rows N] [--updates N] [--commit N] [--directory DIR] [--svg FILE]
               GraphBench soak [--minutes N] [--rows N] [--seed N] [--directory DIR]

        Measures Graph beside SQLite and plain Swift objects, on the same rows, and compares all answers.

          --suite NAME      quick: 100,000 people; full: 1,000,000; growth: 10,000, 100,000 and 1,000,000, and how
                            much each figure grows (default quick)
          --rows N[,N…]     other numbers of people, at least \(rowLimits.lowerBound); several for growth alone
          --runs N          timed runs of each workload after one warm-up (default 3), of reads for 5 ms at least
          --seed N          the seed of the packages, and of which people are read and changed (default: another one
                            each time)
          --workload NAME   only this workload; may be repeated
          --list            the suites, and the workloads with what they time
          --no-peer         without SQLite
          --directory DIR   the folder where durable files go (default: the system's for temporary files); they are
                            removed at the end
          --json FILE       also write one JSON object per workload and number of people, each on its line
          --svg FILE        also draw the ratios, or the growth in the suite growth
          --help            this text

        compare reads two files that --json wrote and prints which workloads moved beyond noise, beside SQLite where it
        was measured: their medians at least \(Figures.limit(Comparison.least))x apart, and no overlap between their slowest and fastest runs.
        A figure, a peer or a workload that only OLD has is lost.

        pair measures Graph and OTHER in turn: another GraphBench program, of which Graph's side is measured, sqlite or native.
        N pairs (default and least 15) of each workload that is named, or of those that users feel most, give the median of
        the ratios, above 1 where this program is faster, and their quartiles. Faster or slower is what is so by more
        than a twentieth in the whole range between the quartiles.

        wordnet loads the WordNet 3.0 database from DIRECTORY (default \(WordNetFiles.defaultDirectory)) into a store,
        reopens it and checks known figures through its relationships. With --directory the store stays there.

        updates changes people of a compacted file at random and prints how long the file gets, how much is written,
        and how long each compaction kept saves waiting: N updates (default 1,000,000) in commits of N (default 1,000).

        soak is a server for N minutes (default 1): readers, ten durable writers with all merge policies, serializable
        transactions, some of them cancelled, a feed of commits, a list on the main actor, and undo. It prints commits and
        memory each second, latencies at the end, and whether memory grew or an update was lost.

        Figures of a debug build mean nothing, so that one refuses --json and --svg.

        Exit codes: 0 done; 1 an answer differs, something failed, compare found something worse or lost, or pair found
        something slower; 2 the command line or a file is wrong; 130 interrupted, with all durable files removed.
        """

    /// - Parameter names: the workloads there are.
    static func parse(_ arguments: [String], workloads names: [String]) throws(Invalid) -> Options {
        var options = Options()
        if arguments.contains(where: { $0 == "--help" || $0 == "-h" }) {
            options.command = .help
            return options
        }
        var reader = ArgumentReader(arguments)
        while let argument = reader.next() {
            switch argument {
            case "--suite":
                let name = try reader.value(for: argument)
                guard let suite = Suite(rawValue: name) else {
                    let known = Suite.allCases.map(\.rawValue).joined(separator: ", ")
                    throw Invalid(message: "there is no suite '\(name)', only \(known)")
                }
                options.suite = suite
            case "--rows": options.rows = try reader.numbers(for: argument, in: rowLimits).sorted()
            case "--runs": options.runs = try reader.number(for: argument, in: runLimits)
            case "--seed": options.seed = UInt64(try reader.number(for: argument, in: seedLimits))
            case "--workload":
                let name = try reader.value(for: argument)
                guard names.contains(name) else {
                    throw Invalid(message: "there is no workload '\(name)'; --list names them")
                }
                options.workloads.append(name)
            case "--list": options.command = .list
            case "--no-peer": options.usesPeer = false
            case "--directory": options.directory = try reader.value(for: argument)
            case "--json": options.json = try reader.value(for: argument)
            case "--svg": options.svg = try reader.value(for: argument)
            case FootprintProcess.command:
                guard let side = Side(rawValue: try reader.value(for: argument)) else {
                    throw Invalid(message: "\(argument) needs a side")
                }
                options.command = .footprint(side)
            case RunServer.command:
                let name = try reader.value(for: argument)
                guard names.contains(name) else { throw Invalid(message: "there is no workload '\(name)'") }
                options.workloads = [name]
                options.command = .runs
            case "--pairs": options.pairs = try reader.number(for: argument, in: pairLimits)
            case "--updates": options.updates = try reader.number(for: argument, in: updateLimits)
            case "--commit": options.commitSize = try reader.number(for: argument, in: commitLimits)
            case "--minutes": options.minutes = try reader.number(for: argument, in: minuteLimits)
            case "updates": options.command = .updates
            case "soak": options.command = .soak
            case "wordnet": options.command = .wordNet(reader.operand() ?? WordNetFiles.defaultDirectory)
            case "pair":
                guard let other = reader.operand() else {
                    throw Invalid(message: "pair needs another program, sqlite or native")
                }
                options.command = .pair(PairCommand.Opponent(other))
            case "compare":
                guard let old = reader.operand(), let new = reader.operand() else {
                    throw Invalid(message: "compare needs two files")
                }
                options.command = .compare(old, new)
            default: throw Invalid(message: "'\(argument)' is none of the options, which --help names")
            }
        }
        try options.checkSizes()
        if let json = options.json, json == options.svg {
            throw Invalid(message: "--json and --svg name the same file")
        }
        return options
    }

    private func checkSizes() throws(Invalid) {
        if Set(rows).count < rows.count { throw Invalid(message: "--rows names a number twice") }
        switch suite {
        case .quick, .full:
            if rows.count > 1 { throw Invalid(message: "several numbers of people are for --suite growth") }
        case .growth:
            if rows.count == 1 { throw Invalid(message: "growth needs at least two numbers of people") }
        }
    }
}
