/// A damaged file as far as it can be read, with a state that keeps all rules.
struct DamagedStore: Sendable {
    let storeID: StoreID
    /// The schema that counts.
    let record: SchemaRecord
    let snapshot: Snapshot
    let counters: [RowNumber]
    /// Where consumers of history have read up to. Those commits are not in the new file, so that they learn that history is missing.
    let consumers: [String: HistoryToken]
    let report: SalvageReport

    /// - Throws: `.notAStore`, `.unsupportedVersion` and `.inputOutput`; `.corrupt` if no schema can be read.
    init(
        _ file: any StoreFile, _ location: JournalLocation, _ opening: JournalOpening, _ meter: ProgressMeter? = nil
    ) throws(GraphError) {
        let status = try opening.attempt(location.path) { () throws(IOError) in try file.status() }
        var report = SalvageReport()
        let header = try DamagedHeader(file, status.lengthBytes, location, opening, &report)
        let schema: Schema
        var replay: SalvageReplay
        do {
            var scanner = SalvageScanner(file, lengthBytes: status.lengthBytes, salt: header.salt)
            let length = status.lengthBytes
            // The file is read twice.
            guard let found = try Self.schema(&scanner, &report, { meter?.report(.reading, $0, of: length * 2) }) else {
                throw GraphError.corrupt(
                    path: location.text, offset: JournalFormat.recordsOffset, sequence: 1,
                    reason: "no record with a schema can be read, without which the others mean nothing")
            }
            (record, schema) = found
            replay = SalvageReplay(schema, path: location.text, baseCommit: header.baseCommit, report)
            scanner = SalvageScanner(file, lengthBytes: status.lengthBytes, salt: header.salt)
            while let found = try scanner.next() {
                replay.take(found)
                meter?.report(.reading, length + found.entry.offset, of: length * 2)
            }
            replay.end(
                at: scanner, remembered: header.fileID.flatMap { Self.lastRemembered(of: $0, location, opening) })
        } catch let error as IOError {
            throw error.graphError(path: location.text)
        } catch {
            throw error as? GraphError ?? .corrupt(path: location.text, offset: 0, sequence: 0, reason: "\(error)")
        }
        let (state, writers) = replay.finish()
        let repair = SalvageRepair(state, writers: writers, replay.report)
        (storeID, consumers, self.report) = (header.storeID, replay.consumers, repair.report)
        counters =
            repair.report.isEmpty ? replay.counters : RowCounters.next(afterLossBehind: replay.counters)
        var snapshot = repair.snapshot
        // So that it is not taken for the commit of that number, which had what is lost, nor for one that somebody has read.
        let last = consumers.values.map(\.commit).reduce(snapshot.commit, max)
        if !repair.report.isEmpty, last.number < RowCounters.maximum {
            snapshot.token.commit = last.next
            snapshot.token.add(PosixFileSystem.nanosecondsSince1970())
        }
        self.snapshot = snapshot
        if let failure = snapshot.check().first {
            let reason = "what is left breaks a rule, which is an error of Graph: \(failure.shortened(to: 200))"
            throw .corrupt(path: location.text, offset: 0, sequence: 0, reason: reason)
        }
    }

    /// The last schema record that says the same of what is stored as the first one; nil if there is none.
    private static func schema(
        _ scanner: inout SalvageScanner, _ report: inout SalvageReport, _ progress: (UInt64) -> Void
    ) throws(IOError) -> (SchemaRecord, Schema)? {
        var found: (SchemaRecord, Schema)?
        while let entry = try scanner.next()?.entry {
            progress(entry.offset)
            guard entry.kind == .schema else { continue }
            guard let record = try? SchemaRecord(reading: entry.payload), let schema = try? Schema(record),
                found?.0.isRecordedLike(record) ?? true
            else {
                report.note(.file, "record \(entry.sequence), at byte \(entry.offset), has a schema that does not fit")
                continue
            }
            found = (record, schema)
        }
        return found
    }

    /// The last record that the lock file remembers of this file.
    private static func lastRemembered(
        of fileID: StoreID, _ location: JournalLocation, _ opening: JournalOpening
    ) -> JournalSequence? {
        guard let remembered = opening.readLockFile(location).remembered, remembered.fileID == fileID else {
            return nil
        }
        return remembered.sequence
    }
}

/// What a salvage needs of a header, of which both copies may be damaged.
private struct DamagedHeader {
    let storeID: StoreID
    /// nil if it is not certain.
    var fileID: StoreID?
    let salt: UInt32
    var baseCommit = CommitNumber.none

    init(
        _ file: any StoreFile, _ lengthBytes: UInt64, _ location: JournalLocation, _ opening: JournalOpening,
        _ report: inout SalvageReport
    ) throws(GraphError) {
        do throws(GraphError) {
            let (header, _, damaged) = try opening.readHeader(file, lengthBytes, location, isReadOnly: true)
            (storeID, fileID, salt, baseCommit) = (header.storeID, header.fileID, header.salt, header.baseCommit)
            if let damaged { report.note(.remarks, "the header's \(damaged.name) copy is damaged") }
        } catch let refusal {
            switch refusal {
            case .corrupt, .notAStore: break
            default: throw refusal
            }
            let found = try opening.attempt(location.path) { () throws(IOError) in
                try SalvageScanner.salt(of: file, lengthBytes: lengthBytes)
            }
            guard let found else { throw refusal }
            let storeID = try opening.attempt(location.path) { () throws(IOError) in
                try Self.storeID(in: file, lengthBytes, salt: found)
            }
            (salt, self.storeID) = (found, storeID ?? StoreID(random: opening.options.random))
            report.note(
                .file,
                storeID == nil
                    ? "the header is damaged in both copies, and the store's identifier lost: the new file has another"
                    : "the header is damaged in both copies; the store's identifier is what can be read there")
        }
    }

    /// The store's identifier in the copies whose file identifier begins with the salt, if these agree.
    private static func storeID(in file: any StoreFile, _ lengthBytes: UInt64, salt: UInt32) throws(IOError) -> StoreID?
    {
        var window = JournalWindow(file: file, lengthBytes: lengthBytes)
        var found: Set<StoreID> = []
        for copy in 0..<UInt64(2) where lengthBytes >= copy * UInt64(JournalFormat.headerBytes) + 52 {
            let bytes = try window.bytes(at: copy * UInt64(JournalFormat.headerBytes), count: 52)
            let number = { (offset: Int) in
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            }
            guard UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 48, as: UInt32.self)) == salt else {
                continue
            }
            found.insert(StoreID(high: number(32), low: number(40)))
        }
        return found.count == 1 ? found.first : nil
    }
}
