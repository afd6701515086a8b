import Foundation

/// `GraphBench soak`: a server under mixed work, its latencies, and whether its memory grows.
struct SoakCommand {
    let options: Options
    let run: RunDescription
    let measure: EngineSuite.SoakRun?

    /// - Returns: the exit code: 1 when something was wrong or a target is missed.
    func run() async throws -> Int32 {
        guard let measure else { return 0 }
        let directory = try WorkDirectory(in: options.directory)
        defer { directory.remove() }
        let rows = options.sizes[0]
        let duration = Figures.number(options.minutes, of: "minute")
        print("\(Figures.count(rows)) people, \(duration); \(run.day), \(run.machine)\n")
        let report = try await measure(
            SoakSetting(rows: rows, seconds: 60 * options.minutes, seed: run.seed ?? 1, directory: directory.path)
        ) { sample, commitsBefore in
            let memory = Figures.bytes(Double(sample.residentBytes))
            print("\(sample.second) s  \(Figures.count(sample.commits - commitsBefore)) commits  \(memory)")
        }
        print("\n\(report.text)")
        GraphBench.warnAboutDebugBuild()
        for fault in report.faults.prefix(20) { GraphBench.complain(fault) }
        return report.faults.isEmpty && report.keepsItsMemory && report.keepsItsTail ? 0 : 1
    }
}

/// What a run is given.
struct SoakSetting: Sendable {
    let rows: Int
    let seconds: Int
    let seed: UInt64
    let directory: String
}
