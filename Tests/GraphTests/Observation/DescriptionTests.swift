import Testing

@testable import Graph

/// What values print.
struct DescriptionTests {
    @Test func `a merge policy prints its name, and how many rules it has`() {
        #expect("\(MergePolicy.error)" == "error")
        #expect("\([MergePolicy.mergeByPropertyStoreTrump])" == "[mergeByPropertyStoreTrump]")
        #expect("\(MergePolicy.mergeByPropertyObjectTrump)" == "mergeByPropertyObjectTrump")
        #expect("\(MergePolicy.overwrite)" == "overwrite")
        #expect("\(MergePolicy.rollback)" == "rollback")
        let custom = MergePolicy.custom(.property(\Person.age, .counter), otherwise: .overwrite)
        #expect("\(custom)" == "custom with 1 rule, otherwise overwrite")
    }

    @Test func `an origin prints who, where and which commit`() async throws {
        let coordinator = try await Coordinator(for: Team.self, Person.self)
        var commits = coordinator.commits.makeAsyncIterator()
        try await Context(coordinator, author: "import").transaction(fileID: "App/Library.swift", line: 12) {
            _ = $0.insert(Team(name: "red"))
        }
        let commit = try #require(await commits.next())
        #expect(commit.origin.map { "\($0)" } == "by import (App/Library.swift:12), commit 1")
        #expect("\(ChangeOrigin(isAutosave: true))" == "(autosave)")
        #expect("\(ChangeOrigin())" == "unknown")
        #expect("\(commit)" == "commit 1 by import (App/Library.swift:12)")
        #expect(commit.difference.map { "\($0)" } == "commit 0 → commit 1")
        #expect("\(coordinator.snapshot)" == "commit 1: 1 Team")
    }

    @Test func `a change prints its object and both values`() async throws {
        let coordinator = try await Coordinator(for: Team.self, Person.self)
        let before = coordinator.snapshot
        let id = try await coordinator.transaction { $0.insert(Team(name: "red")).id }
        let change = SnapshotDifference(before: before, after: coordinator.snapshot).change(of: id)
        #expect(change.map { "\($0)" } == "Team/p1 inserted")
    }
}
