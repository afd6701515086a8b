import Foundation
import Synchronization
import Testing

@testable import Graph

/// R1 to R3, R5 to R16, R18 to R21, R24, R25, R28, R29, R31: random programs against the model.
///
/// `GRAPH_PROGRAMS` sets how many programs run, `GRAPH_SEED` where their seeds begin. `GRAPH_SOAK` runs programs with ever
/// new seeds for so many seconds instead, from a random seed unless one is given. After three programs that fail no more
/// are run.
struct StoreProgramTests {
    private static let seed = setting("GRAPH_SEED")
    private static let soakSeconds = setting("GRAPH_SOAK")
    private static let count = soakSeconds == nil ? setting("GRAPH_PROGRAMS") ?? 300 : 0

    private static let failures = Atomic(0)

    static func setting(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    @Test func `random programs in memory see what the model sees`() async {
        await Self.run(Self.count) { await Self.mismatch(of: $0, in: nil) }
    }

    @Test func `random programs on a file see what the model sees, across reopening`() async throws {
        let folder = try TemporaryFolder()
        await Self.run(Self.count / 4) { await Self.mismatch(of: $0, in: folder) }
    }

    @Test(.enabled(if: soakSeconds != nil)) func `random programs see what the model sees for as long as wanted`()
        async throws
    {
        let folder = try TemporaryFolder()
        let clock = ContinuousClock()
        let start = clock.now
        var minutes: Int64 = 0
        let first = Self.seed ?? UInt64.random(in: 0..<(1 << 40))
        var seed = first
        print("soaking from GRAPH_SEED=\(first)")
        while clock.now - start < .seconds(Int64(Self.soakSeconds ?? 0)) {
            let folder = seed % 5 == 0 ? folder : nil
            await Self.check(seed) { await Self.mismatch(of: $0, in: folder) }
            seed += 1
            if (clock.now - start).components.seconds / 60 > minutes {
                minutes += 1
                print("\(seed - first) programs in \(minutes) min, next GRAPH_SEED=\(seed)")
            }
        }
        print("\(seed - first) programs, next GRAPH_SEED=\(seed)")
    }

    /// - Parameter folder: where the store's file is to be; nil runs in memory.
    private static func mismatch(
        of program: StoreProgram,
        in folder: TemporaryFolder?
    ) async -> StoreProgramRun.Mismatch? {
        let path = folder?.file(UUID().uuidString)
        // Opening lists the folder, in which nothing is to pile up.
        defer {
            for file in path.map({ [$0, $0 + ".lock"] }) ?? [] { try? FileManager.default.removeItem(atPath: file) }
        }
        return await StoreProgramRun.mismatch(of: program, path: path)
    }

    private typealias Run = @Sendable (StoreProgram) async -> StoreProgramRun.Mismatch?

    /// Two programs at a time.
    private static func run(_ count: UInt64, _ run: @escaping Run) async {
        let seeds = (seed ?? 1)..<((seed ?? 1) + count)
        await withTaskGroup(of: Void.self) { group in
            for remainder in 0..<UInt64(2) {
                group.addTask {
                    for seed in seeds where seed % 2 == remainder { await check(seed, run) }
                }
            }
        }
    }

    private static func check(_ seed: UInt64, _ run: Run) async {
        let program = StoreProgram(length: 60, seed: seed)
        guard failures.load(ordering: .relaxed) < 3, await run(program) != nil else { return }
        failures.add(1, ordering: .relaxed)
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
