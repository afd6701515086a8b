import Foundation
import Synchronization
import Testing

@testable import Graph

/// Readers of a file that is being written.
struct SharedFileTests {
    @Entity fileprivate struct Number {
        @Unique var number: Int
        var filling = ""
    }

    @Test(.timeLimit(.minutes(30)))
    func `readers of a file under saves and compactions see each time what was saved before, and no gap`()
        async throws
    {
        let folder = try TemporaryFolder()
        let path = folder.file()
        let writer = try await Coordinator(for: Number.self, at: path, compaction: .manual)
        let progress = Mutex((saved: 0, isOver: false))
        async let writing: Void = {
            defer { progress.withLock { $0.isOver = true } }
            for round in 0..<6 {
                for _ in 0..<150 {
                    let number = progress.withLock { $0.saved } + 1
                    // Most are so short that many fit into one read.
                    let filling = String(repeating: "n", count: number % 20 == 0 ? number * 37 % 5_000 : 0)
                    try await writer.transaction { _ = $0.insert(Number(number: number, filling: filling)) }
                    progress.withLock { $0.saved = number }
                }
                if round % 2 == 1 { try await writer.compact() }
            }
        }()
        var (openings, last) = (0, 0)
        repeat {
            let before = progress.withLock { $0.saved }
            let reader = try await Coordinator(for: Number.self, at: path, readOnly: true)
            let values = try reader.snapshot.fetchValues(Number.self, sortedBy: [.ascending(\.number)]).map(\.number)
            #expect(values.elementsEqual(1..<(values.count + 1)))
            #expect(values.count >= max(before, last), "\(values.count) after \(before)")
            (openings, last) = (openings + 1, values.count)
        } while !progress.withLock { $0.isOver }
        try await writing
        #expect(openings > 5 && last <= 900)
        try await writer.close()
    }

    @Test func `a writer that makes more durable at each read of another one keeps it from nothing`() throws {
        let disk = WatchedDisk()
        // Long allocations, so that one read finds many groups and zeros behind them.
        let writer = Mutex(try JournalFixture.open(disk.disk, options: JournalOptions()).opened.writer)
        let count = Mutex(0)
        @Sendable func write() {
            let number = count.withLock {
                $0 += 1
                return $0
            }
            writer.withLock { try? $0.write([JournalFixture.commit(number)]) }
        }
        for _ in 0..<80 { write() }
        disk.watch(didRead: { for _ in 0..<2 { write() } })
        #expect(JournalFixture.commits(in: try JournalFixture.read(disk)).count >= 80)
    }

    @Test func `a file whose end is cut off again and again is read all the same`() throws {
        let disk = WatchedDisk()
        var writer = try JournalFixture.open(disk.disk, options: JournalOptions()).opened.writer
        try writer.write([JournalFixture.commit(1)])
        let end = writer.end
        let steps = Mutex(3)
        disk.watch(didAsk: { [disk = disk.disk] in
            let step = steps.withLock {
                $0 -= 1
                return $0
            }
            guard step > 0 else { return }
            let length = Int(end) + step * 4_096
            disk.change(JournalFixture.path) { $0.current.removeLast($0.current.count - length) }
        })
        #expect(JournalFixture.commits(in: try JournalFixture.read(disk)).count == 1)
    }

    /// A file as a reader meets it that is slower than the writer: each read finds more of what the writer writes, byte by byte,
    /// and its syncs in between.
    @Test func `a file that grows while it is read is a prefix, and never damaged`() throws {
        var found = Set<Int>()
        for seed in UInt64(0)..<400 {
            var random = SeededGenerator(seed: seed)
            let disk = GrowingDisk(seed: seed)
            let script = try disk.prepare(&random)
            let before = disk.durableCount
            let commits = JournalFixture.commits(in: try JournalFixture.read(disk.watched))
            #expect(script.starts(with: commits), "seed \(seed)")
            #expect((before...disk.durableCount).contains(commits.count), "seed \(seed): \(commits.count)")
            found.insert(commits.count - before)
        }
        #expect(found.count > 4, "\(found.sorted())")
    }
}

/// A disk on which something happens whenever a journal is read.
private final class WatchedDisk: InterposedDisk {
    let disk = SimulatedDisk()
    private let hooks = Mutex<
        (willRead: (@Sendable () -> Void)?, didRead: (@Sendable () -> Void)?, didAsk: (@Sendable () -> Void)?)
    >((nil, nil, nil))

    /// - Parameter didAsk: called when somebody has asked for the file's length.
    func watch(
        willRead: (@Sendable () -> Void)? = nil, didRead: (@Sendable () -> Void)? = nil,
        didAsk: (@Sendable () -> Void)? = nil
    ) {
        hooks.withLock { $0 = (willRead, didRead, didAsk) }
    }

    func openForReading(_ path: StorePath) throws(IOError) -> any StoreFile {
        let hooks = path.text.hasSuffix(".lock") ? (nil, nil, nil) : hooks.withLock { $0 }
        return WatchedFile(
            file: try disk.openForReading(path), willRead: hooks.0, didRead: hooks.1, didAsk: hooks.2)
    }
}

private struct WatchedFile: StoreFile {
    let file: any StoreFile
    let willRead: (@Sendable () -> Void)?
    let didRead: (@Sendable () -> Void)?
    let didAsk: (@Sendable () -> Void)?

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(IOError) -> Int {
        willRead?()
        defer { didRead?() }
        let part = willRead == nil ? buffer : UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(700))
        return try file.read(into: part, at: offset)
    }

    func status() throws(IOError) -> FileStatus {
        defer { didAsk?() }
        return try file.status()
    }

    func extent() throws(IOError) -> FileExtent { try file.extent() }
    func dataOffset(from offset: UInt64) -> UInt64? { file.dataOffset(from: offset) }
    func close() { file.close() }
    func lock() throws(IOError) -> Bool { throw IOError(operation: .lock, reason: .other, code: 9) }
    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(IOError) -> Int {
        throw IOError(operation: .write, reason: .other, code: 9)
    }
    func truncate(to lengthBytes: UInt64) throws(IOError) {
        throw IOError(operation: .truncate, reason: .other, code: 9)
    }
    func dataSync() throws(IOError) { throw IOError(operation: .sync, reason: .other, code: 9) }
    func sync() throws(IOError) { throw IOError(operation: .sync, reason: .other, code: 9) }
    func setPermissions(_ permissions: UInt16) throws(IOError) {
        throw IOError(operation: .status, reason: .other, code: 9)
    }
}

/// A program that writes a journal, some bytes further at each read of another one.
private final class GrowingDisk: Sendable {
    /// What the writer does, one after the other.
    private enum Step {
        case write(UInt8, at: Int)
        case cut(to: Int)
        /// So many commits are durable, which the lock file says from then on.
        case sync(commits: Int, lock: [UInt8])
    }

    private struct State {
        var steps: ArraySlice<Step> = []
        var random: SeededGenerator
        var durableCount = 0
    }

    let watched = WatchedDisk()
    private let state: Mutex<State>

    private var disk: SimulatedDisk { watched.disk }

    init(seed: UInt64) {
        state = Mutex(State(random: SeededGenerator(seed: seed &* 77 &+ 1)))
    }

    var durableCount: Int { state.withLock { $0.durableCount } }

    /// Has a program write groups of commits, some of which do not fit on the disk, and goes back to the beginning of that.
    func prepare(_ random: inout SeededGenerator) throws -> [[UInt8]] {
        let path = JournalFixture.path
        var writer = try JournalFixture.open(disk).opened.writer
        var (script, steps): ([[UInt8]], [Step]) = ([], [])
        try writer.write([JournalFixture.commit(0)])
        script.append(JournalFixture.commit(0).payload)
        let (start, startLock) = (disk.contents(path) ?? [], disk.contents(path + ".lock") ?? [])
        var last = start
        for number in 1...Int.random(in: 2...8, using: &random) {
            let group = (0..<Int.random(in: 1...3, using: &random)).map { JournalFixture.commit(number * 10 + $0) }
            if random.chance(3) {
                // Some of another group is there before the disk is full, perhaps whole records.
                let other = SimulatedDisk(disk.medium)
                var second = try JournalFixture.open(other).opened.writer
                try second.write((1...3).map { JournalFixture.commit(number * 10 + 3 + $0) })
                let bytes = other.contents(path) ?? []
                let written = Int(writer.end)..<Int.random(in: Int(writer.end)..<Int(second.end), using: &random)
                steps += written.map { .write(bytes[$0], at: $0) }
                steps.append(.cut(to: Int(writer.end)))
                last = Array(last.prefix(Int(writer.end)))
            }
            try writer.write(group)
            script += group.map(\.payload)
            let now = disk.contents(path) ?? []
            for place in now.indices where place >= last.count || now[place] != last[place] {
                steps.append(.write(now[place], at: place))
            }
            if now.count < last.count { steps.append(.cut(to: now.count)) }
            steps.append(.sync(commits: script.count, lock: disk.contents(path + ".lock") ?? []))
            last = now
        }
        disk.setContents(start, at: path)
        disk.setContents(startLock, at: path + ".lock")
        state.withLock { ($0.steps, $0.durableCount) = (steps[...], 1) }
        watched.watch(willRead: { [weak self] in self?.advance() })
        return script
    }

    private func advance() {
        state.withLock { state in
            var rest = Int.random(in: 0...(state.random.chance(3) ? 4_000 : 200), using: &state.random)
            var contents = disk.contents(JournalFixture.path) ?? []
            while rest > 0, let step = state.steps.popFirst() {
                rest -= 1
                switch step {
                case .write(let byte, let place):
                    while contents.count <= place { contents.append(0) }
                    contents[place] = byte
                case .cut(let length): contents.removeLast(max(0, contents.count - length))
                case .sync(let commits, let lock):
                    state.durableCount = commits
                    disk.change(JournalFixture.path + ".lock") { $0.current = lock }
                }
            }
            disk.change(JournalFixture.path) { $0.current = contents }
        }
    }
}
