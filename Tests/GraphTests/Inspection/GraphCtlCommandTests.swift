import Foundation
import Synchronization
import Testing

@testable import Graph
@testable import graphctl

/// The tool's command line, help and progress, and its output where that is no file.
@MainActor struct GraphCtlCommandTests {
    // MARK: Command line

    @Test func `a wrong command line is told`() async {
        for arguments in [
            ["nope", "a"], ["verify"], ["verify", "a", "b"], ["dump", "--format", "xml", "a"],
            ["dump", "a", "--format"],
            ["stat", "--format", "text", "a"], ["diff", "a"], ["diff", "a", "b", "c"], ["dump", "a", "--entity"],
            ["-x"], ["salvage", "a"], ["salvage", "--output", "b"], ["salvage", "a", "--output"],
            ["verify", "--output", "b"], ["dump", "--changes", "a"], ["log", "--changes"],
            ["export", "--format", "text", "a"], ["export", "--format", "csv", "a"],
            ["export", "--entity", "A", "--links", "b", "a"],
            ["import", "a", "b"], ["import", "a", "--output", "b"], ["import", "--output", "c", "--csv", "A=b"],
            ["import", "a", "--output", "c", "--csv", "b"], ["import", "a", "--output", "c", "--csv", "=b"],
            ["import", "a", "b", "--output", "c", "--on-conflict", "x"],
        ] {
            let outcome = await graphctl(arguments)
            #expect(outcome.code == 2, "\(arguments)")
            #expect(
                outcome.errors.contains("; graphctl ") && outcome.errors.contains("--help "), "\(arguments)")
        }
        #expect(await graphctl() == GraphCtlOutcome(code: 2, errors: Help.text))
        for arguments in [["--help"], ["help"], ["-h"], ["nope", "--help"], ["help", "nope"]] {
            let outcome = await graphctl(arguments)
            #expect(outcome.code == 0 && outcome.output == Help.text)
        }
    }

    @Test func `each command has a line in the help, and help of its own`() async throws {
        let names = [
            "verify", "stat", "schema", "dump", "export", "import", "log", "follow", "diff", "compact", "salvage",
        ]
        #expect(Help.commands.map(\.name) == names)
        for name in names {
            #expect(Help.text.contains("\n  \(name) "), "\(name)")
            let help = await graphctl(name, "--help")
            #expect(help.code == 0 && help.errors == "" && help.output.hasPrefix("usage: graphctl \(name) "))
            for part in [
                "\nOptions:\n", "\nExit codes:\n  0  ", "\n  1  ", "\n  2  ", "\nExample:\n  graphctl \(name) ",
            ] {
                #expect(help.output.contains(part), "\(name) lacks \(part)")
            }
            #expect(await graphctl("help", name) == help)
            #expect(await graphctl(name, "a", "-h") == help)
            // An example is a command line that can be followed.
            let command = try #require(Help.commands.first { $0.name == name })
            let words = command.example.split(separator: " ").dropFirst().prefix { $0 != "|" && $0 != ">" }.map(
                String.init)
            #expect(throws: Never.self) { try Options(words) }
        }
        for code in ["3  ", "4  "] { #expect(Help.commands.filter { $0.text.contains("\n  " + code) }.count == 1) }
        for line in (Help.commands.map(\.text) + [Help.text]).joined().split(separator: "\n") {
            #expect(line.count <= 132, "\(line)")
        }
    }

    // MARK: Output

    /// What the executable itself prints to standard error, and its exit code, if its output goes to a device.
    private func outcome(_ arguments: [String], output device: String) throws -> (code: Int32, errors: String) {
        let (process, errors) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: try StoreProcess.program("graphctl"))
        process.arguments = arguments
        process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: device))
        process.standardError = errors
        try process.run()
        let text = try errors.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: text, as: UTF8.self))
    }

    #if os(Linux)
        @Test func `output that cannot be written is an error`() throws {
            let folder = try GoldenStore.library.copy()
            let full = try outcome(["dump", folder.file()], output: "/dev/full")
            #expect(full.code == 1)
            #expect(full.errors == "graphctl: cannot write the output: No space left on device\n")
            let good = try outcome(["dump", folder.file()], output: "/dev/null")
            #expect(good.code == 0 && good.errors == "")
        }
    #endif

    @Test func `following ends well by Control-C`() async throws {
        let folder = try TemporaryFolder()
        let writer = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        try await writer.transaction { _ = $0.insert(Team(name: "a")) }
        let program = try StoreProcess("follow", folder.file(), program: "graphctl")
        // When it has begun is not told, so commits are made until one was printed.
        let saving = Task {
            while !Task.isCancelled { try await writer.transaction { _ = $0.insert(Team(name: "b")) } }
        }
        #expect(try await program.answer().contains(", Team +1, "))
        saving.cancel()
        _ = await saving.result
        program.interrupt()
        #expect(program.waitForEnd() == .exit(0))
        try await writer.close()
    }

    // MARK: Progress

    @Test func `what takes long says how far it is, where somebody looks`() async throws {
        let folder = try GoldenStore.library.copy()
        let rows = folder.file("rows")
        try Data(await graphctl("export", folder.file()).output.utf8).write(to: URL(fileURLWithPath: rows))
        for (arguments, stages) in [
            (["verify", folder.file()], ["reading: 100 %", "checking: 100 %", "checking every index"]),
            (["compact", folder.file()], ["reading: 100 %", "writing: 100 %"]),
            (["salvage", folder.file(), "--output", folder.file("new")], ["reading: ", "writing: 100 %"]),
            (
                ["import", "--on-conflict", "upsert", folder.file(), rows, "--output", folder.file("more")],
                ["reading: 100 %", " objects and ", "writing: 100 %"]
            ),
        ] {
            let seen = Mutex<[String]>([])
            var program = GraphCtl(output: { _ in }, errors: { _ in })
            program.progress = { text in seen.withLock { $0.append(text) } }
            #expect(await program.run(arguments) == 0)
            let texts = seen.withLock { $0 }
            for stage in stages { #expect(texts.contains { $0.contains(stage) }, "\(arguments[0]) lacks \(stage)") }
        }
    }

    #if os(Linux)
        /// What the executable prints to a terminal that is its standard error.
        private func terminalText(_ arguments: [String]) throws -> String {
            var (terminal, other): (Int32, Int32) = (-1, -1)
            try #require(openpty(&terminal, &other, nil, nil, nil) == 0)
            let process = Process()
            process.executableURL = URL(fileURLWithPath: try StoreProcess.program("graphctl"))
            process.arguments = arguments
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle(fileDescriptor: other, closeOnDealloc: true)
            try process.run()
            process.waitUntilExit()
            // A terminal keeps some thousand bytes for its reader.
            var bytes = [UInt8](repeating: 0, count: 1 << 16)
            let count = read(terminal, &bytes, bytes.count)
            close(terminal)
            return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
        }

        @Test func `a terminal shows progress and is left clean, and a pipe has none of it`() throws {
            let folder = try GoldenStore.library.copy()
            let text = try terminalText(["verify", folder.file()])
            #expect(
                text.contains("\rreading: 100 %\u{1B}[K") && text.hasSuffix("\r\u{1B}[K"), "\(text.debugDescription)")
            let piped = try outcome(["verify", folder.file()], output: "/dev/null")
            #expect(piped.code == 0 && piped.errors == "")
        }
    #endif
}
