import Foundation

/// A running `TestProgram`, which answers each line with a line; its lines are listed there.
///
/// It is killed when the last reference goes away.
final class StoreProcess {
    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    enum End: Equatable {
        case exit(Int32)
        case signal(Int32)
    }

    let processID: Int32
    private let input: Int32
    private let output: Int32
    private var end: End?

    /// Foundation's `Process` is not used: what it starts at the same time elsewhere in the tests could inherit the pipes.
    /// Nor does this process inherit what others open: whoever waits for the end of a pipe would wait for this process, too.
    ///
    /// - Parameters:
    ///   - name: of another program of this package.
    ///   - library: one that is loaded before all others, so that its functions take the place of theirs.
    init(_ arguments: String..., program name: String = "TestProgram", preloading library: String? = nil) throws {
        // A program that has ended unexpectedly then shows in its missing answer.
        signal(SIGPIPE, SIG_IGN)
        let (requests, answers) = (try Self.pipe(), try Self.pipe())
        defer {
            close(requests.reading)
            close(answers.writing)
        }
        (input, output) = (requests.writing, answers.reading)
        processID = try Self.spawn(
            try Self.program(name), arguments, streams: (requests.reading, answers.writing), preloading: library)
    }

    deinit {
        kill()
        close(input)
        close(output)
    }

    /// Sends a line and waits for the answer.
    func run(_ line: String) async throws -> String {
        try send(line)
        return try await answer()
    }

    func send(_ line: String) throws {
        let bytes = Array((line + "\n").utf8)
        guard write(input, bytes, bytes.count) == bytes.count else {
            throw Missing(description: "the program has ended before: \(line)")
        }
    }

    /// Waits for a line, on a thread that no test needs; for far longer than any program here takes, unless the caller knows better.
    func answer(milliseconds: Int32 = 300_000) async throws -> String {
        let output = output
        let line = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: Self.line(from: output, milliseconds: milliseconds))
            }
        }
        guard let line else { throw Missing(description: "the program has ended without an answer") }
        return line
    }

    /// Ends the program as `kill -9` does.
    func kill() {
        guard end == nil else { return }
        Foundation.kill(processID, SIGKILL)
        _ = waitForEnd()
    }

    /// Ends the program as Control-C does, if it does nothing else then.
    func interrupt() { Foundation.kill(processID, SIGINT) }

    /// Waits until the program has ended by itself.
    func waitForEnd() -> End {
        if let end { return end }
        var status: Int32 = 0
        while waitpid(processID, &status, 0) == -1, errno == EINTR {}
        let result = status & 0x7F == 0 ? End.exit(status >> 8 & 0xFF) : End.signal(status & 0x7F)
        end = result
        return result
    }

    /// What a program that has ended said before it did.
    func remainingAnswers() -> [String] {
        _ = waitForEnd()
        var lines: [String] = []
        while let line = Self.line(from: output, milliseconds: 0) { lines.append(line) }
        return lines
    }

    /// Starts a program and waits until it has ended.
    static func run(_ program: String) throws {
        var status: Int32 = 0
        waitpid(try spawn(program, [], streams: nil), &status, 0)
    }

    /// - Parameter streams: all that the program has of what is open here; nil for everything that is inherited.
    private static func spawn(
        _ program: String, _ arguments: [String], streams: (input: Int32, output: Int32)?,
        preloading library: String? = nil
    ) throws -> Int32 {
        #if canImport(Darwin)
            var (actions, attributes) = (posix_spawn_file_actions_t?.none, posix_spawnattr_t?.none)
        #else
            var (actions, attributes) = (posix_spawn_file_actions_t(), posix_spawnattr_t())
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        if let streams {
            posix_spawn_file_actions_adddup2(&actions, streams.input, 0)
            posix_spawn_file_actions_adddup2(&actions, streams.output, 1)
            #if canImport(Darwin)
                posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_CLOEXEC_DEFAULT))
            #else
                // More than the tests have open at a time. Closing one that is not open does no harm.
                for descriptor in Int32(3)..<1024 { posix_spawn_file_actions_addclose(&actions, descriptor) }
            #endif
        }
        let words = ([program] + arguments).map { strdup($0) } + [nil]
        // What `.ci/campaign bugs` plants here it plants there.
        let planted = ProcessInfo.processInfo.environment["GRAPH_BUG"].map { "GRAPH_BUG=" + $0 }
        let variables = ["SWIFT_BACKTRACE=enable=no", planted, library.map { "LD_PRELOAD=" + $0 }]
        let environment = variables.compactMap { $0 }.map { strdup($0) } + [nil]
        defer { for word in words + environment { free(word) } }
        var process: pid_t = 0
        let result = posix_spawn(&process, program, &actions, &attributes, words, environment)
        guard result == 0 else { throw Missing(description: "\(program) cannot be started: errno \(result)") }
        return process
    }

    private static func pipe() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [0, 0]
        guard Foundation.pipe(&ends) == 0 else { throw Missing(description: "no pipe: errno \(errno)") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    /// nil at the end, or when nothing more has come for so long.
    private static func line(from descriptor: Int32, milliseconds: Int32) -> String? {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            var events = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = poll(&events, 1, milliseconds)
            if ready == -1, errno == EINTR { continue }
            guard ready == 1, read(descriptor, &byte, 1) == 1 else { return nil }
            if byte == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(byte)
        }
    }

    /// Looks upwards from the running test, wherever the build folder is.
    static func program(_ name: String = "TestProgram") throws -> String {
        let starts =
            [Bundle.main.executablePath, CommandLine.arguments.first, Bundle.main.bundlePath].compactMap { $0 }
            + CommandLine.arguments.filter { $0.contains(".xctest") }
        for start in starts {
            var folder = URL(fileURLWithPath: start).resolvingSymlinksInPath()
            while folder.path.count > 1 {
                folder.deleteLastPathComponent()
                let program = folder.appendingPathComponent(name).path
                var isFolder = ObjCBool(false)
                if FileManager.default.fileExists(atPath: program, isDirectory: &isFolder), !isFolder.boolValue {
                    return program
                }
            }
        }
        throw Missing(description: "no TestProgram near \(starts)")
    }
}
