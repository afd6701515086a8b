import Foundation
import Testing

@testable import graphctl

/// What a command of the tool prints, and its exit code.
struct GraphCtlOutcome: Equatable {
    var code: Int32 = 0
    var output = ""
    var errors = ""
    var lines: [Substring] { output.split(separator: "\n") }
}

@MainActor
func graphctl(_ arguments: String...) async -> GraphCtlOutcome { await graphctl(arguments) }

@MainActor
func graphctl(_ arguments: [String]) async -> GraphCtlOutcome {
    var outcome = GraphCtlOutcome()
    let program = GraphCtl(output: { outcome.output += $0 }, errors: { outcome.errors += $0 })
    outcome.code = await program.run(arguments)
    return outcome
}

/// Changes a byte of a file.
func damage(_ file: String, at place: Int) throws {
    var bytes = try #require(FileManager.default.contents(atPath: file))
    bytes[place] ^= 1
    try bytes.write(to: URL(fileURLWithPath: file))
}
