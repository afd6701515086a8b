import Synchronization
import Testing

@testable import Graph

/// R30: what opening says about a file that it takes, and what it leaves alone in one that it refuses.
struct DiagnosticsTests {
    private let path = JournalFixture.path

    private func commit(_ count: Int = 1, _ coordinator: Coordinator) async throws {
        for _ in 0..<count { try await coordinator.transaction { _ = $0.insert(Team(name: "red")) } }
    }

    private func copy(_ disk: SimulatedDisk, _ change: (inout [UInt8]) -> Void) -> SimulatedDisk {
        let result = SimulatedDisk()
        var bytes = disk.contents(path) ?? []
        change(&bytes)
        result.setContents(bytes, at: path)
        if let lock = disk.contents(path + ".lock") { result.setContents(lock, at: path + ".lock") }
        return result
    }

    private func closedStore(commits: Int) async throws -> SimulatedDisk {
        let disk = SimulatedDisk()
        let coordinator = try await Coordinator.people(on: disk)
        try await commit(commits, coordinator)
        try await coordinator.close()
        return disk
    }

    @Test func `there is nothing to say of a new file, a closed one and one whose program was stopped`() async throws {
        let memory = try await Coordinator(for: Team.self, Person.self)
        #expect(memory.diagnostics == [])
        let disk = SimulatedDisk()
        for isClosed in [true, false, true, false] {
            let coordinator = try await Coordinator.people(on: disk)
            #expect(coordinator.diagnostics == [])
            try await commit(2, coordinator)
            if isClosed { try await coordinator.close() } else { disk.killProcess() }
        }
        // Elsewhere, without the lock file.
        disk.removeLockFile(of: path)
        #expect(try await Coordinator.people(on: disk).diagnostics == [])
    }

    @Test func `an unfinished write is told with its place and where it is kept`() async throws {
        let disk = SimulatedDisk()
        let coordinator = try await Coordinator.people(on: disk)
        try await commit(2, coordinator)
        let end = DamagedFile.records(in: disk.contents(path) ?? []).last?.range.upperBound ?? 0
        disk.change(path) { $0.write([1, 2, 3], at: end) }
        disk.killProcess()
        let again = try await Coordinator.people(on: disk)
        #expect(again.diagnostics.map(\.kind) == [.unfinishedWrite])
        #expect(again.diagnostics[0].offset == UInt64(end))
        #expect(again.diagnostics[0].description.hasPrefix("byte \(end): an unfinished write of 3 bytes was cut off"))
        #expect(again.diagnostics[0].message.contains("store.graph.torn-5 "))
        #expect(disk.names.contains(path + ".torn-5"))
        #expect(
            again.diagnostics[0].traceLine(path: path) == "graph: opened \(path): \(again.diagnostics[0].description)")
    }

    @Test func `a copy of the header is repaired once everything else was accepted, not before`() async throws {
        let closed = try await closedStore(commits: 1)
        let good = try #require(closed.contents(path))
        let disk = copy(closed) { $0[4_200] ^= 8 }
        // A program with other entities.
        await #expect(throws: GraphError.self) { _ = try await Coordinator.open(Before.schema(), on: disk) }
        #expect(disk.contents(path) != good)
        let coordinator = try await Coordinator.people(on: disk)
        #expect(coordinator.diagnostics.map(\.kind) == [.repairedHeader] && coordinator.diagnostics[0].offset == 4_096)
        #expect(disk.contents(path) == good)
    }

    @Test func `a copy of the header that cannot be repaired is told and does no harm`() async throws {
        let closed = try await closedStore(commits: 1)
        let reference = copy(closed) { $0[100] ^= 8 }
        _ = try await Coordinator.people(on: reference)
        let repair = try #require(reference.trace.firstIndex { $0.hasSuffix(" 4096 at 0") && $0.hasPrefix("write") })
        let disk = copy(closed) { $0[100] ^= 8 }
        disk.fail(operation: repair, with: .error(.other, 5))
        let coordinator = try await Coordinator.people(on: disk)
        #expect(coordinator.diagnostics.map(\.kind) == [.damagedHeader] && coordinator.diagnostics[0].offset == 0)
        try await commit(1, coordinator)
        try await coordinator.close()
        #expect(try await Coordinator.people(on: disk).diagnostics.map(\.kind) == [.repairedHeader])
        // After a failed sync nobody knows what the file holds.
        let failing = copy(closed) { $0[100] ^= 8 }
        failing.fail(operation: repair + 1, with: .syncFailure(reverts: false))
        await #expect(throws: GraphError.inputOutput(path: path, operation: "sync", code: 5)) {
            _ = try await Coordinator.people(on: failing)
        }
    }

    @Test func `a newer copy of the header beside one of now is refused, not repaired`() throws {
        let header = try DamagedFile(.closed)
        var bytes = header.bytes
        var newer = Array(bytes[..<4_092])
        newer[16] = 4
        let checksum = CRC32C.checksum(newer)
        newer += (0..<4).map { UInt8(truncatingIfNeeded: checksum >> (UInt32($0) * 8)) }
        bytes.replaceSubrange(4_096..<8_192, with: newer)
        let error = GraphError.unsupportedVersion(path: path, found: "features 4 and 0", supported: "version 1")
        #expect(throws: error) { try JournalFixture.open(bytes: bytes) }
    }

    @Test func `an older copy that was put back is told once and goes on`() async throws {
        let older = try await closedStore(commits: 2)
        let disk = SimulatedDisk(older.medium)
        let coordinator = try await Coordinator.people(on: disk)
        try await commit(3, coordinator)
        try await coordinator.close()
        disk.setContents(older.contents(path) ?? [], at: path)
        let restored = try await Coordinator.people(on: disk)
        #expect(restored.diagnostics.map(\.kind) == [.olderCopy] && restored.snapshot.commit.number == 2)
        try await commit(1, restored)
        disk.killProcess()
        let again = try await Coordinator.people(on: disk)
        #expect(again.diagnostics == [] && again.snapshot.commit.number == 3)
    }

    @Test func `a copy that went its own way is told`() async throws {
        let common = try await closedStore(commits: 2)
        let (disk, other) = (SimulatedDisk(common.medium), SimulatedDisk(common.medium))
        let coordinator = try await Coordinator.people(on: disk)
        try await commit(1, coordinator)
        try await coordinator.close()
        let elsewhere = try await Coordinator.people(on: other)
        try await elsewhere.transaction { _ = $0.insert(Team(name: "blue")) }
        try await commit(1, elsewhere)
        try await elsewhere.close()
        disk.setContents(other.contents(path) ?? [], at: path)
        let replaced = try await Coordinator.people(on: disk)
        #expect(replaced.diagnostics.map(\.kind) == [.divergedCopy] && replaced.snapshot.commit.number == 4)
        try await replaced.close()
        #expect(try await Coordinator.people(on: disk).diagnostics == [])
    }

    @Test func `a zeroed tail is refused with place, record and what to do, and told where the lock file is missing`()
        async throws
    {
        let closed = try await closedStore(commits: 3)
        let records = DamagedFile.records(in: closed.contents(path) ?? [])
        let start = records[3].range.lowerBound
        let disk = copy(closed) { bytes in
            for index in start..<bytes.count { bytes[index] = 0 }
        }
        let damaged = disk.contents(path)
        do throws(GraphError) {
            _ = try await Coordinator.people(on: disk)
            Issue.record("opened")
        } catch {
            guard case .corrupt(path, UInt64(start), 4, let reason) = error else { throw error }
            #expect(reason.contains("records up to 6") && reason.contains("remove the lock file"))
            #expect(error.description.utf8.count < 600)
        }
        #expect(disk.contents(path) == damaged)
        disk.removeLockFile(of: path)
        let coordinator = try await Coordinator.people(on: disk)
        #expect(coordinator.snapshot.commit.number == 1)
        #expect(
            coordinator.diagnostics.map(\.kind) == [.unknownEnd] && coordinator.diagnostics[0].offset == UInt64(start))
    }

    @Test func `the lock file of another store says nothing`() async throws {
        let closed = try await closedStore(commits: 1)
        let other = SimulatedDisk()
        let coordinator = try await Coordinator.people(on: other, seed: 2)
        try await commit(9, coordinator)
        try await coordinator.close()
        closed.setContents(other.contents(path + ".lock") ?? [], at: path + ".lock")
        #expect(try await Coordinator.people(on: closed).diagnostics == [])
    }

    // MARK: Refused once

    /// Cannot be decoded the next so many times.
    fileprivate struct Fickle: Codable, Hashable, Sendable {
        static let failures = Mutex(0)
        var number = 0

        init(number: Int) { self.number = number }

        init(from decoder: any Decoder) throws {
            let fails = Self.failures.withLock { count in
                defer { count = max(0, count - 1) }
                return count > 0
            }
            let container = try decoder.singleValueContainer()
            if fails { throw DecodingError.dataCorruptedError(in: container, debugDescription: "not now") }
            number = try container.decode(Int.self)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(number)
        }
    }

    @Entity fileprivate struct Cell {
        var count: Fickle
    }

    /// Is read as another value the next so many times.
    fileprivate struct Capricious: RawRepresentable, Hashable, Sendable {
        static let failures = Mutex(0)
        let rawValue: Int

        init(rawValue: Int) {
            let fails = Self.failures.withLock { count in
                defer { count = max(0, count - 1) }
                return count > 0
            }
            self.rawValue = fails ? rawValue + 100 : rawValue
        }
    }

    @Entity fileprivate struct Counter {
        var count: Capricious
    }

    @Test func `nor because its values agree when it is read again`() async throws {
        let disk = SimulatedDisk()
        let schema = try Schema([EntityDescription(Counter.self)])
        let coordinator = try await Coordinator.open(schema, on: disk)
        let id = try await coordinator.transaction { $0.insert(Counter(count: .init(rawValue: 1))).id }
        for number in 2...3 { try await coordinator.transaction { $0[id]?.count = .init(rawValue: number) } }
        let end = DamagedFile.records(in: disk.contents(path) ?? []).last?.range.upperBound ?? 0
        disk.change(path) { $0.write([1, 2, 3], at: end) }
        disk.killProcess()
        let bytes = disk.contents(path)
        // The first value that is read is then not the one that the first update says it was.
        Capricious.failures.withLock { $0 = 1 }
        do throws(GraphError) {
            _ = try await Coordinator.open(schema, on: disk)
            Issue.record("opened")
        } catch {
            guard case .invalidRecord(path, _, _, let reason) = error else { throw error }
            #expect(reason.contains("had another value before"))
        }
        #expect(Capricious.failures.withLock { $0 } == 0)
        #expect(disk.contents(path) == bytes && !disk.names.contains { $0.contains(".torn-") })
        #expect(try await Coordinator.open(schema, on: disk).snapshot.value(for: id)?.count.rawValue == 3)
    }

    @Test func `a file that was refused is not opened because it passes when it is read again`() async throws {
        let disk = SimulatedDisk()
        let schema = try Schema([EntityDescription(Cell.self)])
        let coordinator = try await Coordinator.open(schema, on: disk)
        for number in 0..<3 {
            try await coordinator.transaction { _ = $0.insert(Cell(count: Fickle(number: number))) }
        }
        let end = DamagedFile.records(in: disk.contents(path) ?? []).last?.range.upperBound ?? 0
        disk.change(path) { $0.write([1, 2, 3], at: end) }
        disk.killProcess()
        let bytes = disk.contents(path)
        for failures in [1, 2] {
            Fickle.failures.withLock { $0 = failures }
            do throws(GraphError) {
                _ = try await Coordinator.open(schema, on: disk)
                Issue.record("opened")
            } catch {
                guard case .valueNotReadable(path, _, "count", _, _) = error else { throw error }
            }
            #expect(disk.contents(path) == bytes && !disk.names.contains { $0.contains(".torn-") })
        }
        Fickle.failures.withLock { $0 = 0 }
        #expect(try await Coordinator.open(schema, on: disk).snapshot.commit.number == 3)
    }
}
