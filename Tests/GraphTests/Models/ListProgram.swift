import Foundation

@testable import Graph

/// Lists of many objects on the main actor, which are edited there, merged with what others commit, and scrolled. No line may be
/// stale: what a list shows and was not told of is what a fresh fetch returns. And nothing may leak: the context has the objects
/// that the lists show, and memory stays what it was.
@MainActor final class ListProgram {
    private let coordinator: Coordinator
    private var context: Context
    private let others: [Context]
    private let songs: Int
    private var random: SeededGenerator
    private var lists: [ShownList] = []
    private(set) var rounds = 0
    private(set) var edits = 0
    /// The most objects that the context had at the end of a round.
    private var mostObjects = 0
    private var drawings = 0

    private static let height = 30

    init(seed: UInt64, songs: Int) async throws {
        coordinator = try await Coordinator(for: Music.Album.self, Music.Song.self)
        self.songs = songs
        random = SeededGenerator(seed: seed)
        let first = random.next()
        try await coordinator.transaction { $0.insertMusic(songs, first) }
        context = Context(coordinator, mergePolicy: .mergeByPropertyObjectTrump, executor: .main)
        others = (0..<2).map { [coordinator] _ in Context(coordinator, mergePolicy: .mergeByPropertyObjectTrump) }
        context.sync {
            $0.automaticallyMergesChanges = true
            $0.undoLimit = 20
        }
        try makeLists()
    }

    private func makeLists() throws {
        let plays = 50
        func list(_ fetch: FetchDescriptor<Music.Song>) throws {
            lists.append(
                ShownList(try context.sync { try $0.results(fetch) }, context, height: Self.height))
        }
        try list(FetchDescriptor(sortBy: [.ascending(\.title)]))
        try list(FetchDescriptor(predicate: #Predicate { $0.plays > plays }, sortBy: [.descending(\.title)]))
        try list(FetchDescriptor(sortBy: [.descending(\.year), .ascending(\.title)], fetchLimit: 200, fetchOffset: 50))
        try list(
            FetchDescriptor(predicate: #Predicate { $0.year >= 1980 && $0.year < 1990 }, sortBy: [.ascending(\.year)]))
        try list(
            FetchDescriptor(
                predicate: #Predicate { $0.album.isLoved == true }, sortBy: [.ascending(\.title)], fetchLimit: 500))
        let byYear = try context.sync {
            try $0.results(FetchDescriptor<Music.Song>(sortBy: [.ascending(\.title)]), sectionedBy: \.year)
        }
        lists.append(ShownList(byYear, context, height: Self.height))
        for list in lists { list.draw() }
    }

    // MARK: Running

    /// - Throws: if a line is stale, or something leaks.
    func run(for duration: Duration) async throws {
        let (clock, start) = (ContinuousClock(), ContinuousClock.now)
        var before: Int?
        while clock.now - start < duration {
            try await round()
            if before == nil, clock.now - start > duration / 4 { before = Self.residentBytes }
        }
        if let before, let after = Self.residentBytes {
            try demand(after < before + before / 2 + 64 << 20) { "memory has grown from \(before) to \(after) bytes" }
        }
        try await end()
    }

    func run(rounds: Int) async throws {
        for _ in 0..<rounds { try await round() }
        try await end()
    }

    /// What was told, drawn and merged, for the campaign.
    var summary: String {
        "\(rounds) rounds, \(edits) edits, \(drawings) drawings because of changes, "
            + "\(coordinator.snapshot.commit) commits, at most \(mostObjects) objects"
    }

    private func round() async throws {
        rounds += 1
        let foreign = beginForeignCommits()
        for _ in 0..<Int.random(in: 1...8, using: &random) {
            scroll()
            try await edit()
            try check()
            await Task.yield()
            try check()
        }
        for task in foreign { await task.value }
        await merge()
        try check(all: true)
        if rounds % 16 == 0 { for list in lists { try list.checkAll() } }
        let (count, tracked) = context.sync { ($0.registry.count, $0.state.trackedResults.count) }
        try demand(tracked <= lists.count) { "\(tracked) results are tracked for \(lists.count) lists" }
        mostObjects = max(mostObjects, count)
        // What nobody holds goes by and by; the registry looks at all of them when there are 2,048.
        try demand(count < 4_096) { "\(count) objects are in memory for \(lists.count * Self.height) lines" }
    }

    private func check(all: Bool = false) throws {
        // A fetch by a predicate of what a list shows far down looks at all before that.
        for list in lists where all || list.results.descriptor.predicate == nil || random.chance(4) {
            try list.check()
        }
    }

    private func scroll() {
        for list in lists where random.chance(3) {
            switch Int.random(in: 0..<4, using: &random) {
            case 0: list.scroll(to: Int.random(in: 0...max(list.count, 1), using: &random))
            case 1: list.scroll(to: max(0, list.first - Int.random(in: 1...40, using: &random)))
            default: list.scroll(to: list.first + Int.random(in: 1...40, using: &random))
            }
        }
    }

    private var shown: [Music.Song.ID] { lists.flatMap { $0.lines.map(\.id) } }

    /// Something that the program does on the main actor.
    private func edit() async throws {
        let (seed, changes, shown, songs) = (random.next(), Int.random(in: 1...6, using: &random), shown, songs)
        edits += 1
        switch Int.random(in: 0..<16, using: &random) {
        case 0..<5: try context.sync { try $0.changeMusic(seed, changes: changes, shown: shown, about: songs) }
        case 5, 6:
            // As a view does, without a turn.
            lists.randomElement(using: &random)?.objects.randomElement(using: &random)?.plays += 1
        case 7:
            lists.randomElement(using: &random)?.objects.randomElement(using: &random)?.delete()
        case 8: context.sync { _ = $0.undo() }
        case 9: context.sync { _ = $0.redo() }
        case 10: context.sync { $0.rollback() }
        case 11: await context.refresh()
        case 12:
            try? await context.transaction { context in
                try context.changeMusic(seed, changes: changes, shown: shown, about: songs)
            }
        default: try? await context.save()
        }
    }

    /// Commits by others, which go on while the list is edited.
    private func beginForeignCommits() -> [Task<Void, Never>] {
        others.map { other in
            let (seed, shown, songs) = (random.next(), shown, songs)
            let commits = Int.random(in: 0...3, using: &random)
            let changes = random.chance(8) ? 400 : Int.random(in: 1...20, using: &random)
            return Task.detached {
                for commit in 0..<commits {
                    await other.refresh()
                    try? await other.transaction { context in
                        try context.changeMusic(seed &+ UInt64(commit), changes: changes, shown: shown, about: songs)
                    }
                    await other.rollback()
                }
            }
        }
    }

    /// Waits until the context has taken over all commits.
    private func merge() async {
        let newest = coordinator.snapshot.commit
        while context.sync({ $0.state.base.commit }) < newest { await Task.yield() }
    }

    // MARK: Leaks

    /// The context has the objects that the lists hold, and none when they hold none; and it goes when nobody holds it.
    private func end() async throws {
        context.sync { $0.rollback() }
        await merge()
        for list in lists {
            try list.check()
            try list.checkAll()
        }
        try demandObjects(Set(shown).count)
        for list in lists { list.scroll(to: list.first + Self.height) }
        try demandObjects(Set(shown).count)
        drawings = lists.reduce(0) { $0 + $1.tellings }
        for list in lists { list.clear() }
        try demandObjects(0)
        weak let result = lists.first?.results
        lists = []
        try demand(result == nil) { "a result outlives its list" }
        weak let old = context
        context = Context(coordinator, executor: .main)
        // Does not end if the context outlives its lists.
        while old != nil { await Task.yield() }
    }

    private func demandObjects(_ count: Int) throws {
        let found = context.sync { context in
            context.registry.removeUnheld()
            return context.registry.count
        }
        try demand(found == count) { "\(found) objects are in memory where \(count) are shown" }
    }

    /// The bytes of this process that are in main memory; nil where the system does not tell.
    private static var residentBytes: Int? {
        // VmRSS:     1234 kB (proc_pid_status(5))
        let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status?.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return line.flatMap { Int($0.filter(\.isNumber)) }.map { $0 * 1_024 }
    }
}
