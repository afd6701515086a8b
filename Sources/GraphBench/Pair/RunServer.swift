import Foundation

/// What a process does that `GraphBench pair` has started: it gets ready and says so, then measures one run for each line of
/// its standard input, a number, and answers with a line: the figure and what the work came to. It ends when its input does,
/// which is when the other process has.
enum RunServer {
    /// The first argument of the process.
    static let command = "runs-of"
    static let ready = "ready"

    /// A line that is no number of a run.
    struct Unreadable: Error {
        let line: String
    }

    /// Serves Graph's side of the workload that is named.
    static func run(_ options: Options, workloads: [Workload]) async throws {
        guard let workload = workloads.first(where: { $0.name == options.workloads.first }),
            let contender = workload.engine
        else { return }
        let directory = try WorkDirectory(in: options.directory)
        defer { directory.remove() }
        let seed = options.seed ?? 1
        let data = PeopleData(rows: options.sizes[0], seed: seed)
        let setting = Setting(data: data, directory: directory.path, seed: seed)
        try await serve(
            Runner.pairRun(of: workload, contender, in: setting), readLine: { readLine() },
            // Where nobody reads any more the input has ended as well.
            write: { try? FileHandle.standardOutput.write(contentsOf: Data("\($0)\n".utf8)) })
    }

    static func serve(
        _ run: PairSeries.Run, readLine: () -> String?, write: (String) -> Void
    ) async throws {
        write(ready)
        while let line = readLine() {
            guard let number = Int(line), number >= 0 else { throw Unreadable(line: line) }
            write(text(try await run(number)))
        }
    }

    static func text(_ figure: PairSeries.Figure) -> String { "\(figure.amount) \(figure.answer)" }

    /// The figure of such a text.
    static func figure(_ text: String) -> PairSeries.Figure? {
        let parts = text.split(separator: " ")
        guard parts.count == 2, let amount = Double(parts[0]), let answer = UInt64(parts[1]) else { return nil }
        return PairSeries.Figure(amount: amount, answer: answer)
    }
}
