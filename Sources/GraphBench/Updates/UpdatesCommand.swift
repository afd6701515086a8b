import Foundation

/// `GraphBench updates`: how long a file gets whose rows are updated at random, and what keeping it short costs.
struct UpdatesCommand {
    let options: Options
    let run: RunDescription
    let measure: EngineSuite.UpdatesRun?

    /// - Returns: the exit code.
    func run() async throws -> Int32 {
        guard let measure else { return 0 }
        let directory = try WorkDirectory(in: options.directory)
        defer { directory.remove() }
        let rows = options.sizes[0]
        print("\(Figures.count(rows)) people, \(Figures.count(options.updates)) random updates")
        print("in commits of \(options.commitSize), durability relaxed; \(run.day), \(run.machine)\n")
        let progress = ProgressLine()
        let history = try await measure(
            FileHistory(rows: rows, updates: options.updates, commitSize: options.commitSize),
            "\(directory.path)/people.graph", progress)
        progress.clear()
        print(history.report)
        GraphBench.warnAboutDebugBuild()
        if let path = options.svg {
            try FileSizeChart(history: history, run: run).svg.write(toFile: path, atomically: true, encoding: .utf8)
        }
        return 0
    }
}
