import Foundation
import Synchronization
import Testing

@testable import Graph

/// Programs that follow a file which this process writes and compacts, and that are killed at random moments, one after the other.
///
/// `GRAPH_KILLED_FOLLOWERS` says how many; 30 unless it is set.
@Suite(.serialized) struct KilledFollowerTests {
    /// As the other program declares it.
    @Entity fileprivate struct Entry {
        @Indexed var number = 0
        var filling = Data()
    }

    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Saves the numbers from 1 on, each in a commit of its own, and compacts, until it is stopped.
    private final class Writer: Sendable {
        let store: Coordinator
        private let state = Mutex((saved: 0, isStopped: false))

        init(at path: String) async throws {
            store = try await Coordinator(for: Entry.self, at: path, compaction: .manual)
        }

        /// What was confirmed to it.
        var saved: Int { state.withLock { $0.saved } }
        var isStopped: Bool { state.withLock { $0.isStopped } }

        func stop() { state.withLock { $0.isStopped = true } }

        /// - Throws: what a save or a compaction throws.
        func run() async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await self.save() }
                group.addTask { try await self.compact() }
                try await group.waitForAll()
            }
        }

        private func save() async throws {
            defer { stop() }
            var number = 0
            repeat {
                number += 1
                let entry = Entry(number: number, filling: Data(repeating: 0x47, count: 500))
                try await store.transaction { _ = $0.insert(entry) }
                state.withLock { [number] in $0.saved = number }
                // The file is not to be longer than other programs open in no time.
                try await Task.sleep(for: .milliseconds(2))
            } while !isStopped
        }

        private func compact() async throws {
            defer { stop() }
            while !isStopped {
                try await store.compact()
                try await Task.sleep(for: .milliseconds(40))
            }
        }
    }

    @Test
    func `a writer goes on while its followers are killed, and each new one shows all that was durable before it`()
        async throws
    {
        let kills = Int(Seeds.setting("GRAPH_KILLED_FOLLOWERS") ?? 30)
        // No file becomes so long that to open it takes longer than to kill a program.
        for round in stride(from: 0, to: kills, by: 100) {
            try await kill(min(100, kills - round), in: folder.file("\(round)"))
        }
    }

    /// Kills so many programs that follow one file.
    private func kill(_ kills: Int, in folder: String) async throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let path = folder + "/store.graph"
        let writer = try await Writer(at: path)
        // Of the programs this one stays, and reads nothing before the end.
        let steady = try StoreProcess()
        #expect(try await steady.run("follow \(path)") == "following 0 0")
        async let writing: Void = writer.run()
        do {
            defer { writer.stop() }
            // It stops by itself where it fails, and followers would wait for more in vain.
            for kill in 0..<kills where !writer.isStopped {
                try await killOne(beside: writer, at: path, "kill \(kill)")
            }
        }
        try await writing
        let count = writer.saved
        let last = try StoreProcess()
        #expect(try await last.run("follow \(path)") == "following \(count) \(count)")
        // It gets some commits as one, and all of them.
        try steady.send("show \(count)")
        var commit = 0
        while let shown = try await Self.numbers(steady, "shows") {
            #expect(shown.first == commit + 1, "\(shown)")
            commit = shown[1]
        }
        #expect(commit == count)
        let numbers = (["numbers"] + (1...count).map(String.init)).joined(separator: " ")
        for program in [steady, last] { #expect(try await program.run("numbers") == numbers) }
        #expect(writer.store.snapshot.commit.number == UInt64(count) && writer.store.check() == [])
        try await writer.store.close()
        // None of them has left anything.
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        #expect(files == ["store.graph", "store.graph.lock"])
        let opened = try await Coordinator(for: Entry.self, at: path, readOnly: true)
        #expect(try opened.snapshot.fetchValues(Entry.self).map(\.number) == Array(1...count))
        #expect(opened.snapshot.token == writer.store.snapshot.token && opened.diagnostics.isEmpty)
    }

    /// Starts a program that follows the file, and kills it at some time.
    private func killOne(beside writer: Writer, at path: String, _ comment: Comment) async throws {
        let durable = writer.saved
        let program = try StoreProcess()
        defer {
            program.kill()
            // By that, and not by an error of its own.
            #expect(program.waitForEnd() == .signal(SIGKILL), comment)
        }
        try program.send("follow \(path)")
        if Int.random(in: 0..<4) == 0 {
            // While it starts or opens the file.
            try await Task.sleep(for: .microseconds(.random(in: 0...60_000)))
            return
        }
        let state = try #require(try await Self.numbers(program, "following"), comment)
        var (commit, count) = (state[0], state[1])
        // Each commit has added one object, and the save of what is durable may not have returned.
        #expect(commit == count && count >= durable && count <= writer.saved + 1, comment)
        try program.send("show \(Int.max)")
        for place in 0..<Int.random(in: 0...12) where !writer.isStopped {
            let shown = try #require(try await Self.numbers(program, "shows"), comment)
            // The feed begins before the state is read.
            #expect(place == 0 ? shown[0] <= commit + 1 : shown[0] == commit + 1, comment)
            (commit, count) = (shown[1], shown[2])
            #expect(commit >= shown[0] && commit == count && count <= writer.saved + 1, comment)
        }
    }

    /// The numbers behind a word; nil if the answer begins with another one.
    private static func numbers(_ program: StoreProcess, _ word: String) async throws -> [Int]? {
        let words = try await program.answer().split(separator: " ")
        return words.first == word[...] ? words.dropFirst().compactMap { Int($0) } : nil
    }
}
