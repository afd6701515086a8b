import Foundation

extension Workload {
    static let reopenWorkloads: [Workload] = [
        Workload(
            "reopen_first_read", "the durable file opened, up to the first row", unit: .seconds(per: "opening"),
            targets: [.atMost(0.4, .seconds)],
            sqlite: sqliteFirstRow, native: nativeFirstRow),
        Workload(
            "reopen_read_all", "the durable file opened and every row read", unit: .seconds(per: "opening"),
            targets: [],
            sqlite: sqliteAllRows, native: nativeAllRows),
        Workload(
            "reopen_compacted", "the compacted file opened, up to the first row", note: "SQLite's is as it was",
            unit: .seconds(per: "opening"), targets: [.atMost(0.1, .seconds)],
            sqlite: sqliteFirstRow, native: nativeFirstRow),
        Workload(
            "reopen_compacted_read_all", "the compacted file opened and every row read", note: "SQLite's is as it was",
            unit: .seconds(per: "opening"), targets: [.timesSQLite(0.67)],
            sqlite: sqliteAllRows, native: nativeAllRows),
        Workload(
            "migrate", "the compacted file opened with a property more; opening: without it",
            note: "SQLite's writes no row",
            unit: .seconds(per: "opening"), targets: [.atMostMore(0.5, than: .opening)], baseline: .opening,
            sqlite: { setting in
                let (original, path) = (try await setting.sqliteFile, setting.freshPath("migrated.sqlite"))
                let id = setting.data.lookups[0] + 1
                return { _ in
                    try? FileManager.default.removeItem(atPath: path)
                    try FileManager.default.copyItem(atPath: original, toPath: path)
                    let stopwatch = Stopwatch()
                    let peer = try SQLitePeer(at: .file(path))
                    try peer.addNickname()
                    let answer = try peer.person(id: id)?.checksum ?? 0
                    return Measurement(amount: stopwatch.seconds, count: 1, answer: answer)
                }
            },
            native: EngineReopen.openingCompacted),
        Workload(
            "compact", "the file compacted, which was compacted before",
            note: "SQLite's VACUUM; native copies its file",
            unit: .seconds(per: "compaction"), targets: [.atMost(1.5, .seconds)],
            sqlite: { setting in
                let path = try await setting.sqliteFile
                return timed(count: 1) {
                    try SQLitePeer(at: .file(path)).vacuum()
                    return UInt64(setting.data.rows)
                }
            },
            native: { setting in
                let (path, copy) = (try await setting.nativeFile, setting.freshPath("copy.native"))
                return timed(count: 1) {
                    try? FileManager.default.removeItem(atPath: copy)
                    try FileManager.default.copyItem(atPath: path, toPath: copy)
                    return UInt64(setting.data.rows)
                }
            }),
    ]

    private static let sqliteFirstRow: Contender = { setting in
        let path = try await setting.sqliteFile
        let id = setting.data.lookups[0] + 1
        return timed(count: 1) { try SQLitePeer(at: .file(path)).person(id: id)?.checksum ?? 0 }
    }

    private static let sqliteAllRows: Contender = { setting in
        let path = try await setting.sqliteFile
        return timed(count: 1) { try SQLitePeer(at: .file(path)).checksumOfAllRows() }
    }

    private static let nativeAllRows: Contender = { setting in
        let path = try await setting.nativeFile
        return timed(count: 1) {
            try NativeJournal.read(path).people.values.reduce(0) { $0 &+ $1.value.checksum }
        }
    }

    private static let nativeFirstRow: Contender = { setting in
        let path = try await setting.nativeFile
        let id = setting.data.lookups[0]
        return timed(count: 1) { try NativeJournal.read(path).people[id]?.value.checksum ?? 0 }
    }
}
