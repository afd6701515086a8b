import Testing

@testable import Graph

/// Commits that are published, and not durable yet.
struct UnwrittenCommitTests {
    private let disk = GatedDisk()

    private func open(_ durability: Durability) async throws -> Coordinator {
        try await Coordinator(
            Schema([EntityDescription(Team.self), EntityDescription(Person.self)]), path: JournalFixture.path,
            fileSystem: disk, options: JournalFixture.options(), durability: durability)
    }

    private func add(_ name: String, to coordinator: Coordinator) async throws {
        try await coordinator.transaction { _ = $0.insert(Team(name: name)) }
    }

    @Test(.bug(id: "copied without the last commits", "the copy was of what the full disk had"))
    func `R29 a copy has commits for which the disk has no room`() async throws {
        let coordinator = try await open(.none)
        try await add("written", to: coordinator)
        try await coordinator.sync()
        disk.hold()
        try await add("first", to: coordinator)
        await disk.waitForArrival()
        try await add("second", to: coordinator)
        for _ in 0..<40 { disk.disk.fail(next: .write, with: .error(.diskFull, 28)) }
        disk.release()
        await #expect(throws: GraphError.self) { try await coordinator.waitForEarlier(.none) }
        let other = SimulatedDisk()
        try await coordinator.copy(to: "/data/copy.graph", other, JournalFixture.options(seed: 5))
        let copy = try await Coordinator.people(on: other, at: "/data/copy.graph")
        #expect(copy.snapshot.token == coordinator.snapshot.token)
        #expect(try copy.snapshot.fetchValues(Team.self).map(\.name) == ["written", "first", "second"])
        try await copy.close()
        try? await coordinator.close(discardingChanges: true)
    }

    @Test(.bug(id: "closed without a word of commits in doubt", "nobody was told which saves may be lost"))
    func `R29 a compaction that ends the store leaves in doubt what was not durable`() async throws {
        let coordinator = try await open(.relaxed)
        try await add("durable", to: coordinator)
        try await coordinator.sync()
        try await add("relaxed", to: coordinator)
        // Nobody can know which file the path leads to once the renaming is not durable.
        disk.disk.fail(next: .syncDirectory, skipping: 1, with: .error(.other, 5))
        await #expect {
            try await coordinator.compact()
        } throws: { error in
            if case GraphError.storeFailed = error { true } else { false }
        }
        for end in [{ try await coordinator.sync() }, { try await coordinator.close() }] {
            await #expect {
                try await end()
            } throws: { error in
                guard case GraphError.outcomeUnknown(_, let commit, _) = error else { return false }
                return commit?.number == 2
            }
        }
    }
}
