import Foundation

/// Measures workloads at one size after the other.
///
/// Stores and files of one size are gone before the next is made: what they take would count against the next one's
/// caches.
struct Session {
    /// A folder of this run's own.
    let directory: String
    let runs: Int
    let usesPeer: Bool
    /// See ``Setting/seed``.
    let seed: UInt64
    let progress: ProgressLine

    /// - Returns: the results of each size, in the order of `workloads`.
    func measure(_ workloads: [Workload], sizes: [Int]) async throws -> [[WorkloadResult]] {
        var results: [[WorkloadResult]] = []
        for rows in sizes {
            let path = "\(directory)/\(rows)"
            // After an interruption the run's folder is gone and must not come back.
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            results.append(await measure(workloads, rows: rows, in: path))
            try FileManager.default.removeItem(atPath: path)
            Platform.releaseFreeMemory()
        }
        return results
    }

    /// Everything that this size needs lives inside.
    private func measure(_ workloads: [Workload], rows: Int, in path: String) async -> [WorkloadResult] {
        progress.show("making \(Figures.count(rows)) people")
        let setting = Setting(data: PeopleData(rows: rows, seed: seed), directory: path, seed: seed)
        let runner = Runner(setting: setting, runs: runs, usesPeer: usesPeer, progress: progress)
        var results: [WorkloadResult] = []
        for workload in workloads {
            results.append(await runner.measure(workload))
        }
        return results
    }
}
