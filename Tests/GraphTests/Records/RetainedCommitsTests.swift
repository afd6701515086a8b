import Foundation
import Testing

@testable import Graph

/// What becomes of a file whose retained commits or consumers nobody vouches for.
struct RetainedCommitsTests {
    /// A compacted file with retained commits and a consumer, and its records.
    private static func file() async throws -> (folder: TemporaryFolder, records: [Journal.Record]) {
        let folder = try TemporaryFolder()
        let coordinator = try await Coordinator(
            for: Team.self, Person.self, at: folder.file(), compaction: .manual)
        for number in 1...5 { try await coordinator.transaction { _ = $0.insert(Team(name: "\(number)")) } }
        _ = try await coordinator.consumer(named: "index")
        try await coordinator.compact()
        try await coordinator.close()
        let records = try await Journal.read(
            at: folder.file(), fileSystem: PosixFileSystem(), options: JournalOptions(), into: [Journal.Record](),
            replay: { (records: inout [Journal.Record], entry) throws(GraphError) in
                records.append(Journal.Record(kind: entry.kind, payload: Array(entry.payload)))
            }, finish: { (_: inout [Journal.Record]) throws(GraphError) in }
        ).1
        return (folder, records)
    }

    /// What the replay of records says.
    private static func replay(_ records: [Journal.Record]) throws(GraphError) -> StoreReplay {
        var replay = try StoreReplay(path: "store", keepsIndexes: false)
        for record in records {
            let result = record.payload.withUnsafeBytes { buffer in
                Result { () throws(GraphError) in
                    try replay.apply(
                        JournalEntry(
                            kind: record.kind, sequence: JournalSequence(2), offset: 64, baseCommit: CommitNumber(5),
                            payload: buffer))
                }
            }
            try result.get()
        }
        _ = try replay.finish()
        return replay
    }

    private static func refusal(_ records: [Journal.Record]) -> String? {
        do throws(GraphError) {
            _ = try replay(records)
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// Has some records as a migration writes them.
    private static func convert(_ records: inout [Journal.Record], _ retained: [Int]) throws {
        for index in retained {
            let payload = try records[index].payload.withUnsafeBytes { bytes in
                let commit = try #require(try CheckpointRecord.RetainedCommit(bytes))
                let converted = CheckpointRecord.RetainedCommit(
                    commit.record, after: commit.fingerprintBefore, keeping: commit.fingerprint)
                return converted.payload
            }
            records[index] = Journal.Record(kind: .snapshotChunk, payload: payload)
        }
    }

    @Test(arguments: [false, true])
    func `retained commits that do not lead to the checkpoint are refused`(isConverted: Bool) async throws {
        var (_, records) = try await Self.file()
        let retained = records.indices.filter {
            records[$0].kind == .snapshotChunk
                && records[$0].payload.first == CheckpointRecord.Part.retainedCommit.rawValue
        }
        if isConverted { try Self.convert(&records, retained) }
        #expect(retained.count == 5)
        let replay = try Self.replay(records)
        #expect(replay.oldest == HistoryToken() && replay.consumers.keys.first == "index")
        func refused(_ change: (inout [Journal.Record]) -> Void) -> String {
            var copy = records
            change(&copy)
            return Self.refusal(copy) ?? "accepted"
        }
        // Those before may be missing.
        #expect(refused { $0.remove(at: retained[0]) } == "accepted")
        #expect(refused { $0.removeSubrange(retained[0]...retained[4]) } == "accepted")
        #expect(refused { $0.remove(at: retained[2]) }.contains("does not follow"))
        #expect(refused { $0.remove(at: retained[4]) }.contains("do not lead to the checkpoint"))
        #expect(refused { $0.swapAt(retained[1], retained[2]) }.contains("does not follow"))
        #expect(refused { $0.insert($0[retained[0]], at: retained[0]) }.contains("does not follow"))
        #expect(refused { $0.insert($0.remove(at: retained[4]), at: 1) }.contains("before the checkpoint's head"))
        #expect(refused { $0.append($0[retained[4]]) }.contains("is invalid"))
        for index in retained {
            // What a migration has written anew is in no fingerprint: there the fingerprints count that it names, but for the one
            // before the first, which nothing else names, and the commit's number.
            let checked = isConverted ? (index == retained[0] ? 9 : 1)..<18 : 1..<records[index].payload.count
            for byte in checked {
                // The name of the author and what the commit did are in the fingerprint, and the first one's own fingerprint with them.
                #expect(refused { $0[index].payload[byte] ^= 1 } != "accepted", "byte \(byte) of record \(index)")
            }
            for count in 0..<records[index].payload.count {
                _ = refused { $0[index].payload.removeLast($0[index].payload.count - count) }
            }
        }
    }

    @Test func `a consumer that cannot be is refused`() async throws {
        let (_, records) = try await Self.file()
        let token = HistoryToken(commit: CommitNumber(3), fingerprint: 7)
        let good = ConsumerRecord.encode("index", token)
        func consumers(_ payload: [UInt8]) -> [String: HistoryToken]? {
            try? Self.replay(records + [Journal.Record(kind: .consumer, payload: payload)]).consumers
        }
        #expect(consumers(good) == ["index": token])
        #expect(consumers(ConsumerRecord.encode("index", nil)) == [:])
        #expect(consumers(ConsumerRecord.encode("other", nil))?.count == 1)
        #expect(consumers(ConsumerRecord.encode("", token)) == nil)
        #expect(consumers(ConsumerRecord.encode(String(repeating: "x", count: 1_001), token)) == nil)
        #expect(consumers(good + [0]) == nil)
        for count in 0..<good.count { #expect(consumers(Array(good.prefix(count))) == nil, "\(count) bytes") }
        var neither = good
        neither[6] = 2
        #expect(consumers(neither) == nil)
    }

    @Test func `retained commits that rot while the store is open keep a compaction from losing them`() async throws {
        let folder = try TemporaryFolder()
        let coordinator = try await Coordinator(
            for: Team.self, Person.self, at: folder.file(), compaction: .manual)
        for number in 1...5 { try await coordinator.transaction { _ = $0.insert(Team(name: "team \(number)")) } }
        try await coordinator.compact()
        let bytes = try Data(contentsOf: URL(filePath: folder.file()))
        let place = try #require(bytes.range(of: Data("team 2".utf8), options: .backwards)).lowerBound
        let handle = try FileHandle(forWritingTo: URL(filePath: folder.file()))
        try handle.seek(toOffset: UInt64(place))
        try handle.write(contentsOf: Data("T".utf8))
        do {
            try await coordinator.compact()
            Issue.record("damaged history was written again")
        } catch GraphError.corrupt(_, let offset, _, _) {
            #expect(offset < UInt64(place) && offset + 200 > UInt64(place))
        } catch {
            Issue.record("\(error)")
        }
        // The state can still be saved, and rescued.
        try await coordinator.transaction { _ = $0.insert(Team(name: "team 6")) }
        try await coordinator.copy(to: folder.file("copy.graph"))
        let copy = try await Coordinator(for: Team.self, Person.self, at: folder.file("copy.graph"), readOnly: true)
        #expect(copy.snapshot.count(of: Team.self) == 6)
        try await copy.close()
        try await coordinator.close()
        await #expect(throws: GraphError.self) { try await Coordinator(for: Team.self, Person.self, at: folder.file()) }
    }
}
