import Foundation

/// One workload at one number of people, as one line of the file for programs: seconds and bytes without prefixes.
struct ResultLine: Codable, Equatable, Sendable {
    /// All figures, or why there are none.
    struct Column: Codable, Equatable, Sendable {
        var median: Double?
        var minimum: Double?
        var maximum: Double?
        var reason: String?
    }

    static let program = "GraphBench"
    static let format = 1

    var program = Self.program
    var format = Self.format
    var workload: String
    var unit: String
    var rows: Int
    var graph: Column
    var sqlite: Column
    /// What ``baseline`` says.
    var native: Column
    /// Absent in files of older versions.
    var baseline: String?
    /// How many times as fast or as small as SQLite.
    var ratio: Double?
    var targets: [String]
    var verdict: String
    var answersAgree: Bool
    var run: RunDescription
}

extension ResultLine {
    init(_ result: WorkloadResult, run: RunDescription) {
        let unit = result.workload.unit
        self.init(
            workload: result.workload.name, unit: unit.line, rows: result.rows,
            graph: Column(result.columns[.engine]), sqlite: Column(result.columns[.sqlite]),
            native: Column(result.columns[.native]), baseline: result.workload.baseline.rawValue,
            ratio: result.ratio(to: .sqlite),
            targets: result.workload.targets.map(\.text),
            verdict: result.verdict == .unknown ? "unknown" : result.verdict.rawValue,
            answersAgree: result.mismatches.isEmpty, run: run)
    }

    /// The lines of a file, each with its end.
    static func text(_ lines: [ResultLine]) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try lines.map { String(decoding: try encoder.encode($0), as: UTF8.self) + "\n" }.joined()
    }
}

extension ResultLine.Column {
    init(_ column: WorkloadResult.Column?) {
        switch column {
        case .measured(let summary):
            self.init(median: summary.median, minimum: summary.minimum, maximum: summary.maximum)
        case .absent(let reason), .failed(let reason): self.init(reason: reason)
        case nil: self.init()
        }
    }

    /// The figures, if there are some.
    var summary: Summary? {
        guard let median, let minimum, let maximum else { return nil }
        return Summary(median: median, minimum: minimum, maximum: maximum)
    }
}
