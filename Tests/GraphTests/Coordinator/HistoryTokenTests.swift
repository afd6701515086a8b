import Foundation
import Testing

@testable import Graph

struct HistoryTokenTests {
    @Entity struct Stamp {
        var name = ""
    }

    private static func open(_ path: String?) async throws -> Coordinator {
        try await Coordinator(for: Team.self, Person.self, at: path, compaction: .manual)
    }

    /// Saves once for each name, and returns the tokens after each.
    private static func save(_ names: [String], to coordinator: Coordinator) async throws -> [HistoryToken] {
        let context = Context(coordinator)
        var tokens: [HistoryToken] = []
        for name in names {
            try await context.transaction { _ = $0.insert(Team(name: name)) }
            tokens.append(coordinator.snapshot.token)
        }
        return tokens
    }

    @Test func `a token outlives opening, compaction and copies`() async throws {
        let folder = try TemporaryFolder()
        let first = try await Self.open(folder.file())
        let tokens = try await Self.save(["a", "b", "c"], to: first)
        #expect(tokens.map(\.commit.number) == [1, 2, 3] && Set(tokens.map(\.fingerprint)).count == 3)
        try await first.close()

        let second = try await Self.open(folder.file())
        #expect(second.snapshot.token == tokens[2])
        try await second.compact()
        #expect(second.snapshot.token == tokens[2])
        try await second.copy(to: folder.file("copy.graph"))
        let later = try await Self.save(["d"], to: second)[0]
        try await second.close()

        let third = try await Self.open(folder.file())
        #expect(third.snapshot.token == later && later.commit.number == 4)
        try await third.close()
        let copy = try await Self.open(folder.file("copy.graph"))
        #expect(copy.snapshot.token == tokens[2])
        try await copy.close()
        let reader = try await Coordinator(for: Team.self, Person.self, at: folder.file(), readOnly: true)
        #expect(reader.snapshot.token == later)
        try await reader.close()
    }

    @Test func `a copy that goes on differently has other tokens of the same numbers, for good`() async throws {
        let folder = try TemporaryFolder()
        let first = try await Self.open(folder.file())
        _ = try await Self.save(["a"], to: first)
        try await first.copy(to: folder.file("copy.graph"))
        let here = try await Self.save(["b", "c"], to: first)
        try await first.close()
        let copy = try await Self.open(folder.file("copy.graph"))
        let there = try await Self.save(["b", "c"], to: copy)
        try await copy.compact()
        try await copy.close()
        let again = try await Self.open(folder.file("copy.graph"))
        #expect(again.snapshot.token == there[1])
        for (here, there) in zip(here, there) {
            #expect(here.commit == there.commit && here.store == there.store && here.fingerprint != there.fingerprint)
        }
        try await again.close()
    }

    @Test func `feeds, saves and snapshots have the same token`() async throws {
        let folder = try TemporaryFolder()
        for path in [nil, folder.file()] {
            let coordinator = try await Self.open(path)
            var feed = coordinator.commits.makeAsyncIterator()
            let context = Context(coordinator)
            var events = await context.events.makeAsyncIterator()
            try await context.transaction { _ = $0.insert(Team(name: "a")) }
            let token = coordinator.snapshot.token
            #expect(await feed.next()?.token == token && token.commit.number == 1)
            var saved: HistoryToken?
            while saved == nil, let event = await events.next() {
                if case .didSave(let save) = event { saved = save.token }
            }
            #expect(saved == token)
            try await coordinator.close()
        }
    }

    @Test func `stores in memory are different stores`() async throws {
        let (one, other) = (try await Self.open(nil), try await Self.open(nil))
        let tokens = (try await Self.save(["a"], to: one)[0], try await Self.save(["a"], to: other)[0])
        #expect(tokens.0 != tokens.1 && tokens.0.commit == tokens.1.commit && tokens.0.store != tokens.1.store)
    }

    @Test func `a compacted file from before fingerprints has a token that stays`() async throws {
        let store = GoldenStore.libraryTail
        let file = try store.copy()
        var tokens: Set<HistoryToken> = []
        for isCompacted in [false, false, true, false] {
            let coordinator = try await LibraryV1.open(file.file())
            tokens.insert(coordinator.snapshot.token)
            if isCompacted { try await coordinator.compact() }
            try await coordinator.close()
        }
        #expect(tokens.count == 1 && tokens.first?.fingerprint != 0)
    }

    @Test func `a migration is a commit of its own`() async throws {
        let folder = try TemporaryFolder()
        let first = try await Self.open(folder.file())
        let old = try await Self.save(["a"], to: first)[0]
        try await first.close()
        let second = try await Coordinator(for: Team.self, Person.self, Stamp.self, at: folder.file())
        let new = second.snapshot.token
        #expect(new.store == old.store && new.commit == old.commit.next && new.fingerprint != old.fingerprint)
        try await second.close()
        let third = try await Coordinator(for: Team.self, Person.self, Stamp.self, at: folder.file())
        #expect(third.snapshot.token == new)
        try await third.close()
    }

    @Test func `as text a token is the same token, and nothing else is one`() throws {
        let token = HistoryToken(
            commit: CommitNumber(12), store: StoreID(high: 0xF81D_4FAE_7DEC_41D0, low: 0xA765_00A0_C91E_6BF6),
            fingerprint: 0x00C4_F1E0_9A7D_3B52)
        let text = "f81d4fae-7dec-41d0-a765-00a0c91e6bf6/12/00c4f1e09a7d3b52"
        #expect("\(token)" == text && HistoryToken(text) == token)
        let data = try JSONEncoder().encode([token])
        #expect(try JSONDecoder().decode([HistoryToken].self, from: data) == [token])
        for other in [
            "", "/", "//", text + "/", text + "0", text.uppercased(), String(text.dropLast()), "x" + text.dropFirst(),
            text.replacing("/12/", with: "/012/"), text.replacing("/12/", with: "/+12/"),
            text.replacing("-", with: ""), text.replacing("/12/", with: "/18446744073709551616/"),
        ] {
            #expect(HistoryToken(other) == nil, "\(other)")
        }
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([HistoryToken].self, from: Data("[\"x\"]".utf8))
        }
    }

    @Test func `tokens are in the order of their commits`() {
        var (first, second) = (HistoryToken(), HistoryToken())
        (first.commit, second.commit) = (CommitNumber(2), CommitNumber(10))
        first.fingerprint = 5
        #expect(first < second && !(second < first) && !(first < first))
        second.commit = first.commit
        // Every two tokens that are not equal have an order.
        #expect((first < second) != (second < first) && first != second)
    }
}
