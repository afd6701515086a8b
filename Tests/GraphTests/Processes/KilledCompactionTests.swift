import Foundation
import Testing

/// Programs that are killed while they compact a file, or convert it to another schema, at random moments.
///
/// `GRAPH_KILLS` says how often; 24 times unless it is set.
@Suite(.serialized) struct KilledCompactionTests {
    private let folder: TemporaryFolder
    private let path: String
    private let kills = Int(Seeds.setting("GRAPH_KILLS") ?? 24)

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file()
    }

    private func names(_ mark: String) throws -> [String] {
        let folder = (path as NSString).deletingLastPathComponent
        return try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.contains(mark) }
    }

    private func numbers(_ range: ClosedRange<Int>) -> String {
        (["numbers"] + range.map(String.init)).joined(separator: " ")
    }

    @Test(arguments: ["", " relaxed"])
    func `a program killed while it compacts without a break loses nothing that it was told to be saved`(
        level: String
    ) async throws {
        var (saved, leftovers) = (0, 0)
        for kill in 0..<kills {
            let program = try StoreProcess()
            #expect(try await program.run("open \(path)\(level)") == "opened \(saved)")
            try program.send("churn \(saved + 1)")
            let last = saved + Int.random(in: 1...40)
            for number in saved + 1...last { #expect(try await program.answer() == "saved \(number)") }
            try await Task.sleep(for: .microseconds(Int.random(in: 0...5_000)))
            program.kill()
            let rest = program.remainingAnswers()
            let acknowledged = last + rest.count
            #expect(rest == (last..<acknowledged).map { "saved \($0 + 1)" }, "kill \(kill)")
            leftovers += try names(".new-").count

            let second = try StoreProcess()
            let opened = try await second.run("open \(path)")
            #expect(["opened \(acknowledged)", "opened \(acknowledged + 1)"].contains(opened), "kill \(kill)")
            saved = opened == "opened \(acknowledged + 1)" ? acknowledged + 1 : acknowledged
            #expect(try names(".new-").isEmpty, "kill \(kill)")
            #expect(try await second.run("numbers") == numbers(1...saved), "kill \(kill)")
            #expect(try await second.run("check") == "sound", "kill \(kill)")
            #expect(try await second.run("close") == "closed", "kill \(kill)")
            // The file has grown from kill to kill.
            guard saved > 2_000 else { continue }
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.removeItem(atPath: path + ".lock")
            saved = 0
        }
        // Else the moments were none of a compaction.
        #expect(leftovers > 0)
    }

    @Test(arguments: ["", " plan"])
    func `a program killed while it converts a file leaves the old one or the new one, whole`(
        plan: String
    ) async throws {
        let count = 200
        let original = path + "-original"
        let first = try StoreProcess()
        #expect(try await first.run("open \(original)") == "opened 0")
        for number in 1...count { #expect(try await first.run("save \(number) 1000") == "saved") }
        #expect(try await first.run("close") == "closed")
        let duration = try await migrate(original, plan)

        var (old, new) = (0, 0)
        for kill in 0..<kills {
            for name in try names((path as NSString).lastPathComponent) where !name.contains("-original") {
                try FileManager.default.removeItem(
                    atPath: (path as NSString).deletingLastPathComponent + "/" + name)
            }
            try FileManager.default.copyItem(atPath: original, toPath: path)
            // Also while it opens what an earlier one left.
            for _ in 0..<Int.random(in: 1...3) {
                let program = try StoreProcess()
                #expect(try await program.run("streams") == "streams 0 1 2")
                try program.send("migrate \(path)\(plan)")
                try await Task.sleep(for: duration * Double.random(in: 0...1.2))
                program.kill()
            }
            if try isMigrated() { new += 1 } else { old += 1 }
            try await expectOneOfBoth(count, plan, "kill \(kill)", opensOldFirst: Bool.random())
        }
        #expect(old + new == kills && old > 0, "\(old) \(new)")
    }

    /// How long the next version of the program takes to open a copy of a file.
    private func migrate(_ original: String, _ plan: String) async throws -> Duration {
        try FileManager.default.copyItem(atPath: original, toPath: path)
        let program = try StoreProcess()
        #expect(try await program.run("streams") == "streams 0 1 2")
        let start = ContinuousClock.now
        #expect(try await program.run("migrate \(path)\(plan)").hasPrefix("migrated "))
        return ContinuousClock.now - start
    }

    /// Bytes 64 to 71 of the header are the generation.
    private func isMigrated() throws -> Bool {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        let header = try file.read(upToCount: 72) ?? Data()
        return header.count == 72 && header[64] == 2
    }

    private func expectOneOfBoth(_ count: Int, _ plan: String, _ comment: String, opensOldFirst: Bool) async throws {
        if opensOldFirst {
            let program = try StoreProcess()
            if try isMigrated() {
                #expect(try await program.run("open \(path)").hasPrefix("refused schemaMismatch"), "\(comment)")
            } else {
                #expect(try await program.run("open \(path)") == "opened \(count)", "\(comment)")
                #expect(try await program.run("numbers") == numbers(1...count), "\(comment)")
                #expect(try await program.run("check") == "sound", "\(comment)")
                #expect(try await program.run("close") == "closed", "\(comment)")
                #expect(try names(".schema-").isEmpty && names(".new-").isEmpty, "\(comment)")
            }
        }
        let program = try StoreProcess()
        #expect(try await program.run("migrate \(path)\(plan)") == "migrated \(count)", "\(comment)")
        #expect(try await program.run("numbers") == numbers(1...count), "\(comment)")
        #expect(try await program.run("check") == "sound", "\(comment)")
        #expect(try await program.run("close") == "closed", "\(comment)")
        #expect(try names(".new-").isEmpty, "\(comment)")
        // What it was converted from is still there, and whole.
        let kept = try names(".schema-")
        #expect(kept == [(path as NSString).lastPathComponent + ".schema-1"], "\(comment)")
        let other = path + ".kept"
        try FileManager.default.copyItem(atPath: path + ".schema-1", toPath: other)
        #expect(try await program.run("read \(other)") == "read \(count)", "\(comment)")
    }
}
