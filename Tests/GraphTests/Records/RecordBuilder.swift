@testable import Graph

/// A commit record of albums by hand, right or wrong: one entity's changes, to follow `Album`s one and two.
struct RecordBuilder {
    var number: UInt64 = 2
    var counters: [(tag: UInt64, next: RowNumber)] = []
    /// Photos are 1, albums 2, notes 3, loans 4, frames 5.
    var entity: UInt64 = 2
    var repeatsEntity = false
    var inserts: [[UInt8]] = []
    var updates: [[UInt8]] = []
    var deletes: [[UInt8]] = []
    var trailing: [UInt8] = []

    var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.appendVarint(number)
        writer.appendFixed(UInt64(0))
        writer.appendString("")
        writer.appendVarint(UInt64(counters.count))
        for counter in counters {
            writer.appendVarint(counter.tag)
            writer.appendVarint(counter.next)
        }
        let repetitions = repeatsEntity ? 2 : 1
        writer.appendVarint(UInt64(repetitions))
        for _ in 0..<repetitions {
            writer.appendVarint(entity)
            for rows in [inserts, updates, deletes] {
                writer.appendVarint(UInt64(rows.count))
                for row in rows { writer.append(contentsOf: row) }
            }
        }
        writer.appendVarint(0)
        writer.append(contentsOf: trailing)
        return writer.bytes
    }

    /// A whole row: a string, then optional strings.
    static func row(_ distance: RowNumber, _ version: UInt64, _ values: [String?]) -> [UInt8] {
        var writer = ByteWriter()
        writer.appendVarint(distance)
        writer.appendVarint(version)
        for (number, value) in values.enumerated() {
            if number > 0 { writer.append(value == nil ? 0 : 1) }
            if let value { writer.appendString(value) }
        }
        return writer.bytes
    }

    static func update(
        _ distance: RowNumber,
        _ version: UInt64,
        _ changes: [(tag: UInt64, old: String, new: String)]
    ) -> [UInt8] {
        var writer = ByteWriter()
        writer.appendVarint(distance)
        writer.appendVarint(version)
        writer.appendVarint(UInt64(changes.count))
        for change in changes {
            writer.appendVarint(change.tag)
            writer.appendString(change.old)
            writer.appendString(change.new)
        }
        return writer.bytes
    }
}
