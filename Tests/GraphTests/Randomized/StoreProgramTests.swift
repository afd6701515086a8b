import Testing

@testable import Graph

/// R1 to R3, R5 to R16, R18 to R25, R28, R29, R31 to R37, R39, R40: random programs against the model.
struct StoreProgramTests {
    @Test func `random programs in memory see what the model sees`() async {
        let failures = await Seeds.failures(of: Seeds.programs()) { await StoreProgram.failure(seed: $0) }
        for failure in failures { Issue.record("\(failure)") }
    }

    @Test func `random programs on a file see what the model sees, across reopening`() async throws {
        let folder = try TemporaryFolder()
        let failures = await Seeds.failures(of: Seeds.programs(share: 4)) {
            await StoreProgram.failure(seed: $0, folder: folder.path)
        }
        for failure in failures { Issue.record("\(failure)") }
    }
}
