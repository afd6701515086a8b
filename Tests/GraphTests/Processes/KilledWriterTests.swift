import Foundation
import Testing

@testable import Graph

/// Followers in this process beside programs that save, compact, and are killed at random moments, one after the other.
///
/// `GRAPH_FOLLOWED_KILLS` says how many; 30 unless it is set.
@Suite(.serialized) struct KilledWriterTests {
    /// As the other program declares it.
    @Entity fileprivate struct Entry {
        @Indexed var number = 0
        var filling = Data()
    }

    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// A follower, and what its feed has said.
    private final class Watcher: Sendable {
        let follower: Follower
        private let seen = Waitable<(numbers: [Int], faults: [String])>(([], []))
        private let task: Task<Void, Never>

        init(at path: String) async throws {
            follower = try await Follower(for: Entry.self, at: path)
            let first = follower.snapshot
            task = Task { [feed = follower.commits, seen] in
                var last = first.commit
                for await commit in feed {
                    seen.withLock { seen in
                        if commit.commits.lowerBound != last.next { seen.faults.append("\(commit) after \(last)") }
                        seen.numbers += commit.changes(of: Entry.self).compactMap { $0.after?.number }.sorted()
                    }
                    last = commit.number
                }
            }
        }

        deinit { task.cancel() }

        var faults: [String] { seen.withLock { $0.faults } }
        var numbers: [Int] { seen.withLock { $0.numbers } }

        /// Ends the feed, once it has said all.
        func end() async {
            await follower.close()
            await task.value
        }
    }

    @Test(arguments: ["", " relaxed"])
    func
        `beside programs that are killed one after the other a follower misses nothing, and shows nothing that was lost`(
            level: String
        ) async throws
    {
        let kills = Int(Seeds.setting("GRAPH_FOLLOWED_KILLS") ?? 30) / 2
        // No file becomes so long that to look through it takes longer than to kill a program.
        for round in stride(from: 0, to: kills, by: 100) {
            try await follow(min(100, kills - round), at: folder.file("\(round).graph"), level)
        }
    }

    /// Kills so many programs that write one file.
    private func follow(_ kills: Int, at path: String, _ level: String) async throws {
        let first = try StoreProcess()
        #expect(try await first.run("open \(path)\(level)") == "opened 0")
        #expect(try await first.run("close") == "closed")
        var watcher = try await Watcher(at: path)
        var (saved, start) = (0, 0)
        for kill in 0..<kills {
            let program = try StoreProcess()
            #expect(try await program.run("open \(path)\(level)") == "opened \(saved)")
            try program.send("churn \(saved + 1)")
            let last = saved + Int.random(in: 1...40)
            for number in saved + 1...last { #expect(try await program.answer() == "saved \(number)") }
            program.kill()
            let acknowledged = last + program.remainingAnswers().count
            // What it shows is what a program finds afterwards, or a part of that.
            try await watcher.follower.catchUp()
            let shown = watcher.follower.snapshot

            let second = try StoreProcess()
            let opened = try await second.run("open \(path)")
            saved = try #require(opened.split(separator: " ").last.flatMap { Int($0) })
            #expect(saved >= acknowledged && shown.count(of: Entry.self) <= saved, "kill \(kill)")
            if level == "" { #expect(shown.count(of: Entry.self) >= acknowledged, "kill \(kill)") }
            try await watcher.follower.catchUp()
            let numbers = try watcher.follower.snapshot.fetchValues(Entry.self).map(\.number)
            #expect(numbers == Array(1...saved) && watcher.follower.snapshot.check() == [], "kill \(kill)")
            #expect(
                try shown.fetchValues(Entry.self).map(\.number).elementsEqual(
                    numbers.prefix(shown.count(of: Entry.self))))
            #expect(try await second.run("close") == "closed", "kill \(kill)")
            #expect(watcher.faults == [] && watcher.follower.failure == nil, "kill \(kill)")
            guard kill == kills - 1 || Int.random(in: 0..<4) == 0 else { continue }
            await watcher.end()
            #expect(watcher.faults == [] && watcher.numbers == Array((start + 1)..<(saved + 1)), "kill \(kill)")
            (watcher, start) = (try await Watcher(at: path), saved)
        }
    }
}
