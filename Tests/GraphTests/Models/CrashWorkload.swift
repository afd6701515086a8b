@testable import Graph

/// Some thirty commits, two compactions and three openings on a simulated disk, with what a power cut may find at each moment, and
/// what the store was after each commit.
///
/// One thing happens after the other, so that a seed fixes all of it.
struct CrashWorkload: Sendable {
    /// The digest of the state after each commit; the first one is that of an empty store.
    private(set) var digests: [UInt64] = []
    private(set) var moments: [SimulatedDisk.Moment] = []
    private var random: SeededGenerator
    private let disk = SimulatedDisk()

    init(seed: UInt64) async throws {
        random = SeededGenerator(seed: seed)
        disk.startRecording()
        try fillByHand()
        try await compactWithCoordinator()
        try fillByHand()
        // The system goes on for a while: what happened last is a moment, too.
        disk.acknowledge(digests.count - 1)
        _ = try? disk.status(StorePath(JournalFixture.path))
        moments = Self.distinct(disk.moments)
    }

    /// Without those at which nothing has changed, neither the disk nor what was acknowledged.
    static func distinct(_ moments: [SimulatedDisk.Moment]) -> [SimulatedDisk.Moment] {
        var acknowledged = Int.min
        return moments.filter { moment in
            defer { acknowledged = moment.acknowledged }
            return moment.acknowledged != acknowledged || moment.changesDisk
        }
    }

    /// Groups of one to four commits, some of which wait for the sync of a later one.
    private mutating func fillByHand() throws {
        var store = try TeamStore(disk, seed: random.next())
        if store.wasCreated { note([store.snapshot.digest]) }
        for _ in 0..<Int.random(in: 2...4, using: &random) {
            if random.chance(3) {
                digests += try store.commit(Int.random(in: 1...2, using: &random), durably: false, using: &random)
            }
            note(try store.commit(Int.random(in: 1...4, using: &random), using: &random))
        }
        if random.chance(2) { try store.mark() }
        if random.chance(3) {
            digests += try store.commit(1, durably: false, using: &random)
            try store.sync()
            note([])
        }
        if random.chance(2) { try store.close() }
        disk.killProcess()
    }

    private mutating func compactWithCoordinator() async throws {
        let gate = GatedDisk(disk)
        let coordinator = try await Coordinator.people(on: gate, seed: random.next())
        try await save(3, coordinator)
        for _ in 0..<2 {
            // One commit meanwhile, which the new file has behind its checkpoint.
            gate.holdOne()
            async let compaction: Void = coordinator.compact()
            await gate.waitForArrival()
            try await save(1, coordinator)
            gate.release()
            try await compaction
            try await save(Int.random(in: 1...4, using: &random), coordinator)
        }
        if random.chance(2) { try await coordinator.close() }
        disk.killProcess()
    }

    private mutating func save(_ count: Int, _ coordinator: Coordinator) async throws {
        for _ in 0..<count {
            let context = Context(coordinator)
            let change = TeamChange(of: coordinator.snapshot, using: &random)
            try await context.perform { try change.apply(in: $0) }
            try await context.save()
            note([coordinator.snapshot.digest])
        }
    }

    private mutating func note(_ digests: [UInt64]) {
        self.digests += digests
        disk.acknowledge(self.digests.count - 1)
    }
}

extension SimulatedDisk.Moment {
    /// Whether the operation may have changed what is on the disk, or on its way there.
    var changesDisk: Bool {
        ["create", "rename", "link", "unlink", "syncDirectory", "write", "truncate", "sync"].contains {
            operation.hasPrefix($0 + " ")
        }
    }

    /// What was done to which of the files.
    var label: String {
        let words = operation.split(separator: " ")
        guard let first = words.first else { return "nothing" }
        guard words.count > 1, first != "syncDirectory" else { return String(first) }
        var name = String(words[1])
        if let inode = Int(name) {
            name = medium.names.first { $0.value == inode }?.key.text ?? ".removed"
        }
        let files = [".new-": "next file", ".torn-": "torn copy", "lock": "lock file", ".removed": "removed file"]
        let file = files.first { name.contains($0.key) }?.value ?? "journal"
        let isOver = words.count > 2 && words[2] == "over"
        return "\(first) \(file)" + (isOver ? " over journal" : "")
    }
}
