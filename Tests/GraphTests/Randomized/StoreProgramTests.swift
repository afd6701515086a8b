import Foundation
import Testing

@testable import Graph

/// R1, R2, R3, R7, R8, R10, R12 to R16, R18 to R20, R24, R25, R28, R29, R31: random programs against the model.
///
/// `GRAPH_PROGRAMS` sets how many programs run, `GRAPH_SEED` where their seeds begin.
struct StoreProgramTests {
    private static let first = setting("GRAPH_SEED") ?? 1
    private static let count = setting("GRAPH_PROGRAMS") ?? 300

    private static func setting(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    @Test func `random programs in memory see what the model sees`() async {
        for seed in Self.first..<(Self.first + Self.count) {
            await Self.check(seed) { await StoreProgramRun.mismatch(of: $0, path: nil) }
        }
    }

    @Test func `random programs on a file see what the model sees, across reopening`() async throws {
        let folder = try TemporaryFolder()
        for seed in Self.first..<(Self.first + max(1, Self.count / 4)) {
            await Self.check(seed) { program in
                await StoreProgramRun.mismatch(of: program, path: folder.file(UUID().uuidString))
            }
        }
    }

    private static func check(
        _ seed: UInt64,
        _ run: (StoreProgram) async -> StoreProgramRun.Mismatch?
    ) async {
        let program = StoreProgram(length: 60, seed: seed)
        guard await run(program) != nil else { return }
        let shrunk = await program.shrunk { await run($0) != nil }
        let mismatch = await run(shrunk)
        Issue.record(
            """
            GRAPH_SEED=\(seed) GRAPH_PROGRAMS=1 swift test --filter StoreProgramTests
            \(shrunk)
            \(mismatch?.description ?? "the shrunk program passes when run again")
            """
        )
    }
}
