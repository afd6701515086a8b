import Testing

@testable import Graph

/// Interrupts a compaction everywhere and in every way. Every commit that was answered is in the store afterwards.
struct CompactionFaultTests {
    /// Saves, a compaction with saves before, during and after it, and what was answered.
    private struct Program {
        let disk: SimulatedDisk
        var answered: [String] = []
        var failures: [GraphError] = []

        init(_ disk: SimulatedDisk) {
            self.disk = disk
        }

        mutating func run() async {
            do throws(GraphError) {
                let coordinator = try await Coordinator.people(on: disk)
                disk.acknowledge(0)
                await save(3, coordinator)
                do throws(GraphError) { try await coordinator.compact() } catch { failures.append(error) }
                await save(2, coordinator)
                do throws(GraphError) { try await coordinator.compact() } catch { failures.append(error) }
                await save(1, coordinator)
                try await coordinator.close()
            } catch {
                failures.append(error)
            }
        }

        private mutating func save(_ count: Int, _ coordinator: Coordinator) async {
            for _ in 0..<count {
                let name = "team \(answered.count)"
                let context = Context(coordinator)
                await context.perform { _ = $0.insert(Team(name: name)) }
                do throws(GraphError) {
                    try await context.save()
                    answered.append(name)
                    disk.acknowledge(answered.count)
                } catch {
                    failures.append(error)
                }
            }
        }
    }

    /// The names that the store has, in the order of the commits.
    private static func names(on disk: SimulatedDisk, _ comment: String) async -> [String]? {
        do {
            let coordinator = try await Coordinator.people(on: disk, seed: 9)
            #expect(coordinator.snapshot.check() == [], "\(comment)")
            let names = try coordinator.snapshot.fetchValues(Team.self).map(\.name)
            // It goes on, and is opened again.
            try await Context(coordinator).transaction { _ = $0.insert(Team(name: "more")) }
            try await coordinator.close()
            #expect(disk.names.filter { $0.contains(".new-") }.isEmpty, "\(comment)")
            return names
        } catch {
            Issue.record("\(comment): \(error)")
            return nil
        }
    }

    @Test(arguments: [false, true])
    func `every operation may fail in every way, once or from then on`(forEver: Bool) async throws {
        var reference = Program(SimulatedDisk())
        await reference.run()
        #expect(reference.failures.isEmpty && reference.answered.count == 6)
        var softFailures = 0
        for (name, fault) in ErrorSweepTests.faults {
            for index in 0..<reference.disk.operationCount where Sweep.tries(index) {
                let disk = SimulatedDisk(failingAt: index, with: fault, forEver: forEver)
                var program = Program(disk)
                await program.run()
                disk.stopFailing()
                disk.killProcess()
                let comment = "\(name) at \(index): \(program.failures)"
                // Whatever failed, the commits that went well are there, in their order.
                guard let names = await Self.names(on: disk, comment) else { continue }
                var rest = names[...]
                for name in program.answered {
                    let place = rest.firstIndex(of: name)
                    #expect(place != nil, "\(comment): lost \(name) of \(names)")
                    if let place { rest = rest[(place + 1)...] }
                }
                if program.failures.count == 1, program.answered.count == 6 { softFailures += 1 }
            }
        }
        // A compaction that fails alone costs no save.
        if !forEver { #expect(softFailures >= Sweep.least(20), "\(softFailures)") }
    }

    @Test func `an interruption costs no save and no compaction, but in a sync or a renaming`() async throws {
        var reference = Program(SimulatedDisk())
        await reference.run()
        let operations = reference.disk.trace.filter { !$0.hasPrefix("acknowledge") }
        for (index, operation) in operations.enumerated() where Sweep.tries(index, of: 5) {
            guard !operation.hasPrefix("sync"), !operation.hasPrefix("rename") else { continue }
            let disk = SimulatedDisk()
            disk.fail(operation: index, with: .error(.interrupted, 4))
            var program = Program(disk)
            await program.run()
            #expect(program.failures.isEmpty && program.answered.count == 6, "\(operation): \(program.failures)")
        }
    }

    @Test func `a power cut at any moment leaves one of the two files, with every acknowledged commit`() async throws {
        let disk = SimulatedDisk()
        disk.startRecording()
        var program = Program(disk)
        await program.run()
        let answered = program.answered
        let moments = disk.moments.filter { $0.acknowledged >= 0 }
        let opened = await moments.forEachPowerCut(seed: 4, randomMasks: 3) { medium, moment, comment in
            guard let names = await Self.names(on: SimulatedDisk(medium), comment) else { return }
            #expect(names.count >= moment.acknowledged && answered.starts(with: names), "\(comment): \(names)")
        }
        #expect(opened > 500, "\(opened)")
    }

    /// What the program does that opens the file after a crash: it saves and compacts, too. Returns what it found.
    private static func recover(_ disk: SimulatedDisk) async throws -> Int {
        let coordinator = try await Coordinator.people(on: disk, seed: 6)
        let found = coordinator.snapshot.count(of: Team.self)
        disk.acknowledge(found)
        try await Context(coordinator).transaction { _ = $0.insert(Team(name: "again")) }
        disk.acknowledge(found + 1)
        try await coordinator.compact()
        try await coordinator.close()
        return found
    }

    @Test func `a power cut while a program recovers from one in a compaction loses nothing more`() async throws {
        let disk = SimulatedDisk()
        disk.startRecording()
        var program = Program(disk)
        await program.run()
        let answered = program.answered
        var random = SeededGenerator(seed: 5)
        var (second, leftovers) = (0, 0)
        let moments = disk.moments.filter { $0.acknowledged >= 0 }
        let first = try await moments.forEachPowerCut(seed: 5) { crashed, moment, comment in
            if crashed.names.keys.contains(where: { $0.text.contains(".new-") }) { leftovers += 1 }
            let recovering = SimulatedDisk(crashed)
            recovering.startRecording()
            let found = try await Self.recover(recovering)
            #expect(found >= moment.acknowledged, "\(comment)")
            let expected = answered.prefix(found) + ["again"]
            for (place, later) in recovering.moments.enumerated() {
                for mask in [[0, .max][place % 2], random.next()] {
                    second += 1
                    let medium = later.medium.crashed(keeping: mask, using: &random)
                    let comment = "\(comment), then \(place) (\(later.operation)), \(mask)"
                    guard let names = await Self.names(on: SimulatedDisk(medium), comment) else { continue }
                    #expect(
                        names.count >= max(moment.acknowledged, later.acknowledged)
                            && expected.starts(with: names), "\(comment): \(names)")
                }
            }
        }
        #expect(second > Sweep.least(20_000) && leftovers > 0, "\(first) \(second) \(leftovers)")
    }

    @Test(arguments: [false, true])
    func `every bit of a compacted file counts`(isClosed: Bool) async throws {
        let disk = SimulatedDisk()
        let coordinator = try await Coordinator.people(on: disk)
        try await Context(coordinator).transaction { context in
            let team = context.insert(Team(name: "a"))
            for number in 0..<40 { context.insert(Person(name: "\(number)", team: ToOne(team.id))) }
        }
        try await coordinator.compact()
        if isClosed { try await coordinator.close() } else { disk.killProcess() }
        let bytes = try #require(disk.contents(JournalFixture.path))
        let lock = try #require(disk.contents(JournalFixture.path + ".lock"))
        for bit in 8 * 8_192..<8 * bytes.count where Sweep.tries(bit) {
            let place = bit / 8
            var damaged = bytes
            damaged[place] ^= 1 << UInt8(bit % 8)
            let other = SimulatedDisk()
            other.setContents(damaged, at: JournalFixture.path)
            other.setContents(lock, at: JournalFixture.path + ".lock")
            do {
                _ = try await Coordinator.people(on: other)
                Issue.record("byte \(place) of \(bytes.count) has another bit, and the file opens")
            } catch {
                guard case .corrupt = error else {
                    Issue.record("byte \(place): \(error)")
                    continue
                }
            }
            #expect(other.contents(JournalFixture.path) == damaged)
        }
    }

    @Test func `a full disk costs the compaction and nothing else`() async throws {
        let reference = SimulatedDisk()
        var program = Program(reference)
        await program.run()
        let writes = reference.trace.filter { $0.hasPrefix("write") }.count
        var failed = 0
        for skipping in 0..<writes {
            let disk = SimulatedDisk()
            disk.fail(next: .write, skipping: skipping, with: .errorAfterHalf(.diskFull, 28))
            var program = Program(disk)
            await program.run()
            guard !program.answered.isEmpty else { continue }
            if program.failures.contains(.diskFull(path: JournalFixture.path)) { failed += 1 }
            #expect(program.failures.allSatisfy { $0 == .diskFull(path: JournalFixture.path) }, "\(program.failures)")
            disk.killProcess()
            let names = await Self.names(on: disk, "write \(skipping)")
            #expect(names == program.answered)
        }
        #expect(failed > 10)
    }
}
