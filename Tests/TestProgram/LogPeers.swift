import Foundation
import Graph

/// Sockets on the loopback, by which two of these programs send and receive a log.
struct LogPeer: Sendable {
    struct Failure: Error {}

    private let descriptor: Int32

    private static func makeSocket() throws -> Int32 {
        #if canImport(Darwin)
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #else
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #endif
        guard descriptor >= 0, fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else { throw Failure() }
        return descriptor
    }

    /// Calls with an address on the loopback.
    private static func withAddress(port: UInt16, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Int32) throws
        -> UInt16
    {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failure() }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Waits for connections at a port of the system's choice.
    static func listen() throws -> (peer: LogPeer, port: UInt16) {
        let descriptor = try makeSocket()
        _ = try withAddress(port: 0) { bind(descriptor, $0, $1) }
        guard Foundation.listen(descriptor, 8) == 0 else { throw Failure() }
        let port = try withAddress(port: 0) { address, length in
            var length = length
            return getsockname(descriptor, address, &length)
        }
        return (LogPeer(descriptor: descriptor), port)
    }

    static func connect(to port: UInt16) throws -> LogPeer {
        let descriptor = try makeSocket()
        _ = try withAddress(port: port) { Foundation.connect(descriptor, $0, $1) }
        return LogPeer(descriptor: descriptor)
    }

    /// The next connection. It blocks a thread of its own.
    func accept() async throws -> LogPeer {
        let connection = await onThread { Foundation.accept(descriptor, nil, nil) }
        guard connection >= 0 else { throw Failure() }
        return LogPeer(descriptor: connection)
    }

    func close() { _ = Foundation.close(descriptor) }

    func send(_ bytes: [UInt8]) async throws {
        let isSent = await onThread {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }
        guard isSent else { throw Failure() }
    }

    /// What comes next; nil at the end.
    func receive(atMost count: Int) async -> [UInt8]? {
        await onThread {
            var bytes = [UInt8](repeating: 0, count: count)
            let received = read(descriptor, &bytes, count)
            return received > 0 ? Array(bytes.prefix(received)) : nil
        }
    }

    /// All that comes.
    var pieces: AsyncStream<[UInt8]> {
        AsyncStream { await receive(atMost: .random(in: 1...70_000)) }
    }

    /// A line, without what ends it.
    func receiveLine() async -> String? {
        var line: [UInt8] = []
        while let byte = await receive(atMost: 1)?.first {
            if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
        return nil
    }

    private func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: body()) }
        }
    }
}

extension LogPeer {
    /// Sends the log of a file to whoever receives at the port, until the connection ends.
    static func ship(_ path: String, to port: UInt16) async throws {
        let peer = try connect(to: port)
        defer { peer.close() }
        guard let token = await peer.receiveLine().flatMap(HistoryToken.init) else { throw Failure() }
        for try await bytes in LogSender(at: path, since: token) { try await peer.send(bytes) }
    }

    /// Receives one log after the other.
    func receiveLogs(into receiver: LogReceiver) async throws {
        while true {
            let peer = try await accept()
            defer { peer.close() }
            guard (try? await peer.send(Array("\(receiver.token)\n".utf8))) != nil else { continue }
            try await receiver.receive(peer.pieces)
        }
    }
}
