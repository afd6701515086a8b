import Foundation

/// A file that is only appended to: the least that durability costs.
///
/// A team is one byte 1, its name; a person is one byte 2, name, email, age, balance, joined, team. Texts are preceded by
/// their length in one byte, numbers are eight bytes, little-endian.
final class NativeJournal {
    struct Failure: Error {
        let operation: String
        let code: Int32
    }

    private let descriptor: Int32
    private(set) var pending: [UInt8] = []

    init(creating path: String) throws {
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure(operation: "open", code: errno) }
    }

    deinit {
        close(descriptor)
    }

    func append(team name: String) {
        pending.append(1)
        append(name)
    }

    @inline(__always)
    func append(_ row: PersonRow) {
        pending.append(2)
        append(row.name)
        append(row.email)
        append(UInt64(row.age))
        append(row.balance.bitPattern)
        append(row.joined.timeIntervalSinceReferenceDate.bitPattern)
        append(UInt64(row.team))
    }

    /// Writes what was appended and waits until it is on the medium.
    func commit() throws {
        var written = 0
        while written < pending.count {
            let count = pending.withUnsafeBytes { write(descriptor, $0.baseAddress! + written, $0.count - written) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Failure(operation: "write", code: errno) }
            written += count
        }
        guard Platform.synchronize(descriptor) else { throw Failure(operation: "synchronize", code: errno) }
        pending.removeAll(keepingCapacity: true)
    }

    @inline(__always)
    private func append(_ text: String) {
        precondition(text.utf8.count < 256, "\(text.utf8.count) bytes of text, at most 255")
        pending.append(UInt8(text.utf8.count))
        pending.append(contentsOf: text.utf8)
    }

    @inline(__always)
    private func append(_ number: UInt64) {
        withUnsafeBytes(of: number.littleEndian) { pending.append(contentsOf: $0) }
    }
}
