/// The locked lock file beside a journal; `Docs/Design/JournalFormat.md` has its layout.
struct JournalLock: Sendable {
    static let magic: [UInt8] = [0x89, 0x47, 0x52, 0x4C, 0x0D, 0x0A, 0x1A, 0x0A]
    static let version: UInt16 = 1
    /// The bytes behind the header hold the journal's expected end.
    static let headerBytes = 512
    /// The longest file of zeros that counts as empty: a power cut can leave such a new file.
    private static let blankBytes: UInt64 = 4_096

    let file: any StoreFile
    let name: JournalName
    /// Whether the header is certain to survive a power cut. Only then is anything written behind it: a file with other content
    /// but no header is not taken for a lock file.
    let hasDurableHeader: Bool

    /// Where the journal stores its end; nil for nowhere.
    var endFile: (any StoreFile)? { hasDurableHeader ? file : nil }

    /// The process that has the lock, and since when in nanoseconds since 1970; for messages only.
    struct Holder: Sendable, Equatable {
        var processID: Int32
        var since: UInt64?
    }

    /// The content of a lock file, as far as this version understands it.
    enum Content: Sendable, Equatable {
        case empty
        case header(Holder)
        /// A process number in digits and a line end, the format before lock files had a header.
        case digits(Holder)
        case otherVersion(UInt16)
        case foreign

        var holder: Holder? {
            switch self {
            case .header(let holder), .digits(let holder): holder
            case .empty, .otherVersion, .foreign: nil
            }
        }
    }

    static func header(of holder: Holder) -> [UInt8] {
        var bytes = ByteWriter(capacity: headerBytes)
        bytes.append(contentsOf: magic)
        bytes.appendFixed(version)
        bytes.append(contentsOf: [UInt8](repeating: 0, count: 6))
        bytes.appendFixed(UInt32(bitPattern: holder.processID))
        bytes.appendFixed(UInt32(0))
        bytes.appendFixed(holder.since ?? 0)
        bytes.append(contentsOf: [UInt8](repeating: 0, count: headerBytes - bytes.count))
        return bytes.bytes
    }

    static func content(of file: any StoreFile) throws(IOError) -> Content {
        let length = try repeatingInterrupted { () throws(IOError) in try file.extent().lengthBytes }
        var window = JournalWindow(file: file, lengthBytes: min(length, blankBytes))
        let bytes = Array(try window.bytes(at: 0, count: Int(window.lengthBytes)))
        if bytes.starts(with: magic) {
            // A truncated header of a new file.
            guard bytes.count >= headerBytes else { return .empty }
            let fixed = bytes.withUnsafeBytes { bytes in
                (
                    version: UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt16.self)),
                    process: UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self)),
                    since: UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self))
                )
            }
            guard fixed.version == version else { return .otherVersion(fixed.version) }
            return .header(Holder(processID: Int32(bitPattern: fixed.process), since: fixed.since))
        }
        guard length <= blankBytes else { return .foreign }
        if bytes.allSatisfy({ $0 == 0 }) || isEmptied(bytes) { return .empty }
        let digits = bytes.dropLast()
        guard bytes.last == UInt8(ascii: "\n"), digits.allSatisfy({ (0x30...0x39).contains($0) }),
            let process = Int32(String(decoding: digits, as: UTF8.self))
        else { return .foreign }
        return .digits(Holder(processID: process, since: nil))
    }

    /// Whether someone emptied the file while a journal was open, which then wrote its end behind the former header.
    private static func isEmptied(_ bytes: [UInt8]) -> Bool {
        guard bytes.count == headerBytes + JournalEnd.slotBytes, bytes.prefix(headerBytes).allSatisfy({ $0 == 0 })
        else { return false }
        return Array(bytes.dropFirst(headerBytes)).withUnsafeBytes { JournalEnd(slot: $0) != nil }
    }
}

/// A name, and the file that it led to when opened.
struct JournalName: Sendable {
    let path: StorePath
    let identity: FileIdentity
}

/// The names of an open journal and of its lock file, which must lead to the open files before each write.
///
/// A name that leads elsewhere may have led another program there: the next one to open the path would not find what was
/// written here, and the locks would be on files that nobody else sees.
struct JournalNames: Sendable {
    let fileSystem: any StoreFileSystem
    let journal: JournalName
    let lock: JournalName

    /// Why nothing more may be written to a journal of that length; nil if nothing has changed.
    func difference(lengthBytes: UInt64) throws(IOError) -> String? {
        guard let extent = try extent(of: journal) else { return "somebody removed or moved the file" }
        if extent.identity != journal.identity { return "somebody replaced the file" }
        if extent.linkCount != 1 { return "somebody gave the file another name: it has \(extent.linkCount)" }
        if extent.lengthBytes != lengthBytes {
            return "somebody changed the file: \(extent.lengthBytes) bytes long instead of \(lengthBytes)"
        }
        guard let extent = try self.extent(of: lock) else { return "somebody removed or moved the lock file" }
        if extent.identity != lock.identity { return "somebody replaced the lock file" }
        if extent.linkCount != 1 { return "somebody gave the lock file another name: it has \(extent.linkCount)" }
        return nil
    }

    private func extent(of name: JournalName) throws(IOError) -> FileExtent? {
        do throws(IOError) {
            return try repeatingInterrupted { () throws(IOError) in try fileSystem.extent(name.path) }
        } catch {
            switch error.reason {
            case .missing, .notDirectory: return nil
            default: throw error
            }
        }
    }
}
