import Foundation
import Testing

/// Programs that end in the middle of their work, and what they were told to be saved.
@Suite(.serialized) struct KilledProcessTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file()
    }

    /// Opens what a program left that was told so many saves, and expects those, perhaps the one under way, and no other.
    private func expectAtLeast(_ count: Int, _ comment: String) async throws {
        let program = try StoreProcess()
        let opened = try await program.run("open \(path)")
        #expect(["opened \(count)", "opened \(count + 1)"].contains(opened), "\(comment): \(opened)")
        let found = Int(opened.split(separator: " ").last ?? "") ?? 0
        let numbers = try await program.run("numbers")
        #expect(numbers == (["numbers"] + (1...max(1, found)).map(String.init)).joined(separator: " "), "\(comment)")
        #expect(try await program.run("close") == "closed")
    }

    @Test func `a program killed at any moment loses nothing that it was told to be saved`() async throws {
        for acknowledged in [1, 2, 3, 5, 8, 13, 21] {
            try? FileManager.default.removeItem(atPath: path)
            let program = try StoreProcess()
            #expect(try await program.run("open \(path)") == "opened 0")
            try program.send("stream")
            for number in 1...acknowledged { #expect(try await program.answer() == "saved \(number)") }
            program.kill()
            let last = acknowledged + program.remainingAnswers().count
            try await expectAtLeast(last, "after \(acknowledged)")
        }
    }

    @Test func `a program killed at any moment loses nothing that it was told to be written, without a sync`()
        async throws
    {
        for acknowledged in [1, 2, 5, 13, 34, 300] {
            try? FileManager.default.removeItem(atPath: path)
            let program = try StoreProcess()
            #expect(try await program.run("open \(path) relaxed") == "opened 0")
            try program.send("stream")
            for number in 1...acknowledged { #expect(try await program.answer() == "saved \(number)") }
            program.kill()
            let last = acknowledged + program.remainingAnswers().count
            try await expectAtLeast(last, "after \(acknowledged)")
        }
    }

    @Test func `a program killed while its saves wait for nothing leaves the first of them`() async throws {
        for acknowledged in [1, 2, 5, 13, 34, 300] {
            try? FileManager.default.removeItem(atPath: path)
            let program = try StoreProcess()
            #expect(try await program.run("open \(path) none") == "opened 0")
            try program.send("stream")
            for number in 1...acknowledged { #expect(try await program.answer() == "saved \(number)") }
            program.kill()
            let second = try StoreProcess()
            let opened = try await second.run("open \(path)")
            let found = Int(opened.split(separator: " ").last ?? "") ?? 0
            #expect(found <= acknowledged + program.remainingAnswers().count + 1, "after \(acknowledged)")
            let numbers = try await second.run("numbers")
            #expect(numbers == (["numbers"] + (1..<(found + 1)).map(String.init)).joined(separator: " "))
            #expect(try await second.run("close") == "closed")
        }
    }

    @Test func `a program killed while it opens a store that was not closed harms nothing`() async throws {
        var program = try StoreProcess()
        #expect(try await program.run("open \(path)") == "opened 0")
        for number in 1...5 { #expect(try await program.run("save \(number)") == "saved") }
        for _ in 0..<5 {
            program.kill()
            program = try StoreProcess()
            #expect(try await program.run("streams") == "streams 0 1 2")
            try program.send("open \(path)")
        }
        program.kill()
        try await expectAtLeast(5, "after five openings")
    }

    @Test func `a program that ends by its own error loses nothing that it was told to be saved`() async throws {
        let program = try StoreProcess()
        #expect(try await program.run("open \(path)") == "opened 0")
        for number in 1...3 { #expect(try await program.run("save \(number)") == "saved") }
        try program.send("trap")
        guard case .signal = program.waitForEnd() else {
            Issue.record("no trap")
            return
        }
        try await expectAtLeast(3, "after a trap")
    }
}
