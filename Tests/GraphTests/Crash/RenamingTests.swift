import Testing

@testable import Graph

/// Interrupts the opening that records new names, and asks for the same store under the old names or the new ones.
struct RenamingTests {
    /// A store under the old names, closed or as after a crash that left half a commit.
    private static func oldStore(isClosed: Bool) async throws -> Medium {
        let disk = SimulatedDisk()
        let coordinator = try await Coordinator.open(Before.schema(), on: disk)
        let context = Context(coordinator)
        let author = try await context.transaction { $0.insert(Before.Author(name: "Ada")).id }
        try await context.transaction { _ = $0.insert(Before.Book(title: "Notes", author: ToOne(author))) }
        guard !isClosed else {
            try await coordinator.close()
            return disk.medium
        }
        disk.fail(next: .write, with: .errorAfterHalf(.other, 5))
        await #expect(throws: GraphError.self) {
            try await context.transaction { _ = $0.insert(Before.Author(name: "Eve")) }
        }
        return disk.medium
    }

    private static func open(_ schema: Schema, _ disk: SimulatedDisk) async throws(GraphError) {
        _ = try await Coordinator.open(schema, on: disk)
    }

    /// That the program with the old names alone may open what is left on a disk.
    private static func requireOld(_ medium: Medium, _ comment: String) async {
        await #expect(throws: Never.self, "\(comment)") { try await open(Before.schema(), SimulatedDisk(medium)) }
    }

    /// That the program with the new names alone may open what is left on a disk, finds everything, and can go on.
    private static func requireNew(_ medium: Medium, _ comment: String) async throws {
        let disk = SimulatedDisk(medium)
        await #expect(throws: GraphError.self, "\(comment)") { try await open(Before.schema(), disk) }
        let coordinator = try await Coordinator.open(After.schema(), on: disk)
        let writer = try #require(try coordinator.snapshot.fetchIDs(After.Writer.self).first, "\(comment)")
        #expect(coordinator.snapshot.value(for: writer)?.fullName == "Ada", "\(comment)")
        #expect(try coordinator.snapshot.related(\After.Writer.works, of: writer).count == 1, "\(comment)")
        #expect(coordinator.snapshot.commit.number == 2 && coordinator.snapshot.check() == [], "\(comment)")
        try await Context(coordinator).transaction { try $0.object(for: writer).fullName = "Eve" }
        try await coordinator.close()
    }

    /// That the program with both kinds of names opens what is left on a disk, which then has the new ones.
    private static func requireBoth(_ medium: Medium, _ comment: String) async throws {
        let disk = SimulatedDisk(medium)
        do {
            try await open(Renamed.schema(), disk)
        } catch {
            Issue.record("\(comment): \(error)")
            return
        }
        try await requireNew(disk.medium, comment)
    }

    @Test(arguments: [false, true], [false, true])
    func `every operation of the opening may fail in every way`(isClosed: Bool, forEver: Bool) async throws {
        let old = try await Self.oldStore(isClosed: isClosed)
        let reference = SimulatedDisk(old)
        try await Self.open(Renamed.schema(), reference)
        var outcomes: Set<String> = []
        for (name, fault) in ErrorSweepTests.faults {
            for index in 0..<reference.operationCount where Sweep.tries(index) {
                let disk = SimulatedDisk(old)
                if forEver {
                    disk.failForEver(from: index, with: fault)
                } else {
                    disk.fail(operation: index, with: fault)
                }
                var failure: GraphError?
                do throws(GraphError) {
                    try await Self.open(Renamed.schema(), disk)
                } catch {
                    failure = error
                }
                disk.stopFailing()
                for losesPower in [false, true] {
                    let comment = "\(name) at \(index), power \(losesPower), \(String(describing: failure))"
                    var medium = disk.medium
                    if losesPower {
                        medium = medium.crashed(keeps: { _ in false }, fill: .ghost, keepsLength: false, namesKept: 0)
                    }
                    switch failure {
                    case nil:
                        outcomes.insert("renamed")
                        try await Self.requireNew(medium, comment)
                    case .outcomeUnknown:
                        outcomes.insert("unknown")
                        try await Self.requireBoth(medium, comment)
                    default:
                        outcomes.insert("refused")
                        await Self.requireOld(medium, comment)
                        if losesPower { try await Self.requireBoth(medium, comment) }
                    }
                }
            }
        }
        #expect(outcomes == ["renamed", "unknown", "refused"] || !Sweep.isWhole && !outcomes.isEmpty)
    }

    @Test(arguments: [false, true])
    func `a power cut at any moment of the opening leaves the old names or the new ones`(isClosed: Bool) async throws {
        let old = try await Self.oldStore(isClosed: isClosed)
        let disk = SimulatedDisk(old)
        disk.startRecording()
        let coordinator = try await Coordinator.open(Renamed.schema(), on: disk)
        var count = 0
        for (number, moment) in disk.moments.enumerated() {
            for mask in [0, 1, 2, .max] as [UInt64] {
                for fill in moment.medium.pendingCount == 0 ? [.old] : Medium.Fill.allCases {
                    count += 1
                    guard Sweep.tries(count) else { continue }
                    let medium = moment.medium.crashed(
                        keeps: { mask & (1 << UInt64($0 % 64)) != 0 }, fill: fill, keepsLength: mask & 1 == 0,
                        namesKept: 9)
                    try await Self.requireBoth(medium, "moment \(number) (\(moment.operation)), \(mask), \(fill)")
                }
            }
        }
        try await Self.requireNew(
            disk.medium.crashed(keeps: { _ in false }, fill: .zeros, keepsLength: false, namesKept: 0), "afterwards")
        try await coordinator.close()
    }

    @Test func `a program without the original names does not even repair the file`() async throws {
        let disk = SimulatedDisk(try await Self.oldStore(isClosed: false))
        let before = disk.contents(JournalFixture.path)
        await #expect(throws: GraphError.self) { try await Self.open(After.schema(), disk) }
        #expect(disk.contents(JournalFixture.path) == before)
        #expect(!disk.names.contains { $0.contains(".torn-") })
        try await Self.open(Renamed.schema(), disk)
        #expect(disk.names.contains { $0.contains(".torn-") })
    }
}
