import Foundation
import Testing

@testable import Graph

/// Names of files are bytes.
struct StorePathTests {
    private static let composed = "caf\u{E9}"
    private static let decomposed = "cafe\u{301}"

    private func split(_ text: String) -> [String] {
        let (directory, name) = StorePath(text).split()
        return [directory.text, name.text]
    }

    @Test func `a path is split at its last slash, whatever follows it`() {
        #expect(split("a") == [".", "a"])
        #expect(split("/a") == ["/", "a"])
        #expect(split("/a/b") == ["/a", "b"])
        #expect(split("/a/") == ["/a", ""])
        // A slash before a combining mark is one character with it, and still a slash.
        #expect(split("/a/\u{301}b").map { Array($0.utf8) } == [Array("/a".utf8), Array("\u{301}b".utf8)])
        #expect(StorePath("/").appending(component: StorePath("a")) == StorePath("/a"))
        #expect(StorePath("/b").appending(component: StorePath("a")) == StorePath("/b/a"))
    }

    @Test func `names are the same only if their bytes are`() {
        #expect(Self.composed == Self.decomposed)
        #expect(StorePath(Self.composed) != StorePath(Self.decomposed))
        #expect(StorePath(Self.composed).suffix(after: StorePath("cafe")) == nil)
        #expect(StorePath("a.new-1").suffix(after: StorePath("a.new-")).map(Array.init) == [0x31])
        #expect(StorePath(bytes: [0xFF]).text == "\u{FFFD}")
        #expect(StorePath(bytes: [0xFF]) != StorePath("\u{FFFD}"))
    }

    @Test func `leftovers of a store whose name only looks the same are not touched`() throws {
        let disk = SimulatedDisk()
        let names = [Self.composed, Self.decomposed].map { "/data/" + $0 }
        for name in names { disk.setContents([1], at: "\(name).new-0123456789abcdef") }
        _ = try JournalFixture.open(disk, at: names[0])
        let leftovers = disk.names.filter { $0.contains(".new-") }.map { Array($0.utf8) }
        #expect(leftovers == [Array("\(names[1]).new-0123456789abcdef".utf8)])
        _ = try JournalFixture.open(disk, at: names[1])
        #expect(!disk.names.contains { $0.contains(".new-") })
        #expect(disk.names.count == 4)
    }

    @Test func `torn copies of a store whose name only looks the same are not removed`() throws {
        let disk = SimulatedDisk()
        let (path, other) = ("/data/" + Self.composed, "/data/" + Self.decomposed)
        for number in 1...3 { disk.setContents([1], at: "\(other).torn-\(number)") }
        disk.setContents(try JournalFixture.bytes(closed: false) + [1], at: path)
        _ = try JournalFixture.open(disk, at: path)
        #expect(disk.names.filter { $0.contains(".torn-") }.count == 4)
    }

    @Test func `a store whose name begins with a combining mark syncs its own folder`() throws {
        let disk = SimulatedDisk()
        _ = try JournalFixture.open(disk, at: "/data/\u{301}store")
        #expect(disk.trace.contains("syncDirectory /data"))
        #expect(disk.names.map { Array($0.utf8) }.contains(Array("/data/\u{301}store.lock".utf8)))
    }

    #if os(Linux)
        @Test func `a store in a folder whose name is no UTF-8 is found there and nowhere else`() async throws {
            let folder = try TemporaryFolder()
            let real = StorePath(folder.path).appending(component: StorePath(bytes: [0x61, 0xFF]))
            #expect(real.withCString { mkdir($0, 0o700) } == 0)
            let link = StorePath(folder.path).appending(component: StorePath("link"))
            #expect(real.withCString { real in link.withCString { symlink(real, $0) } } == 0)
            for count in 0..<2 {
                let coordinator = try await Coordinator(for: Team.self, Person.self, at: folder.file("link/store"))
                #expect(coordinator.snapshot.count(of: Team.self) == count)
                try await Context(coordinator).transaction { _ = $0.insert(Team(name: "a")) }
                try await coordinator.close()
            }
            let names = try PosixFileSystem().list(real)
            #expect(names.sorted() == [StorePath("store"), StorePath("store.lock")])
            for name in names { try PosixFileSystem().unlink(real.appending(component: name)) }
            #expect(real.withCString { rmdir($0) } == 0)
        }

        @Test func `stores whose names only look the same are two`() async throws {
            let folder = try TemporaryFolder()
            for name in [Self.composed, Self.decomposed] {
                let coordinator = try await Coordinator(for: Team.self, Person.self, at: folder.file(name))
                #expect(coordinator.snapshot.count(of: Team.self) == 0)
                try await Context(coordinator).transaction { _ = $0.insert(Team(name: "a")) }
                try await coordinator.close()
            }
            #expect(try PosixFileSystem().list(StorePath(folder.path)).count == 4)
        }
    #endif
}
