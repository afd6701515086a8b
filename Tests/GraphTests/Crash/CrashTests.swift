import Testing

@testable import Graph

/// Opens every medium that a power cut could have left, and asks for a prefix that holds everything acknowledged.
struct CrashTests {
    /// One run of a program, with what the crash tests need to check its remains.
    private struct Run {
        let moments: [SimulatedDisk.Moment]
        let script: [[UInt8]]
        let seed: UInt64
        /// The number of random choices where all of them would be too many.
        var samples = 24
        /// The number of commits that no sync has covered at any time: the last group, and what may wait for its sync.
        var unsyncedLimit = 5
        /// Every so many media are also written to and opened again.
        var continuesEvery = 9

        /// Returns how many media there are, of which a part is opened; see `Sweep`.
        func check() throws -> Int {
            var generator = SeededGenerator(seed: seed)
            var count = 0
            for (index, moment) in moments.enumerated() {
                for choice in choices(for: moment.medium, &generator) {
                    count += 1
                    guard Sweep.tries(count) else { continue }
                    let medium = moment.medium.crashed(
                        keeps: { choice.mask & (1 << UInt64($0 % 64)) != 0 }, fill: choice.fill,
                        keepsLength: choice.keepsLength, namesKept: choice.namesKept,
                        lockChangesKept: choice.lockChangesKept)
                    try check(
                        SimulatedDisk(medium), moment, continues: count % continuesEvery == 0,
                        "seed \(seed), moment \(index) (\(moment.operation)), \(choice)")
                }
            }
            return count
        }

        private struct Choice {
            var mask: UInt64
            var fill: Medium.Fill
            var keepsLength: Bool
            var namesKept: Int
            /// The last one of those kept is what the lock file says.
            var lockChangesKept: Int
        }

        private func choices(for medium: Medium, _ generator: inout SeededGenerator) -> [Choice] {
            let count = medium.pendingCount
            var masks: [UInt64] = [0, .max]
            if count <= 5 {
                masks = Array(0..<(1 << UInt64(count)))
            } else {
                for ordinal in 0..<min(count, 6) { masks += [1 << UInt64(ordinal), ~(1 << UInt64(ordinal))] }
                for _ in 0..<samples { masks.append(generator.next()) }
            }
            var result: [Choice] = []
            for mask in masks {
                for fill in count == 0 ? [.old] : Medium.Fill.allCases {
                    for keepsLength in count == 0 ? [true] : [true, false] {
                        let names = Int.random(in: 0...medium.pendingNames.count, using: &generator)
                        // Most often all, which says the most of what has to be there.
                        let slots = medium.pendingLockCount
                        let kept = Bool.random(using: &generator) ? slots : Int.random(in: 0...slots, using: &generator)
                        result.append(
                            Choice(
                                mask: mask, fill: fill, keepsLength: keepsLength, namesKept: names,
                                lockChangesKept: kept))
                    }
                }
            }
            return result
        }

        /// What reading finds, which changes nothing.
        private func readCommits(_ disk: SimulatedDisk, _ comment: String) throws -> [[UInt8]] {
            let before = disk.names.map { disk.contents($0) }
            defer { #expect(disk.names.map { disk.contents($0) } == before, "\(comment)") }
            do {
                return JournalFixture.commits(in: try JournalFixture.read(disk))
            } catch {
                guard case .unusableFile(_, "there is no file") = error else {
                    Issue.record("\(comment): \(error)")
                    return []
                }
                return []
            }
        }

        private func check(
            _ disk: SimulatedDisk, _ moment: SimulatedDisk.Moment, continues: Bool, _ comment: String
        ) throws {
            let found: (opened: JournalOpening.Opened, records: [JournalFixture.Replayed])
            let read = try readCommits(disk, comment)
            do {
                found = try JournalFixture.open(disk)
            } catch {
                Issue.record("\(comment): \(error)")
                return
            }
            let commits = JournalFixture.commits(in: found.records)
            // At most so many are not known to be durable by reading alone.
            #expect(
                commits.starts(with: read) && commits.count - read.count <= unsyncedLimit,
                "\(comment): \(read.count) read")
            let isPrefix = script.starts(with: commits)
            #expect(isPrefix && commits.count >= moment.acknowledged, "\(comment): \(commits.count) commits")
            if found.opened.wasCreated { #expect(moment.acknowledged < 0, "\(comment)") }
            guard continues else { return }
            var writer = found.opened.writer
            let more = JournalFixture.commit(1_000)
            try writer.write([more])
            disk.killProcess()
            let again = try JournalFixture.open(disk)
            #expect(JournalFixture.commits(in: again.records) == commits + [more.payload], "\(comment)")
        }
    }

    /// Writes the next commits of the script and, if they are durable, says so to the disk.
    private func write(
        _ count: Int, _ writer: inout JournalWriter, _ script: inout [[UInt8]], _ disk: SimulatedDisk,
        durably: Bool = true
    ) throws(GraphError) {
        let group = (0..<count).map { JournalFixture.commit(script.count + $0) }
        script += group.map(\.payload)
        try writer.write(group, durably: durably)
        if durably { disk.acknowledge(script.count) }
    }

    @Test func `a power cut at any operation leaves a prefix with every acknowledged commit`() throws {
        let disk = SimulatedDisk()
        disk.startRecording()
        var script: [[UInt8]] = []
        var writer = try JournalFixture.open(disk).opened.writer
        disk.acknowledge(0)
        for round in 0..<3 {
            for count in [1, 2, 5, 1] { try write(count, &writer, &script, disk) }
            try writer.write([Journal.Record(kind: .mark, payload: [1])], durably: false)
            try write(4, &writer, &script, disk)
            if round != 1 { try writer.close([7]) }
            disk.killProcess()
            writer = try JournalFixture.open(disk).opened.writer
        }
        try write(1, &writer, &script, disk)
        try writer.close([8])
        let opened = try Run(moments: disk.moments, script: script, seed: 1).check()
        #expect(opened > 3_000)
    }

    @Test func `a power cut while groups wait for a later sync leaves a prefix with every one that was synced`() throws
    {
        let disk = SimulatedDisk()
        disk.startRecording()
        var script: [[UInt8]] = []
        var writer = try JournalFixture.open(disk).opened.writer
        disk.acknowledge(0)
        for round in 0..<3 {
            for (count, isDurable) in [(1, false), (2, false), (5, false), (1, true), (4, false), (2, false)] {
                try write(count, &writer, &script, disk, durably: isDurable)
            }
            try writer.write([Journal.Record(kind: .mark, payload: [1])], durably: false)
            if round == 1 { try writer.sync() } else { try writer.close([7]) }
            disk.acknowledge(script.count)
            disk.killProcess()
            writer = try JournalFixture.open(disk).opened.writer
        }
        let opened = try Run(moments: disk.moments, script: script, seed: 2, unsyncedLimit: 14).check()
        #expect(opened > 3_000)
    }

    @Test func `a power cut during the creation leaves nothing or a complete file`() throws {
        let disk = SimulatedDisk()
        disk.startRecording()
        _ = try JournalFixture.open(disk)
        for moment in disk.moments {
            for namesKept in 0...moment.medium.pendingNames.count {
                for fill in Medium.Fill.allCases {
                    for mask in [0, 1, 2, 3, .max] as [UInt64] {
                        let medium = moment.medium.crashed(
                            keeps: { mask & (1 << UInt64($0 % 64)) != 0 }, fill: fill, keepsLength: true,
                            namesKept: namesKept)
                        let remains = SimulatedDisk(medium)
                        let found = try JournalFixture.open(remains)
                        #expect(remains.names.filter { $0.contains(".new-") }.isEmpty)
                        #expect(found.opened.wasCreated || found.records.count == 2)
                    }
                }
            }
        }
    }

    @Test func `a file whose creator died before syncing the folder is safe once it was opened again`() throws {
        let disk = SimulatedDisk()
        let first = try JournalFixture.open(disk)
        let syncIndex = disk.trace.lastIndex { $0.hasPrefix("syncDirectory") }
        let failing = SimulatedDisk()
        failing.fail(operation: try #require(syncIndex), with: .error(.other, 5))
        #expect(throws: GraphError.self) { try JournalFixture.open(failing) }
        failing.killProcess()
        let second = try JournalFixture.open(failing)
        #expect(!second.opened.wasCreated && second.opened.header.storeID == first.opened.header.storeID)
        var writer = second.opened.writer
        try writer.write([JournalFixture.commit(1)])
        let medium = failing.medium.crashed(keeps: { _ in false }, fill: .old, keepsLength: false, namesKept: 0)
        #expect(JournalFixture.commits(in: try JournalFixture.open(SimulatedDisk(medium)).records).count == 1)
    }

    @Test func `a power cut during recovery changes nothing about what is found`() throws {
        let disk = SimulatedDisk()
        var script: [[UInt8]] = []
        var writer = try JournalFixture.open(disk).opened.writer
        for count in [1, 2, 1] { try write(count, &writer, &script, disk) }
        // The first record of a last group is lost. It begins like what is written after the recovery, so that the rest
        // of it would fit behind that, should it come to light again.
        let start = Int(writer.end)
        try writer.write((0..<6).map { JournalFixture.commit(script.count + $0) })
        var torn = try #require(disk.contents(JournalFixture.path))
        for index in start..<(start + 40) { torn[index] = 0 }
        let recovering = SimulatedDisk()
        recovering.setContents(torn, at: JournalFixture.path)
        recovering.startRecording()
        recovering.acknowledge(script.count)
        writer = try JournalFixture.open(recovering).opened.writer
        #expect(recovering.names.contains { $0.contains(".torn-") })
        try write(1, &writer, &script, recovering)
        let opened = try Run(moments: recovering.moments, script: script, seed: 2).check()
        #expect(opened > 300)
    }

    @Test func `a power cut after an older copy was put back leaves the copy and what was written to it`() throws {
        let disk = SimulatedDisk()
        var script: [[UInt8]] = []
        var writer = try JournalFixture.open(disk).opened.writer
        try write(2, &writer, &script, disk)
        try writer.close([1])
        let older = try #require(disk.contents(JournalFixture.path))
        disk.killProcess()
        writer = try JournalFixture.open(disk).opened.writer
        for number in 10...13 { try writer.write([JournalFixture.commit(number)]) }
        try writer.close([2])
        // All of it has reached the disk, also what the lock file says.
        let later = SimulatedDisk(
            disk.medium.crashed(keeps: { _ in true }, fill: .old, keepsLength: true, namesKept: 9))
        later.setContents(older, at: JournalFixture.path)
        later.startRecording()
        later.acknowledge(script.count)
        let found = try JournalFixture.open(later)
        #expect(found.opened.diagnostics.map(\.kind) == [.olderCopy])
        writer = found.opened.writer
        for count in [1, 2] { try write(count, &writer, &script, later) }
        #expect(try Run(moments: later.moments, script: script, seed: 3).check() > 300)
    }

    @Test func `a power cut while a copy of the header is repaired leaves the other one`() throws {
        for offset in [100, 4_196] {
            let disk = SimulatedDisk()
            var script: [[UInt8]] = []
            var writer = try JournalFixture.open(disk).opened.writer
            try write(2, &writer, &script, disk)
            try writer.close([1])
            var damaged = try #require(disk.contents(JournalFixture.path))
            damaged[offset] ^= 1
            let repairing = SimulatedDisk()
            repairing.setContents(damaged, at: JournalFixture.path)
            repairing.startRecording()
            repairing.acknowledge(script.count)
            writer = try JournalFixture.open(repairing).opened.writer
            try write(1, &writer, &script, repairing)
            #expect(try Run(moments: repairing.moments, script: script, seed: 4).check() > 300)
        }
    }

    @Test func `a failed sync, a restart and new commits survive a power cut`() throws {
        for reverts in [false, true] {
            for failing in 0..<4 {
                let disk = SimulatedDisk()
                var script: [[UInt8]] = []
                var writer = try JournalFixture.open(disk).opened.writer
                for _ in 0..<failing { try write(2, &writer, &script, disk) }
                disk.fail(next: .sync, with: .syncFailure(reverts: reverts))
                let lost = (0..<2).map { JournalFixture.commit(script.count + $0) }
                #expect(throws: GraphError.self) { try writer.write(lost) }
                #expect(throws: GraphError.self) { try writer.write(lost) }
                disk.stopFailing()
                disk.killProcess()
                disk.startRecording()
                disk.acknowledge(script.count)
                let again = try JournalFixture.open(disk)
                let commits = JournalFixture.commits(in: again.records)
                #expect((script + lost.map(\.payload)).starts(with: commits) && commits.count >= script.count)
                script = commits
                writer = again.opened.writer
                disk.acknowledge(script.count)
                for count in [1, 2] { try write(count, &writer, &script, disk) }
                // Programs see one thing, the medium may hold another: only a sync may be believed.
                let run = Run(
                    moments: disk.moments, script: script, seed: UInt64(failing), samples: 2, continuesEvery: 50)
                #expect(try run.check() > 50)
            }
        }
    }

    @Test func `a sync covers every acknowledgement, and a name is given only to synced contents`() throws {
        let disk = SimulatedDisk()
        var script: [[UInt8]] = []
        var writer = try JournalFixture.open(disk).opened.writer
        disk.acknowledge(0)
        for count in [1, 3, 2] { try write(count, &writer, &script, disk) }
        try writer.close([1])
        var isDirty = false
        var namesAreDirty = false
        for line in disk.trace {
            // What the lock file says is never ahead of the disk.
            if line.hasPrefix("write lock") {
                #expect(!isDirty)
                continue
            }
            if line.hasPrefix("write") || line.hasPrefix("truncate") { isDirty = true }
            if line.hasPrefix("sync ") { isDirty = false }
            if line.hasPrefix("rename") {
                #expect(!isDirty)
                namesAreDirty = true
            }
            if line.hasPrefix("syncDirectory") { namesAreDirty = false }
            if line.hasPrefix("acknowledge") { #expect(!isDirty && !namesAreDirty) }
        }
        #expect(!isDirty)
    }
}
