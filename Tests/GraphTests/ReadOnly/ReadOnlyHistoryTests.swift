import Foundation
import Testing

@testable import Graph

private enum Old {
    @Entity struct Member {
        var name = ""
        var age = 0
        var city = ""
    }
}

private enum New {
    /// What a row of before has first is something else now.
    @Entity struct Member {
        var city = ""
        var name = ""
        var age = 0
        var note = ""
    }
}

/// The past of a file that is only read.
struct ReadOnlyHistoryTests {
    private let folder: TemporaryFolder
    private var path: String { folder.file() }

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Commits a name and an age that are the same number, five times.
    private func write() async throws -> (id: Old.Member.ID, tokens: [HistoryToken]) {
        let writer = try await Coordinator(for: Old.Member.self, at: path)
        let id = try await writer.transaction { $0.insert(Old.Member(name: "0", age: 0, city: "Bern")).id }
        var tokens = [writer.snapshot.token]
        for number in 1..<5 {
            try await writer.transaction { context in
                context[id]?.name = "\(number)"
                context[id]?.age = number
            }
            tokens.append(writer.snapshot.token)
        }
        try await writer.close()
        return (id, tokens)
    }

    enum Replacement: CaseIterable { case compaction, migration, moreCommits, otherStore }

    /// Has a program do something to the file.
    private func replace(_ replacement: Replacement, _ id: Old.Member.ID) async throws {
        switch replacement {
        case .compaction:
            let writer = try await Coordinator(
                for: Old.Member.self, at: path, compaction: .manual, retention: .none)
            try await writer.compact()
            try await writer.close()
        case .migration:
            let writer = try await Coordinator(for: New.Member.self, at: path)
            try await writer.transaction { try $0.fetch(New.Member.self).first?.note = "new" }
            try await writer.close()
        case .moreCommits:
            let writer = try await Coordinator(for: Old.Member.self, at: path)
            try await writer.transaction { $0[id]?.city = "Basel" }
            try await writer.close()
        case .otherStore:
            try await Coordinator.destroy(at: path)
            try await Coordinator(for: Old.Member.self, at: path).close()
        }
    }

    @Test(
        .bug(id: "read in the layout of a newer schema", "the values of the past were others"),
        arguments: Replacement.allCases
    )
    func `the past is that of the file that was read, whichever takes its place`(replacement: Replacement) async throws
    {
        let (id, tokens) = try await write()
        let reader = try await Coordinator(for: Old.Member.self, at: path, readOnly: true)
        try await replace(replacement, id)
        for (number, token) in tokens.enumerated() {
            let member = try await reader.snapshot(at: token).value(for: id)
            #expect(member?.name == "\(number)" && member?.age == number && member?.city == "Bern")
        }
        var count = 0
        for try await commit in reader.history(since: tokens[0]) {
            count += 1
            #expect(commit.changes(of: Old.Member.self).map { $0.after?.age } == [count])
        }
        #expect(count == 4 && reader.snapshot.value(for: id)?.age == 4)
        try await reader.close()
        await #expect(throws: GraphError.closed(path: reader.path)) { try await reader.snapshot(at: tokens[0]) }
    }

    @Test(.bug(id: "taken back by a power cut", "the name was not durable yet"))
    func `what is read of a file that was just put in its place stays`() async throws {
        let disk = SimulatedDisk()
        let writer = try await Coordinator(
            Schema([EntityDescription(Team.self), EntityDescription(Person.self)]), path: JournalFixture.path,
            fileSystem: disk, options: JournalFixture.options(), durability: .relaxed)
        try await writer.transaction { _ = $0.insert(Team(name: "durable")) }
        try await writer.sync()
        try await writer.transaction { _ = $0.insert(Team(name: "relaxed")) }
        disk.fail(next: .syncDirectory, skipping: 1, with: .error(.other, 5))
        await #expect(throws: GraphError.self) { try await writer.compact() }
        let reader = try await Coordinator(
            Schema([EntityDescription(Team.self), EntityDescription(Person.self)]), path: JournalFixture.path,
            fileSystem: disk, options: JournalFixture.options(seed: 7), readOnly: true)
        let medium = disk.medium
        let remains = SimulatedDisk(
            medium.crashed(
                keeps: { _ in false }, fill: .zeros, keepsLength: false, namesKept: 0,
                lockChangesKept: medium.pendingLockCount))
        let again = try await Coordinator.people(on: remains, seed: 9)
        #expect(again.snapshot.commit >= reader.snapshot.commit && reader.snapshot.count(of: Team.self) == 2)
        try await again.close()
    }
}
