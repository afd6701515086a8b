/// A journal's file, opened once more to read what was written before. It can be read also after a compaction or a migration has
/// put another file in its place.
struct JournalFile: Sendable {
    let path: String
    let header: JournalHeader
    /// Nothing behind this is read.
    let lengthBytes: UInt64
    private let file: any StoreFile

    init(path: String, header: JournalHeader, lengthBytes: UInt64, file: any StoreFile) {
        (self.path, self.header, self.lengthBytes, self.file) = (path, header, lengthBytes, file)
    }

    func window(pieceBytes: Int = JournalWindow.pieceBytes) -> JournalWindow {
        JournalWindow(file: file, lengthBytes: lengthBytes, pieceBytes: pieceBytes)
    }
}

extension Journal {
    /// Opens the file once more, to read what is written so far.
    func openToRead() throws(GraphError) -> JournalFile {
        let (header, file, isOwn) = try openAgain()
        guard isOwn else {
            throw .storeFailed(path: path, reason: "the path leads to another file")
        }
        return JournalFile(path: path, header: header, lengthBytes: lengthBytes, file: file)
    }
}

extension JournalWindow {
    /// Reads a record that was read or written before, and so has to be there.
    ///
    /// - Parameter purpose: for the error.
    mutating func knownRecord(
        at offset: UInt64, salt: UInt32, path: String, _ purpose: String
    ) throws(GraphError) -> (kind: Journal.RecordKind, payload: UnsafeRawBufferPointer, end: UInt64) {
        let found: Found
        do throws(IOError) {
            guard offset < lengthBytes else {
                throw IOError(operation: .read, reason: .other, code: 0)
            }
            found = try record(at: offset, salt: salt)
        } catch {
            throw error.graphError(path: path)
        }
        switch found {
        case .record(_, let kind, let payload, let end): return (kind, payload, end)
        case .bad(let reason), .unknown(let reason):
            throw .corrupt(path: path, offset: offset, sequence: 0, reason: "\(purpose): \(reason)")
        }
    }

    /// Reads what a known record is, where it ends, and the first byte of its payload, and none of the rest.
    mutating func knownRecordHead(
        at offset: UInt64, salt: UInt32, path: String
    ) throws(GraphError) -> (kind: Journal.RecordKind, first: UInt8?, end: UInt64) {
        let headerBytes = UInt64(JournalFormat.frameHeaderBytes)
        do throws(IOError) {
            if offset <= lengthBytes, lengthBytes - offset > headerBytes,
                let frame = JournalFrame(try bytes(at: offset, count: Int(headerBytes)), salt: salt),
                let kind = Journal.RecordKind(rawValue: frame.kind)
            {
                let frameBytes = UInt64(JournalFormat.frameBytes(payloadBytes: Int(frame.payloadBytes)))
                if frameBytes <= lengthBytes - offset {
                    let first = frame.payloadBytes > 0 ? try bytes(at: offset + headerBytes, count: 1).first : nil
                    return (kind, first, offset + frameBytes)
                }
            }
        } catch {
            throw error.graphError(path: path)
        }
        throw .corrupt(path: path, offset: offset, sequence: 0, reason: "while history was read: no record")
    }
}
