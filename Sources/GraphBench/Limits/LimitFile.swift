import Foundation

/// A file that is written and synced and nothing else.
final class LimitFile {
    private let descriptor: Int32
    private var lengthBytes = 0

    init(creating path: String) throws {
        descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw NativeJournal.Failure(operation: "open", code: errno) }
    }

    deinit {
        close(descriptor)
    }

    /// Makes the file longer and returns by how much.
    @discardableResult
    func append(count: Int) throws -> Int {
        let written = try overwrite(count: count, at: lengthBytes)
        lengthBytes += count
        return written
    }

    /// - Returns: how many bytes were written, which are on the medium.
    @discardableResult
    func overwrite(count: Int, at offset: Int) throws -> Int {
        let bytes = [UInt8](repeating: 0x5A, count: count)
        var written = 0
        while written < count {
            let step = bytes.withUnsafeBytes {
                pwrite(descriptor, $0.baseAddress! + written, count - written, off_t(offset + written))
            }
            if step < 0, errno == EINTR { continue }
            guard step > 0 else { throw NativeJournal.Failure(operation: "write", code: errno) }
            written += step
        }
        guard Platform.synchronize(descriptor) else {
            throw NativeJournal.Failure(operation: "synchronize", code: errno)
        }
        return written
    }
}
