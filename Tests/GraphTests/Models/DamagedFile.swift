@testable import Graph

/// A journal as it was before it was damaged, and what opening a damaged copy of it must come to: decided from the bytes and
/// the specification alone.
struct DamagedFile {
    /// How the file was left.
    enum Ending: CaseIterable {
        case closed
        /// Closed, opened again, continued and closed.
        case closedTwice
        case killed
        /// Killed a while after the last group.
        case marked
    }

    struct Record {
        let range: Range<Int>
        let kind: UInt8
        let sequence: UInt64
        let durableThrough: UInt64
    }

    /// What a damaged file opens with.
    enum Outcome: Hashable {
        case refused
        case opened(commits: Int, [StoreDiagnostic.Kind])
    }

    let bytes: [UInt8]
    let lock: [UInt8]
    let records: [Record]
    let commits: [[UInt8]]
    /// The last record that the lock file knows to be durable.
    let remembered: UInt64
    private let header: JournalHeader
    private let headerChecksum: UInt32

    /// Commits 1 to 4 in three groups, or in four for `closedTwice`.
    init(_ ending: Ending) throws {
        let disk = SimulatedDisk()
        let created = try JournalFixture.open(disk).opened
        header = created.header
        headerChecksum = CRC32C.checksum(Array(header.encoded().dropLast(4)))
        var writer = created.writer
        try writer.write([JournalFixture.commit(1)])
        try writer.write([JournalFixture.commit(2), JournalFixture.commit(3)])
        if ending == .closedTwice {
            try writer.close([8])
            disk.killProcess()
            writer = try JournalFixture.open(disk).opened.writer
        }
        try writer.write([JournalFixture.commit(4)])
        switch ending {
        case .closed, .closedTwice: try writer.close([9])
        case .killed: break
        case .marked: try writer.write([Journal.Record(kind: .mark, payload: [7])], durably: false)
        }
        remembered = writer.durableThrough.number
        commits = (1...4).map { JournalFixture.commit($0).payload }
        bytes = disk.contents(JournalFixture.path) ?? []
        lock = disk.contents(JournalFixture.path + ".lock") ?? []
        records = Self.records(in: bytes)
    }

    /// The records, by the fields that the specification names.
    static func records(in bytes: [UInt8]) -> [Record] {
        func number(_ offset: Int, _ count: Int) -> UInt64 {
            bytes[offset..<(offset + count)].reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
        var records: [Record] = []
        var offset = 8_192
        while offset + 40 <= bytes.count, number(offset, 4) == 0x4A52_47E7 {
            let end = offset + (40 + Int(number(offset + 12, 4)) + 7) / 8 * 8
            records.append(
                Record(
                    range: offset..<end, kind: bytes[offset + 8], sequence: number(offset + 16, 8),
                    durableThrough: number(offset + 24, 8)))
            offset = end
        }
        return records
    }

    /// The end of the last record.
    var end: Int { records.last?.range.upperBound ?? 8_192 }

    /// What a copy must open with that is damaged behind its headers.
    func outcome(of damaged: [UInt8], withLock: Bool) -> Outcome {
        var intact = 8_192
        while intact < min(bytes.count, damaged.count), bytes[intact] == damaged[intact] { intact += 1 }
        let kept = records.prefix { $0.range.upperBound <= intact }
        let next = kept.last.map { $0.sequence + 1 } ?? 1
        let offset = kept.last?.range.upperBound ?? 8_192
        // The seal is record 2.
        guard kept.count >= 2 else { return .refused }
        let rest = Array(damaged[offset...])
        // A whole record that does not belong there.
        if records.contains(where: { rest.starts(with: bytes[$0.range]) }) { return .refused }
        // A header further on that shows record `next` to have been durable.
        // Its last four bytes, the payload's checksum, are not covered by its own.
        let witnesses = records.filter { $0.sequence > next && $0.durableThrough >= next }.map {
            bytes[$0.range].prefix(36)
        }
        for (start, byte) in rest.enumerated() where byte == 0xE7 && start + 40 <= rest.count {
            if witnesses.contains(where: { rest[start...].starts(with: $0) }) { return .refused }
        }
        let isClosed = kept.last?.kind == 5 && rest.isEmpty
        let isClean = rest == [UInt8](repeating: 0, count: rest.count)
        var diagnostics: [StoreDiagnostic.Kind] = []
        if withLock, remembered >= next {
            guard isClosed else { return .refused }
            diagnostics.append(.olderCopy)
        }
        if !isClean { diagnostics.append(.unfinishedWrite) }
        if !withLock, isClean, !isClosed {
            let isCreated = kept.count == 2 && rest.isEmpty
            let isAllocated = !rest.isEmpty && damaged.count % 4_096 == 0
            if !isCreated, !isAllocated { diagnostics.append(.unknownEnd) }
        }
        return .opened(commits: kept.count { $0.kind == 2 }, diagnostics)
    }

    /// What a damaged copy does open with; nil for anything but a state of before, a refusal of the right kind, and nothing else
    /// changed on the disk.
    func open(_ damaged: [UInt8], withLock: Bool) -> Outcome? {
        let disk = SimulatedDisk()
        disk.setContents(damaged, at: JournalFixture.path)
        if withLock { disk.setContents(lock, at: JournalFixture.path + ".lock") }
        do throws(GraphError) {
            let found = try JournalFixture.open(disk)
            let commits = JournalFixture.commits(in: found.records)
            guard self.commits.starts(with: commits) else { return nil }
            return .opened(commits: commits.count, found.opened.diagnostics.map(\.kind))
        } catch {
            guard case .corrupt = error, disk.contents(JournalFixture.path) == damaged else { return nil }
            guard !disk.names.contains(where: { $0.contains(".torn-") }) else { return nil }
            return .refused
        }
    }

    /// The same without headers and recovery, which takes a tenth of the time.
    func scan(_ damaged: [UInt8], withLock: Bool) -> Outcome? {
        let file = BytesFile(bytes: damaged)
        let reader = JournalReader(
            file: file, header: header, headerChecksum: headerChecksum, lengthBytes: UInt64(damaged.count), path: "",
            remembered: withLock ? lock[512...].withUnsafeBytes { JournalEnd(slot: $0) } : nil)
        var commits: [[UInt8]] = []
        do throws(GraphError) {
            let scan = try reader.scan(into: &commits) { commits, entry in
                if entry.kind == .commit { commits.append(Array(entry.payload)) }
            }
            guard self.commits.starts(with: commits) else { return nil }
            var diagnostics = JournalOpening.diagnostics(of: scan).map(\.kind)
            if scan.tail != .clean { diagnostics.append(.unfinishedWrite) }
            return .opened(commits: commits.count, diagnostics)
        } catch {
            guard case .corrupt = error else { return nil }
            return .refused
        }
    }
}

/// Bytes to be read as a file.
private struct BytesFile: StoreFile {
    let bytes: [UInt8]

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(IOError) -> Int {
        let end = min(bytes.count, Int(offset) + buffer.count)
        buffer.copyBytes(from: bytes[Int(offset)..<end])
        return end - Int(offset)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(IOError) -> Int { throw unexpected }
    func truncate(to lengthBytes: UInt64) throws(IOError) { throw unexpected }
    func dataSync() throws(IOError) { throw unexpected }
    func sync() throws(IOError) { throw unexpected }
    func status() throws(IOError) -> FileStatus { throw unexpected }
    func setPermissions(_ permissions: UInt16) throws(IOError) { throw unexpected }
    func extent() throws(IOError) -> FileExtent { throw unexpected }
    func lock() throws(IOError) -> Bool { throw unexpected }
    func close() {}

    private var unexpected: IOError { IOError(operation: .write, reason: .other, code: 0) }
}

/// How often each outcome came up.
struct DamageCount: Equatable, CustomStringConvertible {
    private var counts: [DamagedFile.Outcome: Int] = [:]

    var refused: Int { counts[.refused] ?? 0 }
    var total: Int { counts.values.reduce(0, +) }

    /// How many opened with so many commits, whatever was said of them.
    func opened(commits: Int) -> Int {
        counts.reduce(0) { sum, count in
            if case .opened(commits, _) = count.key { sum + count.value } else { sum }
        }
    }

    init() {}

    init(refused: Int, _ opened: (commits: Int, kinds: [StoreDiagnostic.Kind], count: Int)...) {
        if refused > 0 { counts[.refused] = refused }
        for outcome in opened where outcome.count > 0 {
            counts[.opened(commits: outcome.commits, outcome.kinds)] = outcome.count
        }
    }

    mutating func add(_ outcome: DamagedFile.Outcome) { counts[outcome, default: 0] += 1 }

    mutating func add(_ other: DamageCount) { counts.merge(other.counts) { $0 + $1 } }

    var description: String { counts.map { "\($0.key): \($0.value)" }.sorted().joined(separator: "; ") }
}
