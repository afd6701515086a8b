import Foundation
import Testing

@testable import Graph

/// R26: serializable transactions that read and write rows in ranges of their own never conflict, however they ask for them.
struct DisjointRangeTests {
    @Entity(indexed: [["slot", "kind"], ["street", "side"]]) struct Parcel {
        @Indexed var slot: Int
        @Indexed var label: String
        /// Both say together whose it is, and neither alone.
        var street: Int
        var side: Int
        var kind = 0
        var weight = 0
    }

    @Test func `random transactions on ranges of their own never fail and never run twice`() async throws {
        let summary = await Schedules.check(suite: "DisjointRangeTests", "schedules", share: 4) { seed in
            try await Self.run(seed: seed, isScheduled: true)
        }
        #expect(summary.counts["at the same time", default: 0] > summary.count)
    }

    @Test func `the same on real threads`() async throws {
        await Schedules.check(suite: "DisjointRangeTests", "threads", share: 20) { seed in
            try await Self.run(seed: seed, isScheduled: false)
        }
    }

    private static func run(seed: UInt64, isScheduled: Bool) async throws -> Schedules.Result {
        var random = SeededGenerator(seed: seed)
        let count = Int.random(in: 2...5, using: &random)
        let executor = SeededExecutor(seed: random.next(), sessions: count)
        let coordinator = try await Coordinator(
            Schema.version(0, of: [Parcel.self]), path: nil, fileSystem: PosixFileSystem(), options: JournalOptions(),
            taskExecutor: isScheduled ? executor : nil)
        let first = random.next()
        try await coordinator.transaction { context in
            var random = SeededGenerator(seed: first)
            for owner in 0..<count {
                for _ in 0..<6 { context.insert(Owner(number: owner).parcel(&random)) }
            }
        }
        let seeds = (0..<count).map { _ in random.next() }
        let run: @Sendable () async -> [Owner.Outcome] = {
            await withTaskGroup(of: Owner.Outcome.self) { group in
                for owner in 0..<count {
                    group.addTask(executorPreference: isScheduled ? executor : nil) {
                        await Owner(number: owner).run(coordinator, seeds[owner])
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
        }
        let outcomes = isScheduled ? try #require(executor.run(run), "the transactions hang") : await run()
        let overlaps = outcomes.reduce(0) { $0 + $1.overlaps }
        var result = Schedules.Result(schedule: executor.trace, counts: ["at the same time": overlaps])
        result.failures = outcomes.flatMap(\.failures) + coordinator.check().map { "\($0)" }
        return result
    }
}

/// Who reads and writes the parcels of a hundred slots, and those alone.
private struct Owner: Sendable {
    typealias Parcel = DisjointRangeTests.Parcel

    let number: Int
    /// So few that a search of its slots by an index is always the best plan.
    private static let most = 14

    private var slots: Range<Int> { number * 100..<number * 100 + 100 }
    private var labels: String { "owner \(number) " }

    private func slot(_ random: inout SeededGenerator) -> Int {
        slots.lowerBound + Int.random(in: 0..<8, using: &random) * 12
    }

    func parcel(_ random: inout SeededGenerator) -> Parcel {
        Parcel(
            slot: slot(&random), label: labels + ["", "a", "b"].randomElement(using: &random)!,
            street: number / 2, side: number % 2, kind: Int.random(in: 0..<3, using: &random))
    }

    struct Outcome: Sendable {
        /// How many transactions went on while others committed.
        var overlaps = 0
        var failures: [String] = []
    }

    func run(_ coordinator: Coordinator, _ seed: UInt64) async -> Outcome {
        var (random, outcome) = (SeededGenerator(seed: seed), Outcome())
        for _ in 0..<4 {
            do {
                if try await transact(coordinator, random.next()) { outcome.overlaps += 1 }
            } catch { outcome.failures.append("owner \(number): \(error)") }
        }
        return outcome
    }

    /// One attempt. True if others committed meanwhile.
    private func transact(_ coordinator: Coordinator, _ seed: UInt64) async throws -> Bool {
        try await coordinator.transaction(isolation: .serializable, retries: 0) { context in
            var random = SeededGenerator(seed: seed)
            let base = context.baseState.commit
            for _ in 0..<Int.random(in: 1...5, using: &random) {
                if random.chance(2) { try read(context, &random) } else { try write(context, &random) }
                for _ in 0..<Int.random(in: 0...2, using: &random) { await Task.yield() }
            }
            // Who writes nothing is not validated.
            context.fetch(\Parcel.slot, in: slots).first?.weight += 1
            return coordinator.snapshot.commit != base
        }
    }

    private func read(_ context: isolated Context, _ random: inout SeededGenerator) throws {
        let (low, other) = (slot(&random), slot(&random))
        let high = max(low, other)
        let kind = Int.random(in: 0..<3, using: &random)
        let label = labels
        let (street, side) = (number / 2, number % 2)
        switch Int.random(in: 0..<18, using: &random) {
        case 0: _ = context.fetch(\Parcel.slot, in: low...high)
        case 1: _ = context.fetchCount(\Parcel.slot, in: low..<slots.upperBound)
        case 2: _ = context.fetchIDs(\Parcel.label, startingWith: label)
        case 3: _ = context.first(\Parcel.slot, equals: low)
        case 4: _ = try context.fetch(Parcel.self, where: #Predicate { $0.slot == low })
        case 5: _ = try context.fetchValues(Parcel.self, where: #Predicate { $0.slot >= low && $0.slot <= high })
        case 6: _ = try context.fetch(Parcel.self, where: #Predicate { $0.slot == low && $0.kind == kind })
        case 7: _ = try context.fetchCount(Parcel.self, where: #Predicate { $0.slot == low || $0.slot == other })
        case 8:
            let found: Predicate<Parcel> = #Predicate { $0.label.starts(with: label) && $0.kind != kind }
            _ = try context.fetchIDs(Parcel.self, where: found, sortedBy: [.descending(\.slot)])
        case 9:
            _ = try context.fetchCount(
                Parcel.self, where: #Predicate { $0.slot >= low && $0.slot <= high && $0.label.starts(with: label) })
        case 10: _ = context.first(\Parcel.street, equals: street, \.side, equals: side)
        case 11: _ = context.first(\Parcel.kind, equals: kind, \.label, equals: label)
        case 12: _ = try context.fetch(Parcel.self, where: #Predicate { $0.side == side && $0.street == street })
        case 13:
            let found: Predicate<Parcel> = #Predicate {
                ($0.street == street || $0.slot == high) && $0.side == side
            }
            _ = try context.fetchCount(Parcel.self, where: found)
        case 14:
            let result = try context.results(
                FetchDescriptor<Parcel>(
                    predicate: #Predicate { $0.slot >= low && $0.slot <= high }, sortBy: [.descending(\.slot)],
                    fetchLimit: Int.random(in: 1...3, using: &random)))
            _ = result.objects.map(\.kind)
        case 15: _ = try context.sum(\Parcel.weight, where: #Predicate { $0.slot >= low && $0.slot <= high })
        default:
            let upper = slots.upperBound
            var page = FetchDescriptor<Parcel>(
                predicate: #Predicate { $0.slot >= low && $0.slot < upper },
                sortBy: [random.chance(2) ? .ascending(\.slot) : .descending(\.slot), .ascending(\.kind)])
            page.fetchLimit = Int.random(in: 1...3, using: &random)
            repeat { page.after = try context.fetchPage(page).next } while page.after != nil
        }
    }

    private func write(_ context: isolated Context, _ random: inout SeededGenerator) throws {
        let slot = slot(&random)
        let parcel = context.fetch(\Parcel.slot, in: slots).randomElement(using: &random)
        switch Int.random(in: 0..<7, using: &random) {
        case 0, 1:
            if context.fetchCount(\Parcel.slot, in: slots) < Self.most { context.insert(self.parcel(&random)) }
        case 2: parcel?.slot = slot
        case 3: parcel?.kind += 1
        case 4: parcel?.delete()
        case 5:
            let kind = Int.random(in: 0..<3, using: &random)
            try context.update(Parcel.self, where: #Predicate { $0.slot == slot }) { $0.kind = kind }
        default: try context.delete(Parcel.self, where: #Predicate { $0.slot == slot })
        }
    }
}
