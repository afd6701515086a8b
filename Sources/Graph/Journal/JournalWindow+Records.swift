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
        guard checksum(of: payload, frame, at: offset, salt: salt) == frame.payloadChecksum else {
            return .bad("its payload has a wrong checksum")
        }
        guard whole[payloadEnd...].allSatisfy({ $0 == 0 }) else { return .bad("its padding is not zero") }
        return .record(frame, kind, payload: payload, end: offset + UInt64(frameBytes))
    }

    /// Payloads of this length are checked several at once.
    private static let longPayloadBytes = 64 << 10

    /// The checksum of a payload. If it is a long one, those of the long ones behind it in the window are calculated at the same
    /// time, and kept until the window moves.
    private mutating func checksum(
        of payload: UnsafeRawBufferPointer, _ frame: JournalFrame, at offset: UInt64, salt: UInt32
    ) -> UInt32 {
        if let checksum = checksums[offset] { return checksum }
        guard payload.count >= Self.longPayloadBytes else {
            return CRC32C.checksum(payload, seed: frame.headerChecksum)
        }
        // Nothing moves or fills the memory before all threads have ended.
        nonisolated(unsafe) let records = longRecords(from: offset, salt: salt)
        let results = concurrentResults(records.count) {
            CRC32C.checksum(records[$0].payload, seed: records[$0].seed)
        }
        for (record, result) in zip(records, results) { checksums[record.offset] = result }
        return results[0]
    }

    /// What seem to be records with long payloads, one behind the other, as far as the window has them.
    private func longRecords(
        from first: UInt64, salt: UInt32
    ) -> [(offset: UInt64, seed: UInt32, payload: UnsafeRawBufferPointer)] {
        var records: [(offset: UInt64, seed: UInt32, payload: UnsafeRawBufferPointer)] = []
        var offset = first
        while let header = held(at: offset, count: JournalFormat.frameHeaderBytes),
            let frame = JournalFrame(header, salt: salt), frame.payloadBytes >= UInt32(Self.longPayloadBytes),
            let payload = held(
                at: offset + UInt64(JournalFormat.frameHeaderBytes), count: Int(frame.payloadBytes))
        {
            records.append((offset, frame.headerChecksum, payload))
            offset += UInt64(JournalFormat.frameBytes(payloadBytes: payload.count))
        }
        return records
    }

    /// Whether what seems to be the record at an offset lies in the window, so that reading it does not move that.
    func holdsRecord(at offset: UInt64) -> Bool {
        guard let header = held(at: offset, count: JournalFormat.frameHeaderBytes) else { return false }
        let payloadBytes = UInt32(littleEndian: header.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
        return held(at: offset, count: JournalFormat.frameBytes(payloadBytes: Int(payloadBytes))) != nil
    }
}
