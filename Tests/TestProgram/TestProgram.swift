import Foundation
import Graph

/// The one entity of the store: its numbers are what a test finds again.
@Entity struct Entry {
    @Indexed var number = 0
    /// Of the length that a save is to have.
    var filling = Data()
}

/// A program with a store, which does what the lines that it reads tell it and answers each with one line.
///
///     open PATH      opened COUNT
///     read PATH      read COUNT        read-only, and released at once
///     save NUMBER    saved
///     save NUMBER N  saved             with so many bytes beside the number
///     numbers        numbers 1 2 3
///     close          closed
///     release        released          the store goes away without being closed
///     fork hold      forked            a child has all descriptors until `join`
///     fork release   forked            a child releases the store and ends
///     join           joined
///     start          started PROCESS   another program runs, for ten minutes
///     look PATH      looked            as any code of the program may
///     go PATH        gone              changes the current folder
///     limit files N  limited           so many more may be opened
///     limit bytes N  limited           the length of a file; without N there is no limit
///     shed           shed              closes the standard streams; the protocol goes on with copies
///     streams        streams 0 2       which of the standard streams are open
///     stream         saved 1, saved 2 … until killed
///     churn NUMBER   saved NUMBER, … until killed, and compacts without a break meanwhile
///     receive PATH   receiving PORT    a copy of the store, from one log after the other
///     ship PATH PORT shipped           sends a log to that port until the connection ends
///     await COUNT    has COUNT         once the copy has so many entries
///     promote        promoted COUNT    the copy is the store that is open
///     check          sound
///     follow PATH    following COMMIT COUNT    what another program writes
///     show COUNT     shows FIRST LAST COUNT, … for what comes, one or several commits; shown COUNT once it has so many
///     migrate PATH   migrated COUNT    opened by the next version of the program; with `plan` behind it, by another one
///     fault FOLDER CALL FAULT FIRST LAST STEP    armed: lets the system fail (`Tests/SystemFaults`)
///     live FOLDER    saved 1, … and what else a `ShortLife` has to tell; then calls COUNT failed COUNT PATH
///     saves PATH     saves 1 2 3       those of a `ShortLife` that a file has; or broken
///     trap           ends the program as a programming error does
///
/// Where something goes wrong the answer is `refused CASE DESCRIPTION`, in one line.
///
/// Arguments: `survives-limits`, `open-mask`, and `unprivileged`, for a program that gives up root's rights if it has them.
@main struct TestProgram {
    private var store: Coordinator?
    private var receiver: LogReceiver?
    private var receiving: Task<Void, Never>?
    private var follower: Follower?
    /// What it has to say since it was there.
    private var feed: Commits?
    /// What the next version of the program has opened.
    private var later: LaterStore?
    private var input: Int32 = 0
    private var output: Int32 = 1
    /// What a child of `fork` waits for, and the child.
    private var childEnd: Int32 = -1
    private var child: pid_t = 0
    private var started: [Process] = []

    /// Rights belong to threads, and what changes them for all races with those that are being made: so it comes before any is.
    static func main() {
        // Whether a write beyond the limit fails or ends the program is inherited.
        signal(SIGXFSZ, CommandLine.arguments.contains("survives-limits") ? SIG_IGN : SIG_DFL)
        if CommandLine.arguments.contains("open-mask") { umask(0) }
        if CommandLine.arguments.contains("unprivileged"), geteuid() == 0, setegid(65_534) != 0 || seteuid(65_534) != 0
        {
            exit(1)
        }
        Task.detached {
            await run()
            exit(0)
        }
        DispatchSemaphore(value: 0).wait()
    }

    private static func run() async {
        var program = TestProgram()
        while let line = program.readLine() {
            do {
                let answer = try await program.perform(line.split(separator: " ", maxSplits: 1).map(String.init))
                program.answer(answer)
            } catch {
                program.answer("refused " + refusal(error))
            }
        }
    }

    /// The case of an error and its description, in one line.
    static func refusal(_ error: any Error) -> String {
        let name = error is GraphError ? Mirror(reflecting: error).children.first?.label : nil
        return "\(name ?? "\(error)") \(error)".split(separator: "\n").joined(separator: " ")
    }

    private mutating func perform(_ words: [String]) async throws -> String {
        let argument = words.count > 1 ? words[1] : ""
        switch words.first {
        case "open":
            // With a space and the level of durability behind it.
            let words = argument.split(separator: " ").map(String.init)
            let levels: [String: Durability] = ["relaxed": .relaxed, "none": .none]
            let store = try await Coordinator(
                for: Entry.self, at: words[0], durability: levels[words.last ?? ""] ?? .full)
            self.store = store
            return "opened \(store.snapshot.count(of: Entry.self))"
        case "read":
            let store = try await Coordinator(for: Entry.self, at: argument, readOnly: true)
            return "read \(store.snapshot.count(of: Entry.self))"
        case "save":
            let numbers = argument.split(separator: " ").compactMap { Int($0) }
            try await save(numbers[0], bytes: numbers.count > 1 ? numbers[1] : 0)
            return "saved"
        case "numbers":
            let numbers = try later?.numbers ?? shown.fetchValues(Entry.self).map(\.number)
            return (["numbers"] + numbers.sorted().map(String.init)).joined(separator: " ")
        case "close":
            try await (later?.coordinator ?? required).close()
            (store, later) = (nil, nil)
            return "closed"
        case "release":
            store = nil
            return "released"
        case "fork": return try fork(releases: argument == "release")
        case "join":
            Foundation.close(childEnd)
            waitpid(child, nil, 0)
            return "joined"
        case "start":
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/bin/sleep")
            process.arguments = ["600"]
            process.standardInput = FileHandle.nullDevice
            process.standardOutput = FileHandle.nullDevice
            try process.run()
            started.append(process)
            return "started \(process.processIdentifier)"
        case "look":
            _ = try FileHandle(forReadingFrom: URL(fileURLWithPath: argument)).read(upToCount: 1)
            return "looked"
        case "go":
            guard FileManager.default.changeCurrentDirectoryPath(argument) else { throw CocoaError(.fileNoSuchFile) }
            return "gone"
        case "limit": return try limit(argument.split(separator: " ").map(String.init))
        case "shed":
            // What the runtime opens for timers it opens for the first one that is not over when it is set: not where the
            // streams were.
            try await Task.sleep(for: .milliseconds(100), clock: .continuous)
            input = fcntl(input, F_DUPFD_CLOEXEC, 100)
            output = fcntl(output, F_DUPFD_CLOEXEC, 100)
            for descriptor in Int32(0)...2 { Foundation.close(descriptor) }
            return "shed"
        case "streams":
            let open = (Int32(0)...2).filter { fcntl($0, F_GETFD) != -1 }
            return (["streams"] + open.map(String.init)).joined(separator: " ")
        case "stream":
            for number in 1... {
                try await save(number)
                answer("saved \(number)")
            }
            return ""
        case "churn": try await churn(from: Int(argument) ?? 1)
        case "receive":
            let receiver = try await LogReceiver(for: Entry.self, at: argument)
            let (peer, port) = try LogPeer.listen()
            self.receiver = receiver
            receiving = Task { [self] in
                do {
                    try await peer.receiveLogs(into: receiver)
                } catch {
                    if !Task.isCancelled { answer("refused log \(error)") }
                }
            }
            return "receiving \(port)"
        case "ship":
            let words = argument.split(separator: " ").map(String.init)
            try await LogPeer.ship(words[0], to: UInt16(words[1]) ?? 0)
            return "shipped"
        case "await":
            guard let receiver, let count = Int(argument) else { throw CocoaError(.fileNoSuchFile) }
            for try await found in receiver.values({ $0.count(of: Entry.self) }) where found >= count {
                return "has \(found)"
            }
            return "refused ended"
        case "promote":
            // What still comes in is refused from here on, and is not what was asked for.
            receiving?.cancel()
            store = try await receiver?.promote(author: "test")
            return "promoted \(try required.snapshot.count(of: Entry.self))"
        case "check":
            let errors = try (later?.coordinator ?? required).check()
            return errors.isEmpty ? "sound" : "refused unsound \(errors)"
        case "follow":
            let follower = try await Follower(for: Entry.self, at: argument)
            (self.follower, feed) = (follower, follower.commits)
            let state = follower.snapshot
            return "following \(state.commit) \(state.count(of: Entry.self))"
        case "show": return try await show(until: Int(argument) ?? .max)
        case "migrate":
            let words = argument.split(separator: " ").map(String.init)
            let later = try await LaterStore.open(words[0], by: words.count > 1 ? words[1] : "")
            self.later = later
            return "migrated \(try later.numbers.count)"
        case "fault":
            try SystemFaults.arm(argument.split(separator: " ").map(String.init))
            return "armed"
        case "live":
            var life = ShortLife(in: argument) { [self] in answer($0) }
            await life.run()
            return try SystemFaults.disarm()
        case "saves":
            guard let saves = try await ShortLife.saves(at: argument) else { return "broken" }
            return (["saves"] + saves.map(String.init)).joined(separator: " ")
        case "trap": fatalError("as asked for")
        default: return "refused unknown \(words)"
        }
    }

    private var required: Coordinator {
        get throws {
            guard let store else { throw CocoaError(.fileNoSuchFile) }
            return store
        }
    }

    private var shown: Snapshot {
        get throws { try follower?.snapshot ?? required.snapshot }
    }

    /// Tells of each element of the follower's feed, from its beginning on.
    private func show(until count: Int) async throws -> String {
        guard let follower, let feed else { throw CocoaError(.fileNoSuchFile) }
        for await commit in feed {
            let found = commit.difference?.after.count(of: Entry.self) ?? 0
            answer("shows \(commit.commits.lowerBound) \(commit.number) \(found)")
            if found >= count { return "shown \(found)" }
        }
        return "refused ended \(String(describing: follower.failure))"
    }

    private func save(_ number: Int, bytes: Int = 0) async throws {
        let filling = Data(repeating: 0x47, count: bytes)
        try await Context(required).transaction { _ = $0.insert(Entry(number: number, filling: filling)) }
    }

    /// Saves and compacts at the same time, until it is killed.
    private func churn(from first: Int) async throws -> Never {
        let store = try required
        Task.detached { [self] in
            while true {
                do { try await store.compact() } catch { answer("refused compaction \(error)") }
            }
        }
        for number in first... {
            try await save(number, bytes: 2_000)
            answer("saved \(number)")
        }
        fatalError("there are no more numbers")
    }

    // MARK: Processes

    /// A child of `fork` has one thread alone, and does nothing that needs another.
    private mutating func fork(releases: Bool) throws -> String {
        typealias Fork = @convention(c) () -> pid_t
        var ends: [Int32] = [0, 0]
        guard let symbol = dlsym(nil, "fork"), pipe(&ends) == 0 else { throw CocoaError(.featureUnsupported) }
        // Hidden from Swift, since most programs have more threads than survive it.
        let fork = unsafeBitCast(symbol, to: Fork.self)
        child = fork()
        if child == 0 {
            if releases {
                store = nil
            } else {
                var byte: UInt8 = 0
                Foundation.close(ends[1])
                _ = read(ends[0], &byte, 1)
            }
            _exit(0)
        }
        Foundation.close(ends[0])
        childEnd = ends[1]
        if releases {
            Foundation.close(childEnd)
            waitpid(child, nil, 0)
        }
        return "forked"
    }

    private func limit(_ words: [String]) throws -> String {
        #if canImport(Darwin)
            let resource = words.first == "files" ? RLIMIT_NOFILE : RLIMIT_FSIZE
        #else
            let resource =
                words.first == "files"
                ? __rlimit_resource_t(RLIMIT_NOFILE.rawValue) : __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
        #endif
        var limit = rlimit()
        getrlimit(resource, &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(resource, &limit)
        if words.count > 1, let number = rlim_t(words[1]) {
            limit.rlim_cur = number
            if words[0] == "files" {
                // Descriptors are numbered from below without gaps, once the next one is.
                let next = fcntl(input, F_DUPFD_CLOEXEC, 0)
                Foundation.close(next)
                limit.rlim_cur += rlim_t(next)
            }
        }
        guard setrlimit(resource, &limit) == 0 else { throw CocoaError(.featureUnsupported) }
        return "limited"
    }

    // MARK: Lines

    private func readLine() -> String? {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(input, &byte, 1) == 1 {
            if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
        return nil
    }

    /// Ends the program if nobody reads any more: tests that stop in the midst of it would leave it running.
    private func answer(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        if write(output, bytes, bytes.count) < 0 { _exit(0) }
    }
}
