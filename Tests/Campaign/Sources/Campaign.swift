import Foundation
import Graph

/// Runs the random models of the tests in a release build: `Campaign FIRST COUNT [KIND…]`.
///
/// The seeds FIRST and on: COUNT programs in memory, a quarter as many on a file, as many schedules, and so on; of the kinds
/// that are named, or of all. Prints a line for each, and every failure with the line that repeats it in the tests. Exits with
/// 1 if there were failures.
@main enum Campaign {
    private struct Kind {
        let name: String
        /// How many of it run, as a part of COUNT.
        let share: Double
        let run: @Sendable (Range<UInt64>) async -> [String]
    }

    private static let kinds =
        [
            Kind(name: "programs", share: 1) { seeds in
                await Seeds.failures(of: seeds) { await StoreProgram.failure(seed: $0) }
            },
            Kind(name: "files", share: 0.25) { seeds in
                let folder = NSTemporaryDirectory() + "campaign-" + UUID().uuidString
                try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                defer { try? FileManager.default.removeItem(atPath: folder) }
                return await Seeds.failures(of: seeds) { await StoreProgram.failure(seed: $0, folder: folder) }
            },
            Kind(name: "nodes", share: 0.25) { seeds in
                await Seeds.failures(of: seeds) { await NodeProgram.failure(seed: $0) }
            },
            Kind(name: "undo", share: 0.25) { seeds in
                await Seeds.failures(of: seeds) { await UndoProgram.failure(seed: $0) }
            },
            Kind(name: "many", share: 0.1) { seeds in
                await Seeds.failures(of: seeds) { await ManyRowsProgram.failure(seed: $0) }
            },
            // CI's 750 try more than 10,000 commits.
            Kind(name: "results", share: 1.5) { seeds in
                let summary = await ResultProgram.run(seeds)
                print("results: \(summary.commits) commits")
                return summary.failures
            },
            Kind(name: "evolving", share: 0.25) { seeds in
                await Seeds.failures(of: seeds) { await EvolvingProgram.failure(seed: $0) }
            },
            // Each seed is a workload with some 35,000 power cuts: CI's 500 are more than 250,000.
            Kind(name: "crash", share: 0.017, run: DiskKinds.crash),
            // Each seed is all bits of three files; more seeds say little more.
            Kind(name: "damage-bits", share: 0.002, run: DiskKinds.flippedBits),
            // Each seed is some 2,000,000 pairs: not in CI.
            Kind(name: "header-pairs", share: 0.002, run: DiskKinds.headerPairs),
            // Each seed is 200 damaged files: CI's 500 are 100,000.
            Kind(name: "damage-files", share: 1, run: DiskKinds.randomDamage),
            // Each seed is some 4,000 operations that fail.
            Kind(name: "errors", share: 0.002, run: DiskKinds.errors),
            // A second for each seed: CI's 1,500 are a minute, and 15,000 ten.
            Kind(name: "busy", share: 0.04, run: busyFile),
            // Likewise, of one program.
            Kind(name: "list", share: 0.04, run: list),
        ]
        + HistoryChecker.Level.allCases.flatMap { level in
            // 1,500 are 100,000 transactions over a log.
            [(LedgerRun.Medium.memory, 2.0), (.disk, 1.0), (.threads, 0.5), (.log, 1.7)].map { medium, share in
                Kind(name: "schedules-\(level)-\(medium)", share: share) { seeds in
                    await Schedules.run(seeds, suite: "ScheduleTests", "\(level), \(medium)") {
                        try await LedgerRun.result(seed: $0, level, on: medium)
                    }.failures
                }
            }
        }

    /// Sixteen writers, two readers and compactions on one file, round by round, for as many seconds as there are seeds.
    @Sendable private static func busyFile(_ seeds: Range<UInt64>) async -> [String] {
        let path = NSTemporaryDirectory() + "campaign-" + UUID().uuidString + ".graph"
        var file = BusyFile(path: path)
        let end = ContinuousClock.now + .seconds(seeds.count)
        var seed = seeds.lowerBound
        repeat {
            do {
                try await file.round(seed: seed, saves: 150)
            } catch {
                return ["busy \(seeds.lowerBound) +\(seeds.count), round \(seed): \(error); the file is at \(path)"]
            }
            seed += 1
        } while ContinuousClock.now < end
        try? await Coordinator.destroy(at: path)
        print("busy: \(seed - seeds.lowerBound) rounds with \(file.compactions) compactions")
        return []
    }

    /// Lists of 100,000 objects on the main actor, for as many seconds as there are seeds.
    @Sendable private static func list(_ seeds: Range<UInt64>) async -> [String] {
        do {
            let program = try await ListProgram(seed: seeds.lowerBound, songs: 100_000)
            try await program.run(for: .seconds(seeds.count))
            await print("list: \(program.summary)")
            return []
        } catch { return ["list \(seeds.lowerBound) +\(seeds.count): \(error)"] }
    }

    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        let numbers = arguments.prefix(2).compactMap { UInt64($0) }
        let names = arguments.dropFirst(2)
        guard numbers.count == 2, names.allSatisfy({ name in kinds.contains { $0.name.hasPrefix(name) } }) else {
            print("Campaign FIRST COUNT [\(kinds.map(\.name).joined(separator: "|"))]…")
            exit(2)
        }
        var failures = 0
        for kind in kinds where names.isEmpty || names.contains(where: { kind.name.hasPrefix($0) }) {
            let start = ContinuousClock.now
            let count = max(UInt64(Double(numbers[1]) * kind.share), 1)
            let found = await kind.run(numbers[0]..<(numbers[0] + count))
            for failure in found { print(failure) }
            failures += found.count
            let seconds = (ContinuousClock.now - start).components.seconds
            print("\(kind.name) \(numbers[0]) +\(count): \(found.count) failures, \(seconds) s")
        }
        exit(failures == 0 ? 0 : 1)
    }
}
