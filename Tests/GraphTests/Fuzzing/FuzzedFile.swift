@testable import Graph

/// A file of a fuzzer, with perhaps a lock file, and what must hold whatever is in it.
struct FuzzedFile {
    static let path = JournalFixture.path
    let file: [UInt8]
    let lock: [UInt8]?

    init(_ file: [UInt8], lock: [UInt8]? = nil) { (self.file, self.lock) = (file, lock) }

    init(_ script: RecordScript) {
        file = script.file
        lock = script.lock(of: file)
    }

    /// Without leftovers, on a disk of its own.
    func disk() -> SimulatedDisk {
        let disk = SimulatedDisk()
        disk.setContents(file, at: Self.path)
        if let lock { disk.setContents(lock, at: Self.path + ".lock") }
        return disk
    }

    // MARK: Without the program's types

    /// Reads the file, then opens it for writing, each of which changes nothing if it is refused and finds the same otherwise.
    func findings(compacts: Bool) async -> [String] {
        let read = reading()
        var findings = read.findings
        guard let replay = read.replay else {
            return findings + (await refusalFindings(by: FuzzedProgram.everything))
        }
        let schema: Schema
        do { schema = try Schema(replay.fileRecord) } catch {
            return findings + ["its schema is read, and not used: \(error)"]
        }
        let disk = disk()
        do throws(GraphError) {
            let coordinator = try await Self.opened(schema, on: disk)
            findings += coordinator.snapshot.checkByHand().map { "opened: \($0)" }
            // Without a lock file, all that can be read counts.
            if lock == nil {
                findings += replay.snapshot.differences(to: coordinator.snapshot).map {
                    "opened and read differ: \($0)"
                }
            }
            let snapshot = coordinator.snapshot
            // History that was forged may be refused here, and the file stays as it is then.
            if compacts { try? await coordinator.compact() }
            try await coordinator.close()
            findings += Self.reading(disk).findings
            let again = try await Self.opened(schema, on: disk)
            findings += snapshot.differences(to: again.snapshot).map { "opened again: \($0)" }
            try await again.close()
        } catch {
            if lock == nil, !error.isOfWriting { findings.append("the file can be read and not opened: \(error)") }
            if disk.contents(Self.path) != file { findings.append("a refused file was changed: \(error)") }
        }
        return findings
    }

    private static func opened(
        _ schema: Schema, on disk: SimulatedDisk, readOnly: Bool = false
    ) async throws(GraphError) -> Coordinator {
        try await Coordinator(
            schema, path: path, fileSystem: disk, options: JournalFixture.options(), readOnly: readOnly,
            compaction: .manual)
    }

    private func refusalFindings(by schema: Schema?) async -> [String] {
        guard let schema else { return ["no schema"] }
        let disk = disk()
        do throws(GraphError) {
            try await Self.opened(schema, on: disk).close()
            return ["a file is opened that cannot be read"]
        } catch {
            return disk.contents(Self.path) == file ? [] : ["a refused file was changed: \(error)"]
        }
    }

    private func reading() -> (replay: StoreReplay?, findings: [String]) {
        let disk = disk()
        let names = disk.names
        var result = Self.reading(disk)
        if disk.contents(Self.path) != file || disk.names != names {
            result.findings.append("reading has changed a file")
        }
        return result
    }

    /// Reads a file with all that is in it, as tools do; nil if it is refused.
    private static func reading(
        _ disk: SimulatedDisk, at path: String = Self.path
    ) -> (replay: StoreReplay?, findings: [String]) {
        do throws(GraphError) {
            let opening = JournalOpening(fileSystem: disk, options: JournalFixture.options())
            let start = try StoreReplay(path: path, keepsIndexes: false)
            var (contents, replay) = try opening.read(at: path, into: start) { (replay, entry) throws(GraphError) in
                try replay.apply(entry)
            }
            _ = try replay.finish()
            var newest = replay.snapshot
            newest.token.store = contents.storeID
            var findings = newest.checkByHand().map { "read: \($0)" }
            newest.showEverything()
            findings += historyFindings(of: newest, opening, path)
            return (replay, findings)
        } catch {
            return (nil, [])
        }
    }

    /// Goes back through all commits and comes to the newest state again. A forged history may be refused.
    private static func historyFindings(of newest: Snapshot, _ opening: JournalOpening, _ path: String) -> [String] {
        do throws(GraphError) {
            let location = try JournalLocation(resolving: path, in: opening.fileSystem)
            let file = try opening.openToRead(location)
            let length = try opening.attempt(location.path) { () throws(IOError) in try file.status().lengthBytes }
            let header = try opening.readHeader(file, length, location, isReadOnly: true).0
            let journal = JournalFile(path: path, header: header, lengthBytes: length, file: file)
            let recorded = try RecordedCommits(journal, since: nil, through: newest.token)
            var walk = CommitWalk(recorded, from: newest)
            try walk.goBack(to: recorded.start.commit)
            while let passed = try walk.goOn() { _ = passed.changes }
            guard walk.state.commit == newest.commit else { return ["history ends at commit \(walk.state.commit)"] }
        } catch {}
        return []
    }

    // MARK: With a program's types

    /// Opens the file with a program's schema, read-only and for writing, which converts it where that is possible.
    func findings(program: Int) async -> [String] {
        guard let (schema, plan) = FuzzedProgram.schema(program) else { return ["no program"] }
        var findings: [String] = []
        func open(_ disk: SimulatedDisk, readOnly: Bool) async throws(GraphError) -> Coordinator {
            try await Coordinator(
                schema, path: Self.path, fileSystem: disk, options: JournalFixture.options(), readOnly: readOnly,
                compaction: .manual, migration: plan, dropping: program & 0x80 == 0 ? [] : FuzzedProgram.dropped)
        }
        let readDisk = disk()
        var read: Snapshot?
        do throws(GraphError) {
            let coordinator = try await open(readDisk, readOnly: true)
            findings += coordinator.snapshot.checkByHand().map { "read: \($0)" }
            read = coordinator.snapshot
            try await coordinator.close()
        } catch {}
        if readDisk.contents(Self.path) != file { findings.append("reading has changed the file") }
        let disk = disk()
        do throws(GraphError) {
            let coordinator = try await open(disk, readOnly: false)
            let snapshot = coordinator.snapshot
            findings += snapshot.checkByHand().map { "opened: \($0)" }
            snapshot.showEverything()
            if lock == nil {
                guard let read else { return findings + ["a file is opened that cannot be read"] }
                findings += read.differences(to: snapshot).map { "opened and read differ: \($0)" }
            }
            try await coordinator.close()
            findings += Self.reading(disk).findings
            let again = try await open(disk, readOnly: false)
            findings += snapshot.differences(to: again.snapshot).map { "opened again: \($0)" }
            // A store of several writers gets a commit without changes each time.
            let isShared = RowCounters.lastWriter(await again.usedCounters) > 0
            if again.snapshot.commit != snapshot.commit, !isShared {
                findings.append("opened again at \(again.snapshot.commit)")
            }
            try await again.close()
        } catch {
            if disk.contents(Self.path) != file { findings.append("a refused file was changed: \(error)") }
        }
        return findings
    }

    // MARK: Damaged

    /// Salvages the file, which leaves it alone and makes a sound one or none.
    func salvageFindings() async -> [String] {
        let (disk, newPath) = (disk(), "/data/new.graph")
        let names = disk.names
        var findings: [String] = []
        do throws(GraphError) {
            _ = try await StoreSalvage(of: Self.path, to: newPath, disk, JournalFixture.options(seed: 77))
            let (replay, found) = Self.reading(disk, at: newPath)
            findings += replay == nil ? ["the new file cannot be read"] : found
            disk.remove(newPath)
        } catch {
            if case .corrupt(_, _, _, let reason) = error, reason.contains("error of Graph") { findings.append(reason) }
        }
        if disk.contents(Self.path) != file || disk.names != names { findings.append("salvage has changed a file") }
        return findings
    }
}

extension GraphError {
    /// Whether a file that may be read may be refused to a writer for this.
    fileprivate var isOfWriting: Bool {
        switch self {
        case .unsupportedVersion: true
        // Each opening of a store of several writers takes a number.
        case .rowNumbersUsedUp: true
        default: false
        }
    }
}
