import Foundation

/// Measures what the command line asks for, prints it and writes the files.
struct MeasureCommand {
    let options: Options
    let run: RunDescription
    /// All there are.
    let workloads: [Workload]

    /// - Returns: the exit code: 1 when an answer differs or something failed.
    func run() async throws -> Int32 {
        let directory = try WorkDirectory(in: options.directory)
        defer { directory.remove() }
        GraphBench.warnAboutDebugBuild()
        print(header)
        let stopwatch = Stopwatch()
        let progress = ProgressLine()
        let session = Session(
            directory: directory.path, runs: options.runs, usesPeer: options.usesPeer, seed: run.seed ?? 1,
            progress: progress)
        let sizes = try await session.measure(chosen, sizes: options.sizes)
        progress.clear()
        let all = Report(results: sizes.flatMap(\.self))
        print("\n\(text(sizes))")
        let memory = Platform.residentBytes.map { ", \(Figures.bytes(Double($0))) resident at the end" } ?? ""
        print("took \(Figures.seconds(stopwatch.seconds))\(memory)")
        GraphBench.warnAboutDebugBuild()
        if let path = options.json {
            let lines = all.results.map { ResultLine($0, run: run) }
            try ResultLine.text(lines).write(toFile: path, atomically: true, encoding: .utf8)
        }
        if let path = options.svg {
            try chart(sizes).write(toFile: path, atomically: true, encoding: .utf8)
        }
        for fault in all.faults { GraphBench.complain(fault) }
        return all.faults.isEmpty ? 0 : 1
    }

    /// Those that are named, or those of the suite.
    private var chosen: [Workload] {
        let names = Set(options.workloads)
        return workloads.filter { names.isEmpty ? options.suite.includes($0) : names.contains($0.name) }
    }

    private var header: String {
        let people = options.sizes.map(Figures.count).joined(separator: "; ")
        let runs = "median of \(Figures.number(options.runs, of: "run")) after a warm-up (fastest…slowest)"
        let peer = options.usesPeer && run.sqlite == nil ? ", \(SQLitePeer.absence)" : ""
        return """
            \(run.commandLine), \(run.date)
            \(run.machine)\(peer)
            suite \(run.suite): \(people) people, seed \(run.seed ?? 1), \(runs)
            """
    }

    private func text(_ sizes: [[WorkloadResult]]) -> String {
        switch options.suite {
        case .quick, .full:
            let report = Report(results: sizes.flatMap(\.self))
            return "\(report.table)\n\n\(report.conclusion)"
        case .growth:
            let report = GrowthReport(sizes: options.sizes, growths: Growth.all(sizes))
            return "\(report.table)\n\n\(report.conclusion)"
        }
    }

    private func chart(_ sizes: [[WorkloadResult]]) -> String {
        switch options.suite {
        case .quick, .full: RatioChart(results: sizes.flatMap(\.self), rows: options.sizes[0], run: run).svg
        case .growth: GrowthChart(growths: Growth.all(sizes), sizes: options.sizes, run: run).svg
        }
    }
}
