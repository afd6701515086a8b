/// How often what came of what, so that blind spots show.
struct Histogram: Sendable, CustomStringConvertible {
    private var counts: [String: [String: Int]] = [:]

    var total: Int { counts.values.reduce(0) { $0 + $1.values.reduce(0, +) } }

    /// The column of what need not be tried, since something equal was.
    static let equal = "equal to one before"

    /// Without those.
    var distinct: Int { total - counts.values.reduce(0) { $0 + ($1[Self.equal] ?? 0) } }

    mutating func add(_ row: String, _ column: String, _ count: Int = 1) {
        counts[row, default: [:]][column, default: 0] += count
    }

    mutating func add(_ other: Histogram) {
        for (row, columns) in other.counts {
            counts[row, default: [:]].merge(columns) { $0 + $1 }
        }
    }

    func count(_ row: String, _ column: String) -> Int { counts[row]?[column] ?? 0 }

    var description: String {
        counts.sorted { $0.key < $1.key }.map { row, columns in
            let parts = columns.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            return "  \(row): \(parts.joined(separator: ", "))"
        }.joined(separator: "\n")
    }
}
