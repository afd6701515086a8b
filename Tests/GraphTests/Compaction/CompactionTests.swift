import Foundation
import Synchronization
import Testing

@testable import Graph

struct CompactionTests {
    @Test func `a compacted file is short, and has the same store`() async throws {
        let folder = try TemporaryFolder()
        let coordinator = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        let context = Context(coordinator)
        let team = try await context.transaction { context in
            let team = context.insert(Team(name: "a"))
            for number in 0..<100 { context.insert(Person(name: "\(number)", team: ToOne(team.id))) }
            return team.id
        }
        for number in 0..<500 {
            try await context.transaction { try $0.object(for: team).name = "team \(number)" }
        }
        let gone = try await context.transaction { $0.insert(Person(name: "gone")).id }
        try await context.transaction { try $0.object(for: gone).delete() }
        let before = try Self.length(of: folder.file())
        try await coordinator.compact()
        #expect(try Self.length(of: folder.file()) < before / 4)
        let version = try #require(await context.perform { $0[team]?.version })
        try await context.transaction { try $0.object(for: team).name = "after" }
        let (commit, storeID) = (coordinator.snapshot.commit, coordinator.storeID)
        try await coordinator.close()

        let again = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        #expect(again.diagnostics.isEmpty && again.snapshot.check() == [] && again.storeID == storeID)
        #expect(again.snapshot.commit == commit && again.snapshot.count(of: Person.self) == 100)
        let other = Context(again)
        try await other.perform { context in
            let object = try context.object(for: team)
            #expect(object.name == "after" && object.version > version && object.members.count == 100)
            // Identifiers of deleted objects are not handed out again.
            #expect(context.insert(Person(name: "new")).id.row > gone.row)
        }
        try await other.save()
        try await again.compact()
        try await again.compact()
        try await again.close()
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == [
                "store.graph", "store.graph.lock",
            ])
    }

    @Test func `saves go on during a compaction, and all of them are in the new file`() async throws {
        let folder = try TemporaryFolder()
        let coordinator = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        try await Context(coordinator).transaction { context in
            for number in 0..<8_000 { context.insert(Person(name: "person \(number)")) }
        }
        let compactions = Task {
            for _ in 0..<4 {
                do { try await coordinator.compact() } catch { Issue.record(error) }
            }
            return true
        }
        let progress = Progress()
        Task {
            _ = await compactions.value
            progress.isDone.withLock { $0 = true }
        }
        let saved = await withTaskGroup(of: Int.self) { group in
            for writer in 0..<8 {
                group.addTask {
                    let context = Context(coordinator)
                    var count = 0
                    while !progress.isDone.withLock({ $0 }) || count < 20 {
                        let name = "\(writer) \(count)"
                        do {
                            try await context.transaction { _ = $0.insert(Team(name: name)) }
                            count += 1
                        } catch {
                            Issue.record(error)
                            break
                        }
                    }
                    return count
                }
            }
            return await group.reduce(0, +)
        }
        try await coordinator.close()
        let again = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        #expect(again.snapshot.count(of: Team.self) == saved && again.snapshot.count(of: Person.self) == 8_000)
        #expect(again.snapshot.commit == coordinator.snapshot.commit && again.snapshot.check() == [])
        try await again.close()
    }

    @Test func `calls at the same time are one compaction`() async throws {
        let disk = SimulatedDisk()
        let coordinator = try await Coordinator.people(on: disk)
        try await Context(coordinator).transaction { _ = $0.insert(Team(name: "a")) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<5 { group.addTask { try await coordinator.compact() } }
            try await group.waitForAll()
        }
        let generation = try await #require(coordinator.journal).generation
        #expect((2...6).contains(generation))
        try await coordinator.close()
    }

    @Test func `a store in memory has nothing to compact, and a closed one says so`() async throws {
        let coordinator = try await Coordinator(for: Team.self, Person.self)
        try await coordinator.compact()
        try await coordinator.close()
        await #expect(throws: GraphError.closed(path: "memory")) { try await coordinator.compact() }
    }

    @Test func `closing stops a compaction and leaves the old file`() async throws {
        let (disk, coordinator, compaction) = try await Self.heldCompaction()
        let closing = Task { try await coordinator.close() }
        while await coordinator.compaction?.isCancelled == false { await Task.yield() }
        disk.release()
        await #expect(throws: GraphError.closed(path: JournalFixture.path)) { try await compaction.value }
        try await closing.value
        #expect(disk.disk.names == [JournalFixture.path, JournalFixture.path + ".lock"])
        let again = try await Coordinator.people(on: disk.disk)
        #expect(again.snapshot.count(of: Person.self) == 8_000)
        #expect(try await #require(again.journal).generation == 1)
        try await again.close()
    }

    @Test func `a file that was moved, replaced or linked is not compacted over`() async throws {
        for change in ["move", "replace"] {
            let disk = SimulatedDisk()
            let coordinator = try await Coordinator.people(on: disk)
            try await Context(coordinator).transaction { _ = $0.insert(Team(name: "a")) }
            disk.move(JournalFixture.path, to: "/data/elsewhere.graph")
            if change == "replace" { disk.setContents([1, 2, 3], at: JournalFixture.path) }
            await #expect(throws: GraphError.self) { try await coordinator.compact() }
            #expect(disk.contents(JournalFixture.path) == (change == "replace" ? [1, 2, 3] : nil))
            #expect(disk.names.filter { $0.contains(".new-") }.isEmpty)
            try? await coordinator.close()
            let again = try await Coordinator.people(on: disk, at: "/data/elsewhere.graph")
            #expect(again.snapshot.count(of: Team.self) == 1)
        }
    }

    @Test(arguments: ["move", "link", "lock", "temporary"])
    func `a file that changes during a compaction is not replaced`(change: String) async throws {
        let (disk, coordinator, compaction) = try await Self.heldCompaction()
        switch change {
        case "move": disk.disk.move(JournalFixture.path, to: "/data/elsewhere.graph")
        case "link": disk.disk.change(JournalFixture.path) { $0.linkCount = 2 }
        case "temporary":
            let name = try #require(disk.disk.names.first { $0.contains(".new-") })
            disk.disk.move(name, to: "/data/elsewhere")
            disk.disk.setContents([1, 2, 3], at: name)
        default: disk.disk.removeLockFile(of: JournalFixture.path)
        }
        let before = disk.disk.contents(JournalFixture.path)
        disk.release()
        await #expect(throws: GraphError.self) { try await compaction.value }
        #expect(disk.disk.contents(JournalFixture.path) == before)
        #expect(disk.disk.names.filter { $0.contains(".new-") }.isEmpty)
        try? await coordinator.close()
    }

    @Test func `a save that finds the disk full does not end the compaction behind it`() async throws {
        let disk = GatedDisk()
        let coordinator = try await Coordinator.people(on: disk)
        try await Context(coordinator).transaction { _ = $0.insert(Team(name: "a")) }
        disk.hold()
        let save = Task { try await Context(coordinator).transaction { _ = $0.insert(Team(name: "b")) } }
        await disk.waitForArrival()
        let compaction = Task { try await coordinator.compact() }
        while await coordinator.waitingSaveCount == 0 { await Task.yield() }
        disk.fill()
        disk.release()
        await #expect(throws: GraphError.diskFull(path: JournalFixture.path)) { try await save.value }
        try await compaction.value
        #expect(try await #require(coordinator.journal).generation == 2)
        try await coordinator.close()
    }

    @Test(arguments: [IOError.Operation.status, .create, .lock, .write, .sync, .syncDirectory])
    func `a call that fails once costs the compaction and no save`(operation: IOError.Operation) async throws {
        let disk = SimulatedDisk()
        let coordinator = try await Coordinator.people(on: disk)
        try await Context(coordinator).transaction { _ = $0.insert(Team(name: "a")) }
        disk.fail(next: operation, with: .error(.other, 5))
        await #expect(throws: GraphError.self) { try await coordinator.compact() }
        try await Context(coordinator).transaction { _ = $0.insert(Team(name: "b")) }
        try await coordinator.compact()
        #expect(try await #require(coordinator.journal).generation == 2)
        try await coordinator.close()
    }

    @Test func `of the records made meanwhile the next generation takes the commits`() async throws {
        let disk = SimulatedDisk()
        func open() async throws -> (journal: Journal, records: [Journal.Record]) {
            let (journal, records) = try await Journal.open(
                at: JournalFixture.path, schema: JournalFixture.schema, seal: [], fileSystem: disk,
                options: JournalFixture.options(), into: [Journal.Record](),
                replay: { records, entry in
                    records.append(Journal.Record(kind: entry.kind, payload: Array(entry.payload)))
                })
            return (journal, records)
        }
        let journal = try await open().journal
        let commits = (0..<4).map { JournalFixture.commit($0) }
        try await journal.write([commits[0]])
        let successor = try await journal.makeSuccessor(
            schema: JournalFixture.schema, baseCommit: CommitNumber(1), executor: JournalExecutor())
        try await journal.write([commits[1], commits[2]])
        try await journal.mark([7])
        try await journal.write([commits[3]])
        let parts: [Journal.Record] = [
            .init(kind: .schema, payload: JournalFixture.schema), .init(kind: .snapshotChunk, payload: [1, 2]),
            .init(kind: .snapshotEnd, payload: []),
        ]
        try await successor.append(parts)
        try await successor.copyCommits(through: await journal.lengthBytes)
        _ = try await journal.replace(by: await successor.generation, sealing: [9])
        let more = JournalFixture.commit(6)
        try await journal.write([more])
        try await journal.close([8])
        let found = try await open()
        let end: [Journal.Record] = [.init(kind: .mark, payload: [9]), more, .init(kind: .close, payload: [8])]
        #expect(found.records == parts + commits[1...] + end)
        #expect(await found.journal.generation == 2 && found.journal.diagnostics.isEmpty)
        try await found.journal.close([8])
    }

    @Test func `a compaction says what it took`() async throws {
        let disk = SimulatedDisk()
        let coordinator = try await Coordinator.people(on: disk)
        for number in 0..<3 {
            try await Context(coordinator).transaction { _ = $0.insert(Team(name: "team \(number)")) }
        }
        #expect(await coordinator.lastCompaction == nil)
        for number in 1...2 {
            let old = try #require(disk.contents(JournalFixture.path)).count
            try await coordinator.compact()
            let figures = try #require(await coordinator.lastCompaction)
            #expect(figures.number == number && figures.oldFileBytes == UInt64(old))
            #expect(figures.newFileBytes == UInt64(try #require(disk.contents(JournalFixture.path)).count))
            #expect(figures.checkpointBytes < figures.newFileBytes && figures.checkpointBytes > 8_192)
            #expect(figures.lastPause >= figures.sealing + figures.renaming && figures.sealing > .zero)
            #expect(figures.duration >= figures.firstPause + figures.lastPause && figures.longestSync > .zero)
        }
    }

    @Test func `permissions stay`() async throws {
        let folder = try TemporaryFolder()
        let coordinator = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: folder.file())
        try await coordinator.compact()
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.file())
        #expect(attributes[.posixPermissions] as? Int == 0o640)
        try await coordinator.close()
    }

    @Test func `a second program meets the lock of a compacted file`() async throws {
        let folder = try TemporaryFolder()
        let coordinator = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        try await coordinator.compact()
        try FileManager.default.removeItem(atPath: folder.file() + ".lock")
        await #expect(throws: GraphError.alreadyOpen(path: folder.file(), processID: nil)) {
            try await Coordinator(for: Team.self, Person.self, at: folder.file())
        }
        try? await coordinator.close()
    }

    /// A compaction of 8,000 people whose first write waits.
    private static func heldCompaction() async throws -> (GatedDisk, Coordinator, Task<Void, any Error>) {
        let disk = GatedDisk()
        let coordinator = try await Coordinator.people(on: disk)
        try await Context(coordinator).transaction { context in
            for number in 0..<8_000 { context.insert(Person(name: "person \(number)")) }
        }
        disk.hold()
        let compaction = Task { try await coordinator.compact() }
        await disk.waitForArrival()
        return (disk, coordinator, compaction)
    }

    private final class Progress: Sendable {
        let isDone = Mutex(false)
    }

    private static func length(of path: String) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
    }
}
