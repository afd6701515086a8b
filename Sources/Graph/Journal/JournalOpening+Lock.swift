#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension JournalOpening {
    /// Takes the lock beside the journal, and creates the lock file if it is missing.
    ///
    /// Only an empty file or a lock file of Graph is written to: any other file with that name belongs to someone else.
    func lock(_ location: JournalLocation) throws(GraphError) -> JournalLock {
        let path = location.lockPath
        // Meanwhile another opener may create the file, or someone may remove it.
        for _ in 0..<100 {
            if let lock = try isUsable(path) ? takeLock(path, of: location) : makeLock(path, of: location) {
                return lock
            }
        }
        throw .unusableFile(
            path: path.text,
            reason: "some program keeps removing this lock file: find and stop it, and open the store again")
    }

    /// Takes the lock on the existing file; nil if the name does not lead to it any more.
    private func takeLock(_ path: StorePath, of location: JournalLocation) throws(GraphError) -> JournalLock? {
        guard let file = try openIfExists(path) else { return nil }
        do throws(GraphError) {
            guard try attempt(path, { () throws(IOError) in try file.lock() }) else {
                let holder = try? JournalLock.content(of: file).holder
                throw .alreadyOpen(
                    path: location.text, processID: holder?.processID, since: holder?.since.map(Self.date))
            }
            try Self.requireUsable(try attempt(path) { () throws(IOError) in try file.status() }, path)
            guard let identity = try identity(of: file, at: path) else {
                file.close()
                return nil
            }
            let content = try attempt(path) { () throws(IOError) in try JournalLock.content(of: file) }
            if let refusal = content.refusal(at: path) { throw refusal }
            var hasDurableHeader = if case .header = content { true } else { false }
            // It only provides the number in a message and a place for the journal's end, so the lock succeeds without it.
            do throws(IOError) {
                try file.writeFully(JournalLock.header(of: holder), at: 0)
                if !hasDurableHeader { try file.dataSync() }
                hasDurableHeader = true
            } catch {}
            return JournalLock(
                file: file, name: JournalName(path: path, identity: identity), hasDurableHeader: hasDurableHeader)
        } catch {
            file.close()
            throw error
        }
    }

    /// Creates the lock file, locked and complete before it gets its name; nil if another one was quicker.
    private func makeLock(_ path: StorePath, of location: JournalLocation) throws(GraphError) -> JournalLock? {
        let header = JournalLock.header(of: holder)
        guard let file = try place(header, at: path, of: location) else { return nil }
        guard let identity = try identity(of: file, at: path) else {
            file.close()
            return nil
        }
        return JournalLock(file: file, name: JournalName(path: path, identity: identity), hasDurableHeader: true)
    }

    private var holder: JournalLock.Holder {
        JournalLock.Holder(processID: fileSystem.processID, since: options.nanosecondsSince1970())
    }

    private static func date(_ nanosecondsSince1970: UInt64) -> Date {
        Date(timeIntervalSince1970: Double(nanosecondsSince1970) / 1e9)
    }
}

extension JournalLock.Content {
    /// Why a lock file is left alone, and no store opened with it; nil if it may be taken.
    func refusal(at path: StorePath) -> GraphError? {
        switch self {
        case .empty, .digits, .header: nil
        case .otherVersion(let version):
            .unsupportedVersion(
                path: path.text, found: "lock file of version \(version)", supported: "version \(JournalLock.version)")
        case .foreign:
            .unusableFile(
                path: path.text,
                reason: "this is not a lock file of Graph, so it was not overwritten: move it elsewhere")
        }
    }
}
