import Foundation

/// Where, when and how figures were taken.
struct RunDescription: Codable, Equatable, Sendable {
    var suite: String
    /// See ``Setting/seed``; absent in files of older versions.
    var seed: UInt64?
    /// The timed runs of each workload.
    var runs: Int
    /// ISO 8601, in UTC.
    var date: String
    var cpu: String
    var processors: Int
    var system: String
    var toolchain: String
    /// The version of the peer, or nil where it was not measured.
    var sqlite: String?
    var commandLine: String

    /// The machine and what ran on it, for a heading.
    var machine: String {
        [cpu, Figures.number(processors, of: "processor"), system, toolchain, peer]
            .compactMap { $0 }.joined(separator: ", ")
    }

    /// The day, without the time.
    var day: String { String(date.prefix { $0 != "T" }) }

    private var peer: String? { sqlite.map { "SQLite \($0)" } }
}

extension RunDescription {
    /// This machine, now.
    static func current(_ options: Options, arguments: [String]) -> RunDescription {
        RunDescription(
            suite: options.suite.rawValue, seed: options.seed ?? .random(in: 1..<1_000_000), runs: options.runs,
            date: Date().formatted(.iso8601),
            cpu: Platform.cpuModel ?? "unknown processor", processors: ProcessInfo.processInfo.activeProcessorCount,
            system: Platform.system, toolchain: toolchain,
            sqlite: options.usesPeer ? SQLiteLibrary.shared?.version : nil,
            commandLine: (["GraphBench"] + arguments).joined(separator: " "))
    }

    /// The compiler tells its version to conditions alone, so each version has a line.
    private static var toolchain: String {
        #if compiler(>=6.5)
            "Swift 6.5 or newer"
        #elseif compiler(>=6.4)
            "Swift 6.4"
        #elseif compiler(>=6.3.3)
            "Swift 6.3.3 or newer"
        #elseif compiler(>=6.3.2)
            "Swift 6.3.2"
        #elseif compiler(>=6.3.1)
            "Swift 6.3.1"
        #elseif compiler(>=6.3)
            "Swift 6.3"
        #else
            "Swift 6.2"
        #endif
    }

    /// Whether the optimiser was off, so that figures mean nothing.
    static var isDebugBuild: Bool {
        #if DEBUG
            true
        #else
            false
        #endif
    }
}
