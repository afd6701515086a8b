// Plants bugs of Tests/PlantedBugs.txt, one at a time, and tells which of them something finds: `bugs COUNT|all|NAME…`, in the
// repository's folder. `.ci/campaign bugs` builds it together with PlantedBug.swift.
//
// All bugs are in one build, of a copy of the sources, each behind a condition that the environment makes true. So a run costs no
// more than what is to find the bug, and what is built stays for the next run.

import Foundation

@main struct Bugs {
    struct Failure: Error {}

    private static let files = FileManager.default
    private static let copy = files.currentDirectoryPath + "/.build-bugs"
    /// After so many seconds a run counts as one that hangs.
    private static let limit = 240

    static func main() throws {
        let all = try PlantedBug.list(try String(contentsOfFile: "Tests/PlantedBugs.txt", encoding: .utf8))
        let names = Set(CommandLine.arguments.dropFirst())
        let sample: [PlantedBug]
        if let count = names.first.flatMap({ Int($0) }) {
            sample = draw(count, of: all)
        } else {
            let isAll = names == ["all"]
            sample = all.filter { isAll || names.contains($0.name) || names.contains($0.finder[1]) }
        }
        guard !sample.isEmpty else {
            print("bugs COUNT|all|NAME…: NAME is that of a bug in Tests/PlantedBugs.txt, or of what is to find it")
            exit(2)
        }
        try copySources(planting: all)
        let finders = Set(sample.map(\.finder))
        try build(tests: finders.contains { $0[0] == "test" }, campaign: finders.contains { $0[0] != "test" })

        // What fails without a bug shows nothing. All tests together take less than one after another.
        let tests = Set(finders.filter { $0[0] == "test" }.flatMap { $0[1].split(separator: "|") }).sorted()
        let together = tests.isEmpty ? [] : [["test", tests.joined(separator: "|")]]
        for finder in together + finders.filter({ $0[0] != "test" }) {
            guard try run(finder, bug: 0, limit: max(1, tests.count) * limit).outcome == .succeeded else {
                print("without any bug this fails: \(finder.joined(separator: " ")); \(copy)/log-0 says why")
                exit(1)
            }
        }
        let sweeps = ProcessInfo.processInfo.environment["GRAPH_SWEEPS"] ?? "0"
        var (survivors, hanging): ([PlantedBug], [PlantedBug]) = ([], [])
        for bug in sample {
            let number = 1 + (all.firstIndex { $0.name == bug.name } ?? 0)
            var (outcome, seconds) = try run(bug.finder, bug: number, limit: limit)
            if outcome == .succeeded, bug.finder[0] == "test", sweeps != "1" {
                // A run takes a part of the long sweeps, each time another one.
                setenv("GRAPH_SWEEPS", "1", 1)
                (outcome, seconds) = try run(bug.finder, bug: number, limit: 4 * limit)
                setenv("GRAPH_SWEEPS", sweeps, 1)
            }
            if outcome == .succeeded { survivors.append(bug) }
            if outcome == .hung { hanging.append(bug) }
            print("\(outcome.rawValue)  \(seconds) s  \(bug.name)  (\(bug.finder.joined(separator: " ")))")
            // Line by line, also into a file.
            fflush(nil)
        }
        print("\(sample.count) bugs planted, \(survivors.count) not found")
        for bug in survivors { print("    \(bug.file): \(bug.name)") }
        // Slowness of the machine may be all there is to it.
        if !hanging.isEmpty { print("\(hanging.count) came to no end within \(limit) s") }
        for bug in hanging { print("    \(bug.file): \(bug.name)") }
        exit(survivors.isEmpty ? 0 : 1)
    }

    /// By the day, or by `GRAPH_SEED`, so that a sample can be drawn again.
    private static func draw(_ count: Int, of bugs: [PlantedBug]) -> [PlantedBug] {
        let day = UInt64(Date().timeIntervalSince1970 / 86_400)
        var state = ProcessInfo.processInfo.environment["GRAPH_SEED"].flatMap { UInt64($0) } ?? day
        print("GRAPH_SEED=\(state)")
        var rest = bugs
        return (0..<min(count, bugs.count)).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return rest.remove(at: Int((state >> 33) % UInt64(rest.count)))
        }
    }

    // MARK: Building

    /// Writes only what has changed, so that a build begins where the last one ended.
    private static func copySources(planting bugs: [PlantedBug]) throws {
        var wanted: Set<String> = ["Package.swift"]
        for folder in ["Sources", "Tests", "Docs"] {
            let paths = files.enumerator(atPath: folder)
            while let path = paths?.nextObject() as? String {
                if path.contains(".build") {
                    paths?.skipDescendants()
                } else {
                    wanted.insert("\(folder)/\(path)")
                }
            }
        }
        let numbers = Dictionary(uniqueKeysWithValues: bugs.enumerated().map { ($1.name, $0 + 1) })
        let byFile = Dictionary(grouping: bugs) { "Sources/Graph/" + $0.file }
        for path in wanted {
            var isFolder = ObjCBool(false)
            let target = copy + "/" + path
            if let link = try? files.destinationOfSymbolicLink(atPath: path) {
                try makeFolder(of: target)
                if (try? files.destinationOfSymbolicLink(atPath: target)) != link {
                    try files.createSymbolicLink(atPath: target, withDestinationPath: link)
                }
            } else if files.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue {
                var data = try Data(contentsOf: URL(fileURLWithPath: path))
                if let bugs = byFile[path] {
                    let source = String(decoding: data, as: UTF8.self)
                    let planted = try PlantedBug.plant(bugs, in: source) { "isPlanted(\(numbers[$0.name] ?? 0))" }
                    data = Data(planted.utf8)
                }
                try write(data, to: target)
            }
        }
        let condition = "Sources/Graph/Support/IsPlanted.swift"
        wanted.insert(condition)
        let source = """
            private let planted = PosixFileSystem.environment("GRAPH_BUG")

            func isPlanted(_ number: Int) -> Bool { planted == String(number) }

            """
        try write(Data(source.utf8), to: copy + "/" + condition)
        for folder in ["Sources", "Tests"] {
            for case let path as String in files.enumerator(atPath: copy + "/" + folder) ?? .init()
            where path.hasSuffix(".swift") && !path.contains(".build") && !wanted.contains("\(folder)/\(path)") {
                try files.removeItem(atPath: "\(copy)/\(folder)/\(path)")
            }
        }
    }

    private static func makeFolder(of path: String) throws {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        try files.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private static func write(_ data: Data, to path: String) throws {
        guard files.contents(atPath: path) != data else { return }
        try makeFolder(of: path)
        try data.write(to: URL(fileURLWithPath: path))
    }

    private static let testOptions = ["-debug-info-format", "none"]
    private static let campaignOptions = ["-c", "release", "-Xswiftc", "-enable-testing"]
    private static var campaignFolder: String { copy + "/Tests/Campaign" }

    private static func build(tests: Bool, campaign: Bool) throws {
        if tests { try swift(["build", "--build-tests"] + testOptions, in: copy) }
        if campaign { try swift(["build"] + campaignOptions, in: campaignFolder) }
    }

    private static func swift(_ arguments: [String], in folder: String) throws {
        guard try process(["swift"] + arguments, in: folder, bug: 0).wait(seconds: 3_600) == .succeeded else {
            print("the build failed; \(copy)/log-0 says why")
            throw Failure()
        }
    }

    // MARK: Running

    private enum Outcome: String {
        case succeeded = "SURVIVES"
        case failed = "found"
        case hung = "hangs"
    }

    private static func run(
        _ finder: [String], bug: Int, limit: Int
    ) throws -> (outcome: Outcome, seconds: Int) {
        let start = ContinuousClock.now
        let command =
            finder[0] == "test"
            ? ["swift", "test", "--skip-build"] + testOptions + ["--filter", finder[1]]
            : [campaignFolder + "/.build/release/Campaign", "1", finder[2], finder[1]]
        let outcome = try process(command, in: copy, bug: bug).wait(seconds: limit)
        return (outcome, Int((ContinuousClock.now - start).components.seconds))
    }

    private struct Running {
        let id: pid_t

        /// Ends it, and what it has started, if that takes longer.
        func wait(seconds: Int) -> Outcome {
            let end = ContinuousClock.now + .seconds(seconds)
            var status: Int32 = 0
            while waitpid(id, &status, WNOHANG) == 0 {
                guard ContinuousClock.now < end else {
                    kill(-id, SIGKILL)
                    waitpid(id, &status, 0)
                    return .hung
                }
                usleep(50_000)
            }
            return status == 0 ? .succeeded : .failed
        }
    }

    /// Starts a program as the first one of a group of its own. What it prints goes to the file `log-N` in the copy, for bug N.
    private static func process(_ command: [String], in folder: String, bug: Int) throws -> Running {
        #if canImport(Darwin)
            var (attributes, actions) = (posix_spawnattr_t?.none, posix_spawn_file_actions_t?.none)
        #else
            var (attributes, actions) = (posix_spawnattr_t(), posix_spawn_file_actions_t())
        #endif
        posix_spawnattr_init(&attributes)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        posix_spawn_file_actions_init(&actions)
        defer {
            posix_spawnattr_destroy(&attributes)
            posix_spawn_file_actions_destroy(&actions)
        }
        posix_spawn_file_actions_addopen(&actions, 1, "\(copy)/log-\(bug)", O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        guard files.changeCurrentDirectoryPath(folder) else { throw Failure() }
        setenv("GRAPH_BUG", "\(bug)", 1)
        setenv("SWIFT_BACKTRACE", "enable=no", 1)
        let words = command.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var id: pid_t = 0
        guard posix_spawnp(&id, command[0], &actions, &attributes, words, environ) == 0 else { throw Failure() }
        return Running(id: id)
    }
}
