import Foundation

extension Report {
    /// One workload as one line of the file for programs.
    private struct Line: Encodable {
        struct Column: Encodable {
            var median: Double?
            var minimum: Double?
            var maximum: Double?
            var reason: String?

            init(_ column: WorkloadResult.Column?) {
                switch column {
                case .measured(let summary):
                    median = summary.median
                    minimum = summary.minimum
                    maximum = summary.maximum
                case .absent(let reason), .failed(let reason): self.reason = reason
                case nil: break
                }
            }
        }

        let workload: String
        let unit: String
        let rows: Int
        let graph: Column
        let sqlite: Column
        let native: Column
        let ratio: Double?
        let targets: [String]
        let verdict: String
        let answersAgree: Bool
    }

    /// One JSON object per workload and line; seconds and bytes without prefixes.
    func jsonLines(rows: Int) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try results.map { result in
            let unit =
                switch result.workload.unit {
                case .seconds: "seconds \(result.workload.unit.name)"
                case .bytes: "bytes \(result.workload.unit.name)"
                }
            let line = Line(
                workload: result.workload.name, unit: unit, rows: rows,
                graph: Line.Column(result.columns[.engine]), sqlite: Line.Column(result.columns[.sqlite]),
                native: Line.Column(result.columns[.native]), ratio: result.ratio,
                targets: result.workload.targets.map(\.text),
                verdict: result.verdict == .unknown ? "unknown" : result.verdict.rawValue,
                answersAgree: result.mismatches.isEmpty)
            return String(decoding: try encoder.encode(line), as: UTF8.self) + "\n"
        }.joined()
    }
}
