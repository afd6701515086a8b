@testable import Graph

/// A store's file before it is damaged, and what opening a damaged copy must come to: decided from the bytes and the specification
/// alone.
struct DamagedTeamStore: Sendable {
    /// What a damaged file opens with.
    enum Outcome: Hashable {
        case refused
        case opened(commit: Int, [StoreDiagnostic.Kind])
    }

    let bytes: [UInt8]
    let lock: [UInt8]
    let records: [DamagedFile.Record]
    /// How many records the initial part has, to the seal.
    private let sealedCount: Int
    /// The last record that the lock file knows to be durable.
    private let remembered: UInt64
    /// After how many records the store is at which commit.
    private let commits: [Int]
    let digests: [UInt64]
    private let baseCommit: Int
    /// The headers of other stores, which are whole, too.
    var otherHeaders: [[UInt8]] = []

    /// - Parameter digests: of the state after each commit; those before the file's checkpoint do not count.
    init(_ disk: SimulatedDisk, digests: [UInt64]) throws {
        guard let bytes = disk.contents(JournalFixture.path), let lock = disk.contents(JournalFixture.path + ".lock")
        else { throw CrashedStore.Failure("there is no file") }
        (self.bytes, self.lock, self.digests) = (bytes, lock, digests)
        records = DamagedFile.records(in: bytes)
        sealedCount = (records.firstIndex { $0.kind == 6 } ?? -1) + 1
        baseCommit = Int(Self.number(bytes, 72, 8))
        var commit = baseCommit
        commits =
            [baseCommit]
            + records.map { record in
                if record.kind == 2 { commit += 1 }
                return commit
            }
        remembered = Self.number(lock, 512 + 24, 8)
    }

    private static func number(_ bytes: [UInt8], _ offset: Int, _ count: Int) -> UInt64 {
        bytes[offset..<(offset + count)].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The end of the last record.
    var end: Int { records.last?.range.upperBound ?? 8_192 }

    /// What a copy must open with.
    func outcome(of damaged: [UInt8], withLock: Bool) -> Outcome {
        guard damaged.count >= 8_192 else { return .refused }
        let isWhole = [0..<4_096, 4_096..<8_192].map { damaged[$0].elementsEqual(bytes[$0]) }
        guard isWhole != [false, false] else { return .refused }
        for (number, range) in [0..<4_096, 4_096..<8_192].enumerated() where !isWhole[number] {
            if otherHeaders.contains(where: { $0.elementsEqual(damaged[range]) }) { return .refused }
        }
        let intact = firstDifference(damaged, from: 8_192)
        var low = 0
        var high = records.count
        while low < high {
            let middle = (low + high) / 2
            if records[middle].range.upperBound <= intact { low = middle + 1 } else { high = middle }
        }
        guard low >= sealedCount else { return .refused }
        let offset = low == 0 ? 8_192 : records[low - 1].range.upperBound
        let next = UInt64(low) + 1
        var end = damaged.count
        while end > offset, damaged[end - 1] == 0 { end -= 1 }
        if end > offset, hasWitness(in: damaged, from: offset, expected: next) { return .refused }
        let isClosed = low > 0 && records[low - 1].kind == 5 && offset == damaged.count
        var diagnostics: [StoreDiagnostic.Kind] = []
        if withLock, remembered >= next {
            guard isClosed else { return .refused }
            diagnostics.append(.olderCopy)
        }
        let isClean = end == offset
        if !withLock, isClean, !isClosed {
            let isCreated = low == sealedCount && offset == damaged.count
            let isAllocated = offset < damaged.count && damaged.count % 4_096 == 0
            if !isCreated, !isAllocated { diagnostics.append(.unknownEnd) }
        }
        if !isClean { diagnostics.append(.unfinishedWrite) }
        if isWhole.contains(false) { diagnostics.append(.repairedHeader) }
        return .opened(commit: commits[low], diagnostics)
    }

    /// Whether a file has another store's header, and not its own.
    private func isOther(_ damaged: [UInt8]) -> Bool {
        guard damaged.count >= 8_192 else { return false }
        let copies = [damaged[..<4_096], damaged[4_096..<8_192]]
        return !copies.contains { $0.elementsEqual(bytes[..<4_096]) }
            && copies.contains { copy in otherHeaders.contains { $0.elementsEqual(copy) } }
    }

    private func firstDifference(_ damaged: [UInt8], from start: Int) -> Int {
        bytes.withUnsafeBytes { ours in
            damaged.withUnsafeBytes { theirs in
                let count = min(ours.count, theirs.count)
                var place = start
                while place + 8 <= count,
                    ours.loadUnaligned(fromByteOffset: place, as: UInt64.self)
                        == theirs.loadUnaligned(fromByteOffset: place, as: UInt64.self)
                { place += 8 }
                while place < count, ours[place] == theirs[place] { place += 1 }
                return place
            }
        }
    }

    /// Whether the bytes have a whole record in the wrong place at the beginning, or anywhere the header of one that shows the
    /// expected record to have been durable.
    private func hasWitness(in damaged: [UInt8], from offset: Int, expected: UInt64) -> Bool {
        damaged.withUnsafeBytes { damaged in
            bytes.withUnsafeBytes { bytes in
                var place = offset
                while place + 40 <= damaged.count {
                    defer { place += 1 }
                    guard damaged[place] == 0xE7,
                        damaged.loadUnaligned(fromByteOffset: place, as: UInt32.self).littleEndian == 0x4A52_47E7
                    else { continue }
                    let sequence = damaged.loadUnaligned(fromByteOffset: place + 16, as: UInt64.self).littleEndian
                    guard sequence >= 1, sequence <= UInt64(records.count) else { continue }
                    let record = records[Int(sequence) - 1]
                    func agrees(_ count: Int) -> Bool {
                        place + count <= damaged.count
                            && damaged[place..<(place + count)].elementsEqual(
                                bytes[record.range.lowerBound..<(record.range.lowerBound + count)])
                    }
                    if place == offset, agrees(record.range.count) { return true }
                    // The payload's checksum is not covered by the header's.
                    if sequence > expected, record.durableThrough >= expected, agrees(36) { return true }
                }
                return false
            }
        }
    }

    /// What a damaged copy does open with.
    ///
    /// - Throws: for anything but the state after a commit, a typed error of a bounded length, and, if that is what comes of it,
    ///   nothing else changed on the disk.
    func open(_ damaged: [UInt8], withLock: Bool) throws -> Outcome {
        let disk = SimulatedDisk()
        disk.setContents(damaged, at: JournalFixture.path)
        if withLock { disk.setContents(lock, at: JournalFixture.path + ".lock") }
        let store: TeamStore
        do throws(GraphError) {
            store = try TeamStore(disk, seed: 5)
        } catch {
            switch error {
            case .corrupt, .notAStore: break
            // The version is read before the checksum: a newer one may have another header.
            case .unsupportedVersion
            where [8, 4_096 + 8].allSatisfy { damaged[$0..<($0 + 2)] != bytes[$0..<($0 + 2)] }: break
            default: throw CrashedStore.Failure("refused with \(error)")
            }
            let length = "\(error)".utf8.count
            guard length < 1_000 else { throw CrashedStore.Failure("an error with \(length) characters") }
            guard disk.contents(JournalFixture.path) == damaged, disk.names.allSatisfy({ !$0.contains(".torn-") })
            else { throw CrashedStore.Failure("refused, and changed: \(error)") }
            return .refused
        }
        let number = store.number
        guard number >= baseCommit, number < digests.count, store.snapshot.digest == digests[number] else {
            throw CrashedStore.Failure("wrong data at commit \(number)")
        }
        let findings = store.snapshot.check()
        guard findings.isEmpty else { throw CrashedStore.Failure("\(findings)") }
        return .opened(commit: number, store.diagnostics.map(\.kind))
    }

    /// Opens a damaged copy and compares what comes of it with what has to.
    ///
    /// - Returns: in the words of a histogram.
    func check(_ damaged: [UInt8], withLock: Bool) throws -> String {
        // Parts of another store may have come to make up a whole one.
        if isOther(damaged) { return "another store" }
        let expected = outcome(of: damaged, withLock: withLock)
        let found = try open(damaged, withLock: withLock)
        guard found == expected else { throw CrashedStore.Failure("\(found), and not \(expected)") }
        switch found {
        case .refused: return "refused"
        case .opened(let commit, let kinds):
            let missing = (commits.last ?? 0) - commit
            let names = kinds.map { "\($0)" }.joined(separator: " and ")
            return (missing == 0 ? "opened whole" : "opened without the last \(missing)")
                + (names.isEmpty ? "" : " with \(names)")
        }
    }
}
