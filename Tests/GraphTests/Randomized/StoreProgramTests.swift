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

    /// A link of context 0 loses an end by the first of two commits, and has it back by the second. That shows in the order
    /// only when another one is linked: equal keys come by number, and the tag that is linked first is the younger one.
    @Test(arguments: [false, true])
    func `R23 the model knows whether a context took over two commits at once`(isOneCommitLater: Bool) async throws {
        let (book, tag, tags, books) = (StoreShape.book, StoreShape.tag, 4, 6)
        let insertBook = StoreProgram.Change.insert(entity: book, attributes: [2, 2, 2], targets: [0, 0], members: [])
        func insertTag(_ label: Int, _ rows: [RowNumber]) -> StoreProgram.Change {
            let members = rows.isEmpty ? [] : [StoreProgram.Members(relationship: books, rows: rows)]
            return .insert(entity: tag, attributes: [label], targets: [0], members: members)
        }
        let save = StoreProgram.Action.save(rollsBackOnFailure: true, .error)
        let steps: [(context: Int, action: StoreProgram.Action)] = [
            (0, .change([insertBook, insertTag(2, [0]), insertTag(4, [])])), (0, save),
            (0, .change(isOneCommitLater ? [insertTag(6, [])] : [])), (0, save),
            (1, .refresh), (2, .refresh),
            (0, .change([insertTag(8, [0])])), (0, .setMerging(true)),
            (1, .change([.delete(entity: book, row: 0)])),
            (2, .change([.set(entity: book, row: 0, attribute: 2, value: 5)])),
            (
                2,
                .saveInFlight(
                    StoreProgram.Flight(
                        policy: .overwrite, isFailing: false,
                        changes: [.change(relationship: tags, owner: 0, .insert(1))], end: .nothing,
                        refreshed: [], rival: 1))
            ),
            (2, save),
        ]
        let program = StoreProgram(steps: steps.map { StoreProgram.Step(context: $0.context, action: $0.action) })
        let mismatch = await StoreProgramRun.mismatch(of: program, path: nil)
        #expect(mismatch == nil, "\(mismatch?.description ?? "")")
    }
}
