import Foundation

@testable import Graph

/// Lets each operation of a workload fail in each way, once or from then on, and looks at what the saves were told and at what is
/// there afterwards.
struct FaultProgram {
    private(set) var outcomes = Histogram()
    private let seed: UInt64
    private var random: SeededGenerator

    init(seed: UInt64) { (self.seed, random) = (seed, SeededGenerator(seed: seed)) }

    private static let failureLimit = 8

    private static let faults: [(name: String, fault: SimulatedDisk.Fault)] =
        [("EIO", EIO), ("ENOSPC", ENOSPC), ("EDQUOT", EDQUOT), ("EFBIG", EFBIG), ("EROFS", EROFS), ("EINTR", EINTR)].map
    {
        ($0.0, .error(IOError.Reason(errno: $0.1), $0.1))
    } + [
        ("short", .short), ("0 bytes", .zero), ("EIO after half", .errorAfterHalf(.other, 5)),
        ("ENOSPC after half", .errorAfterHalf(.diskFull, 28)), ("EIO, contents go", .syncFailure(reverts: true)),
    ]

    mutating func run() async throws {
        let reference = SimulatedDisk()
        var all = Life(seed: seed)
        await all.run(reference)
        guard all.failures.isEmpty, all.answered.count == Life.saveCount else {
            throw CrashedStore.Failure("without a failure: \(all)")
        }
        let operations = reference.trace
        var failures: [String] = []
        for (name, fault) in Self.faults {
            for (index, operation) in operations.enumerated() {
                for forEver in [false, true] {
                    let comment = "\(name) \(forEver ? "from then on" : "once") at \(index) (\(operation))"
                    do {
                        let outcome = try await fail(index, fault, forEver: forEver, operation)
                        outcomes.add("\(name) \(forEver ? "from then on" : "once")", outcome)
                    } catch { failures.append("\(comment): \(error)") }
                    guard failures.count < Self.failureLimit else { break }
                }
            }
        }
        guard failures.isEmpty else { throw CrashedStore.Failure(failures.joined(separator: "\n")) }
    }

    private mutating func fail(
        _ index: Int, _ fault: SimulatedDisk.Fault, forEver: Bool, _ operation: String
    ) async throws -> String {
        let disk = SimulatedDisk(failingAt: index, with: fault, forEver: forEver)
        var life = Life(seed: seed)
        await life.run(disk)
        guard disk.operationCount < 20_000 else { throw CrashedStore.Failure("\(disk.operationCount) operations") }
        disk.stopFailing()
        disk.killProcess()
        if !forEver { try requireMildness(of: fault, operation, life) }
        let cut = PowerCut.random(of: disk.medium, using: &random)
        for medium in [disk.medium, cut.remains(of: disk.medium)] {
            try await life.check(SimulatedDisk(medium))
        }
        if life.failures.isEmpty { return "no failure" }
        let kinds = Set(life.failures.map(\.kind))
        return kinds.sorted().joined(separator: " and ") + (life.answered.count == Life.saveCount ? ", all saved" : "")
    }

    /// What happens once and is no failure must not become one, and a disk that is full for a moment costs one save at most.
    private func requireMildness(of fault: SimulatedDisk.Fault, _ operation: String, _ life: Life) throws {
        switch fault {
        case .short where !life.failures.isEmpty:
            throw CrashedStore.Failure("\(life.failures)")
        case .error(.interrupted, _) where !operation.hasPrefix("sync") && !operation.hasPrefix("rename"):
            if !life.failures.isEmpty { throw CrashedStore.Failure("\(life.failures)") }
        case .error(.diskFull, _) where operation.hasPrefix("write"):
            guard life.failures.count <= 1 else {
                throw CrashedStore.Failure("\(life.failures)")
            }
        default: break
        }
    }

    /// Saves, a compaction, a closing, another opening with saves and a compaction, and what each save was told.
    private struct Life {
        static let saveCount = 9
        let seed: UInt64
        var answered: [String] = []
        /// Those that may or may not be there.
        var unknown: [String] = []
        var failures: [GraphError] = []
        private var count = 0

        init(seed: UInt64) { self.seed = seed }

        mutating func run(_ disk: SimulatedDisk) async {
            for part in 0..<2 as Range<UInt64> {
                do throws(GraphError) {
                    let coordinator = try await Coordinator.people(on: disk, seed: seed &+ part)
                    await save(3, coordinator)
                    do throws(GraphError) { try await coordinator.compact() } catch { failures.append(error) }
                    await save(part == 0 ? 2 : 1, coordinator)
                    if part == 0 { try await coordinator.close() }
                } catch { failures.append(error) }
                disk.killProcess()
            }
        }

        private mutating func save(_ count: Int, _ coordinator: Coordinator) async {
            for _ in 0..<count {
                self.count += 1
                let name = "\(self.count)" + String(repeating: "-", count: self.count % 4 == 3 ? 1_200 : 20)
                let context = Context(coordinator)
                await context.perform { _ = $0.insert(Team(name: name)) }
                do throws(GraphError) {
                    try await context.save()
                    answered.append(name)
                } catch {
                    failures.append(error)
                    if case .outcomeUnknown = error { unknown.append(name) }
                }
            }
        }

        /// All that was answered is there, and nothing of which a save said that it is not; the store goes on, and opens again.
        func check(_ disk: SimulatedDisk) async throws {
            let coordinator = try await Coordinator.people(on: disk, seed: 9)
            let names = try coordinator.snapshot.fetchValues(Team.self).map(\.name)
            let findings = coordinator.snapshot.check()
            guard findings.isEmpty else { throw CrashedStore.Failure("\(findings)") }
            guard names.filter({ !unknown.contains($0) }) == answered else {
                let found = names.map { $0.prefix(3) }
                throw CrashedStore.Failure("\(found), \(answered.count) were answered: \(failures)")
            }
            try await Context(coordinator).transaction { _ = $0.insert(Team(name: "more")) }
            try await coordinator.close()
            let leftover = disk.names.first { $0.contains(".new-") }
            if let leftover { throw CrashedStore.Failure("\(leftover) was left over") }
            let store = try TeamStore(disk, seed: 8)
            guard store.snapshot.count(of: Team.self) == names.count + 1 else {
                throw CrashedStore.Failure("what was saved afterwards is not there")
            }
        }
    }
}
