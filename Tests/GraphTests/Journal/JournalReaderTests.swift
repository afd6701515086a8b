import Testing

@testable import Graph

/// The decision table of recovery, row by row, on files composed by hand.
struct JournalReaderTests {
    /// A file made record by record; any of them may be malformed.
    private struct Composer {
        let header: JournalHeader
        var bytes: [UInt8]
        var sequence: UInt64 = 0
        var chain: UInt32
        var starts: [Int] = []

        init(schema: [UInt8] = JournalFixture.schema, hasCheckpoint: Bool = false) {
            header = JournalHeader(
                storeID: StoreID(high: 1, low: 2), fileID: StoreID(high: 0x0304_0506 << 32, low: 4), generation: 1,
                baseCommit: .none, previousFileChain: 0, schemaFingerprint: SHA256.digest(schema),
                createdNanoseconds: 0,
                hasCheckpoint: hasCheckpoint)
            let encoded = header.encoded()
            bytes = encoded + encoded
            chain = CRC32C.checksum(Array(encoded.dropLast(4)))
        }

        mutating func add(
            _ kind: Journal.RecordKind, _ payload: [UInt8], durableThrough: UInt64 = 0, sequence: UInt64? = nil,
            chain: UInt32? = nil, change: (inout [UInt8]) -> Void = { _ in }
        ) {
            self.sequence += 1
            var writer = ByteWriter()
            self.chain = JournalFrame.append(
                Journal.Record(kind: kind, payload: payload), sequence: JournalSequence(sequence ?? self.sequence),
                durableThrough: JournalSequence(durableThrough), chain: chain ?? self.chain, salt: header.salt,
                to: &writer)
            var frame = writer.bytes
            change(&frame)
            starts.append(bytes.count)
            bytes += frame
        }

        /// Schema and seal.
        static func sealed() -> Composer {
            var composer = Composer()
            composer.add(.schema, JournalFixture.schema)
            composer.add(.mark, [1])
            return composer
        }

        /// Gives the header of the frame a checksum that fits its bytes, and the payload one that fits the header.
        func reseal(_ frame: inout [UInt8], payloadBytes: Int) {
            let checksum = CRC32C.checksum(Array(frame[8..<36]), seed: header.salt)
            let payload = CRC32C.checksum(Array(frame[40..<(40 + payloadBytes)]), seed: checksum)
            for index in 0..<4 {
                frame[4 + index] = UInt8(truncatingIfNeeded: checksum >> UInt32(index * 8))
                frame[36 + index] = UInt8(truncatingIfNeeded: payload >> UInt32(index * 8))
            }
        }
    }

    private func expectCorrupt(
        _ bytes: [UInt8], at offset: Int, _ reason: String, location: SourceLocation = #_sourceLocation
    ) {
        do throws(GraphError) {
            _ = try JournalFixture.open(bytes: bytes)
            Issue.record("opened", sourceLocation: location)
        } catch {
            guard case .corrupt(_, UInt64(offset), _, let found) = error else {
                Issue.record("\(error)", sourceLocation: location)
                return
            }
            #expect(found.contains(reason), sourceLocation: location)
        }
    }

    @Test func `the end of the file and zeros up to it are a clean end`() throws {
        let composer = Composer.sealed()
        // 4,000 of them reach to a multiple of 4,096, as zeros ahead do.
        for zeros in [0, 1, 7, 8, 39, 40, 41, 4_000, 4_096, 300_000] {
            let disk = SimulatedDisk()
            disk.setContents(composer.bytes + [UInt8](repeating: 0, count: zeros), at: JournalFixture.path)
            let found = try JournalFixture.open(disk)
            let isAWriters = zeros == 0 || zeros == 4_000
            #expect(found.records.count == 2)
            #expect(found.opened.diagnostics.map(\.kind) == (isAWriters ? [] : [.unknownEnd]))
            #expect(disk.contents(JournalFixture.path) == composer.bytes)
            #expect(!disk.names.contains { $0.contains(".torn-") })
        }
    }

    @Test func `records of every kind reach replay in order`() throws {
        var composer = Composer(hasCheckpoint: true)
        composer.add(.schema, JournalFixture.schema)
        composer.add(.snapshotChunk, [1])
        composer.add(.snapshotChunk, [2])
        composer.add(.snapshotEnd, [3])
        composer.add(.commit, [4])
        composer.add(.mark, [5])
        composer.add(.schema, [6], durableThrough: 6)
        composer.add(.close, [], durableThrough: 7)
        composer.add(.commit, [8], durableThrough: 8)
        let records = try JournalFixture.open(bytes: composer.bytes).records
        #expect(
            records.map(\.kind) == [
                .schema, .snapshotChunk, .snapshotChunk, .snapshotEnd, .commit, .mark, .schema, .close, .commit,
            ])
        #expect(records.map(\.sequence) == Array(1...9))
        #expect(records.map { Int($0.offset) } == composer.starts)
    }

    @Test func `a file without its seal is corrupt, whatever follows`() {
        var composer = Composer()
        expectCorrupt(composer.bytes, at: 8_192, "initial part")
        composer.add(.schema, JournalFixture.schema)
        let end = composer.bytes.count
        expectCorrupt(composer.bytes, at: end, "initial part")
        expectCorrupt(composer.bytes + [UInt8](repeating: 0, count: 500), at: end, "initial part")
        expectCorrupt(composer.bytes + [1, 2, 3], at: end, "cut off")
        composer.add(.commit, [1])
        composer.add(.mark, []) { $0[20] ^= 1 }
        expectCorrupt(composer.bytes, at: composer.starts[2], "wrong checksum")
    }

    @Test func `the first record must be the schema that the header names`() {
        var composer = Composer()
        composer.add(.commit, [1])
        expectCorrupt(composer.bytes, at: 8_192, "not a schema")
        composer = Composer(schema: [1, 2, 3])
        composer.add(.schema, JournalFixture.schema)
        expectCorrupt(composer.bytes, at: 8_192, "header names")
    }

    @Test func `a checkpoint in the wrong place, and none where there should be one, is an invalid record`() {
        let wrong: [(Bool, [Journal.RecordKind])] = [
            (true, [.snapshotChunk, .mark]), (true, [.snapshotChunk, .commit]), (false, [.mark, .snapshotChunk]),
            (false, [.mark, .snapshotEnd]),
        ]
        let early: [(Bool, [Journal.RecordKind])] = [
            (false, [.snapshotChunk]), (false, [.snapshotEnd]), (true, [.snapshotEnd]), (true, [.mark]),
            (true, [.commit]), (true, [.schema]), (true, [.close]),
        ]
        for (hasCheckpoint, kinds) in wrong + early {
            var composer = Composer(hasCheckpoint: hasCheckpoint)
            composer.add(.schema, JournalFixture.schema)
            for kind in kinds { composer.add(kind, [1]) }
            let place = UInt64(kinds.count + 1)
            do throws(GraphError) {
                _ = try JournalFixture.open(bytes: composer.bytes)
                Issue.record("\(kinds) opened")
            } catch {
                guard case .invalidRecord(_, _, place, _) = error else {
                    Issue.record("\(error)")
                    continue
                }
            }
        }
    }

    @Test func `a valid header with an unknown kind, flag or length is refused`() {
        let changes: [(Int, UInt8, String)] = [
            (8, 8, "unknown kind 8"), (8, 0, "unknown kind 0"), (9, 1, "unknown flags"), (10, 1, "unknown flags"),
            (15, 0xFF, "payload of"), (15, 0x10, "payload of 268435457"),
        ]
        for (offset, value, reason) in changes {
            var composer = Composer.sealed()
            let sealed = composer
            composer.add(.commit, [1], durableThrough: 2) { frame in
                frame[offset] = value
                sealed.reseal(&frame, payloadBytes: 1)
            }
            expectCorrupt(composer.bytes, at: composer.starts[2], reason)
        }
    }

    @Test func `a valid record in the wrong place is refused`() {
        var composer = Composer.sealed()
        composer.add(.commit, [1], durableThrough: 2, sequence: 4)
        expectCorrupt(composer.bytes, at: composer.starts[2], "sequence 4")
        composer = .sealed()
        composer.add(.commit, [1], durableThrough: 2, chain: 5)
        expectCorrupt(composer.bytes, at: composer.starts[2], "does not follow")
        composer = .sealed()
        composer.add(.commit, [1], durableThrough: 3)
        expectCorrupt(composer.bytes, at: composer.starts[2], "sync of record 3")
        composer = .sealed()
        composer.add(.commit, [1], durableThrough: 2)
        composer.add(.commit, [1], durableThrough: 1)
        expectCorrupt(composer.bytes, at: composer.starts[3], "sync of record 1")
        composer = .sealed()
        composer.add(.commit, [1], durableThrough: .max)
        expectCorrupt(composer.bytes, at: composer.starts[2], "sync of record")
    }

    @Test func `a bad record that a later one shows to be durable is corrupt`() {
        for damaged in [0, 4, 12, 16, 36, 41, 47] {
            var composer = Composer.sealed()
            composer.add(.commit, [1, 2, 3], durableThrough: 2) { $0[damaged] ^= 0x81 }
            composer.add(.commit, [4], durableThrough: 3)
            expectCorrupt(composer.bytes, at: composer.starts[2], "durable (through 3), the next readable record is at")
        }
    }

    @Test func `a later header is found at any byte, also across the pieces in which the rest is read`() {
        var composer = Composer.sealed()
        let end = composer.bytes.count
        composer.add(.commit, [1], durableThrough: 2)
        composer.add(.commit, [4], durableThrough: 3)
        for distance in [0, 1, 7, 8, 20, 38, 39, 40, 41, 100] {
            let filler = [UInt8](repeating: 1, count: JournalWindow.pieceBytes - distance)
            expectCorrupt(
                Array(composer.bytes[..<end]) + filler + composer.bytes[composer.starts[3]...], at: end,
                "durable (through 3), the next readable record is at \(end + filler.count)")
        }
    }

    @Test func `a bad record that nothing shows to be durable is a torn tail, kept aside`() throws {
        for damaged in [0, 4, 12, 16, 36, 41, 47] {
            var composer = Composer.sealed()
            composer.add(.commit, [1, 2, 3], durableThrough: 2) { $0[damaged] ^= 0x81 }
            composer.add(.commit, [4], durableThrough: 2)
            let disk = SimulatedDisk()
            disk.setContents(composer.bytes + [UInt8](repeating: 0, count: 77), at: JournalFixture.path)
            let found = try JournalFixture.open(disk)
            #expect(found.records.count == 2 && found.opened.diagnostics.count == 1)
            #expect(disk.contents(JournalFixture.path) == Array(composer.bytes[..<composer.starts[2]]))
            let lastByte = try #require(composer.bytes.lastIndex { $0 != 0 })
            #expect(
                disk.contents(JournalFixture.path + ".torn-3") == Array(composer.bytes[composer.starts[2]...lastByte]))
        }
    }

    @Test func `whatever call a signal interrupts, a torn tail is kept whole`() throws {
        var composer = Composer.sealed()
        composer.add(.commit, [1, 2, 3], durableThrough: 2) { $0[41] ^= 0x81 }
        let lastByte = try #require(composer.bytes.lastIndex { $0 != 0 })
        let tail = Array(composer.bytes[composer.starts[2]...lastByte])
        var (index, syncs, count) = (0, 0, 1)
        while index < count {
            let disk = SimulatedDisk()
            disk.setContents(composer.bytes, at: JournalFixture.path)
            disk.fail(operation: index, with: .error(.interrupted, 4))
            let found = Result { try JournalFixture.open(disk) }
            let operation = disk.trace.indices.contains(index) ? disk.trace[index] : ""
            (index, count) = (index + 1, max(count, disk.operationCount))
            // Nobody knows whether a renaming has taken place; that of the lock file comes before all others.
            if operation.hasPrefix("rename"), (try? found.get()) == nil { continue }
            #expect(try found.get().records.count == 2 && found.get().opened.diagnostics.count == 1)
            #expect(disk.contents(JournalFixture.path + ".torn-3") == tail, "operation \(index), \(operation)")
            #expect(disk.contents(JournalFixture.path) == Array(composer.bytes[..<composer.starts[2]]))
            if operation.hasPrefix("sync") { syncs += 1 }
        }
        #expect(syncs >= 4 && count > 20)
    }

    /// Its blocks have the file's salt and the next sequences: a file that gets longer later could show them again.
    @Test func `a torn tail is overwritten, and that is synced, before it is cut off`() throws {
        var composer = Composer.sealed()
        let start = composer.bytes.count
        composer.add(.commit, [1, 2, 3], durableThrough: 2) { $0[41] ^= 0x81 }
        let disk = SimulatedDisk()
        disk.setContents(composer.bytes, at: JournalFixture.path)
        _ = try JournalFixture.open(disk)
        let trace = disk.trace
        let cut = try #require(trace.firstIndex { $0.hasPrefix("truncate ") })
        let overwritten = trace[..<cut].lastIndex {
            $0.hasPrefix("write ") && $0.hasSuffix(" \(composer.bytes.count - start) at \(start)")
        }
        let isSynced = trace[(try #require(overwritten))..<cut].contains { $0.hasPrefix("sync ") }
        #expect(isSynced, "\(trace)")
    }

    /// Long payloads are checked several at once, and records passed in groups.
    @Test func `an error of the replay comes before damage behind it, also to long payloads`() throws {
        let payloads = (0..<30).map { number in
            [UInt8](repeating: UInt8(number + 1), count: number % 4 == 3 ? 10 : (64 << 10) + number * 9_000)
        }
        for (refused, damaged) in [(3, 5), (10, 11), (20, 28), (40, 7), (40, 25)] {
            var composer = Composer.sealed()
            for (number, payload) in payloads.enumerated() {
                composer.add(.commit, payload, durableThrough: UInt64(number + 2)) {
                    if number + 3 == damaged { $0[payload.count] ^= 1 }
                }
            }
            let disk = SimulatedDisk()
            disk.setContents(composer.bytes, at: JournalFixture.path)
            let opening = JournalOpening(fileSystem: disk, options: JournalFixture.options())
            var passed: [UInt64] = []
            do throws(GraphError) {
                _ = try opening.open(
                    at: JournalFixture.path, schema: JournalFixture.schema, seal: JournalFixture.seal, into: &passed
                ) { (passed: inout [UInt64], entry: JournalEntry) throws(GraphError) in
                    passed.append(entry.sequence.number)
                    if entry.sequence.number >= 3 {
                        #expect(Array(entry.payload) == payloads[Int(entry.sequence.number) - 3])
                    }
                    if entry.sequence.number == refused {
                        throw .invalidRecord(
                            path: "", offset: entry.offset, sequence: UInt64(refused), reason: "refused")
                    }
                }
                Issue.record("opened")
            } catch {
                #expect(passed == Array(1...UInt64(min(refused, damaged - 1))))
                switch error {
                case .invalidRecord(_, let offset, UInt64(refused), _):
                    #expect(refused < damaged && offset == composer.starts[refused - 1])
                case .corrupt(_, let offset, UInt64(damaged), _):
                    #expect(damaged < refused && offset == composer.starts[damaged - 1])
                default: Issue.record("\(error)")
                }
            }
        }
    }

    /// The bytes that were written, by the inodes in the trace.
    private func writtenBytes(_ disk: SimulatedDisk) -> [Substring: Int] {
        var bytes: [Substring: Int] = [:]
        for words in disk.trace.map({ $0.split(separator: " ") }) where words[0] == "write" {
            bytes[words[1], default: 0] += Int(words[2]) ?? 0
        }
        return bytes
    }

    @Test func `zeros in a torn tail are not copied, and a hole behind it is not filled`() throws {
        let composer = Composer.sealed()
        let disk = SimulatedDisk()
        let tail = [1] + [UInt8](repeating: 0, count: 40_000) + [1]
        let length = 4 << 20
        disk.setContents(
            composer.bytes + tail + [UInt8](repeating: 0, count: length - composer.bytes.count - tail.count),
            at: JournalFixture.path)
        disk.change(JournalFixture.path) { $0.hole = 65_536..<length }
        #expect(try JournalFixture.open(disk).opened.diagnostics.map(\.kind) == [.unfinishedWrite])
        #expect(disk.contents(JournalFixture.path + ".torn-3") == tail)
        let written = writtenBytes(disk)
        // The last records and the tail, a piece at a time; two blocks of the copy.
        #expect((written["0"] ?? 0) < 2 * JournalWindow.pieceBytes)
        #expect((written["2"] ?? .max) <= 2 * 4_096)
    }

    @Test func `a lost record before a whole one of the same group is torn`() throws {
        var composer = Composer.sealed()
        composer.add(.commit, [1, 2, 3], durableThrough: 2) { frame in frame = frame.map { _ in 0 } }
        composer.add(.commit, [4], durableThrough: 2)
        #expect(try JournalFixture.open(bytes: composer.bytes).records.count == 2)
    }

    @Test func `records of another file after the end are not read`() throws {
        let composer = Composer.sealed()
        let other = try JournalFixture.bytes(closed: true)
        let found = try JournalFixture.open(bytes: composer.bytes + other[8_192...])
        #expect(found.records.count == 2)
    }

    @Test func `a record longer than any buffer is read whole, and one cut off far from its end is torn`() throws {
        var composer = Composer.sealed()
        let long = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        composer.add(.commit, long, durableThrough: 2)
        composer.add(.commit, [1], durableThrough: 3)
        let records = try JournalFixture.open(bytes: composer.bytes).records
        #expect(records.count == 4 && records[2].payload == long)
        let cut = Array(composer.bytes[..<(composer.starts[2] + 500_000)])
        #expect(try JournalFixture.open(bytes: cut).records.count == 2)
        var damaged = composer.bytes
        damaged[composer.starts[2] + 77] ^= 1
        expectCorrupt(damaged, at: composer.starts[2], "durable (through 3)")
    }

    @Test func `an error of replay leaves the file as it was`() throws {
        let bytes = try JournalFixture.bytes(closed: false) + [1, 2, 3]
        let disk = SimulatedDisk()
        disk.setContents(bytes, at: JournalFixture.path)
        disk.setContents([1], at: JournalFixture.path + ".new-0123456789abcdef")
        let names = disk.names
        let refusal = GraphError.schemaMismatch(path: "", differences: ["x"])
        let opening = JournalOpening(fileSystem: disk, options: JournalFixture.options())
        for stop in 0..<6 {
            var count = 0
            #expect(throws: refusal) {
                try opening.open(at: JournalFixture.path, schema: [], seal: [], into: &count) {
                    count, _ throws(GraphError) in
                    if count == stop { throw refusal }
                    count += 1
                }
            }
            #expect(disk.contents(JournalFixture.path) == bytes)
            #expect(disk.names == (names + [JournalFixture.path + ".lock"]).sorted())
        }
        _ = try JournalFixture.open(disk)
        #expect(!disk.names.contains { $0.contains(".new-") })
    }

    @Test func `only the last three torn tails are kept`() throws {
        let disk = SimulatedDisk()
        for round in 1...5 {
            var writer = try JournalFixture.open(disk).opened.writer
            try writer.write([JournalFixture.commit(round)])
            let end = Int(writer.end)
            disk.change(JournalFixture.path) { $0.current[end] = 1 }
            disk.killProcess()
            _ = try JournalFixture.open(disk)
            disk.killProcess()
        }
        let copies = disk.names.filter { $0.contains(".torn-") }
        #expect(copies == [6, 7, 8].map { JournalFixture.path + ".torn-\($0)" })
    }

    @Test func `only what is not known to be durable is written again on opening`() throws {
        let disk = SimulatedDisk()
        disk.setContents(try JournalFixture.bytes(closed: false), at: JournalFixture.path)
        let found = try JournalFixture.open(disk)
        let last = try #require(found.records.last)
        let length = Int(found.opened.writer.end - last.offset)
        #expect(disk.trace.contains { $0.hasPrefix("write") && $0.hasSuffix(" \(length) at \(last.offset)") })
        #expect(!disk.trace.contains { $0.hasPrefix("write") && $0.hasSuffix("at \(last.offset - 8)") })
    }
}
