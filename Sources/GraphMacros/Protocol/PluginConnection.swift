#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The compiler at the other end of two file descriptors. A message is its length, eight bytes in little-endian order, and
/// then that many bytes of JSON.
struct PluginConnection {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Far more than the source of any declaration; what claims to be longer is no message.
    static let maximumMessageBytes = 1 << 28

    let input: Int32
    let output: Int32

    /// The next message; nil when the compiler has no more.
    func receive() throws(Failure) -> PluginRequest? {
        let header = try read(8)
        if header.isEmpty { return nil }
        let length = header.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard header.count == 8, length <= UInt64(Self.maximumMessageBytes) else {
            throw Failure(
                description: "this is not a message from a Swift compiler; only the compiler runs this program")
        }
        if length == 0 { return nil }
        let message = try read(Int(length))
        guard message.count == Int(length) else { throw Failure(description: "the message ends too early") }
        do {
            return PluginRequest(try JSON(message))
        } catch {
            throw Failure(description: "the message is not JSON at byte \(error.offset)")
        }
    }

    func send(_ response: PluginResponse) throws(Failure) {
        let message = response.json.bytes
        var bytes = withUnsafeBytes(of: UInt64(message.count).littleEndian) { Array($0) } + message
        while !bytes.isEmpty {
            let written = write(output, bytes, bytes.count)
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { throw Failure(description: "cannot answer the compiler (errno \(errno))") }
            bytes.removeFirst(written)
        }
    }

    /// As many bytes as there are, up to a number. Memory grows with what arrives, not with what was announced.
    private func read(_ count: Int) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: min(count, 1 << 16))
        while bytes.count < count {
            let length = part.withUnsafeMutableBytes {
                systemRead(input, $0.baseAddress, min($0.count, count - bytes.count))
            }
            if length < 0, errno == EINTR { continue }
            guard length >= 0 else { throw Failure(description: "cannot read from the compiler (errno \(errno))") }
            if length == 0 { break }
            bytes += part[..<length]
        }
        return bytes
    }
}

/// `read(2)`, which the method of that name hides.
private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(descriptor, buffer, count)
}

/// One line on standard error, and the end.
func fail(_ reason: String) -> Never {
    let line = Array("GraphMacrosPlugin: \(reason)\n".utf8)
    _ = write(2, line, line.count)
    exit(1)
}
