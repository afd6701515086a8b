@testable import Graph

/// What a fuzzer tries, each with bytes that it invents. None may trap, hang or take memory without a bound; each says what else
/// is not as it should be.
enum FuzzTarget: String, CaseIterable, Sendable {
    /// The bytes are a file.
    case file
    /// They are what a file has between its checksums (`RecordScript`), which a tool opens without the program's types.
    case records
    /// The same, which one of several programs opens, for most of which the file has to be converted.
    case programs
    /// The same with damage, which is salvaged.
    case salvage
    /// Saves, compactions, copies, crashes and faults of a disk.
    case operations
    /// Texts and encodings that come from elsewhere.
    case decoders

    /// Whether the bytes are a `RecordScript`.
    var isScript: Bool { self == .records || self == .programs || self == .salvage }

    /// What is wrong; nothing if all is well, which most often is that the bytes are refused.
    func findings(_ bytes: [UInt8]) async -> [String] {
        switch self {
        case .file: return await FuzzedFile(bytes).findings(compacts: bytes.count % 4 == 0)
        case .records:
            let script = RecordScript(reading: bytes)
            return await FuzzedFile(script).findings(compacts: script.program % 4 == 0)
        case .programs:
            let script = RecordScript(reading: bytes)
            return await FuzzedFile(script).findings(program: Int(script.program))
        case .salvage: return await FuzzedFile(RecordScript(reading: bytes)).salvageFindings()
        case .operations: return await FuzzedOperations.findings(bytes)
        case .decoders: return await FuzzedDecoder.findings(bytes)
        }
    }
}
