import Foundation
import Testing

@testable import Graph

/// Copies of a store, made while it is in use.
struct CopyTests {
    private static let path = "/data/copy.graph"

    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func open(_ name: String, readOnly: Bool = false) async throws(GraphError) -> Coordinator {
        try await Coordinator(for: Team.self, Person.self, at: folder.file(name), readOnly: readOnly)
    }

    /// A store in memory with a team and its members, so that whatever reaches a disk belongs to the copy.
    private static func store(memberCount: Int = 40) async throws -> Coordinator {
        let coordinator = try await Coordinator(for: Team.self, Person.self)
        try await coordinator.transaction { context in
            let team = context.insert(Team(name: "a"))
            for number in 0..<memberCount { context.insert(Person(name: "\(number)", team: ToOne(team.id))) }
        }
        return coordinator
    }

    private static func copy(_ coordinator: Coordinator, to disk: SimulatedDisk) async throws(GraphError) {
        try await coordinator.copy(to: path, disk, JournalFixture.options())
    }

    /// The identifiers in a header, of the store and of the file.
    private func identifiers(_ name: String) throws -> (store: [UInt8], file: [UInt8]) {
        let header = try [UInt8](Data(contentsOf: URL(fileURLWithPath: folder.file(name))).prefix(64))
        return (Array(header[32..<48]), Array(header[48..<64]))
    }

    @Test func `every copy has a file identifier of its own, and all have the store's`() async throws {
        let store = try await open("store")
        try await store.copy(to: folder.file("copy"))
        try await store.copy(to: folder.file("second"))
        let copy = try await open("copy")
        try await copy.copy(to: folder.file("third"))
        let all = try ["store", "copy", "second", "third"].map { try identifiers($0) }
        #expect(Set(all.map(\.store)).count == 1 && Set(all.map(\.file)).count == 4)
        try await copy.compact()
        #expect(try identifiers("copy").file != all[1].file && identifiers("copy").store == all[1].store)
        // What a salt or a lock file of one says does not hold for another one.
        #expect(all.allSatisfy { $0.file != $0.store })
    }

    @Test func `a copy has what the store has, and goes its own way`() async throws {
        let store = try await open("store")
        for seed in UInt64(0)..<20 {
            try await store.transaction { context in
                var random = SeededGenerator(seed: seed)
                let team = context.insert(Team(name: "\(random.next() % 100)"))
                for _ in 0..<random.next() % 20 { context.insert(Person(name: "p", team: ToOne(team.id))) }
                if random.chance(3), let old = try context.fetch(Person.self).randomElement(using: &random) {
                    old.delete()
                }
            }
        }
        try await store.copy(to: folder.file("copy"))
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(names == ["copy", "store", "store.lock"])
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.file("copy"))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let copy = try await open("copy")
        #expect(PlainState(copy.snapshot) == PlainState(store.snapshot) && copy.check() == [])
        #expect(copy.snapshot.commit == store.snapshot.commit && copy.storeID == store.storeID)
        let counters = (copy: await copy.usedCounters, store: await store.usedCounters)
        #expect(copy.diagnostics == [] && counters.copy == counters.store)
        try await copy.transaction { _ = $0.insert(Team(name: "copy")) }
        try await store.transaction { _ = $0.insert(Team(name: "store")) }
        #expect(copy.snapshot.commit == store.snapshot.commit)
        for (coordinator, other) in [(copy, "store"), (store, "copy")] {
            #expect(!(try coordinator.snapshot.fetchValues(Team.self).contains { $0.name == other }))
            try await coordinator.close()
        }
        #expect(try await open("copy").check() == [])
    }

    @Test func `copies made while others save have each time a state that was there`() async throws {
        let store = try await open("store")
        let id = try await store.transaction { $0.insert(Team(name: "0")).id }
        async let saving: Void = {
            for number in 1...200 {
                try await store.transaction { context in
                    context[id]?.name = "\(number)"
                    context.insert(Person(name: "\(number)", team: ToOne(id)))
                }
            }
        }()
        var last = 0
        for number in 0..<8 {
            let before = store.snapshot.count(of: Person.self)
            try await store.copy(to: folder.file("copy \(number)"))
            let copy = try await open("copy \(number)", readOnly: true)
            let count = copy.snapshot.count(of: Person.self)
            #expect(copy.snapshot.value(for: id)?.name == "\(count)" && copy.check() == [])
            #expect(count >= max(before, last))
            last = count
        }
        try await saving
        try await store.close()
    }

    @Test func `stores in memory, read-only ones, closed ones and failed ones can be copied`() async throws {
        let memory = try await Self.store()
        try await memory.copy(to: folder.file("1"))
        let first = try await open("1", readOnly: true)
        try await first.copy(to: folder.file("2"))
        let second = try await open("2")
        try await second.close()
        try await second.copy(to: folder.file("3"))
        let third = try await open("3")
        try FileManager.default.removeItem(atPath: folder.file("3"))
        await #expect(throws: GraphError.self) { try await third.transaction { _ = $0.insert(Team(name: "b")) } }
        try await third.copy(to: folder.file("4"))
        let fourth = try await open("4")
        #expect(PlainState(fourth.snapshot) == PlainState(memory.snapshot) && fourth.storeID == memory.storeID)
        try await fourth.close()
    }

    @Test func `a copy replaces nothing`() async throws {
        let store = try await open("store")
        try await store.transaction { _ = $0.insert(Team(name: "a")) }
        try Data("text".utf8).write(to: URL(fileURLWithPath: folder.file("text")))
        try FileManager.default.createDirectory(atPath: folder.file("folder"), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link"), withDestinationPath: folder.file("nowhere"))
        for name in ["store", "text", "folder", "link"] {
            let error = await #expect(throws: GraphError.self) { try await store.copy(to: folder.file(name)) }
            guard case .unusableFile(_, let reason) = error else {
                Issue.record("\(error as Any)")
                continue
            }
            #expect(reason == "something has this name already, and a copy replaces nothing: choose another name")
        }
        await #expect(throws: GraphError.directoryMissing(path: folder.file("no"))) {
            try await store.copy(to: folder.file("no/copy"))
        }
        await #expect(throws: GraphError.self) { try await store.copy(to: "") }
        #expect(try String(contentsOfFile: folder.file("text"), encoding: .utf8) == "text")
        #expect(!FileManager.default.fileExists(atPath: folder.file("nowhere")))
        try await store.transaction { _ = $0.insert(Team(name: "b")) }
        try await store.close()
    }

    @Test func `a name that is taken meanwhile stays with the other file`() async throws {
        let store = try await Self.store()
        let disk = HookedDisk(beforeRenaming: { disk, path in disk.setContents([1, 2, 3], at: path.text) })
        await #expect(throws: GraphError.nameIsTaken(Self.path)) {
            try await store.copy(to: Self.path, disk, JournalFixture.options())
        }
        #expect(disk.disk.names == [Self.path] && disk.disk.contents(Self.path) == [1, 2, 3])
        // Somebody makes a store, and removes the temporary file.
        let other = HookedDisk(beforeRenaming: { disk, path in
            if disk.contents(path.text) == nil { _ = try? JournalFixture.open(disk, at: path.text) }
        })
        await #expect(throws: GraphError.nameIsTaken(Self.path)) {
            try await store.copy(to: Self.path, other, JournalFixture.options())
        }
    }

    @Test func `a store without commits can be copied`() async throws {
        let (store, disk) = (try await Coordinator(for: Team.self, Person.self), SimulatedDisk())
        try await Self.copy(store, to: disk)
        let copy = try await Coordinator.people(on: disk, at: Self.path)
        #expect(copy.snapshot.commit == .none && copy.check() == [] && copy.diagnostics == [])
        try await copy.transaction { _ = $0.insert(Team(name: "a")) }
        try await copy.close()
        #expect(try await Coordinator.people(on: disk, at: Self.path).snapshot.count(of: Team.self) == 1)
    }

    @Test func `a task that is cancelled makes no copy`() async throws {
        let (store, disk) = (try await Self.store(memberCount: 20_000), SimulatedDisk())
        let copying = Task { try await Self.copy(store, to: disk) }
        copying.cancel()
        await #expect(throws: GraphError.cancelled) { try await copying.value }
        #expect(disk.names == [])
    }

    @Test(arguments: [false, true])
    func `every operation of a copy may fail in every way, once or from then on`(forEver: Bool) async throws {
        let (store, reference) = (try await Self.store(), SimulatedDisk())
        try await Self.copy(store, to: reference)
        let expected = PlainState(store.snapshot)
        for (name, fault) in ErrorSweepTests.faults {
            for index in 0..<reference.operationCount {
                let disk = SimulatedDisk(failingAt: index, with: fault, forEver: forEver)
                var failure: GraphError?
                do throws(GraphError) {
                    try await Self.copy(store, to: disk)
                } catch {
                    failure = error
                }
                disk.stopFailing()
                let comment = "\(name) at \(index): \(failure as Any)"
                disk.killProcess()
                if failure != nil {
                    // A disk that takes nothing more may keep a temporary file, or the whole copy.
                    let rest = disk.names
                    #expect(rest.isEmpty || forEver && rest.count == 1, "\(comment): \(rest)")
                    if rest != [Self.path] { try await Self.copy(store, to: disk) }
                }
                let copy = try await Coordinator.people(on: disk, at: Self.path)
                #expect(PlainState(copy.snapshot) == expected, "\(comment)")
            }
        }
    }

    @Test func `a power cut leaves the whole copy or none, and the whole one once it is made`() async throws {
        let (store, disk) = (try await Self.store(), SimulatedDisk())
        disk.startRecording()
        try await Self.copy(store, to: disk)
        let expected = PlainState(store.snapshot)
        var (random, found) = (SeededGenerator(seed: 3), [0, 0])
        for (number, moment) in disk.moments.enumerated() {
            for mask in [0, .max, random.next(), random.next()] {
                for names in moment.medium.nameMasks {
                    for fill in Medium.Fill.allCases {
                        let cut = PowerCut(mask: mask, fill: fill, keepsLength: random.chance(2), nameMask: names)
                        let remains = SimulatedDisk(cut.remains(of: moment.medium))
                        let copy = try await Coordinator.people(on: remains, at: Self.path)
                        let isWhole = copy.snapshot.commit.number > 0
                        found[isWhole ? 1 : 0] += 1
                        #expect(!isWhole || PlainState(copy.snapshot) == expected, "moment \(number)")
                        #expect(isWhole || number < disk.moments.count - 1, "moment \(number) (\(moment.operation))")
                        #expect(remains.names == [Self.path, Self.path + ".lock"])
                    }
                }
            }
        }
        #expect(found.allSatisfy { $0 > 10 }, "\(found)")
    }
}
