import Foundation
import Testing

@testable import Graph

/// A program that saves and compacts, one that sends its log over a TCP connection, and one that receives it into a copy. Each of
/// them is killed at random moments and started again; in the end the copy takes over.
///
/// `GRAPH_LOG_KILLS` says how many kills; 30 unless it is set.
@Suite(.serialized) struct ShippedLogTests {
    /// As the other program declares it.
    @Entity fileprivate struct Entry {
        @Indexed var number = 0
        var filling = Data()
    }

    private let folder: TemporaryFolder
    private let path: String
    private let copy: String

    init() throws {
        folder = try TemporaryFolder()
        (path, copy) = (folder.file(), folder.file("copy.graph"))
    }

    @Test func `a log goes over a pipe, in pieces of any length and with breaks between them`() async throws {
        let writer = try await Coordinator(for: Entry.self, at: path, compaction: .manual)
        try await writer.copy(to: copy)
        let receiver = try await LogReceiver(for: Entry.self, at: copy)
        let pipe = Pipe()
        let sending = Task { [path, token = receiver.token] in
            for try await bytes in LogSender(at: path, since: token) {
                var rest = bytes[...]
                while !rest.isEmpty {
                    let piece = rest.prefix(.random(in: 1...2_000))
                    try pipe.fileHandleForWriting.write(contentsOf: piece)
                    rest = rest.dropFirst(piece.count)
                    await Task.yield()
                }
            }
            try pipe.fileHandleForWriting.close()
        }
        let pieces = AsyncStream<[UInt8]> {
            await withCheckedContinuation { continuation in
                DispatchQueue.global().async {
                    var piece = [UInt8](repeating: 0, count: .random(in: 1...5_000))
                    // As much as is there, which a handle's reading would wait for.
                    let count = read(pipe.fileHandleForReading.fileDescriptor, &piece, piece.count)
                    continuation.resume(returning: count > 0 ? Array(piece.prefix(count)) : nil)
                }
            }
        }
        let receiving = Task { try await receiver.receive(pieces) }
        var commits = receiver.commits.makeAsyncIterator()
        for number in 1...50 {
            try await writer.transaction {
                _ = $0.insert(Entry(number: number, filling: Data(count: .random(in: 0...20_000))))
            }
            if number % 10 == 0 { #expect(await commits.next() != nil) }
            if number == 25 { try await writer.compact() }
        }
        while receiver.token != writer.snapshot.token { #expect(await commits.next() != nil) }
        #expect(receiver.snapshot.check() == [])
        sending.cancel()
        try await sending.value
        try await receiving.value
        try await receiver.close()
        try await writer.close()
    }

    private enum Role: CaseIterable { case writer, sender, receiver }

    /// The three programs.
    private struct Programs {
        let path: String
        let copy: String
        var writer: StoreProcess?
        var sender: StoreProcess?
        var receiver: (process: StoreProcess, port: String)?
        var saved = 0

        /// Starts what is not running. A sender without a receiver has nothing to do.
        mutating func start() async throws {
            if receiver == nil {
                let process = try StoreProcess()
                let answer = try await process.run("receive \(copy)")
                let words = answer.split(separator: " ").map(String.init)
                try #require(words.first == "receiving", "\(answer)")
                receiver = (process, words[1])
                sender = nil
            }
            if writer == nil {
                let process = try StoreProcess()
                let opened = try await process.run("open \(path)")
                saved = try #require(opened.split(separator: " ").last.flatMap { Int($0) })
                try process.send("churn \(saved + 1)")
                writer = process
            }
            if sender == nil, let port = receiver?.port {
                sender = try StoreProcess()
                try sender?.send("ship \(path) \(port)")
            }
        }

        mutating func kill(_ role: Role) {
            switch role {
            case .writer:
                writer?.kill()
                saved += writer?.remainingAnswers().count { $0.hasPrefix("saved") } ?? 0
                writer = nil
            case .sender:
                sender?.kill()
                sender = nil
            case .receiver:
                receiver?.process.kill()
                receiver = nil
            }
        }
    }

    @Test func `whoever is killed, the copy misses nothing that was saved, and goes on by itself in the end`()
        async throws
    {
        let kills = Int(Seeds.setting("GRAPH_LOG_KILLS") ?? 30)
        // No file becomes so long that to look through it takes longer than to kill a program.
        for round in stride(from: 0, to: kills, by: 100) {
            try await ship(min(100, kills - round), folder.file("\(round).graph"), folder.file("\(round)-copy.graph"))
        }
    }

    /// Kills so many programs that write a file, send its log or receive that in a copy.
    private func ship(_ kills: Int, _ path: String, _ copy: String) async throws {
        let first = try StoreProcess()
        #expect(try await first.run("open \(path)") == "opened 0")
        #expect(try await first.run("close") == "closed")
        let store = try await Coordinator(for: Entry.self, at: path, readOnly: true)
        try await store.copy(to: copy)
        var programs = Programs(path: path, copy: copy)
        for kill in 0..<kills {
            try await programs.start()
            for _ in 0..<Int.random(in: 1...30) {
                programs.saved += 1
                #expect(try await programs.writer?.answer() == "saved \(programs.saved)", "kill \(kill)")
            }
            if Int.random(in: 0..<3) == 0 {
                let answer = try await programs.receiver?.process.run("await \(programs.saved)")
                #expect(answer?.hasPrefix("has ") == true, "kill \(kill): \(answer ?? "")")
            }
            programs.kill(Role.allCases.randomElement()!)
        }
        programs.kill(.writer)
        let last = try StoreProcess()
        let opened = try await last.run("open \(path)")
        let saved = try #require(opened.split(separator: " ").last.flatMap { Int($0) })
        #expect(saved >= programs.saved)
        #expect(try await last.run("close") == "closed")
        programs.writer = last
        programs.kill(.sender)
        try await programs.start()
        let receiver = try #require(programs.receiver).process
        #expect(try await receiver.run("await \(saved)") == "has \(saved)")
        #expect(try await receiver.run("promote") == "promoted \(saved)")
        #expect(
            try await receiver.run("numbers") == (["numbers"] + (1...saved).map(String.init)).joined(separator: " "))
        #expect(try await receiver.run("check") == "sound")
        #expect(try await receiver.run("save \(saved + 1)") == "saved")
        #expect(try await receiver.run("close") == "closed")
        #expect(try await StoreInspection(reading: copy).damages == [])
    }
}
