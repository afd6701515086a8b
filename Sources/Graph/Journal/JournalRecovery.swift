/// Prepares a scanned file to be continued: exactly its valid records, all of them durable.
///
/// 1. The records not known to be durable are written again, unchanged. After a failed sync the system counts their pages as
///    clean: they can be read, but are not on the disk, and a sync would not write them.
/// 2. A torn tail is copied to `<path>.torn-<sequence>`, of which the last three are kept.
/// 3. Everything behind the last record is overwritten with zeros and synced before it is cut off: otherwise blocks of the dead
///    group, which carry the file's salt and the next sequences, could reappear in a later extension.
/// 4. The folder is synced, in case the program that created the file ended before it did.
///
/// Each step may be interrupted and all repeated, since everything is read before anything is lost, and the second one is done
/// once. Rewriting records in place relies on the same as every write to a journal: after a power cut a sector that was being
/// written has its old bytes or its new ones, which are the same here.
struct JournalRecovery {
    private static let copiesKept = 3

    let fileSystem: any StoreFileSystem
    let path: StorePath
    let directory: StorePath

    /// Returns the diagnostics of the repair.
    func repair(
        _ file: any StoreFile, lengthBytes: UInt64, after scan: JournalScan
    ) throws(GraphError) -> [StoreDiagnostic] {
        do throws(IOError) {
            // Everything is repeated if a signal interrupts a sync: the bytes are then written again before they are synced again.
            var kept: [StoreDiagnostic]?
            return try repeatingInterrupted(atMost: 10) { () throws(IOError) in
                try repairing(file, lengthBytes, scan, &kept)
            }
        } catch {
            throw error.graphError(path: path.text)
        }
    }

    /// - Parameter kept: what keeping the torn tail has told, once that is done. The tail is not there any more later.
    private func repairing(
        _ file: any StoreFile, _ lengthBytes: UInt64, _ scan: JournalScan, _ kept: inout [StoreDiagnostic]?
    ) throws(IOError) -> [StoreDiagnostic] {
        if scan.validEnd > scan.durableEnd {
            try copy(file, scan.durableEnd..<scan.validEnd, to: file, at: scan.durableEnd)
        }
        let diagnostics = if let kept { kept } else { try keepTornTail(file, scan) }
        kept = diagnostics
        if lengthBytes > scan.validEnd { try overwrite(file, scan.validEnd..<lengthBytes) }
        if lengthBytes > scan.durableEnd { try file.dataSync() }
        if lengthBytes > scan.validEnd {
            try repeatingInterrupted { () throws(IOError) in try file.truncate(to: scan.validEnd) }
            try file.dataSync()
        }
        try syncDirectory()
        return diagnostics
    }

    private func keepTornTail(_ file: any StoreFile, _ scan: JournalScan) throws(IOError) -> [StoreDiagnostic] {
        guard case .torn(let end, let reason) = scan.tail else { return [] }
        let name = path.appending(".torn-\(scan.lastSequence.next)")
        try keep(file, scan.validEnd..<end, as: name)
        return [
            StoreDiagnostic(
                .unfinishedWrite, at: scan.validEnd,
                """
                an unfinished write of \(end - scan.validEnd) bytes was cut off and kept as \
                \(name.split().name.text) (\(reason))
                """)
        ]
    }

    private func syncDirectory() throws(IOError) {
        try repeatingInterrupted { () throws(IOError) in try fileSystem.syncDirectory(directory) }
    }

    private func keep(_ file: any StoreFile, _ range: Range<UInt64>, as name: StorePath) throws(IOError) {
        // Together: an interrupted call may have made the file.
        let target = try repeatingInterrupted { () throws(IOError) in
            do throws(IOError) {
                try fileSystem.unlink(name)
            } catch {
                guard error.reason == .missing else { throw error }
            }
            return try fileSystem.create(name)
        }
        defer { target.close() }
        do throws(IOError) {
            try copyWithoutZeros(file, range, to: target)
            try target.sync()
            try syncDirectory()
        } catch {
            try? fileSystem.unlink(name)
            throw error
        }
        removeOldCopies()
    }

    /// Writes zeros over everything but holes, which have no blocks that could reappear.
    private func overwrite(_ file: any StoreFile, _ range: Range<UInt64>) throws(IOError) {
        var offset = range.lowerBound
        while let start = file.dataOffset(from: offset), start < range.upperBound {
            let end = min(max(start, offset) + UInt64(JournalWindow.pieceBytes), range.upperBound)
            try file.writeZeros(max(start, offset)..<end)
            offset = end
        }
    }

    /// Copies to the beginning of a new file, and leaves holes where blocks are zero. The last byte of the range is not.
    private func copyWithoutZeros(
        _ source: any StoreFile, _ range: Range<UInt64>, to target: any StoreFile
    ) throws(IOError) {
        var window = JournalWindow(file: source, lengthBytes: range.upperBound)
        var offset = range.lowerBound
        while let start = window.dataOffset(from: offset), start < range.upperBound {
            offset = max(start, offset)
            // Whole blocks of the copy, wherever the data begins.
            let inBlock = (offset - range.lowerBound) % JournalFormat.allocationAlignment
            let count = Int(min(JournalFormat.allocationAlignment - inBlock, range.upperBound - offset))
            let block = try window.bytes(at: offset, count: count)
            if !block.allSatisfy({ $0 == 0 }) { try target.writeFully(block, at: offset - range.lowerBound) }
            offset += UInt64(count)
        }
    }

    private func copy(
        _ source: any StoreFile, _ range: Range<UInt64>, to target: any StoreFile, at start: UInt64
    ) throws(IOError) {
        var window = JournalWindow(file: source, lengthBytes: range.upperBound)
        var offset = range.lowerBound
        while offset < range.upperBound {
            let count = Int(min(UInt64(JournalWindow.pieceBytes), range.upperBound - offset))
            let piece = try window.bytes(at: offset, count: count)
            try target.writeFully(piece, at: start + (offset - range.lowerBound))
            offset += UInt64(count)
        }
    }

    /// Sequences start again in every generation, so age decides; a copy that stays costs only space.
    private func removeOldCopies() { removeCopies(except: Self.copiesKept) }

    /// - Parameter count: so many of the newest ones stay.
    func removeCopies(except count: Int = 0) {
        let prefix = path.split().name.appending(".torn-")
        guard let names = try? fileSystem.list(directory) else { return }
        let copies =
            names.filter { name in
                guard let sequence = name.suffix(after: prefix) else { return false }
                return UInt64(String(decoding: sequence, as: UTF8.self)) != nil
            }
            .map { name in
                let path = directory.appending(component: name)
                return (path: path, modified: (try? fileSystem.status(path))?.modifiedNanoseconds ?? 0)
            }
            .sorted { ($0.modified, $0.path.bytes.count, $0.path) < ($1.modified, $1.path.bytes.count, $1.path) }
        for copy in copies.dropLast(count) { try? fileSystem.unlink(copy.path) }
    }
}
