import Testing

@testable import Graph

/// Lets every operation of a short life fail in every way, and looks at what is there afterwards.
struct ErrorSweepTests {
    static let faults: [(name: String, fault: SimulatedDisk.Fault)] = [
        ("EIO", .error(.other, 5)), ("EIO after half", .errorAfterHalf(.other, 5)),
        ("ENOSPC", .error(.diskFull, 28)), ("ENOSPC after half", .errorAfterHalf(.diskFull, 28)),
        ("EROFS", .error(.permission, 30)), ("EINTR", .error(.interrupted, 4)),
        ("short", .short), ("zero bytes", .zero),
        ("sync reverts", .syncFailure(reverts: true)),
    ]

    /// What a program knows about the commits it has written.
    private struct Knowledge {
        var commits: [[UInt8]] = []
        /// A group that may or may not be there, after the first so many commits.
        var unknown: [[UInt8]] = []
        var unknownAfter = 0
        var outcomes: [GraphError] = []

        mutating func write(_ numbers: ClosedRange<Int>, _ writer: inout JournalWriter) {
            let group = numbers.map { JournalFixture.commit($0) }
            do throws(GraphError) {
                try writer.write(group)
                commits += group.map(\.payload)
            } catch {
                outcomes.append(error)
                guard case .outcomeUnknown = error else { return }
                unknown = group.map(\.payload)
                unknownAfter = commits.count
            }
        }

        /// What may be found: everything known, with the first so many of the unknown group in its place.
        var possible: [[[UInt8]]] {
            (0...unknown.count).map { count in
                Array(commits[..<unknownAfter] + unknown.prefix(count) + commits[unknownAfter...])
            }
        }

        mutating func run(_ disk: SimulatedDisk) {
            do throws(GraphError) {
                var writer = try JournalFixture.open(disk).opened.writer
                write(1...1, &writer)
                write(2...4, &writer)
                write(5...5, &writer)
                if writer.phase == .open { try writer.close([1]) }
                disk.killProcess()
                // The next opening has a copy of the header to repair.
                disk.change(JournalFixture.path) { file in
                    file.current[100] ^= 1
                    file.durable[100] ^= 1
                }
                writer = try JournalFixture.open(disk).opened.writer
                write(6...7, &writer)
            } catch {
                outcomes.append(error)
            }
        }
    }

    @Test(arguments: [false, true]) func `every operation may fail in every way`(forEver: Bool) throws {
        let reference = SimulatedDisk()
        var all = Knowledge()
        all.run(reference)
        #expect(all.commits.count == 7 && all.outcomes.isEmpty)
        for (name, fault) in Self.faults {
            for index in 0..<reference.operationCount {
                let disk = SimulatedDisk(failingAt: index, with: fault, forEver: forEver)
                var known = Knowledge()
                known.run(disk)
                #expect(disk.operationCount < 20_000, "\(name) at \(index)")
                disk.stopFailing()
                for losesPower in [false, true] {
                    var medium = disk.medium
                    if losesPower {
                        medium = medium.crashed(
                            keeps: { _ in false }, fill: .ghost, keepsLength: false, namesKept: 0)
                    }
                    let after = SimulatedDisk(medium)
                    do throws(GraphError) {
                        let found = try JournalFixture.open(after)
                        let commits = JournalFixture.commits(in: found.records)
                        let isPossible = known.possible.contains(commits)
                        #expect(
                            isPossible,
                            "\(name) at \(index), power \(losesPower): \(commits.count) commits, \(known.outcomes)")
                        var writer = found.opened.writer
                        try writer.write([JournalFixture.commit(99)])
                    } catch {
                        Issue.record("\(name) at \(index), power \(losesPower): \(error)")
                    }
                }
            }
        }
    }

    @Test func `an interruption is of no consequence, but in the sync of a group`() throws {
        let reference = SimulatedDisk()
        var all = Knowledge()
        all.run(reference)
        var syncs = 0
        for index in 0..<reference.operationCount {
            let disk = SimulatedDisk()
            disk.fail(operation: index, with: .error(.interrupted, 4))
            var known = Knowledge()
            known.run(disk)
            let operation = reference.trace[index]
            if known.outcomes.isEmpty {
                #expect(known.commits == all.commits, "\(operation)")
                let medium = disk.medium.crashed(
                    keeps: { _ in false }, fill: .ghost, keepsLength: false, namesKept: 0)
                let found = try JournalFixture.open(SimulatedDisk(medium))
                #expect(JournalFixture.commits(in: found.records) == all.commits, "\(operation)")
            } else if operation.hasPrefix("sync ") {
                syncs += 1
            } else {
                // Whether an interrupted rename has happened nobody says.
                #expect(operation.hasPrefix("rename "), "\(operation): \(known.outcomes)")
            }
        }
        // Three groups and the closing record with what it cuts off, and one group of the second life.
        #expect(syncs == 6)
    }

    @Test func `a full disk rejects the group and harms nothing`() throws {
        for half in [false, true] {
            for earlier in [0, 1, 2] {
                let disk = SimulatedDisk()
                var writer = try JournalFixture.open(disk).opened.writer
                for number in 0..<earlier { try writer.write([JournalFixture.commit(number)]) }
                let fault = SimulatedDisk.Fault.errorAfterHalf(.diskFull, 28)
                disk.fail(next: .write, with: half ? fault : .error(.diskFull, 28))
                #expect(throws: GraphError.diskFull(path: JournalFixture.path)) {
                    try writer.write((10...12).map { JournalFixture.commit($0) })
                }
                #expect(writer.phase == .open)
                for mask in 0..<8 {
                    let medium = disk.medium.crashed(
                        keeps: { mask & (1 << $0) != 0 }, fill: .old, keepsLength: true, namesKept: 9)
                    let found = try JournalFixture.open(SimulatedDisk(medium)).records
                    #expect(JournalFixture.commits(in: found).count == earlier, "a rejected group came back")
                }
                let file = try #require(disk.contents(JournalFixture.path))
                #expect(file.count == Int(writer.fileEnd) && file[Int(writer.end)...].allSatisfy { $0 == 0 })
                try writer.write([JournalFixture.commit(50)])
                disk.killProcess()
                let commits = JournalFixture.commits(in: try JournalFixture.open(disk).records)
                #expect(commits == (Array(0..<earlier) + [50]).map { JournalFixture.commit($0).payload })
            }
        }
    }

    @Test func `a group that found no room, nor room for zeros over it, is cut off`() throws {
        let disk = SimulatedDisk()
        var writer = try JournalFixture.open(disk).opened.writer
        try writer.write([JournalFixture.commit(1)])
        // The first record of the group is there, whole.
        disk.fail(next: .write, with: .errorAfterHalf(.diskFull, 28))
        disk.fail(next: .write, with: .error(.diskFull, 28))
        #expect(throws: GraphError.diskFull(path: JournalFixture.path)) {
            try writer.write((10...12).map { JournalFixture.commit($0) })
        }
        let file = try #require(disk.contents(JournalFixture.path))
        #expect(writer.phase == .open && writer.fileEnd == writer.end && file.count == Int(writer.end))
        try writer.write([JournalFixture.commit(2)])
        disk.killProcess()
        let commits = JournalFixture.commits(in: try JournalFixture.open(disk).records)
        #expect(commits == [1, 2].map { JournalFixture.commit($0).payload })
    }

    @Test func `a disk too full for zeros ahead still takes the group`() throws {
        let disk = SimulatedDisk()
        var writer = try JournalFixture.open(disk).opened.writer
        disk.fail(next: .write, skipping: 1, with: .errorAfterHalf(.diskFull, 28))
        try writer.write([JournalFixture.commit(1)])
        #expect(writer.fileEnd == writer.end)
        try writer.write([JournalFixture.commit(2)])
        #expect(writer.fileEnd > writer.end)
        disk.killProcess()
        #expect(JournalFixture.commits(in: try JournalFixture.open(disk).records).count == 2)
    }

    @Test func `a write error that is no full disk fails the journal for good`() throws {
        let faults: [SimulatedDisk.Fault] = [
            .error(.other, 5), .errorAfterHalf(.other, 5), .zero, .error(.permission, 30),
        ]
        for fault in faults {
            let disk = SimulatedDisk()
            var writer = try JournalFixture.open(disk).opened.writer
            disk.fail(next: .write, with: fault)
            do throws(GraphError) {
                try writer.write([JournalFixture.commit(1)])
                Issue.record("written")
            } catch {
                guard case .outcomeUnknown = error, case .failed = writer.phase else { throw error }
            }
        }
    }

    @Test func `after a failure the file is not touched again`() throws {
        let disk = SimulatedDisk()
        var writer = try JournalFixture.open(disk).opened.writer
        try writer.write([JournalFixture.commit(1)])
        disk.fail(next: .sync, with: .error(.other, 5))
        #expect(
            throws: GraphError.outcomeUnknown(
                path: JournalFixture.path, reason: "could not sync it: Input/output error (5)")
        ) {
            try writer.write([JournalFixture.commit(2)])
        }
        let operations = disk.operationCount
        #expect(
            throws: GraphError.storeFailed(
                path: JournalFixture.path, reason: "could not sync it: Input/output error (5)")
        ) { try writer.write([JournalFixture.commit(3)]) }
        try writer.close([1])
        try writer.close([1])
        #expect(throws: GraphError.closed(path: JournalFixture.path)) { try writer.write([JournalFixture.commit(4)]) }
        #expect(disk.operationCount == operations)
    }

    @Test func `an error while reading is reported as such and never changes the file`() throws {
        let bytes = try JournalFixture.bytes(closed: false) + [UInt8](repeating: 1, count: 300_000)
        let reference = SimulatedDisk()
        reference.setContents(bytes, at: JournalFixture.path)
        _ = try JournalFixture.open(reference)
        let reads = reference.trace.indices.filter { reference.trace[$0].hasPrefix("read") }
        #expect(reads.count > 3)
        for index in reads {
            let disk = SimulatedDisk()
            disk.setContents(bytes, at: JournalFixture.path)
            disk.fail(operation: index, with: .error(.other, 5))
            #expect(throws: GraphError.inputOutput(path: JournalFixture.path, operation: "read", code: 5)) {
                try JournalFixture.open(disk)
            }
            #expect(disk.contents(JournalFixture.path) == bytes)
            #expect(!disk.names.contains { $0.contains(".torn-") })
        }
    }
}
