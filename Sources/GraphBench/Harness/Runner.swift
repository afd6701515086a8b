/// Runs workloads: every side once to warm up, then in turn, so that a slow moment of the machine hits all of them. Files that
/// commits were made to are read back at the end.
struct Runner {
    let setting: Setting
    let runs: Int
    let usesPeer: Bool
    let progress: ProgressLine

    /// How many seconds a run of reads takes at least, which is made of as many passes as that needs: a single short one would
    /// tell whose data were in the caches before.
    private static let shortestReading = 0.005
    /// Whatever they take.
    private static let mostPasses = 1_000

    /// The answer of one pass is not another's.
    struct ChangingAnswer: Error {}

    func measure(_ workload: Workload) async -> WorkloadResult {
        var result = WorkloadResult(workload: workload, rows: setting.data.rows)
        var amounts: [Side: [Double]] = [:]
        var trials: [Side: Workload.Trial] = [:]
        var readBacks: [Side: Setting.ReadBack] = [:]
        var lastAnswers: [Side: UInt64] = [:]
        for side in Side.allCases {
            if let reason = absence(of: side, in: workload) {
                result.columns[side] = .absent(reason)
            } else if let contender = workload.contender(for: side) {
                progress.show("\(workload.name): \(side.rawValue) gets ready")
                do {
                    trials[side] = try await contender(setting)
                    readBacks[side] = setting.takeReadBack()
                } catch {
                    _ = setting.takeReadBack()
                    result.columns[side] = .failed(String(describing: error))
                }
            }
        }
        for run in 0...runs {
            var answers: [(side: Side, answer: UInt64)] = []
            for side in Side.allCases {
                guard let trial = trials[side] else { continue }
                progress.show("\(workload.name): \(side.rawValue), \(run == 0 ? "warm-up" : "run \(run) of \(runs)")")
                do {
                    let measurement = try await Self.measure(run, of: trial, in: workload)
                    answers.append((side, measurement.answer))
                    lastAnswers[side] = measurement.answer
                    if run > 0 { amounts[side, default: []].append(measurement.perUnit) }
                } catch {
                    trials[side] = nil
                    amounts[side] = nil
                    result.columns[side] = .failed(String(describing: error))
                }
            }
            if let first = answers.first, answers.contains(where: { $0.answer != first.answer }) {
                let all = answers.map { "\($0.side.rawValue) \($0.answer)" }.joined(separator: ", ")
                result.mismatches.append("run \(run): \(all)")
            }
        }
        // They hold the stores open.
        trials = [:]
        for side in Side.allCases where amounts[side] != nil {
            guard let readBack = readBacks[side], let last = lastAnswers[side] else { continue }
            progress.show("\(workload.name): \(side.rawValue) is read back")
            do {
                let answer = try await readBack(runs)
                if answer != last {
                    result.mismatches.append("\(side.rawValue) read back: \(answer) instead of \(last)")
                }
            } catch {
                amounts[side] = nil
                result.columns[side] = .failed("read back: \(error)")
            }
        }
        for (side, values) in amounts {
            result.columns[side] = .measured(Summary(values))
        }
        return result
    }

    /// Measures one run, of reads in as many passes as it needs.
    static func measure(
        _ run: Int, of trial: Workload.Trial, in workload: Workload
    ) async throws -> Measurement {
        var sum = try await trial(run)
        guard workload.isReading else { return sum }
        var passes = 1
        while sum.amount < shortestReading, passes < mostPasses {
            let pass = try await trial(run)
            guard pass.answer == sum.answer else { throw ChangingAnswer() }
            sum = Measurement(amount: sum.amount + pass.amount, count: sum.count + pass.count, answer: sum.answer)
            passes += 1
        }
        return sum
    }

    private func absence(of side: Side, in workload: Workload) -> String? {
        if workload.contender(for: side) == nil { return "–" }
        if side == .sqlite {
            if !usesPeer { return "left out" }
            if SQLiteLibrary.shared == nil { return SQLitePeer.absence }
        }
        return nil
    }
}
