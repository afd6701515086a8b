import Foundation

/// Which seeds the random tests try.
enum Seeds {
    /// `GRAPH_SEED`; 1 unless it is set.
    static let first = setting("GRAPH_SEED") ?? 1

    static func setting(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    /// As many as `GRAPH_PROGRAMS` says; 100 unless it is set.
    static func programs(share: UInt64 = 1) -> Range<UInt64> {
        first..<(first + max((setting("GRAPH_PROGRAMS") ?? 100) / share, 1))
    }

    /// As many as `GRAPH_SCHEDULES` says; 600 unless it is set.
    static func schedules(share: UInt64 = 1) -> Range<UInt64> {
        first..<(first + max((setting("GRAPH_SCHEDULES") ?? 600) / share, 1))
    }

    /// What the seeds come to, two at a time.
    static func each<Result: Sendable>(
        _ seeds: Range<UInt64>,
        into result: Result,
        _ run: @escaping @Sendable (UInt64, inout Result) async -> Void,
        joining: (inout Result, Result) -> Void
    ) async -> Result {
        await withTaskGroup(of: Result.self) { group in
            for remainder in 0..<UInt64(2) {
                group.addTask {
                    var part = result
                    for seed in seeds where seed % 2 == remainder { await run(seed, &part) }
                    return part
                }
            }
            return await group.reduce(into: result, joining)
        }
    }

    /// What failed. After two failures no more seeds are tried next to them.
    static func failures(
        of seeds: Range<UInt64>,
        _ failure: @escaping @Sendable (UInt64) async -> String?
    ) async -> [String] {
        await each(seeds, into: []) { seed, found in
            if found.count < 2, let failure = await failure(seed) { found.append(failure) }
        } joining: {
            $0 += $1
        }
    }
}
