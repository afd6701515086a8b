import Testing

@testable import Graph

/// Each kind of change in a program of three versions: the second one in between or not, the third has the same store.
struct EvolutionProgramTests {
    @Test(arguments: EvolutionProgram.all)
    func `three versions one after another, and the third one directly, give equal stores`(
        _ program: EvolutionProgram
    ) async throws {
        // Through each version; compacted in between; opened twice; the third one directly, without a checkpoint and with one.
        let ways: [(versions: [Int], isCompacted: Bool)] = [
            ([2, 3], false), ([2, 3], true), ([2, 2, 3, 3], false), ([3], false), ([3], true),
        ]
        var stores: [EvolvedProgramStore] = []
        for way in ways {
            stores.append(try await run(program, through: way.versions, isCompacted: way.isCompacted))
        }
        for (store, way) in zip(stores, ways).dropFirst() {
            #expect(store.state == stores[0].state, "\(way)")
            #expect(store.counters == stores[0].counters, "\(way)")
        }
    }

    /// The store that the third version has in the end.
    private func run(
        _ program: EvolutionProgram, through versions: [Int], isCompacted: Bool
    ) async throws -> EvolvedProgramStore {
        let disk = try await program.makeStore(isCompacted: isCompacted)
        var last = 1
        for version in versions {
            if version == 3, last < 3, let obstacle = program.obstacle {
                try await expectRefusal(of: program, obstacle, disk, from: last)
            }
            // What is only read has the same, and leaves the file alone.
            let bytes = disk.contents(JournalFixture.path)
            let reader = try await program.open(version, on: disk, readOnly: true)
            #expect(disk.contents(JournalFixture.path) == bytes && reader.check() == [])
            let coordinator = try await program.open(version, on: disk)
            #expect(coordinator.check() == [])
            #expect(await coordinator.schemaRecord.version == program.plan(version)?.newestVersion)
            let state = PlainState(coordinator.snapshot)
            #expect(PlainState(reader.snapshot) == state)
            let changes = coordinator.diagnostics.filter { [.recordedChange, .convertedChange].contains($0.kind) }
            #expect(changes.isEmpty == (version == last), "\(version) after \(last): \(changes)")
            if isCompacted { try await coordinator.compact() }
            try await coordinator.close()
            last = version
        }
        // Nothing is left to do.
        let coordinator = try await program.open(3, on: disk)
        #expect(coordinator.diagnostics == [] && coordinator.check() == [])
        try program.check(coordinator.snapshot)
        let store = EvolvedProgramStore(
            state: PlainState(coordinator.snapshot), counters: await coordinator.usedCounters)
        try await coordinator.close()
        return store
    }

    /// The file is as before, and the version before goes on with it.
    private func expectRefusal(
        of program: EvolutionProgram, _ obstacle: String, _ disk: SimulatedDisk, from last: Int
    ) async throws {
        let (bytes, names) = (disk.contents(JournalFixture.path), disk.names)
        for isReadOnly in [true, false] {
            let error = await #expect(throws: GraphError.self) {
                try await program.open(3, on: disk, readOnly: isReadOnly)
            }
            let text = "\(try #require(error))"
            #expect(text.contains(obstacle), "\(text)")
            #expect(disk.contents(JournalFixture.path) == bytes && disk.names == names)
        }
        try await program.correct(disk, with: last)
    }

    /// The store of the first version, that of the second one on the way, or that of the third one, whole.
    @Test(arguments: EvolutionProgram.all)
    func `a power cut at any operation on the way leaves the store of one version`(
        _ program: EvolutionProgram
    ) async throws {
        let disk = try await program.makeStore()
        if program.obstacle != nil { try await program.correct(disk, with: 1) }
        let old = try await state(of: program, 1, on: SimulatedDisk(disk.medium))
        let new = try await state(of: program, 3, on: SimulatedDisk(disk.medium))
        var (tried, outcomes): (Int, Set<Bool>) = (0, [])
        for versions in [[3], [2, 3]] {
            let recorded = SimulatedDisk(disk.medium)
            recorded.startRecording()
            for version in versions {
                // Two files never have one identifier.
                try await program.open(version, on: recorded, seed: UInt64(20 + version)).close()
            }
            let seed = Seeds.first + UInt64(versions.count)
            tried += await recorded.moments.forEachPowerCut(seed: seed) { medium, _, comment in
                let comment = "\(versions), \(comment)"
                // Where the first version still opens the file, it has what it left there.
                let first = try? await state(of: program, 1, on: SimulatedDisk(medium))
                #expect(first == nil || first == old, "\(comment)")
                outcomes.insert(first == nil)
                do {
                    let crashed = SimulatedDisk(medium)
                    #expect(try await state(of: program, 3, on: crashed, seed: 9) == new, "\(comment)")
                    #expect(crashed.names.allSatisfy { !$0.contains(".new-") }, "\(comment)")
                } catch {
                    Issue.record("\(comment): \(error)")
                }
            }
        }
        #expect(tried > 50 && outcomes.contains(false), "\(tried) \(outcomes)")
    }

    @Test(arguments: EvolutionProgram.all)
    func `an operation that fails on the way leaves the store of one version`(_ program: EvolutionProgram) async throws
    {
        let disk = try await program.makeStore()
        if program.obstacle != nil { try await program.correct(disk, with: 1) }
        let new = try await state(of: program, 3, on: SimulatedDisk(disk.medium))
        let reference = SimulatedDisk(disk.medium)
        try await program.open(3, on: reference).close()
        for index in 0..<reference.operationCount where Sweep.tries(index) {
            let failing = SimulatedDisk(
                disk.medium, failingAt: index, with: .errorAfterHalf(.diskFull, 28), forEver: index % 2 == 0)
            try? await program.open(3, on: failing).close()
            failing.stopFailing()
            failing.killProcess()
            do {
                #expect(try await state(of: program, 3, on: failing, seed: 9) == new, "\(index)")
            } catch {
                Issue.record("\(index), \(reference.trace[index]): \(error)")
            }
        }
    }

    private func state(
        of program: EvolutionProgram, _ version: Int, on disk: SimulatedDisk, seed: UInt64 = 7
    ) async throws -> PlainState {
        let coordinator = try await program.open(version, on: disk, seed: seed)
        #expect(coordinator.check() == [])
        let state = PlainState(coordinator.snapshot)
        try await coordinator.close()
        return state
    }
}

private struct EvolvedProgramStore: Equatable {
    let state: PlainState
    /// By entity, the number that the next row gets.
    let counters: [RowNumber]
}

extension EvolutionProgram: CustomTestStringConvertible {
    var testDescription: String { name }
}
