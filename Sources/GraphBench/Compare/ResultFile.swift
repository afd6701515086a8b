import Foundation

/// A file that `--json` wrote, read without trusting it.
struct ResultFile: Sendable {
    /// What is compared with what: a workload at a number of people.
    struct Key: Hashable, Sendable {
        let workload: String
        let rows: Int
    }

    struct Invalid: Error, Equatable, CustomStringConvertible {
        let description: String
    }

    /// A line takes about 1 KB, and a file has hundreds of them at most.
    static let lengthLimitBytes = 16 << 20

    let name: String
    /// In the order of the file.
    let lines: [ResultLine]

    init(path: String) throws(Invalid) {
        let data: Data
        do {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            defer { try? handle.close() }
            // A device may have no end.
            data = try handle.read(upToCount: Self.lengthLimitBytes + 1) ?? Data()
        } catch {
            throw Invalid(description: "\(path) cannot be read")
        }
        try self.init(data, name: path)
    }

    init(_ data: Data, name: String) throws(Invalid) {
        self.name = name
        guard data.count <= Self.lengthLimitBytes else {
            throw Invalid(description: "\(name) is longer than \(Figures.bytes(Double(Self.lengthLimitBytes)))")
        }
        var lines: [ResultLine] = []
        var keys: Set<Key> = []
        let texts = data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, text) in texts.enumerated() where !text.isEmpty {
            let place = "\(name), line \(index + 1)"
            guard let line = try? JSONDecoder().decode(ResultLine.self, from: text) else {
                throw Invalid(description: "\(place): this is no result of GraphBench's")
            }
            if let fault = line.fault { throw Invalid(description: "\(place): \(fault)") }
            guard keys.insert(line.key).inserted else {
                throw Invalid(description: "\(place): \(line.workload) is there twice")
            }
            lines.append(line)
        }
        guard !lines.isEmpty else { throw Invalid(description: "\(name) has no results") }
        self.lines = lines
    }

    var sizes: Set<Int> { Set(lines.map(\.rows)) }
}

extension ResultLine {
    var key: ResultFile.Key { ResultFile.Key(workload: workload, rows: rows) }

    /// What GraphBench would never write.
    fileprivate var fault: String? {
        if program != Self.program { return "this is no result of GraphBench's" }
        if format != Self.format { return "the format is \(format), and only \(Self.format) is known" }
        let isName = workload.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_")
        }
        if workload.isEmpty || workload.utf8.count > 64 || !isName { return "this is no workload's name" }
        if !Options.rowLimits.contains(rows) { return "no store has \(rows) people" }
        if !Options.runLimits.contains(run.runs) { return "nobody makes \(run.runs) runs" }
        if !["seconds ", "bytes ", "rows "].contains(where: unit.hasPrefix) { return "the unit is unknown" }
        if ![graph, sqlite, native].allSatisfy(\.isSound) { return "the figures are not in order" }
        return nil
    }
}

extension ResultLine.Column {
    /// Either all figures, in order, or none.
    fileprivate var isSound: Bool {
        guard let summary else { return median == nil && minimum == nil && maximum == nil }
        return 0 <= summary.minimum && summary.minimum <= summary.median && summary.median <= summary.maximum
            && summary.maximum.isFinite
    }
}
