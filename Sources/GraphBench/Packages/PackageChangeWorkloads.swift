import Foundation

extension Workload {
    /// The distribution's index comes again, and maintainers leave and return.
    static let packageChanges: [Workload] = [
        Workload(
            "packages_upsert",
            "a changed index, a tenth of whose packages has another release, loaded over the one that is there",
            unit: .seconds(per: "package"), targets: [.timesSQLite(3)],
            sqlite: { setting in
                var index = await setting.packages
                let peer = try SQLitePackagePeer(resolved: index)
                let writer = try SQLitePackageWriter(peer)
                return { run in
                    let update = PackageUpdate(of: index, run: run)
                    index = update.index
                    let stopwatch = Stopwatch()
                    try peer.upsert(update, by: writer)
                    return Measurement(
                        amount: stopwatch.seconds, count: index.packages.count, answer: try peer.answerWithEdges())
                }
            },
            native: nil),
        Workload(
            "packages_delete_maintainer",
            "a maintainer with thousands of packages deleted with all that is theirs, in one commit",
            unit: .seconds(per: "object"), targets: [.timesSQLite(1.5)],
            sqlite: { setting in
                let index = await setting.packages
                return reloading(every: index.busyMaintainers) {
                    let peer = try SQLitePackagePeer(resolved: index)
                    let delete = try peer.deletions()
                    return { turn in
                        let maintainer = index.maintainer(turn: turn)
                        let stopwatch = Stopwatch()
                        try delete(maintainer + 1)
                        return Measurement(
                            amount: stopwatch.seconds, count: index.objectCount(ofMaintainer: maintainer),
                            answer: try peer.answerWithEdges())
                    }
                }
            },
            native: nil),
        Workload(
            "packages_undo", "that undone, and saved in one commit",
            note: "SQLite brings back rows that were copied before", unit: .seconds(per: "object"), targets: [],
            sqlite: { setting in
                let index = await setting.packages
                let peer = try SQLitePackagePeer(resolved: index)
                let (keep, delete, restore) = (try peer.copies(), try peer.deletions(), try peer.restorations())
                return { run in
                    let maintainer = index.maintainer(turn: run % index.busyMaintainers)
                    try keep(maintainer + 1)
                    try delete(maintainer + 1)
                    let stopwatch = Stopwatch()
                    try restore()
                    return Measurement(
                        amount: stopwatch.seconds, count: index.objectCount(ofMaintainer: maintainer),
                        answer: try peer.answerWithEdges())
                }
            },
            native: nil),
    ]

    /// How many small commits there are for a number of people.
    static func smallCommits(rows: Int) -> Int { rows / 10 }

    static let packageFiles: [Workload] = [
        Workload(
            "packages_reopen", "the file with the packages opened, up to the first row", unit: .seconds(per: "opening"),
            targets: [.atMost(1, .seconds)],
            sqlite: { setting in
                let (index, path) = (await setting.packages, try await setting.sqlitePackageFile)
                return timed(count: 1) {
                    try SQLitePackagePeer(opening: .file(path)).checksum(ofPackage: index.mostUsed + 1)
                }
            },
            native: nil),
        Workload(
            "packages_reopen_commits", "the same after commits of one row, one for ten objects",
            unit: .seconds(per: "opening"), targets: [],
            sqlite: { setting in
                let resizes = await setting.packages.resizes(smallCommits(rows: setting.data.rows))
                let last = resizes[resizes.count - 1].package
                let path = setting.freshPath("commits.sqlite")
                try FileManager.default.copyItem(atPath: try await setting.sqlitePackageFile, toPath: path)
                try SQLitePackagePeer(opening: .file(path)).commit(resizes)
                return timed(count: 1) {
                    try SQLitePackagePeer(opening: .file(path)).checksum(ofPackage: last + 1)
                }
            },
            native: nil),
    ]
}
