import Foundation

extension Workload {
    /// How much a run of each limit does.
    enum Limits {
        static let syncs = 500
        /// What the journal writes for a commit of one row.
        static let syncBytes = 48
        /// Far beyond the caches.
        static let memoryBytes = 256 << 20
        static let lineBytes = 64
        static let loads = 1_000_000
        static let objects = 1 << 21
        static let retains = 1_000_000
    }

    /// What the machine can do at best, so that other figures can be held against it: nothing durable takes less than a
    /// sync, and nothing that visits rows at random less than a load.
    static let limitWorkloads: [Workload] = [
        limit("limit_sync_append", "\(Limits.syncBytes) bytes appended to a file and synced", per: "sync") { setting in
            let file = try LimitFile(creating: setting.freshPath("append"))
            return { _ in
                try syncs { _ in try file.append(count: Limits.syncBytes) }
            }
        },
        limit("limit_sync_overwrite", "the same over blocks that were written and synced before", per: "sync") {
            setting in
            let file = try LimitFile(creating: setting.freshPath("overwrite"))
            try file.append(count: Limits.syncs * Limits.syncBytes)
            return { _ in
                try syncs { try file.overwrite(count: Limits.syncBytes, at: $0 * Limits.syncBytes) }
            }
        },
        limit("limit_memcpy", "memory copied far beyond the caches", per: "64 bytes") { _ in
            let memory = LimitMemory()
            return { run in
                let stopwatch = Stopwatch()
                let count = memory.copyHalf(run: run)
                return Measurement(amount: stopwatch.seconds, count: count, answer: memory.lastLine)
            }
        },
        limit(
            "limit_load", "loads from \(Limits.memoryBytes >> 20) MiB, each from where the one before says", per: "load"
        ) { _ in
            let memory = LimitMemory()
            memory.linkAsCycle()
            var line = 0
            return { _ in
                let stopwatch = Stopwatch()
                line = memory.follow(from: line, steps: Limits.loads)
                return Measurement(amount: stopwatch.seconds, count: Limits.loads, answer: UInt64(line))
            }
        },
        limit("limit_retain", "objects cold in memory retained and released in random order", per: "object") { _ in
            let objects = LimitObjects()
            return { run in
                let stopwatch = Stopwatch()
                objects.retainAndRelease(run: run)
                return Measurement(amount: stopwatch.seconds, count: Limits.retains, answer: objects.count)
            }
        },
    ]

    private static func limit(
        _ name: String, _ summary: String, per: String, native: @escaping Contender
    ) -> Workload {
        Workload(name, summary, unit: .seconds(per: per), targets: [], group: .limit, sqlite: nil, native: native)
    }

    private static func syncs(_ write: (Int) throws -> Int) throws -> Measurement {
        var written = 0
        let stopwatch = Stopwatch()
        for round in 0..<Limits.syncs { written += try write(round) }
        return Measurement(amount: stopwatch.seconds, count: Limits.syncs, answer: UInt64(written))
    }
}
