import Foundation
import Testing

@testable import GraphBench

/// The program as a process of its own, which lies beside the tests that were built with it.
private let program: URL? = {
    let folder = Platform.executable.deletingLastPathComponent()
    let candidates = [folder, Bundle.main.bundleURL.deletingLastPathComponent()].map {
        $0.appendingPathComponent("GraphBench")
    }
    return candidates.first { FileManager.default.isExecutableFile(atPath: $0.path) }
}()

@Suite(.serialized, .enabled(if: program != nil, "the program is not beside the tests"))
struct InterruptionTests {
    private struct Late: Error {}

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP], ["commit_small_durable", "insert_bulk_durable", "reopen_first_read"])
    func `an interruption leaves none of the durable files`(signal: Int32, workload: String) async throws {
        let parent = try Parent()
        let process = try parent.start(["--workload", workload, "--rows", "2000", "--runs", "1000", "--no-peer"])
        try await until { !process.isRunning || parent.files.contains { $0.hasSuffix(".graph") } }
        kill(process.processIdentifier, signal)
        try await until { !process.isRunning }
        #expect(process.terminationStatus == 128 + signal)
        #expect(parent.files == [])
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func `an interruption in the moment in which the folder is made is heeded`(signal: Int32) async throws {
        // Where the signal comes too early for the program to see it, or the folder comes back, one try in three shows it.
        for _ in 0..<10 {
            let parent = try Parent()
            let process = try parent.start(
                ["--workload", "commit_small_durable", "--rows", "2000", "--runs", "1000", "--no-peer"])
            try await until(lookingEvery: .microseconds(50)) { !process.isRunning || !parent.files.isEmpty }
            kill(process.processIdentifier, signal)
            try await until { !process.isRunning }
            #expect(process.terminationStatus == 128 + signal)
            #expect(parent.files == [])
        }
    }

    #if os(Linux)
        @Test func `an interruption while another process measures memory leaves nothing behind`() async throws {
            let parent = try Parent()
            // A number by which the process is told from others.
            let rows = String(20_000 + ProcessInfo.processInfo.processIdentifier % 10_000)
            let process = try parent.start(
                ["--workload", FootprintProcess.people, "--rows", rows, "--runs", "1000", "--no-peer"])
            try await until { !process.isRunning || !Self.processes(FootprintProcess.command, rows).isEmpty }
            kill(process.processIdentifier, SIGINT)
            try await until { !process.isRunning }
            #expect(process.terminationStatus == 128 + SIGINT)
            #expect(parent.files == [])
            try await until { Self.processes(FootprintProcess.command, rows).isEmpty }
        }

        @Test(arguments: [SIGTERM, SIGKILL])
        func `processes that measure pairs end when the one does that has started them`(signal: Int32) async throws {
            let parent = try Parent()
            let rows = String(30_000 + ProcessInfo.processInfo.processIdentifier % 10_000)
            let process = try parent.start(
                ["pair", program?.path ?? "", "--workload", "get_by_id", "--rows", rows, "--pairs", "1000"])
            try await until { !process.isRunning || Self.processes(RunServer.command, rows).count == 2 }
            kill(process.processIdentifier, signal)
            try await until { !process.isRunning }
            try await until { Self.processes(RunServer.command, rows).isEmpty }
            // Who is killed leaves a folder, which is empty.
            #expect(parent.files.count == (signal == SIGKILL ? 1 : 0))
        }

        /// The processes that were started with a command for so many rows.
        private static func processes(_ command: String, _ rows: String) -> [String] {
            let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
            return processes.filter { process in
                guard Int(process) != nil,
                    let text = try? String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8)
                else { return false }
                let arguments = text.split(separator: "\0")
                return arguments.contains(Substring(rows)) && arguments.contains(Substring(command))
            }
        }
    #endif

    @Test func `a process that would never end is ended`() async throws {
        // What ends the process waits for no thread that waits for the process.
        let outcome = Task {
            try await withCheckedThrowingContinuation { continuation in
                DispatchQueue.global().async {
                    let sleep = URL(fileURLWithPath: "/bin/sleep")
                    continuation.resume(
                        with: Result { try FootprintProcess.output(of: sleep, arguments: ["100000"]) })
                }
            }
        }
        try await until { FootprintProcess.end() }
        await #expect(throws: FootprintProcess.Failure.self) { try await outcome.value }
    }

    @Test func `a run to the end leaves no files either`() async throws {
        let parent = try Parent()
        let process = try parent.start(["--workload", "disk", "--rows", "1000", "--runs", "1"])
        try await until { !process.isRunning }
        #expect(process.terminationStatus == 0)
        #expect(parent.files == [])
    }

    @Test func `a hangup that is ignored stays so`() async throws {
        let parent = try Parent()
        let process = try parent.start(
            ["--workload", "commit_small_durable", "--rows", "2000", "--runs", "2", "--no-peer"], ignoring: "HUP")
        try await until { !process.isRunning || parent.files.contains { $0.hasSuffix(".graph") } }
        kill(process.processIdentifier, SIGHUP)
        try await until { !process.isRunning }
        #expect(process.terminationStatus == 0)
        #expect(parent.files == [])
    }

    @Test func `a run whose reader goes away leaves no files either`() async throws {
        let parent = try Parent()
        let output = Pipe()
        let process = try parent.start(["--workload", "disk", "--rows", "1000", "--runs", "100"], output: output)
        try output.fileHandleForReading.close()
        try await until { !process.isRunning }
        #expect(process.terminationReason == .exit)
        #expect(parent.files == [])
    }

    @Test(arguments: [["--json", "results.json"], ["--svg", "results.svg"]])
    func `a debug build writes no results`(arguments: [String]) async throws {
        guard RunDescription.isDebugBuild else { return }
        let parent = try Parent()
        let process = try parent.start(["--workload", "disk", "--rows", "1000"] + arguments)
        try await until { !process.isRunning }
        #expect(process.terminationStatus == 2)
        #expect(parent.files == [])
    }

    @Test func `comparing files that are none is a wrong command line`() async throws {
        let parent = try Parent()
        let process = try parent.start(["compare", "/nowhere/old.json", "/nowhere/new.json"])
        try await until { !process.isRunning }
        #expect(process.terminationStatus == 2)
    }

    /// Looks again and again, and gives up after a time that no machine takes, however busy it is. Another process can only be
    /// watched; between two looks it may have the processor.
    private func until(
        lookingEvery interval: Duration = .milliseconds(20), _ condition: () -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + .seconds(1200)
        while !condition() {
            guard ContinuousClock.now < deadline else { throw Late() }
            try await Task.sleep(for: interval)
        }
    }

    /// A folder for the program's files, removed with everything in it, and with the program if it still runs.
    private final class Parent {
        let path: String
        private var process: Process?

        init() throws {
            path = FileManager.default.temporaryDirectory.path + "/interruption-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }

        deinit {
            if let process, process.isRunning { kill(process.processIdentifier, SIGKILL) }
            try? FileManager.default.removeItem(atPath: path)
        }

        /// - Parameter signal: one that the program is told to ignore from the beginning.
        func start(
            _ arguments: [String], output: Any = FileHandle.nullDevice, ignoring signal: String? = nil
        ) throws -> Process {
            let process = Process()
            let trap = signal.map { "trap '' \($0); " } ?? ""
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments = ["-c", trap + "exec \"$0\" \"$@\"", program?.path ?? ""] + arguments
            process.arguments? += ["--directory", path]
            process.currentDirectoryURL = URL(fileURLWithPath: path)
            process.standardOutput = output
            process.standardError = FileHandle.nullDevice
            try process.run()
            self.process = process
            return process
        }

        /// Folders and files, however deep.
        var files: [String] {
            FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
        }
    }
}
