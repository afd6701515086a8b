import Synchronization
import Testing

@testable import Graph

/// What a program is told while its file is opened, compacted or copied.
struct ProgressTests {
    fileprivate enum Newer {
        @Entity struct Team {
            var name: String
            @Indexed var rank: Double = 0
        }
    }

    fileprivate enum Older {
        @Entity struct Team {
            var name: String
        }
    }

    /// Collects reports.
    private final class Reports: Sendable {
        private let list = Mutex<[StoreProgress]>([])

        var all: [StoreProgress] { list.withLock { $0 } }
        var handler: @Sendable (StoreProgress) -> Void { { progress in self.list.withLock { $0.append(progress) } } }

        /// The stages in order, and whether each goes from little to everything, in steps of about a hundredth at least.
        func stages(stepsOf count: ClosedRange<Int>) -> [StoreProgress.Stage] {
            var (stages, run): ([StoreProgress.Stage], [Double]) = ([], [])
            func end() {
                #expect(run == run.sorted() && run.last == 1 && run.count <= 102, "\(stages.last!): \(run)")
                if [.reading, .writing].contains(stages.last) { #expect(count.contains(run.count), "\(run.count)") }
                run = []
            }
            for progress in all {
                if let last = stages.last, last != progress.stage || progress.fraction < run.last ?? 0 { end() }
                if run.isEmpty { stages.append(progress.stage) }
                run.append(progress.fraction)
            }
            end()
            return stages
        }
    }

    @Test func `opening, compacting, copying and migrating tell how far they are`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file()
        let store = try await Coordinator(for: Older.Team.self, at: path)
        for commit in 0..<300 {
            try await store.transaction(durability: .none) { context in
                for number in 0..<100 {
                    context.insert(Older.Team(name: "\(commit), \(number), " + String(repeating: "x", count: 40)))
                }
            }
        }
        try await store.close()
        let opening = Reports()
        let again = try await Coordinator(for: Older.Team.self, at: path, progress: opening.handler)
        #expect(opening.stages(stepsOf: 90...102) == [.reading, .checking])
        let (compacting, copying) = (Reports(), Reports())
        try await again.compact(progress: compacting.handler)
        // A payload is 256 KB.
        #expect(compacting.stages(stepsOf: 4...20) == [.writing])
        try await again.copy(to: folder.file("copy"), progress: copying.handler)
        #expect(copying.all.map(\.description) == compacting.all.map(\.description))
        try await again.close()
        let migrating = Reports()
        let traces = Mutex<[CommitTrace]>([])
        let newer = try await Coordinator(
            for: Newer.Team.self, at: path, progress: migrating.handler,
            trace: { trace in traces.withLock { $0.append(trace) } })
        #expect(migrating.stages(stepsOf: 1...102).suffix(4) == [.reading, .checking, .converting, .writing])
        #expect(migrating.all.contains { $0.stage == .converting && $0.fraction > 0.3 && $0.fraction < 0.6 })
        #expect(traces.withLock { $0.map(\.description) } == ["graph: commit 301 to \(newer.path) (migration)"])
        #expect(newer.snapshot.commit.number == 301)
        try await newer.close()
        let readOnly = Reports()
        _ = try await Coordinator(for: Newer.Team.self, at: path, readOnly: true, progress: readOnly.handler)
        // The file has history, in records of its own.
        #expect(readOnly.stages(stepsOf: 2...102) == [.reading, .checking])
    }

    @Test func `who asks for a compaction that is under way is told of the rest`() async throws {
        let disk = GatedDisk()
        let store = try await Coordinator.people(on: disk)
        try await store.transaction { context in
            for number in 0..<3_000 { context.insert(Person(name: "\(number) " + String(repeating: "x", count: 400))) }
        }
        let (first, second) = (Reports(), Reports())
        disk.hold()
        async let compaction: Void = store.compact(progress: first.handler)
        await disk.waitForArrival()
        async let other: Void = store.compact(progress: second.handler)
        while !(await store.compactionMeter.isToldToSeveral) { await Task.yield() }
        disk.release()
        _ = try await (compaction, other)
        #expect(first.stages(stepsOf: 4...10) == [.writing])
        #expect(second.all.last == first.all.last && !second.all.isEmpty)
        try await store.close()
    }
}

extension ProgressMeter {
    fileprivate var isToldToSeveral: Bool { handlerCount > 1 }
}
