extension Workload {
    static let insertWorkloads: [Workload] = [
        Workload(
            "insert_bulk_memory", "all people inserted in transactions of 10,000", unit: .seconds(per: "row"),
            targets: [.timesSQLite(4), .within(1, .native)],
            sqlite: { setting in
                let data = setting.data
                return { _ in
                    let peer = try SQLitePeer(at: .memory)
                    let stopwatch = Stopwatch()
                    try peer.load(data)
                    return Measurement(amount: stopwatch.seconds, count: data.rows, answer: try peer.answer())
                }
            },
            native: { setting in
                let data = setting.data
                return { _ in
                    let stopwatch = Stopwatch()
                    let peer = NativePeer(loaded: data)
                    return Measurement(amount: stopwatch.seconds, count: data.rows, answer: peer.answer)
                }
            }),
        Workload(
            "insert_bulk_durable", "the same, on the medium after each transaction", unit: .seconds(per: "row"),
            targets: [.timesSQLite(4), .within(1, .native)],
            sqlite: { setting in
                return { _ in
                    let path = setting.freshPath("insert.sqlite")
                    defer { setting.remove(path) }
                    let peer = try SQLitePeer(at: .file(path))
                    let stopwatch = Stopwatch()
                    try peer.load(setting.data)
                    return Measurement(
                        amount: stopwatch.seconds, count: setting.data.rows, answer: try peer.answer())
                }
            },
            native: { setting in
                return { _ in
                    let path = setting.freshPath("insert.native")
                    defer { setting.remove(path) }
                    let peer = NativePeer()
                    let journal = try NativeJournal(creating: path)
                    let stopwatch = Stopwatch()
                    try journal.load(setting.data, into: peer)
                    return Measurement(amount: stopwatch.seconds, count: setting.data.rows, answer: peer.answer)
                }
            }),
    ]
}
