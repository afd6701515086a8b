import Foundation
import Testing

@testable import Graph

struct RevertTests {
    /// What a state has, without versions and where it is in history.
    private static func values(_ snapshot: Snapshot) -> [String] {
        snapshot.contents().dropFirst().map { $0.replacing(#/ v\d+: /#, with: ": ") }
    }

    @Test(arguments: [true, false]) func `reverting the newest commit and that again changes nothing`(
        isFile: Bool
    ) async throws {
        for seed in Seeds.programs(share: 8) {
            let folder = try TemporaryFolder()
            var run = try await AnnalsRun(path: isFile ? folder.file() : nil, seed: seed)
            for _ in 0..<12 {
                try await run.run(4)
                guard run.states.count > 1 else { continue }
                let (before, after) = (run.states[run.states.count - 2], run.states[run.states.count - 1])
                func last() async throws -> Commit {
                    var last: Commit?
                    for try await commit in run.coordinator.history() { last = commit }
                    return try #require(last)
                }
                try await run.coordinator.revert(try await last(), author: "undo")
                let reverted = run.coordinator.snapshot
                #expect(Self.values(reverted) == Self.values(before), "seed \(seed)")
                #expect(try await last().origin?.author == "undo")
                try await run.coordinator.revert(try await last())
                #expect(Self.values(run.coordinator.snapshot) == Self.values(after), "seed \(seed)")
                #expect(run.coordinator.snapshot.commit == after.commit.next.next && run.coordinator.check() == [])
                run.states += [reverted, run.coordinator.snapshot]
            }
            try await run.coordinator.close()
        }
    }

    @Test func `an earlier commit is reverted as a whole, or the error says what was changed since`() async throws {
        let folder = try TemporaryFolder()
        for path in [nil, folder.file()] {
            let coordinator = try await Coordinator(for: Team.self, Person.self, at: path)
            let (eve, bob) = try await coordinator.transaction { context in
                (context.insert(Person(name: "Eve", age: 1)).id, context.insert(Person(name: "Bob", age: 1)).id)
            }
            try await coordinator.transaction { context in
                try context.object(for: eve).age = 2
                try context.object(for: bob).delete()
            }
            try await coordinator.transaction { try $0.object(for: eve).name = "Eva" }
            var commits: [Commit] = []
            for try await commit in coordinator.history() { commits.append(commit) }
            try await coordinator.revert(commits[1])
            let snapshot = coordinator.snapshot
            #expect(snapshot.value(for: eve)?.age == 1 && snapshot.value(for: eve)?.name == "Eva")
            #expect(snapshot.value(for: bob)?.name == "Bob")
            try await coordinator.transaction { try $0.object(for: eve).age = 7 }
            try await coordinator.transaction { try $0.object(for: bob).delete() }
            let before = coordinator.snapshot
            do throws(GraphError) {
                try await coordinator.revert(commits[0])
                Issue.record("reverted")
            } catch {
                guard case .revertConflicts(let conflicts) = error else { throw error }
                #expect(conflicts.map { "\($0)" } == ["\(AnyPersistentID(eve))"])
            }
            #expect(coordinator.snapshot.token == before.token)
            let other = try await Coordinator(for: Team.self, Person.self)
            await #expect(throws: GraphError.self) { try await other.revert(commits[0]) }
            try await coordinator.close()
        }
    }
}
