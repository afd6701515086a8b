import Foundation
import Graph

/// What disks do to a store: crashes, damage and errors. Each kind prints how much was tried and what came of it.
enum DiskKinds {
    /// Every power cut of workloads, and more while what they have left is opened, and after syncs that fail.
    @Sendable static func crash(_ seeds: Range<UInt64>) async -> [String] {
        let (summary, failures) = await each(seeds, "crash", into: CrashProgram.Summary()) {
            await CrashProgram.run(seed: $0)
        } joining: {
            $0.add($1)
        }
        print(summary)
        let least = [
            ("images", summary.images.total, 20_000), ("disks", summary.images.distinct, 3_000),
            ("disks of two cuts", summary.twice.distinct, 500), ("failed syncs", summary.failedSyncs, 25),
        ]
        return failures + shortfalls("crash", seeds, least)
    }

    /// What says that much less was tried than a seed has always come to.
    private static func shortfalls(
        _ kind: String, _ seeds: Range<UInt64>, _ least: [(what: String, count: Int, each: Int)]
    ) -> [String] {
        least.filter { $0.count < $0.each * seeds.count }.map { "\(kind): only \($0.count) \($0.what)" }
    }

    /// Every bit of small files.
    @Sendable static func flippedBits(_ seeds: Range<UInt64>) async -> [String] {
        await flippedBits(seeds, "damage-bits") { try await $0.run() }
    }

    /// Every pair of bits of the headers of small files.
    @Sendable static func headerPairs(_ seeds: Range<UInt64>) async -> [String] {
        await flippedBits(seeds, "header-pairs") { try await $0.runHeaderPairs() }
    }

    private static func flippedBits(
        _ seeds: Range<UInt64>, _ kind: String, _ run: @escaping @Sendable (inout FlippedBits) async throws -> Void
    ) async -> [String] {
        let (outcomes, failures) = await outcomes(of: seeds, kind) { seed in
            var bits = FlippedBits(seed: seed)
            let failure = await failure { try await run(&bits) }
            return (bits.outcomes, failure)
        }
        print("\(kind): \(outcomes.total) files\n\(outcomes)")
        return failures
    }

    /// Random damage of larger files.
    @Sendable static func randomDamage(_ seeds: Range<UInt64>) async -> [String] {
        let before = peakBytes
        let (outcomes, failures) = await outcomes(of: seeds, "damage-files") { seed in
            var damage = RandomDamage(seed: seed)
            let failure = await failure { try await damage.run() }
            return (damage.outcomes, failure)
        }
        let growth = (peakBytes - before) >> 20
        print("damage-files: \(outcomes.total) damaged files, \(growth) MiB of memory\n\(outcomes)")
        // Two files of 4 MiB at a time, each with its undamaged copy, what is read of it, and what is on its way to the disk.
        let all = failures + shortfalls("damage-files", seeds, [("damaged files", outcomes.total, 200)])
        return growth <= memoryLimit ? all : all + ["damage-files: the memory grew by \(growth) MiB"]
    }

    /// The peak of a million files is 204 to 309: which two come together is chance.
    private static let memoryLimit = 400

    /// Each operation of a workload fails in each way.
    @Sendable static func errors(_ seeds: Range<UInt64>) async -> [String] {
        let (outcomes, failures) = await outcomes(of: seeds, "errors") { seed in
            var program = FaultProgram(seed: seed)
            let failure = await failure { try await program.run() }
            return (program.outcomes, failure)
        }
        print("errors: \(outcomes.total) runs with an operation that fails\n\(outcomes)")
        return failures + shortfalls("errors", seeds, [("runs", outcomes.total, 3_000)])
    }

    /// How often what came of what, over all seeds.
    private static func outcomes(
        of seeds: Range<UInt64>, _ kind: String, _ run: @escaping @Sendable (UInt64) async -> (Histogram, String?)
    ) async -> (Histogram, [String]) {
        await each(seeds, kind, into: Histogram(), run) { $0.add($1) }
    }

    private static func failure(_ body: () async throws -> Void) async -> String? {
        do {
            try await body()
            return nil
        } catch { return "\(error)" }
    }

    /// Runs the seeds, and adds to each failure what repeats it. After two failures no more seeds are tried next to them.
    private static func each<Summary: Sendable>(
        _ seeds: Range<UInt64>, _ kind: String, into summary: Summary,
        _ run: @escaping @Sendable (UInt64) async -> (Summary, String?),
        joining: @escaping @Sendable (inout Summary, Summary) -> Void
    ) async -> (Summary, [String]) {
        await Seeds.each(seeds, into: (summary, [String]())) { seed, part in
            guard part.1.count < 2 else { return }
            let (summary, failure) = await run(seed)
            joining(&part.0, summary)
            if let failure { part.1.append("\(failure)\nrepeat it with: .ci/campaign \(seed) 1 \(kind)") }
        } joining: {
            joining(&$0.0, $1.0)
            $0.1 += $1.1
        }
    }

    /// The most memory that the process has had so far.
    private static var peakBytes: Int {
        var usage = rusage()
        #if os(Linux)
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
            return Int(usage.ru_maxrss) << 10
        #else
            getrusage(RUSAGE_SELF, &usage)
            return Int(usage.ru_maxrss)
        #endif
    }
}
