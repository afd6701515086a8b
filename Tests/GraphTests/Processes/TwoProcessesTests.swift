import Foundation
import Graph
import Synchronization
import Testing

/// Who has a store open, as real programs see it.
@Suite(.serialized) struct TwoProcessesTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file()
    }

    private func expectRefusal(_ program: StoreProcess, _ path: String? = nil, by holder: StoreProcess? = nil)
        async throws
    {
        let answer = try await program.run("open \(path ?? self.path)")
        #expect(answer.hasPrefix("refused alreadyOpen "), "\(answer)")
        guard let holder else { return }
        let place = holder.processID == program.processID ? "this process" : "process \(holder.processID)"
        #expect(answer.contains("in \(place) since "), "\(answer)")
    }

    private func bytes(_ suffix: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path + suffix)) }

    @Test func `a second program is refused at once, told by whom, and touches nothing`() async throws {
        let (first, second) = (try StoreProcess(), try StoreProcess())
        #expect(try await first.run("open \(path)") == "opened 0")
        #expect(try await first.run("save 1") == "saved")
        // After a second the program marks what it has saved. Opening marks nothing later.
        #expect(try await first.run("close") == "closed")
        #expect(try await first.run("open \(path)") == "opened 1")
        let before = (try bytes(""), try bytes(".lock"))
        try await expectRefusal(second, by: first)
        #expect(try before == (bytes(""), bytes(".lock")))
        #expect(try await first.run("save 2") == "saved")
        #expect(try await first.run("close") == "closed")
        #expect(try await second.run("open \(path)") == "opened 2")
        try await expectRefusal(first, by: second)
    }

    @Test func `a killed program's store opens at once, with all that it was told to be saved`() async throws {
        let (first, second) = (try StoreProcess(), try StoreProcess())
        #expect(try await first.run("open \(path)") == "opened 0")
        for number in 1...3 { #expect(try await first.run("save \(number)") == "saved") }
        first.kill()
        #expect(try await second.run("open \(path)") == "opened 3")
        #expect(try await second.run("numbers") == "numbers 1 2 3")
    }

    @Test func `a store that is released without being closed opens at once`() async throws {
        let (first, second) = (try StoreProcess(), try StoreProcess())
        #expect(try await first.run("open \(path)") == "opened 0")
        #expect(try await first.run("save 1") == "saved")
        #expect(try await first.run("release") == "released")
        #expect(try await second.run("open \(path)") == "opened 1")
    }

    @Test func `all names of a file are one store`() async throws {
        let (first, second) = (try StoreProcess(), try StoreProcess())
        let files = FileManager.default
        try files.createDirectory(atPath: folder.path + "/a", withIntermediateDirectories: false)
        try files.createSymbolicLink(atPath: folder.path + "/b", withDestinationPath: "a")
        let path = folder.path + "/a/store"
        #expect(try await first.run("open \(path)") == "opened 0")
        try files.createSymbolicLink(atPath: folder.path + "/link", withDestinationPath: path)
        for name in ["/a/store", "/b/store", "/a/../b/./store", "/link"] {
            try await expectRefusal(second, folder.path + name, by: first)
        }
        #expect(try await second.run("go \(folder.path)/b") == "gone")
        try await expectRefusal(second, "store", by: first)
        try await expectRefusal(second, "../link", by: first)
    }

    @Test func `of programs that make one store at the same time one gets it`() async throws {
        for round in 0..<3 {
            let path = folder.file("store\(round)")
            let programs = try (0..<6).map { _ in try StoreProcess() }
            // All of them run before any is told.
            for program in programs { #expect(try await program.run("streams") == "streams 0 1 2") }
            for program in programs { try program.send("open \(path)") }
            var winners: [StoreProcess] = []
            for program in programs {
                let answer = try await program.answer()
                if answer == "opened 0" {
                    winners.append(program)
                } else {
                    #expect(answer.hasPrefix("refused alreadyOpen "), "\(answer)")
                }
            }
            #expect(winners.count == 1)
            #expect(try await winners.first?.run("save 1") == "saved")
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(Set(names.filter { $0.hasPrefix("store\(round)") }) == ["store\(round)", "store\(round).lock"])
        }
    }

    @Test func `code of the same program that reads both files does not give the lock away`() async throws {
        let (first, second) = (try StoreProcess(), try StoreProcess())
        #expect(try await first.run("open \(path)") == "opened 0")
        for suffix in ["", ".lock"] { #expect(try await first.run("look \(path)\(suffix)") == "looked") }
        try await expectRefusal(second, by: first)
        try await expectRefusal(first, by: first)
    }

    // MARK: Children

    private final class Starter: Sendable {
        let isDone = Atomic(false)
    }

    @Test func `a closed store opens elsewhere though a child still has its descriptors`() async throws {
        let (first, second) = (try StoreProcess(), try StoreProcess())
        #expect(try await first.run("open \(path)") == "opened 0")
        #expect(try await first.run("save 1") == "saved")
        #expect(try await first.run("fork hold") == "forked")
        try await expectRefusal(second, by: first)
        #expect(try await first.run("close") == "closed")
        #expect(try await second.run("open \(path)") == "opened 1")
        #expect(try await second.run("save 2") == "saved")
        // The child's end gives nothing away.
        #expect(try await first.run("join") == "joined")
        try await expectRefusal(first, by: second)
        #expect(try await second.run("save 3") == "saved")
    }

    @Test func `a store that is released opens elsewhere though a child still has its descriptors`() async throws {
        let (first, second) = (try StoreProcess(), try StoreProcess())
        #expect(try await first.run("open \(path)") == "opened 0")
        #expect(try await first.run("fork hold") == "forked")
        #expect(try await first.run("release") == "released")
        #expect(try await second.run("open \(path)") == "opened 0")
        #expect(try await first.run("join") == "joined")
    }

    @Test func `a child that releases its copy of the store leaves the lock to its parent`() async throws {
        let (first, second) = (try StoreProcess(), try StoreProcess())
        #expect(try await first.run("open \(path)") == "opened 0")
        #expect(try await first.run("fork release") == "forked")
        try await expectRefusal(second, by: first)
        #expect(try await first.run("save 1") == "saved")
        #expect(try await first.run("close") == "closed")
        #expect(try await second.run("open \(path)") == "opened 1")
    }

    @Test func `a program that was started by the store's does not keep the store from others`() async throws {
        let (first, second) = (try StoreProcess(), try StoreProcess())
        #expect(try await first.run("open \(path)") == "opened 0")
        let answer = try await first.run("start")
        let started = try #require(Int32(answer.dropFirst("started ".count)))
        defer { kill(started, SIGKILL) }
        #expect(try await first.run("save 1") == "saved")
        first.kill()
        #expect(kill(started, 0) == 0)
        #expect(try await second.run("open \(path)") == "opened 1")
    }

    @Test func `a program that opens and closes while it starts others is never refused its own store`() async throws {
        let starter = Starter()
        defer { starter.isDone.store(true, ordering: .sequentiallyConsistent) }
        DispatchQueue.global().async {
            while !starter.isDone.load(ordering: .sequentiallyConsistent) { try? StoreProcess.run("/bin/true") }
        }
        for round in 0..<15 {
            let coordinator = try await Coordinator(for: Team.self, Person.self, at: path)
            #expect(coordinator.snapshot.count(of: Team.self) == round)
            try await Context(coordinator).transaction { _ = $0.insert(Team(name: "\(round)")) }
            try await coordinator.close()
        }
    }
}
