import Foundation

/// The benchmark: reads the command line, measures, reports.
enum GraphBench {
    /// - Returns: the exit code of the process.
    static func run(_ arguments: [String], engine: EngineSuite) async -> Int32 {
        let workloads = engine.joined(to: Workload.all)
        let options: Options
        do {
            options = try Options.parse(arguments, workloads: workloads.map(\.name))
        } catch {
            complain(error.message)
            return 2
        }
        do {
            switch options.command {
            case .help:
                print(Options.help)
                return 0
            case .list:
                let width = workloads.map(\.name.count).max() ?? 0
                for workload in workloads {
                    let padding = String(repeating: " ", count: width - workload.name.count)
                    print("\(workload.name)\(padding)  \(workload.summary), \(workload.unit.name)")
                }
                return 0
            case .measure:
                let chosen = Set(options.workloads)
                return try await measure(
                    chosen.isEmpty ? workloads : workloads.filter { chosen.contains($0.name) }, options)
            case .footprint(let side):
                try await FootprintProcess.report(side, rows: options.rows, engine: engine)
                return 0
            case .wordNet(let source):
                warnAboutDebugBuild()
                return try await WordNetCommand(source: source, options: options, check: engine.wordNet).run()
            }
        } catch {
            complain(String(describing: error))
            return 1
        }
    }

    static func complain(_ message: String) {
        FileHandle.standardError.write(Data("GraphBench: \(message)\n".utf8))
    }

    private static func measure(_ workloads: [Workload], _ options: Options) async throws -> Int32 {
        let directory = try WorkDirectory(in: options.directory)
        defer { directory.remove() }
        warnAboutDebugBuild()
        print(header(options))
        let stopwatch = Stopwatch()
        let progress = ProgressLine()
        progress.show("making \(Figures.count(options.rows)) people")
        let setting = Setting(data: PeopleData(rows: options.rows), directory: directory.path)
        let runner = Runner(setting: setting, runs: options.runs, usesPeer: options.usesPeer, progress: progress)
        var results: [WorkloadResult] = []
        for workload in workloads {
            results.append(await runner.measure(workload))
        }
        progress.clear()
        let report = Report(results: results)
        print("\n\(report.table)\n\n\(report.conclusion)")
        let memory = Platform.residentBytes.map { ", \(Figures.bytes(Double($0))) resident at the end" } ?? ""
        print("took \(Figures.seconds(stopwatch.seconds))\(memory)")
        warnAboutDebugBuild()
        if let path = options.json {
            try report.jsonLines(rows: options.rows).write(toFile: path, atomically: true, encoding: .utf8)
        }
        for fault in report.faults { complain(fault) }
        return report.faults.isEmpty ? 0 : 1
    }

    private static func header(_ options: Options) -> String {
        let peer = options.usesPeer ? SQLiteLibrary.shared.map { "SQLite \($0.version)" } ?? SQLitePeer.absence : ""
        let runs = "median of \(options.runs) \(options.runs == 1 ? "run" : "runs") after a warm-up (fastest…slowest)"
        return [
            "\(Figures.count(options.rows)) people", runs,
            "\(ProcessInfo.processInfo.activeProcessorCount) processors", peer,
        ].filter { !$0.isEmpty }.joined(separator: ", ")
    }

    private static func warnAboutDebugBuild() {
        #if DEBUG
            print("THIS IS A DEBUG BUILD: its figures mean nothing. Use swift run -c release GraphBench.")
        #endif
    }
}
