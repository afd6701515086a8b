import Foundation

extension Workload {
    static let footprintWorkloads: [Workload] = [
        Workload(
            FootprintProcess.people, "resident memory that a loaded store adds, with its indexes",
            note: "each store in a process of its own", unit: .bytes(per: "row"),
            targets: [.timesSQLite(1)],
            sqlite: FootprintProcess.contender(.sqlite, FootprintProcess.people),
            native: FootprintProcess.contender(.native, FootprintProcess.people)),
        Workload(
            "disk", "the size of the closed durable file",
            note: "Graph's and native's are journals without indexes, SQLite's has its two indexes",
            unit: .bytes(per: "row"), targets: [.atMost(80, .bytes)],
            sqlite: sqliteFileSize, native: nativeFileSize),
        Workload(
            "disk_compacted", "the size of the compacted file", note: "the other two as they were",
            unit: .bytes(per: "row"), targets: [.atMost(115, .bytes)],
            sqlite: sqliteFileSize, native: nativeFileSize),
        Workload(
            "disk_compacted_rows", "the same without the entries of its two indexes",
            note: "the other two as they were",
            unit: .bytes(per: "row"), targets: [.atMost(60, .bytes)],
            sqlite: sqliteFileSize, native: nativeFileSize),
    ]

    private static let sqliteFileSize: Contender = { setting in
        let path = try await setting.sqliteFile
        return { _ in try fileSize(path, rows: setting.data.rows) }
    }

    private static let nativeFileSize: Contender = { setting in
        let path = try await setting.nativeFile
        return { _ in try fileSize(path, rows: setting.data.rows) }
    }

    /// The answer is the number of rows: sizes are compared, not expected to be equal.
    static func fileSize(_ path: String, rows: Int) throws -> Measurement {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        let size = (attributes[.size] as? NSNumber)?.doubleValue ?? 0
        return Measurement(amount: size, count: rows, answer: UInt64(rows))
    }
}
