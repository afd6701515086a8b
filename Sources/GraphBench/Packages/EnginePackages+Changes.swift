import Foundation
import Graph

/// The engine's side of ``Workload/packageChanges`` and ``Workload/packageFiles``.
extension EnginePackages {
    /// An undo that leaves out what it found changed, though nobody has changed it.
    struct IncompleteUndo: Error {
        let conflicts: Int
    }

    static let changes: [String: Workload.Contender] = [
        "packages_upsert": { setting in
            var index = await setting.packages
            var store = try await resolvedStore(index)
            return { run in
                let update = PackageUpdate(of: index, run: run)
                index = update.index
                let stopwatch = Stopwatch()
                try await store.upsert(update)
                return Measurement(
                    amount: stopwatch.seconds, count: index.packages.count, answer: try store.answerWithEdges())
            }
        },
        "packages_delete_maintainer": { setting in
            let index = await setting.packages
            return Workload.reloading(every: index.busyMaintainers) {
                let store = try await resolvedStore(index)
                return { turn in
                    let maintainer = index.maintainer(turn: turn)
                    let stopwatch = Stopwatch()
                    try await store.context.deletePackages(ofMaintainer: store.maintainers[maintainer])
                    return Measurement(
                        amount: stopwatch.seconds, count: index.objectCount(ofMaintainer: maintainer),
                        answer: try store.answerWithEdges())
                }
            }
        },
        "packages_undo": { setting in
            let index = await setting.packages
            let store = try await resolvedStore(index)
            await store.context.rememberLastChange()
            return { run in
                let maintainer = index.maintainer(turn: run % index.busyMaintainers)
                try await store.context.deletePackages(ofMaintainer: store.maintainers[maintainer])
                let stopwatch = Stopwatch()
                let conflicts = try await store.context.undoAndSave()
                let seconds = stopwatch.seconds
                guard conflicts == 0 else { throw IncompleteUndo(conflicts: conflicts) }
                return Measurement(
                    amount: seconds, count: index.objectCount(ofMaintainer: maintainer),
                    answer: try store.answerWithEdges())
            }
        },
        "packages_reopen": { setting in
            let (path, packages) = try await setting.enginePackageFile
            return opening(path, packages[await setting.packages.mostUsed])
        },
        "packages_reopen_commits": { setting in
            let (original, packages) = try await setting.enginePackageFile
            let resizes = await setting.packages.resizes(Workload.smallCommits(rows: setting.data.rows))
            let path = setting.freshPath("commits.graph")
            try FileManager.default.copyItem(atPath: original, toPath: path)
            let coordinator = try await PackageStore.coordinator(at: path, durability: .relaxed)
            try await Context(coordinator).commit(resizes.map { (packages[$0.package], $0.size) })
            try await coordinator.close()
            return opening(path, packages[resizes[resizes.count - 1].package])
        },
    ]

    static let footprint: FootprintProcess.Load = { rows, seed in
        let index = PackageIndex(objects: rows, seed: seed)
        return {
            let store = try await PackageStore(PackageStore.coordinator(), loading: index) { index.packages[$0].afresh }
            return FootprintProcess.Store(object: store.coordinator) { try store.answer() }
        }
    }

    private static func resolvedStore(_ index: PackageIndex) async throws -> PackageStore {
        let store = try await PackageStore.inMemory(index)
        try await store.context.resolveNames()
        return store
    }

    /// Times opening a file and reading a package of it.
    private static func opening(_ path: String, _ package: Package.ID) -> Workload.Trial {
        return { _ in
            let stopwatch = Stopwatch()
            let coordinator = try await PackageStore.coordinator(at: path)
            let answer = coordinator.snapshot.value(for: package)?.checksum ?? 0
            let seconds = stopwatch.seconds
            try await coordinator.close()
            return Measurement(amount: seconds, count: 1, answer: answer)
        }
    }
}

extension Context {
    /// Sets the sizes of packages, each in a commit of its own.
    fileprivate func commit(_ resizes: [(Package.ID, size: Int)]) async throws {
        for (id, size) in resizes {
            self[id]?.installedSize = size
            try await save()
        }
    }
}
