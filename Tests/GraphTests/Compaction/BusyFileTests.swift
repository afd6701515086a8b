import Testing

@testable import Graph

/// R29: a file that is compacted all the time has what was saved. `.ci/campaign` does more of it.
struct BusyFileTests {
    @Test(.timeLimit(.minutes(30)))
    func `sixteen writers and two readers of a file that is compacted all the time`() async throws {
        let folder = try TemporaryFolder()
        var file = BusyFile(path: folder.file())
        for seed in Seeds.first..<Seeds.first + 3 { try await file.round(seed: seed, saves: 12) }
        #expect(file.compactions > 3)
    }
}
