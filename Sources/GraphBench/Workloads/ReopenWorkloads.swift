extension Workload {
    static let reopenWorkloads: [Workload] = [
        Workload(
            "reopen_first_read", "the durable file opened, up to the first row", unit: .seconds(per: "opening"),
            targets: [.atMost(1, .seconds)],
            sqlite: { setting in
                let path = try await setting.sqliteFile
                let id = setting.data.lookups[0] + 1
                return timed(count: 1) { try SQLitePeer(at: .file(path)).person(id: id)?.checksum ?? 0 }
            },
            native: { setting in
                let path = try await setting.nativeFile
                let id = setting.data.lookups[0]
                return timed(count: 1) { try NativeJournal.read(path).people[id]?.value.checksum ?? 0 }
            }),
        Workload(
            "reopen_read_all", "the durable file opened and every row read", unit: .seconds(per: "opening"),
            targets: [.atMost(1, .seconds)],
            sqlite: { setting in
                let path = try await setting.sqliteFile
                return timed(count: 1) { try SQLitePeer(at: .file(path)).checksumOfAllRows() }
            },
            native: { setting in
                let path = try await setting.nativeFile
                return timed(count: 1) {
                    try NativeJournal.read(path).people.values.reduce(0) { $0 &+ $1.value.checksum }
                }
            }),
    ]
}
