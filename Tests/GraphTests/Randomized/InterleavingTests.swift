import Synchronization
import Testing

@testable import Graph

@Entity private struct Folder {
    var name = ""
    var parent: ToOne<Folder> = nil
    @Relationship(.cascade, inverse: \Folder.parent) var children: ToMany<Folder> = []
    @Relationship(inverse: \File.folder) var files: ToMany<File> = []
    @Relationship(.deny, inverse: \Lock.folder) var locks: ToMany<Lock> = []
}

@Entity private struct File {
    @Unique var name = ""
    @Indexed var size = 0
    var folder: ToOne<Folder> = nil
    @Relationship(.cascade) var blob: ToOne<Blob> = nil
}

@Entity private struct Blob {
    var text = ""
}

@Entity private struct Lock {
    var folder: ToOne<Folder> = nil
}

/// Tasks that share contexts, over a disk that is full now and then: after every turn each context keeps what
/// `WorkingState` promises, every committed state keeps R13 and R14, and the file holds the state published last.
struct InterleavingTests {
    @Test(arguments: 1...20) func `contexts shared by tasks stay consistent`(seed: UInt64) async throws {
        let disk = FickleDisk()
        let entities = [
            EntityDescription(Lock.self), EntityDescription(Blob.self), EntityDescription(File.self),
            EntityDescription(Folder.self),
        ]
        let coordinator = try await Coordinator(
            Schema(entities), path: "/data/store.graph", fileSystem: disk, options: JournalOptions())
        let contexts = (0..<3).map { _ in Context(coordinator) }
        disk.isFickle = true
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<6 {
                group.addTask {
                    var random = SeededGenerator(seed: seed * 100 + UInt64(number))
                    for _ in 0..<60 { await Self.step(contexts[number % 3], &random) }
                }
            }
        }
        disk.isFickle = false
        for context in contexts {
            await context.refresh()
            do { try await context.save() } catch { await context.rollback(to: .latest) }
            #expect(await context.hasChanges == false)
        }
        let snapshot = coordinator.snapshot
        Self.check(snapshot)
        try await coordinator.close()
        let second = try await Coordinator(
            Schema(entities), path: "/data/store.graph", fileSystem: disk, options: JournalOptions())
        #expect(second.snapshot.commit == snapshot.commit)
        for (first, second) in zip(snapshot.entities, second.snapshot.entities) {
            var differences = 0
            second.rows.forEachDifference(from: first.rows) { _, _, _ in differences += 1 }
            #expect(differences == 0)
        }
        try await second.close()
    }

    private static func step(_ context: Context, _ random: inout SeededGenerator) async {
        struct Stop: Error {}
        let choices = (0..<6).map { _ in Int.random(in: 0..<1000, using: &random) }
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<10: await context.perform { $0.change(choices) }
        case 10..<14: try? await context.save()
        case 14: await context.refresh()
        case 15: await context.rollback()
        case 16: await context.rollback(to: .latest)
        case 17: try? await context.transaction { $0.change(choices) }
        default:
            try? await context.transaction { context in
                context.change(choices)
                context.change(choices.reversed())
                throw Stop()
            }
        }
        await context.perform { $0.checkConsistency() }
        check(context.coordinator.snapshot)
    }

    private static func check(_ snapshot: Snapshot) {
        #expect(snapshot.checkInvariants() == [])
        for (entity, description) in snapshot.schema.entities.enumerated() {
            for toOne in description.toOnes {
                snapshot.entities[entity].rows.forEachRow { row, _, address in
                    let target = toOne.target(ofRowAt: address)
                    #expect(target == 0 || snapshot.entities[toOne.target].rows.contains(target))
                }
            }
        }
    }
}

extension Context {
    private func pick<E: Entity>(_ type: E.Type, _ number: Int) -> ManagedObject<E>? {
        let ids = (try? fetchIDs(type)) ?? []
        return ids.isEmpty ? nil : self[ids[number % ids.count]]
    }

    fileprivate func change(_ choices: [Int]) {
        let folder = pick(Folder.self, choices[1])
        let file = pick(File.self, choices[2])
        switch choices[0] % 14 {
        case 0: insert(Folder(name: "f\(choices[3])", parent: ToOne(folder?.id)))
        case 1, 2: insert(File(name: "n\(choices[3] % 200)", folder: ToOne(folder?.id)))
        case 3: insert(Folder(name: "g", files: ToMany([file?.id].compactMap { $0 })))
        case 4: file?.blob = insert(Blob(text: "b\(choices[3])"))
        case 5: if choices[3] % 3 == 0 { insert(Lock(folder: ToOne(folder?.id))) }
        case 6: pick(Lock.self, choices[3])?.delete()
        case 7: file?.size += 1
        case 8: file?.folder = folder
        case 9: folder?.files = ToMany([file?.id, pick(File.self, choices[4])?.id].compactMap { $0 })
        case 10: folder?.parent = pick(Folder.self, choices[3])
        case 11: folder?.delete()
        case 12: file?.delete()
        default:
            if let file { folder?.files += [file] }
            file?.name = "n\(choices[3] % 200)"
        }
    }

    /// Compares changes with what differs, and objects with rows.
    fileprivate func checkConsistency() {
        _ = hasChanges
        let working = state.working
        #expect(working.snapshot.checkInvariants() == [])
        for (entity, description) in working.schema.entities.enumerated() {
            let (base, mine) = (working.base.entities[entity].rows, working.snapshot.entities[entity].rows)
            let changes = working.changes[entity]
            mine.forEachRow { row, version, address in
                switch (base.address(of: row), changes.kind(of: row)) {
                case (nil, .inserted): #expect(version.number == 1)
                case (let original?, nil):
                    #expect(description.areIdentical(address, original))
                    #expect(version == base.version(of: row))
                case (let original?, .updated):
                    // What both sides have changed stays a change, even where it is the same, until a save has reported it.
                    #expect(changes.countsFromDetachedBase(row) || !description.areIdentical(address, original))
                case (let original, let kind):
                    Issue.record("\(description.name) \(row): \(kind as Any), \(original as Any)")
                }
            }
            base.forEachRow { row, _, _ in
                if !mine.contains(row) { #expect(changes.kind(of: row) == .deleted) }
            }
            changes.forEachChange { row, kind, _ in
                switch kind {
                case .inserted: #expect(mine.contains(row) && !base.contains(row))
                case .deleted: #expect(!mine.contains(row) && base.contains(row))
                case .updated: #expect(mine.contains(row) || changes.detachedRows.contains(row))
                }
            }
        }
        for folder in (try? fetch(Folder.self)) ?? [] {
            #expect(!folder.isDeleted && self[folder.id] === folder)
            for child in folder.children { #expect(child.parent === folder) }
            for file in folder.files { #expect(file.folder === folder && file.value.folder.id == folder.id) }
        }
        for file in (try? fetch(File.self)) ?? [] {
            let value = file.value
            let row: File? = state.working.snapshot.value(for: file.id)
            #expect(row.map { ($0.name, $0.size) == (value.name, value.size) && $0.blob == value.blob } == true)
            if let folder = file.folder { #expect(folder.files.contains(file)) }
        }
        _ = insertedObjects + updatedObjects + deletedObjects
    }
}

/// A simulated disk on which every fifth write may find no space.
private final class FickleDisk: InterposedDisk {
    let disk = SimulatedDisk()
    private let state = Mutex((isFickle: false, count: 0))

    var isFickle: Bool {
        get { state.withLock { $0.isFickle } }
        set { state.withLock { $0.isFickle = newValue } }
    }

    func willWrite() throws(IOError) {
        let isFull = state.withLock { state in
            state.count += 1
            return state.isFickle && state.count % 5 == 0
        }
        if isFull { throw IOError(operation: .write, reason: .diskFull, code: 28) }
    }
}
