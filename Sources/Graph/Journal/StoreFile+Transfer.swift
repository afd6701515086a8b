/// Repeats a call that a signal interrupted, a limited number of times.
///
/// Not for the sync of a group: the state of its pages after an interrupted sync is undefined, and only reopening shows whether
/// the group is on the disk. It does no harm where bytes are written again before each sync.
///
/// - Parameter limit: how often at most; less than usual where much is done again each time.
func repeatingInterrupted<Result>(
    atMost limit: Int = 1_000, _ body: () throws(IOError) -> Result
) throws(IOError) -> Result {
    var interruptions = 0
    while true {
        do throws(IOError) {
            return try body()
        } catch {
            guard error.reason == .interrupted else { throw error }
            interruptions += 1
            // As another kind of error, so that no caller repeats it either.
            if interruptions > limit {
                throw IOError(operation: error.operation, reason: .noProgress, code: error.code)
            }
        }
    }
}

/// Handles short transfers, the only code that does.
extension StoreFile {
    /// Fills the buffer; the end of the file before that is an error, as the journal only reads what `status` promised.
    func readFully(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(IOError) {
        _ = try read(buffer.count, into: buffer, at: offset)
    }

    /// Reads at least so many bytes, and as many as the buffer takes and the file has. Returns how many.
    func read(
        _ minimumCount: Int, into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(IOError) -> Int {
        try transfer(.read, count: buffer.count, atLeast: minimumCount) { done throws(IOError) in
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            return try read(into: rest, at: offset + UInt64(done))
        }
    }

    func writeFully(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(IOError) {
        _ = try transfer(.write, count: bytes.count, atLeast: bytes.count) { done throws(IOError) in
            try write(UnsafeRawBufferPointer(rebasing: bytes[done...]), at: offset + UInt64(done))
        }
    }

    func writeFully(_ bytes: [UInt8], at offset: UInt64) throws(IOError) {
        try bytes.withUnsafeBufferPointer { buffer throws(IOError) in
            try writeFully(UnsafeRawBufferPointer(buffer), at: offset)
        }
    }

    /// Zeros in pieces, so that a long range needs little memory.
    func writeZeros(_ range: Range<UInt64>) throws(IOError) {
        let piece = [UInt8](repeating: 0, count: Int(min(range.upperBound - range.lowerBound, 1 << 20)))
        var offset = range.lowerBound
        while offset < range.upperBound {
            let count = Int(min(UInt64(piece.count), range.upperBound - offset))
            try piece.withUnsafeBufferPointer { buffer throws(IOError) in
                try writeFully(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]), at: offset)
            }
            offset += UInt64(count)
        }
    }

    private func transfer(
        _ operation: IOError.Operation, count: Int, atLeast minimumCount: Int,
        step: (_ done: Int) throws(IOError) -> Int
    ) throws(IOError) -> Int {
        var done = 0
        while done < count {
            let moved = try repeatingInterrupted { () throws(IOError) in try step(done) }
            if moved == 0, done >= minimumCount { break }
            guard moved > 0, moved <= count - done else {
                throw IOError(operation: operation, reason: .noProgress, code: 0)
            }
            done += moved
        }
        return done
    }
}
