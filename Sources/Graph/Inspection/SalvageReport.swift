#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a salvage could not keep, in lines: so many of each kind, and then how many more there are.
struct SalvageReport: Sendable {
    enum Subject: Int, CaseIterable {
        /// What is odd, and has cost nothing.
        case remarks
        /// What of the file cannot be read.
        case file
        case commits
        case objects
    }

    private static let limit = 100

    private var notes = Subject.allCases.map { _ in (lines: [String](), count: 0) }

    /// Whether nothing is lost.
    var isEmpty: Bool { notes.dropFirst().allSatisfy { $0.count == 0 } }

    mutating func note(_ subject: Subject, _ line: String) {
        notes[subject.rawValue].count += 1
        if notes[subject.rawValue].lines.count < Self.limit { notes[subject.rawValue].lines.append(line) }
    }

    var remarks: [String] { Self.text(notes[0]) }

    var losses: [String] { notes.dropFirst().flatMap(Self.text) }

    private static func text(_ notes: (lines: [String], count: Int)) -> [String] {
        notes.lines + (notes.count > notes.lines.count ? ["and \(notes.count - notes.lines.count) more"] : [])
    }
}

extension SalvageReport {
    mutating func note(_ loss: SalvageScanner.Loss) {
        guard !loss.sequences.isEmpty else {
            if !loss.bytes.isEmpty { note(.remarks, "\(Self.text(loss.bytes)), but no record is missing there") }
            return
        }
        let bytes =
            loss.bytes.isEmpty ? "bytes are missing before byte \(loss.bytes.upperBound)" : Self.text(loss.bytes)
        note(.file, "\(bytes): \(Self.text("record", loss.sequences))")
    }

    mutating func note(rest: Range<UInt64>) {
        if !rest.isEmpty { note(.file, "\(Self.text(rest)), at the end of the file") }
    }

    private static func text(_ bytes: Range<UInt64>) -> String {
        "bytes \(bytes.lowerBound) to \(bytes.upperBound - 1) cannot be read"
    }

    /// - Parameter times: of the commits before and behind, in nanoseconds since 1970; nil if there is none.
    mutating func note(lostCommits numbers: Range<UInt64>, between times: (UInt64?, UInt64)) {
        let earliest = times.0.map { "after \(Self.text(ofTime: $0)) and " } ?? ""
        note(.commits, "\(Self.text("commit", numbers)): saved \(earliest)before \(Self.text(ofTime: times.1))")
    }

    mutating func note(lostRecords sequences: Range<UInt64>) {
        note(.file, "\(Self.text("record", sequences)) at the end of the file, as the lock file beside it knows")
    }

    private static func text(_ noun: String, _ numbers: Range<UInt64>) -> String {
        let last = numbers.upperBound - 1
        return numbers.lowerBound == last
            ? "\(noun) \(last) is lost" : "\(noun)s \(numbers.lowerBound) to \(last) are lost"
    }

    static func text(ofTime nanoseconds: UInt64) -> String {
        Date(timeIntervalSince1970: Double(nanoseconds) / 1e9).formatted(.iso8601)
    }
}
