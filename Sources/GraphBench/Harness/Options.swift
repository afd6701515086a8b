/// What the command line asks for.
struct Options: Equatable, Sendable {
    enum Command: Equatable, Sendable {
        case measure
        case list
        case help
        /// WordNet, from a folder.
        case wordNet(String)
        /// For the process itself: how much memory one side's store of ``rows`` takes.
        case footprint(Side)
    }

    /// A command line that cannot be followed.
    struct Invalid: Error, Equatable {
        let message: String
    }

    var command = Command.measure
    var rows = 100_000
    var runs = 3
    /// The names of the workloads to measure; empty for all.
    var workloads: [String] = []
    var usesPeer = true
    var directory: String?
    var json: String?

    static let leastRows = 1_000

    static let help = """
        usage: GraphBench [options]
               GraphBench wordnet [DIRECTORY] [--directory DIR]

        Measures Graph beside SQLite and plain Swift objects, on the same rows, and compares all answers.

          --rows N          people in the stores (default 100000, at least \(leastRows))
          --runs N          timed runs of each workload after one warm-up (default 3)
          --workload NAME   only this workload; may be repeated
          --list            the names of the workloads and what they time
          --no-peer         without SQLite
          --directory DIR   where durable files go (default: a temporary folder); they are removed at the end
          --json FILE       also write one JSON object per workload and line
          --help            this text

        wordnet loads the WordNet 3.0 database from DIRECTORY (default \(WordNetFiles.defaultDirectory)) into a store,
        reopens it and checks known figures through its relationships. With --directory the store stays there.

        Exit codes: 0 done, 1 an answer differs or something failed, 2 the command line is wrong.
        """

    /// - Parameter names: the workloads there are.
    static func parse(_ arguments: [String], workloads names: [String]) throws(Invalid) -> Options {
        var options = Options()
        var reader = ArgumentReader(arguments)
        while let argument = reader.next() {
            switch argument {
            case "--rows": options.rows = try reader.number(for: argument, atLeast: leastRows)
            case "--runs": options.runs = try reader.number(for: argument, atLeast: 1)
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
            case "--help", "-h":
                options.command = .help
                return options
            case FootprintProcess.command:
                guard let side = Side(rawValue: try reader.value(for: argument)) else {
                    throw Invalid(message: "\(argument) needs a side")
                }
                options.command = .footprint(side)
            case "wordnet": options.command = .wordNet(reader.operand() ?? WordNetFiles.defaultDirectory)
            default: throw Invalid(message: "unknown option '\(argument)'; --help names the options")
            }
        }
        return options
    }
}

/// Walks through a command line.
///
/// An option's value is the next argument or follows an equals sign.
private struct ArgumentReader {
    private var rest: ArraySlice<String>
    private var attached: String?

    init(_ arguments: [String]) {
        rest = arguments[...]
    }

    mutating func next() -> String? {
        // A value that the option before did not take is an argument that nothing knows.
        if let unused = attached {
            attached = nil
            return "=\(unused)"
        }
        guard let argument = rest.popFirst() else { return nil }
        guard argument.hasPrefix("--"), let equals = argument.firstIndex(of: "=") else { return argument }
        attached = String(argument[argument.index(after: equals)...])
        return String(argument[..<equals])
    }

    mutating func operand() -> String? {
        guard let first = rest.first, !first.hasPrefix("-") else { return nil }
        return rest.popFirst()
    }

    mutating func value(for option: String) throws(Options.Invalid) -> String {
        defer { attached = nil }
        guard let value = attached ?? operand(), !value.isEmpty else {
            throw Options.Invalid(message: "\(option) needs a value")
        }
        return value
    }

    mutating func number(for option: String, atLeast least: Int) throws(Options.Invalid) -> Int {
        let text = try value(for: option)
        guard let number = Int(text), number >= least else {
            throw Options.Invalid(message: "\(option) needs a whole number of at least \(least), not '\(text)'")
        }
        return number
    }
}
