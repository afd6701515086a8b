import Foundation
import Graph
import Synchronization

/// A number that serializable transactions count up: what they lose shows.
@Entity struct SoakCounter {
    var number = 0
}

/// A server: readers, writers with all policies, serializable transactions, cancelled ones, a feed, a list on the main actor, undo,
/// and compactions when the file asks for them.
final class EngineSoak: Sendable {
    static let writers = 10
    private static let counterCount = 16
    private static let policies: [MergePolicy] = [
        .error, .mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite, .rollback,
    ]

    private let store: EngineStore
    private let counters: [SoakCounter.ID]
    private let setting: SoakSetting
    private let report = Mutex(SoakReport())
    private let counted = Atomic(0)
    private let isOver = Atomic(false)

    static let run: EngineSuite.SoakRun = { setting, show in
        let coordinator = try await Coordinator(
            for: Team.self, Person.self, SoakCounter.self, at: "\(setting.directory)/soak.graph")
        let store = try await EngineStore(
            coordinator, rows: setting.rows, teams: PeopleData.teamCount(rows: setting.rows))
        let counters = try await Context(coordinator).insertCounters(counterCount)
        let soak = EngineSoak(store, counters, setting)
        let report = try await soak.run(show)
        try await coordinator.close()
        return report
    }

    private init(_ store: EngineStore, _ counters: [SoakCounter.ID], _ setting: SoakSetting) {
        (self.store, self.counters, self.setting) = (store, counters, setting)
    }

    private var coordinator: Coordinator { store.coordinator }

    private func run(_ show: @Sendable (SoakReport.Sample, Int) -> Void) async throws -> SoakReport {
        await withTaskGroup { group in
            for writer in 0..<Self.writers { group.addTask { await self.write(writer) } }
            for reader in 0..<2 { group.addTask { await self.read(reader) } }
            for client in 0..<2 { group.addTask { await self.count(client) } }
            group.addTask { await self.cancel() }
            group.addTask { await self.undo() }
            group.addTask { await self.follow() }
            group.addTask { await self.list() }
            group.addTask { await self.sync() }
            await self.watch(show)
            isOver.store(true, ordering: .relaxed)
        }
        var report = report.withLock { $0 }
        report.compactions = await coordinator.lastCompaction?.number ?? 0
        let sum = counters.reduce(0) { $0 + (coordinator.snapshot.value(for: $1)?.number ?? 0) }
        let expected = counted.load(ordering: .relaxed)
        if sum != expected { report.faults.append("\(expected) were counted, and the store has \(sum)") }
        report.faults += coordinator.check()
        return report
    }

    /// Works until the time is over, and hands over what it has seen.
    private func work(_ number: Int, _ body: (inout SoakReport, inout SplitMix64) async throws -> Void) async {
        var seen = SoakReport()
        var random = SplitMix64(seed: setting.seed &+ UInt64(number) &* 0xD134_2543_DE82_EF95)
        do {
            while !isOver.load(ordering: .relaxed) { try await body(&seen, &random) }
        } catch {
            seen.faults.append("work \(number): \(error)")
        }
        report.withLock { $0.add(seen) }
    }

    private func person(_ random: inout SplitMix64) -> Person.ID {
        // A few that everybody wants.
        let isHot = Int.random(in: 0..<4, using: &random) == 0
        return store.people[Int.random(in: 0..<(isHot ? min(200, setting.rows) : setting.rows), using: &random)]
    }

    private func write(_ number: Int) async {
        let context = Context(coordinator, mergePolicy: Self.policies[number % Self.policies.count])
        await work(number) { seen, random in
            let ids = (0..<Int.random(in: 1...3, using: &random)).map { _ in person(&random) }
            let balance = Double(Int.random(in: 0..<10_000, using: &random))
            let stopwatch = Stopwatch()
            if try await context.setBalance(balance, of: ids) {
                seen.add(.commit, seconds: stopwatch.seconds)
            } else {
                seen.conflicts += 1
            }
        }
    }

    private func count(_ number: Int) async {
        await work(100 + number) { seen, random in
            let id = counters[Int.random(in: 0..<counters.count, using: &random)]
            let stopwatch = Stopwatch()
            try await coordinator.transaction(isolation: .serializable, retries: 1_000) { $0[id]?.number += 1 }
            seen.add(.transaction, seconds: stopwatch.seconds)
            counted.add(1, ordering: .relaxed)
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    private func cancel() async {
        let (coordinator, counters) = (coordinator, counters)
        await work(200) { seen, random in
            let id = counters[Int.random(in: 0..<counters.count, using: &random)]
            let task = Task {
                try await coordinator.transaction(isolation: .serializable, retries: 1_000) { $0[id]?.number += 1 }
            }
            try await Task.sleep(for: .microseconds(Int.random(in: 0..<500, using: &random)))
            let stopwatch = Stopwatch()
            task.cancel()
            switch await task.result {
            case .success: counted.add(1, ordering: .relaxed)
            case .failure(GraphError.cancelled), .failure(is CancellationError):
                seen.add(.cancellation, seconds: stopwatch.seconds)
            case .failure(let error): throw error
            }
        }
    }

    private func read(_ number: Int) async {
        await work(300 + number) { seen, random in
            let stopwatch = Stopwatch()
            let snapshot = coordinator.snapshot
            for _ in 0..<100 {
                guard let person = snapshot.value(for: person(&random)),
                    snapshot.first(\Person.email, equals: person.email)?.name == person.name,
                    person.team.id.flatMap({ snapshot.value(for: $0) }) != nil
                else {
                    seen.faults.append("a person is not what a snapshot says elsewhere")
                    break
                }
            }
            seen.add(.read, seconds: stopwatch.seconds)
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    private func undo() async {
        let context = Context(coordinator, mergePolicy: .mergeByPropertyObjectTrump)
        await context.allowUndo()
        await work(400) { seen, random in
            try await context.setBalance(-1, of: [person(&random)])
            let stopwatch = Stopwatch()
            try await context.undoLastSave()
            seen.add(.undo, seconds: stopwatch.seconds)
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    private func follow() async {
        let commits = coordinator.commits
        var last: CommitNumber?
        for await commit in commits {
            if let last, commit.commits.lowerBound.number != last.number + 1 {
                report.withLock { $0.faults.append("\(commit) came after commit \(last)") }
            }
            last = commit.commits.upperBound
            if isOver.load(ordering: .relaxed) { return }
        }
    }

    @MainActor
    private func list() async {
        do {
            let context = Context(coordinator, mergePolicy: .mergeByPropertyObjectTrump, executor: .main)
            let poorest = try context.sync {
                try $0.results(
                    FetchDescriptor<Person>(sortBy: [.ascending(\.balance), .ascending(\.email)], fetchLimit: 1_000))
            }
            var (seen, random) = (SoakReport(), SplitMix64(seed: setting.seed))
            while !isOver.load(ordering: .relaxed) {
                let stopwatch = Stopwatch()
                let visible = poorest.objects.prefix(20).map(\.balance)
                if zip(visible, visible.dropFirst()).contains(where: { $0 > $1 }) {
                    seen.faults.append("the list is out of order")
                }
                if Int.random(in: 0..<10, using: &random) == 0, let person = poorest.objects.first {
                    person.balance += 1
                    try await context.save()
                }
                seen.add(.list, seconds: stopwatch.seconds)
                try await Task.sleep(for: .milliseconds(10))
            }
            report.withLock { $0.add(seen) }
        } catch {
            report.withLock { $0.faults.append("the list: \(error)") }
        }
    }

    /// What the medium itself takes, beside all of it.
    private func sync() async {
        guard let file = try? LimitFile(creating: "\(setting.directory)/bare") else { return }
        await work(500) { seen, _ in
            let stopwatch = Stopwatch()
            try file.overwrite(count: 48, at: 0)
            seen.add(.sync, seconds: stopwatch.seconds)
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Takes a sample each second until the time is over.
    private func watch(_ show: @Sendable (SoakReport.Sample, Int) -> Void) async {
        let start = ContinuousClock.now
        var last = Int(coordinator.snapshot.commit.number)
        for second in 1...setting.seconds {
            try? await Task.sleep(until: start + .seconds(second))
            let sample = SoakReport.Sample(
                second: second, commits: Int(coordinator.snapshot.commit.number),
                residentBytes: Platform.residentBytes ?? 0)
            report.withLock { $0.samples.append(sample) }
            show(sample, last)
            last = sample.commits
        }
    }
}

extension Context {
    fileprivate func insertCounters(_ count: Int) async throws -> [SoakCounter.ID] {
        let ids = insert(contentsOf: (0..<count).map { _ in SoakCounter() })
        try await save()
        return ids
    }

    /// Sets a balance in one commit. False where others' changes stand against it, and this one is dropped.
    @discardableResult
    fileprivate func setBalance(_ balance: Double, of ids: [Person.ID]) async throws -> Bool {
        for id in ids { self[id]?.balance = balance }
        do {
            try await save()
            return true
        } catch .conflicts {
            rollback()
            return false
        }
    }

    fileprivate func allowUndo() { undoLimit = 1 }

    fileprivate func undoLastSave() async throws {
        undo()
        try await save()
    }
}
