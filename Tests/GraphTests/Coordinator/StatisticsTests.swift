import Foundation
import Testing

@testable import Graph

/// Figures about a store.
struct StatisticsTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Without history, of which a file needs more the more often the same is written.
    private func open(readOnly: Bool = false) async throws(GraphError) -> Coordinator {
        try await Coordinator(
            for: Team.self, Person.self, at: folder.file(), readOnly: readOnly, compaction: .manual, retention: .none)
    }

    @Test func `a store in memory has objects and no file`() async throws {
        let store = try await Coordinator(for: Team.self, Person.self)
        try await store.transaction { context in for _ in 0..<3 { context.insert(Person(name: "a")) } }
        let statistics = await store.statistics
        #expect(statistics.objectCounts == ["Team": 0, "Person": 3] && statistics.file == nil)
        #expect(statistics.commit == CommitNumber(1))
        let history = statistics.historyLengthInMemory
        #expect(history > 0)
        let text = "commit: 1\nobjects of Person: 3\nobjects of Team: 0\nhistory: \(history) bytes in memory"
        #expect(statistics.description == text)
        try await store.deleteHistory(before: store.snapshot.token)
        #expect(await store.statistics.historyLengthInMemory == 0)
    }

    @Test func `a file's figures follow its saves and compactions`() async throws {
        let store = try await open()
        let empty = try #require(await store.statistics.file)
        #expect(empty.syncCount == 0 && empty.compactedLength == 0 && empty.lastCompaction == nil)
        let id = try await store.transaction { context in
            for number in 0..<1_000 { context.insert(Person(name: "person \(number)")) }
            return context.insert(Team(name: "a")).id
        }
        for number in 0..<200 {
            try await store.transaction { $0[id]?.name = String(repeating: "\(number % 10)", count: 500) }
        }
        let grown = try #require(await store.statistics.file)
        #expect(grown.syncCount == 201 && grown.compactedLength == 0)
        #expect(grown.longestSyncDuration > .zero && grown.totalSyncDuration >= grown.longestSyncDuration)
        let length = try #require(FileManager.default.attributesOfItem(atPath: folder.file())[.size] as? UInt64)
        #expect(grown.length > empty.length + 200 * 500 && grown.length <= length)
        #expect(grown.neededLength < grown.length / 2)

        let before = Date()
        try await store.compact()
        let compacted = try #require(await store.statistics.file)
        #expect((0.9...1.1).contains(Double(grown.neededLength) / Double(compacted.length)))
        #expect(compacted.compactedLength > 0 && compacted.compactedLength <= compacted.length)
        let time = try #require(compacted.lastCompaction)
        #expect((-1...600).contains(time.timeIntervalSince(before)))
        try await store.transaction { $0[id]?.name = "b" }
        let later = try #require(await store.statistics.file)
        #expect(later.syncCount == 202 && later.length > compacted.length)
        #expect(later.compactedLength == compacted.compactedLength)
        try await store.close()

        let again = try await open()
        let reopened = try #require(await again.statistics.file)
        #expect(reopened.compactedLength == compacted.compactedLength && reopened.syncCount == 0)
        #expect(abs(try #require(reopened.lastCompaction).timeIntervalSince(time)) < 60)
        let reader = try await open(readOnly: true)
        #expect(await reader.statistics.file == nil)
        try await again.close()
    }
}
