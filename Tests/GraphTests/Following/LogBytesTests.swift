import Foundation
import Testing

@testable import Graph

/// What a log that is cut, damaged or broken off says.
struct LogBytesTests: LogTesting {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func `however a log is cut into pieces, it says the same`() async throws {
        let writer = try await writer()
        let start = writer.snapshot.token
        try await insert("a", "b", "c", into: writer)
        let bytes = try await log(since: start).flatMap { $0 }
        func records(_ pieces: [ArraySlice<UInt8>]) throws -> [LogRecord] {
            var (log, records): (LogReader, [LogRecord]) = (LogReader(), [])
            for piece in pieces {
                log.append(piece)
                while let record = try log.next() { records.append(record) }
            }
            return records
        }
        let all = try records([bytes[...]])
        #expect(all.count { $0.kind == LogRecord.Kind.commit } == 3)
        let single: [ArraySlice<UInt8>] = bytes.indices.map { bytes[$0...$0] }
        #expect(try records(single) == all)
        for cut in bytes.indices {
            let first = try records([bytes[..<cut]])
            #expect(all.starts(with: first) && first.count < all.count)
            #expect(try records([bytes[..<cut], bytes[cut...]]) == all)
        }
        try await writer.close()
    }

    @Test func `bytes that are changed, missing or come twice are found`() async throws {
        let store = try await writer()
        let start = store.snapshot.token
        try await insert("a", "b", "c", into: store)
        let bytes = try await log(since: start).flatMap { $0 }
        /// Reads as far as it goes. Returns whether it was refused.
        func read(_ bytes: [UInt8], _ all: [LogRecord]?) throws -> (records: [LogRecord], isRefused: Bool) {
            var (log, records): (LogReader, [LogRecord]) = (LogReader(), [])
            log.append(bytes)
            do {
                while let record = try log.next() { records.append(record) }
            } catch GraphError.invalidLog(let reason) {
                #expect(reason.count < 200)
                if let all { #expect(all.starts(with: records)) }
                return (records, true)
            } catch {
                throw error
            }
            if let all { #expect(all.starts(with: records)) }
            return (records, false)
        }
        let all = try read(bytes, nil).records
        for place in bytes.indices {
            for mask in [1, 0x80, 0xFF] as [UInt8] {
                var changed = bytes
                changed[place] ^= mask
                #expect(try read(changed, all).isRefused, "byte \(place)")
            }
            var missing = bytes
            missing.remove(at: place)
            #expect(try read(missing, all).records.count < all.count)
            let end = Int.random(in: place + 1...bytes.count)
            let twice = bytes[..<end] + bytes[place...]
            let result = try read(Array(twice), all)
            #expect(result.isRefused || result.records == all, "\(place)..<\(end)")
        }
        // Whole frames.
        var log = LogReader()
        log.append(bytes)
        let head = try #require(
            try { () -> LogFormat.Head? in
                _ = try log.next()
                return log.head
            }())
        var (writer, frames) = (LogWriter(since: head.start, salt: head.salt), [[UInt8]]())
        frames.append(writer.take())
        for record in all {
            writer.append(record)
            frames.append(writer.take())
        }
        #expect(frames.flatMap { $0 } == bytes)
        for place in 1..<frames.count - 1 {
            var (missing, twice, swapped) = (frames, frames, frames)
            missing.remove(at: place)
            twice.insert(frames[place], at: place)
            swapped.swapAt(place, place + 1)
            for other in [missing, twice, swapped] { #expect(try read(other.flatMap { $0 }, all).isRefused) }
        }
        for _ in 0..<2_000 {
            let garbage = (0..<Int.random(in: 0...200)).map { _ in UInt8.random(in: 0...255) }
            _ = try read(Array(bytes.prefix(Int.random(in: 0...bytes.count))) + garbage, nil)
        }
        try await store.close()
    }

    @Test func `a copy whose logs end anywhere goes on where it was, also after it was closed`() async throws {
        let writer = try await writer()
        var receiver = try await receiver(of: writer)
        for number in 0..<30 { try await insert("\(number)", into: writer) }
        while receiver.token != writer.snapshot.token {
            let bytes = try await log(since: receiver.token).flatMap { $0 }
            let before = receiver.token
            try await receiver.receive(stream([Array(bytes.prefix(Int.random(in: 0...bytes.count)))]))
            #expect(receiver.token >= before && receiver.snapshot.check() == [])
            guard Bool.random() else { continue }
            try await receiver.close()
            receiver = try await LogReceiver(for: Reading.self, at: folder.file("copy.graph"))
        }
        #expect(try places(receiver.snapshot) == places(writer.snapshot))
        try await receiver.close()
        try await writer.close()
    }

    @Test func `what comes before damage is kept, and a stream's own error is thrown`() async throws {
        struct Lost: Error {}
        let writer = try await writer()
        let receiver = try await receiver(of: writer)
        try await insert("a", "b", into: writer)
        var bytes = try await log(since: receiver.token).flatMap { $0 }
        bytes[bytes.count - 20] ^= 1
        let pieces = [bytes]
        await #expect(throws: GraphError.self) { try await receiver.receive(stream(pieces)) }
        #expect(try places(receiver.snapshot) == ["a"])
        let good = try await log(since: receiver.token).flatMap { $0 }
        let failing = AsyncThrowingStream<[UInt8], any Error> { continuation in
            continuation.yield(good)
            continuation.finish(throwing: Lost())
        }
        await #expect(throws: Lost.self) { try await receiver.receive(failing) }
        #expect(try places(receiver.snapshot) == ["a", "b"])
        try await receiver.close()
        try await writer.close()
    }
}
