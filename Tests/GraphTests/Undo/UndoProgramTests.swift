import Testing

/// R22.
struct UndoProgramTests {
    @Test func `undo and redo go through the states that there were`() async {
        let failures = await Seeds.failures(of: Seeds.programs(share: 3)) { await UndoProgram.failure(seed: $0) }
        for failure in failures { Issue.record("\(failure)") }
    }
}
