import Foundation

/// `GraphBench pair`: Graph beside another build of it, or beside a peer, finely enough to tell a twentieth.
struct PairCommand {
    /// Who is compared with.
    enum Opponent: Equatable, Sendable {
        case side(Side)
        /// Graph in another program of this kind, at a path.
        case program(String)

        init(_ text: String) {
            self =
                Side.allCases.first { $0 != .engine && $0.rawValue.lowercased() == text }.map(Self.side)
                ?? .program(text)
        }

        /// The heading of its column.
        func name(in workload: Workload) -> String {
            switch self {
            case .side(.native): workload.baseline.name ?? Side.native.rawValue
            case .side(let side): side.rawValue
            case .program(let path): (path as NSString).lastPathComponent
            }
        }
    }

    /// What users feel most: what is compared if nothing is named.
    static let usual = [
        "get_by_id", "get_by_email", "fetch_filter_rows", "fetch_filter_objects", "traverse_to_one",
        "traverse_to_many_objects", "commit_small_memory", "update_many", "reopen_first_read", "property_read",
    ]

    let options: Options
    let run: RunDescription
    /// All there are.
    let workloads: [Workload]
    let opponent: Opponent

    /// - Returns: the exit code: 1 when an answer differs, something is slower or failed.
    func run() async throws -> Int32 {
        if case .program(let path) = opponent, !FileManager.default.isExecutableFile(atPath: path) {
            GraphBench.complain("\(path) is no program")
            return 2
        }
        let directory = try WorkDirectory(in: options.directory)
        defer { directory.remove() }
        GraphBench.warnAboutDebugBuild()
        let (rows, seed) = (options.sizes[0], run.seed ?? 1)
        print(
            """
            \(run.commandLine), \(run.date)
            \(run.machine)
            \(Figures.count(rows)) people, seed \(seed), \(options.pairs) pairs after a warm-up\n
            """)
        let progress = ProgressLine()
        progress.show("making \(Figures.count(rows)) people")
        let setting = Setting(data: PeopleData(rows: rows, seed: seed), directory: directory.path, seed: seed)
        let names = options.workloads.isEmpty ? Self.usual : options.workloads
        var report = PairReport()
        for workload in workloads where names.contains(workload.name) {
            let title = workload.name
            progress.show("\(title): getting ready")
            do {
                guard let runs = try await runs(of: workload, setting) else {
                    report.add(workload, opponent, .absent)
                    continue
                }
                let series = try await PairSeries.measure(pairs: options.pairs, this: runs.this, other: runs.other) {
                    progress.show("\(title): \($0 == 0 ? "warm-up" : "pair \($0) of \(options.pairs)")")
                }
                report.add(workload, opponent, .measured(series))
            } catch {
                report.add(workload, opponent, .failed(String(describing: error)))
            }
        }
        progress.clear()
        print(report.text)
        GraphBench.warnAboutDebugBuild()
        for fault in report.faults { GraphBench.complain(fault) }
        return report.isBad ? 1 : 0
    }

    /// Both sides, ready; nil if one of them has nothing to measure.
    private func runs(of workload: Workload, _ setting: Setting) async throws -> (
        this: PairSeries.Run, other: PairSeries.Run
    )? {
        guard let engine = workload.engine else { return nil }
        switch opponent {
        case .side(let side):
            guard let contender = workload.contender(for: side) else { return nil }
            return (
                try await Runner.pairRun(of: workload, engine, in: setting),
                try await Runner.pairRun(of: workload, contender, in: setting)
            )
        case .program(let path):
            // Both in processes of their own, as alike as they can be.
            var arguments = ["--rows", String(setting.data.rows), "--seed", String(setting.seed)]
            if let directory = options.directory { arguments += ["--directory", directory] }
            let this = try RunProcess(Platform.executable, workload: workload.name, arguments: arguments)
            let other = try RunProcess(
                URL(fileURLWithPath: path), workload: workload.name, arguments: arguments)
            return ({ try this.run($0) }, { try other.run($0) })
        }
    }
}

extension Runner {
    /// Gets one side of a workload ready.
    static func pairRun(
        of workload: Workload, _ contender: Workload.Contender, in setting: Setting
    ) async throws -> PairSeries.Run {
        let trial = try await contender(setting)
        // The figures are what counts here: what is in the files is read back where everything is measured.
        _ = setting.takeReadBack()
        return { number in
            let measurement = try await measure(number, of: trial, in: workload)
            return PairSeries.Figure(amount: measurement.perUnit, answer: measurement.answer)
        }
    }
}
