import Synchronization
import Testing

@testable import Graph

/// R24.
struct TakeoverProgramTests {
    @Test func `no identifier is handed out twice, whichever copy goes on`() async throws {
        let counts = Mutex([String: Int]())
        let failures = await Seeds.failures(of: Seeds.programs(share: 4)) { seed in
            do {
                let program = try await TakeoverProgram(seed: seed)
                let found = try await program.run()
                counts.withLock { $0.merge(found, uniquingKeysWith: +) }
                return nil
            } catch {
                return "GRAPH_SEED=\(seed) GRAPH_PROGRAMS=1 swift test --filter TakeoverProgramTests\n\(error)"
            }
        }
        for failure in failures { Issue.record("\(failure)") }
        let found = counts.withLock { $0 }
        guard failures.isEmpty, Seeds.programs(share: 4).count > 1 else { return }
        for step in TakeoverProgram.Step.allCases { #expect(found["\(step)", default: 0] > 0, "\(step): \(found)") }
    }
}

/// A store whose place others take, sixty steps long: programs join it and insert objects, some of which they save; copies
/// follow it, and one of them takes its place; its file is compacted, opened again, or damaged and salvaged. Programs that have
/// joined a store that is gone go on inserting.
private struct TakeoverProgram {
    private typealias Reading = LoggedReading

    enum Step: CaseIterable {
        case insert, save, join, follow, catchUp, compact, reopen, promote, salvage

        static func random(_ random: inout SeededGenerator) -> Step {
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<6: .insert
            case 6..<10: .save
            default: allCases[Int.random(in: 2..<9, using: &random)]
            }
        }
    }

    private var random: SeededGenerator
    private let disk = SimulatedDisk()
    private var files = 0
    private var path: String
    private var host: Coordinator
    /// Of the host, and of those that have joined it.
    private var contexts: [Context] = []
    /// Of those that have joined stores that are gone.
    private var orphans: [Context] = []
    private var receivers: [(receiver: LogReceiver, path: String)] = []
    private var given: Set<RowNumber> = []
    private var counts: [String: Int] = [:]

    init(seed: UInt64) async throws {
        random = SeededGenerator(seed: seed)
        path = "/data/0.graph"
        host = try await Self.open(path, disk, random.next())
        contexts = [Context(host)]
    }

    private static func open(
        _ path: String, _ disk: SimulatedDisk, _ seed: UInt64, joining log: (any CommitLog)? = nil
    ) async throws -> Coordinator {
        try await Coordinator(
            Schema([EntityDescription(Reading.self)]), path: path, fileSystem: disk,
            options: JournalFixture.options(seed: seed), compaction: .manual, log: log)
    }

    consuming func run() async throws -> [String: Int] {
        for number in 0..<60 {
            let step = Step.random(&random)
            do {
                if try await take(step) { counts["\(step)", default: 0] += 1 }
                try demand(host.check() == []) { "\(host.check())" }
            } catch {
                throw StoreProgramRun.Mismatch(description: "step \(number), \(step): \(error)")
            }
        }
        for context in orphans + contexts { try? await context.coordinator.close(discardingChanges: true) }
        for (receiver, _) in receivers { try await receiver.close() }
        return counts
    }

    /// Returns false if there was nothing to do.
    private mutating func take(_ step: Step) async throws -> Bool {
        switch step {
        case .insert: try await insert()
        case .save: try await contexts.randomElement(using: &random)?.save()
        case .join:
            let copy = try await copyOfHost()
            let writer = try await Self.open(copy, disk, random.next(), joining: JournalCommitLog(host))
            contexts.append(Context(writer))
        case .follow:
            let copy = try await copyOfHost()
            let receiver = try await LogReceiver(
                Schema([EntityDescription(Reading.self)]), path: copy, fileSystem: disk,
                options: JournalFixture.options(seed: random.next()))
            receivers.append((receiver, copy))
        case .catchUp:
            guard let (receiver, _) = receivers.randomElement(using: &random) else { return false }
            try await catchUp(receiver)
        case .compact: try await host.compact()
        case .reopen:
            try await closeHost()
            try await go(on: Self.open(path, disk, random.next()), path)
        case .promote:
            guard let number = receivers.indices.randomElement(using: &random) else { return false }
            let (receiver, copy) = receivers.remove(at: number)
            try await closeHost()
            try await catchUp(receiver)
            try await go(on: receiver.promote(), copy)
        case .salvage: return try await salvage()
        }
        return true
    }

    private mutating func insert() async throws {
        guard let context = (contexts + orphans).randomElement(using: &random) else { return }
        let count = Int.random(in: 1...4, using: &random)
        let rows = await context.perform { context in
            (0..<count).map { context.insert(Reading(place: "\($0)")).id.row }
        }
        for row in rows {
            try demand(given.insert(row).inserted) { "\(row) was handed out before" }
        }
    }

    private mutating func copyOfHost() async throws -> String {
        files += 1
        let copy = "/data/\(files).graph"
        try await host.copy(to: copy, disk, JournalFixture.options(seed: random.next()))
        return copy
    }

    private func catchUp(_ receiver: LogReceiver) async throws {
        let log = LogSender(path, receiver.token, false, disk, JournalFixture.options(seed: 1))
        try await receiver.receive(log)
    }

    private mutating func closeHost() async throws {
        try await host.close()
        orphans += contexts.filter { $0.coordinator !== host }
        contexts = []
    }

    private mutating func go(on next: Coordinator, _ path: String) {
        (host, self.path) = (next, path)
        contexts = [Context(host)]
    }

    /// One of the last commits of the file is lost. Its copies have another history then.
    private mutating func salvage() async throws -> Bool {
        try await closeHost()
        var bytes = disk.contents(path) ?? []
        let commits = DamagedFile.records(in: bytes).filter { $0.kind == Journal.RecordKind.commit.rawValue }
        let lost = commits.suffix(3).randomElement(using: &random)
        if let lost { bytes[lost.range.lowerBound + 41] ^= 4 }
        for (receiver, _) in receivers { try await receiver.close() }
        receivers = []
        files += 1
        let (damaged, salvaged) = ("/data/\(files).damaged", "/data/\(files).graph")
        disk.setContents(bytes, at: damaged)
        let salvage = try await StoreSalvage(
            of: damaged, to: salvaged, disk, JournalFixture.options(seed: random.next()))
        try demand(salvage.losses.isEmpty == (lost == nil)) { "\(salvage.losses)" }
        try await go(on: Self.open(salvaged, disk, random.next()), salvaged)
        return lost != nil
    }
}
