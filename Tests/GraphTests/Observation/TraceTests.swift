import Foundation
import Synchronization
import Testing

@testable import Graph

/// What a program is told of its commits.
struct TraceTests {
    private final class Traces: Sendable {
        private let traces = Mutex<[CommitTrace]>([])
        var all: [CommitTrace] { traces.withLock { $0 } }
        func add(_ trace: CommitTrace) { traces.withLock { $0.append(trace) } }
    }

    @Test func `each save is told with its rows, its origin and its outcome`() async throws {
        let traces = Traces()
        let folder = try TemporaryFolder()
        let coordinator = try await Coordinator(
            for: Person.self, Team.self, at: folder.file(), trace: { traces.add($0) })
        let (id, other) = try await coordinator.transaction(author: "import", fileID: "App/File.swift", line: 7) {
            context in
            context.insert(Team(name: "team"))
            return (context.insert(Person(name: "one")).id, context.insert(Person(name: "two")).id)
        }
        let context = Context(coordinator, mergePolicy: .overwrite)
        await context.perform { context in
            context[id]?.age = 1
            context[other]?.delete()
        }
        try await coordinator.transaction(fileID: "App/File.swift", line: 8) { $0[id]?.age = 2 }
        try? await context.save(mergePolicy: .error, fileID: "App/File.swift", line: 9)
        try await context.save(fileID: "App/File.swift", line: 10)
        try await coordinator.close()
        let lines = traces.all.map(\.description)
        #expect(lines[0].contains("Person +2 ~0 −0"))
        #expect(lines[0].contains(" by import (App/File.swift:7): "))
        #expect(lines[0].contains("Team +1 ~0 −0"))
        #expect(lines[0].contains(" bytes, 1 commit written in "))
        #expect(lines[1].contains("commit 2 to \(folder.file()) (App/File.swift:8): Person +0 ~1 −0; "))
        #expect(
            lines[2].hasPrefix(
                "graph: refused by \(folder.file()) (App/File.swift:9): could not merge changes: 1 conflict"))
        #expect(lines[3].contains("Person +0 ~1 −1; 1 conflict resolved; "))
        #expect(lines.count == 4)
        #expect(traces.all[3].origin.commit == CommitNumber(3))
        #expect(traces.all[3].recordBytes > 0 && traces.all[3].writing > .zero)
        #expect(traces.all[2].error != nil)
    }

    @Test func `a save has been told when it returns, also one that others wrote for`() async throws {
        let traces = Traces()
        let disk = GatedDisk(holdingAt: .sync)
        let coordinator = try await Coordinator(
            Schema([EntityDescription(Person.self), EntityDescription(Team.self)]),
            path: JournalFixture.path,
            fileSystem: disk,
            options: JournalOptions(),
            trace: { trace in
                // Long enough for those who were answered before.
                usleep(2000)
                traces.add(trace)
            }
        )
        disk.hold()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<4 {
                group.addTask {
                    let context = Context(coordinator, author: "\(number)")
                    await context.perform { _ = $0.insert(Person(name: "\(number)")) }
                    try await context.save()
                    return traces.all.contains { $0.origin.author == "\(number)" }
                }
            }
            await disk.waitForArrival()
            while await coordinator.waitingSaveCount < 3 { await Task.yield() }
            disk.release()
            for try await wasTold in group { #expect(wasTold) }
        }
        #expect(traces.all.count == 4)
    }

    @Test func `a store in memory is traced too`() async throws {
        let traces = Traces()
        let coordinator = try await Coordinator(for: Person.self, Team.self, trace: { traces.add($0) })
        try await coordinator.transaction(fileID: "F", line: 1) { _ = $0.insert(Person(name: "one")) }
        #expect(traces.all.map(\.description) == ["graph: commit 1 to memory (F:1): Person +1 ~0 −0"])
    }
}
