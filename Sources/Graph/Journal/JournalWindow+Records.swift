extension JournalWindow {
    /// What the bytes at an offset are.
    enum Found {
        /// A record with right checksums. The payload is valid until the window moves.
        case record(JournalFrame, Journal.RecordKind, payload: UnsafeRawBufferPointer, end: UInt64)
        /// A valid header of what no version so far writes.
        case unknown(String)
        /// No record, or a part of one.
        case bad(String)
    }

    /// Reads the record at an offset, trusting nothing that no checksum covers.
    ///
    /// What a valid header says comes first: an unknown record is that also where its payload is cut off.
    mutating func record(at offset: UInt64, salt: UInt32) throws(IOError) -> Found {
        let remaining = lengthBytes - offset
        guard remaining >= UInt64(JournalFormat.frameHeaderBytes) else { return .bad("its header is cut off") }
        let headerBytes = try bytes(at: offset, count: JournalFormat.frameHeaderBytes)
        guard let frame = JournalFrame(headerBytes, salt: salt) else { return .bad("its header has a wrong checksum") }
        guard let kind = Journal.RecordKind(rawValue: frame.kind) else {
            return .unknown("record of the unknown kind \(frame.kind)")
        }
        guard frame.flags == 0, frame.reserved == 0 else { return .unknown("record with unknown flags") }
        guard frame.payloadBytes <= UInt32(JournalFormat.payloadLimitBytes) else {
            return .unknown("record with a payload of \(frame.payloadBytes) bytes")
        }
        let payloadBytes = Int(frame.payloadBytes)
        let frameBytes = JournalFormat.frameBytes(payloadBytes: payloadBytes)
        guard UInt64(frameBytes) <= remaining else { return .bad("its payload is cut off") }
        let whole = try bytes(at: offset, count: frameBytes)
        let payloadEnd = JournalFormat.frameHeaderBytes + payloadBytes
        let payload = UnsafeRawBufferPointer(rebasing: whole[JournalFormat.frameHeaderBytes..<payloadEnd])
        guard CRC32C.checksum(payload, seed: frame.headerChecksum) == frame.payloadChecksum else {
            return .bad("its payload has a wrong checksum")
        }
        guard whole[payloadEnd...].allSatisfy({ $0 == 0 }) else { return .bad("its padding is not zero") }
        return .record(frame, kind, payload: payload, end: offset + UInt64(frameBytes))
    }
}
