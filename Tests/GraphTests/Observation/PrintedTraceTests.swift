import Foundation
import Testing

/// What a program prints whose environment asks for it.
struct PrintedTraceTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// The lines on standard error of a program that opens the store and saves twice.
    private func errors(with environment: [String: String]) throws -> [String] {
        let names = ["input", "output", "errors"].map(folder.file)
        let path = folder.file()
        try Data("open \(path)\nsave 1\nsave 2 100\nclose\n".utf8).write(to: URL(fileURLWithPath: names[0]))
        for name in names.dropFirst() { _ = FileManager.default.createFile(atPath: name, contents: nil) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try StoreProcess.program())
        process.environment = environment
        process.standardInput = try FileHandle(forReadingFrom: URL(fileURLWithPath: names[0]))
        process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: names[1]))
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: names[2]))
        try process.run()
        process.waitUntilExit()
        #expect(try String(contentsOfFile: names[1], encoding: .utf8).hasSuffix("saved\nsaved\nclosed\n"))
        return try String(contentsOfFile: names[2], encoding: .utf8).split(separator: "\n").map(String.init)
    }

    @Test func `with GRAPH_TRACE=1 a program prints its commits and what opening found, and otherwise nothing`() throws
    {
        #expect(try errors(with: [:]) == [])
        #expect(try errors(with: ["GRAPH_TRACE": "0"]) == [])
        try FileManager.default.setAttributes([.posixPermissions: 0o622], ofItemAtPath: folder.file())
        let lines = try errors(with: ["GRAPH_TRACE": "1"])
        try #require(lines.count == 3, "\(lines)")
        #expect(lines[0].hasPrefix("graph: opened \(folder.file()): others than its owner may write the file"))
        #expect(lines[1].hasPrefix("graph: commit 5 to \(folder.file()) ") && lines[1].contains("Entry +1 ~0 −0"))
        #expect(lines[2].hasPrefix("graph: commit 6 to \(folder.file()) "))
    }
}
