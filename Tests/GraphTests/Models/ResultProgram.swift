@testable import Graph

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@Entity struct Bookcase {
    var name: String
    var floor = 0
    var label: String?
    @Relationship(.nullify, inverse: \Tome.bookcase) var tomes: ToMany<Tome> = []
}

@Entity struct Tome {
    var title: String?
    @Indexed var year = 0
    var pages = 0
    var bookcase: ToOne<Bookcase> = nil
    @Relationship(inverse: \Tome.prequels) var sequels: ToMany<Tome> = []
    var prequels: ToMany<Tome> = []
}

extension Tome {
    /// What a program computes through a reference.
    var isLow: Bool { bookcase.floor ?? 0 < 2 }
}

/// Random changes of a store by a context, one nested in it, and others; after each, live results of each kind are what a fetch
/// returns, and their updates, applied to the list before, lead there.
@MainActor struct ResultProgram {
    private let coordinator: Coordinator
    private let context: Context
    private let nested: Context
    private let other: Context
    private var random: SeededGenerator
    private var watched: [WatchedResults] = []
    private var commits: [ReplayedUpdates] = []

    /// What programs came to.
    struct Summary: Sendable {
        var failures: [String] = []
        /// After how many commits the lists were compared.
        var commits = 0
    }

    nonisolated static func run(_ seeds: Range<UInt64>) async -> Summary {
        await Seeds.each(seeds, into: Summary()) { seed, summary in
            guard summary.failures.count < 2 else { return }
            do { summary.commits += try await run(seed: seed) } catch {
                summary.failures.append(
                    "GRAPH_SEED=\(seed) GRAPH_PROGRAMS=1 swift test --filter ResultProgramTests\n\(error)")
            }
        } joining: {
            $0.failures += $1.failures
            $0.commits += $1.commits
        }
    }

    private static func run(seed: UInt64) async throws -> Int {
        var program = try await ResultProgram(seed: seed)
        return try await program.run()
    }

    private init(seed: UInt64) async throws {
        coordinator = try await Coordinator(for: Bookcase.self, Tome.self)
        context = Context(coordinator, executor: .main, isObservable: seed % 2 == 0)
        other = Context(coordinator)
        random = SeededGenerator(seed: seed)
        let first = random.next()
        try await context.transaction { $0.changeTomes(first, count: seed % 4 == 3 ? 0 : 60) }
        context.sync { $0.undoLimit = 10 }
        nested = await Context(parent: context, executor: .main, isObservable: seed % 3 == 0)
        for number in 0..<8 { watched.append(try WatchedResults(number < 5 ? context : nested, &random)) }
        for _ in 0..<3 {
            let definition = Self.definition(&random, in: coordinator.snapshot)
            commits.append(
                ReplayedUpdates(ResultUpdates(.commits(coordinator.published, definition), from: nil), [], []))
        }
    }

    /// After how many commits the lists were compared.
    ///
    /// Three of four lists follow each commit. The others may fall behind, so that an update leads over several commits.
    private mutating func run() async throws -> Int {
        var count = 0
        for step in 0..<60 {
            let before = coordinator.snapshot.commit
            try await change()
            let isCommit = coordinator.snapshot.commit != before
            if isCommit { count += 1 }
            do {
                for place in watched.indices {
                    try watched[place].check(&random, always: isCommit && place % 4 != 3)
                }
                for place in commits.indices where random.chance(2) || isCommit && place != 2 || step == 59 {
                    try commits[place].catchUp()
                    try commits[place].check(in: coordinator.snapshot)
                }
            } catch { throw StoreProgramRun.Mismatch(description: "step \(step): \(error)") }
        }
        return count
    }

    private mutating func change() async throws {
        let (seed, count) = (random.next(), random.chance(5) ? 40 : Int.random(in: 1...4, using: &random))
        switch Int.random(in: 0..<18, using: &random) {
        case 14: context.sync { $0.discardTomes(seed) }
        case 15: await nested.perform { $0.discardTomes(seed) }
        case 0..<4: await context.perform { $0.changeTomes(seed, count: count) }
        case 4: context.sync { $0.rollback() }
        case 5: context.sync { _ = $0.undo() }
        case 6: context.sync { _ = $0.redo() }
        case 16:
            await context.perform { $0.changeTomes(seed, count: count) }
            try? await context.save(mergePolicy: .mergeByPropertyObjectTrump)
        case 7, 8: try? await context.save(mergePolicy: .mergeByPropertyObjectTrump)
        case 9: try? await context.transaction { $0.changeTomes(seed, count: count) }
        case 10 where random.chance(3): await context.reset()
        case 10: await context.refresh()
        case 11: await nested.perform { $0.changeTomes(seed, count: count) }
        case 12 where random.chance(2): try? await nested.save(mergePolicy: .overwrite)
        case 12: await nested.refresh()
        default:
            await other.refresh()
            try? await other.transaction { $0.changeTomes(seed, count: count) }
        }
        if random.chance(10) {
            for place in watched.indices {
                let section = watched[place].results.definition.section
                watched[place].results.descriptor =
                    Self.definition(&random, in: coordinator.snapshot, sectionedBy: section).descriptor
            }
        }
    }

    // MARK: What is asked for

    static func definition(_ random: inout SeededGenerator, in snapshot: Snapshot) -> ResultDefinition<Tome> {
        let section = section(&random)
        return definition(&random, in: snapshot, sectionedBy: section)
    }

    private static func definition(
        _ random: inout SeededGenerator, in snapshot: Snapshot, sectionedBy section: Ordering<Tome>?
    ) -> ResultDefinition<Tome> {
        var descriptor = FetchDescriptor<Tome>(predicate: predicate(&random), sortBy: order(&random))
        if !random.chance(3) { descriptor.fetchLimit = Int.random(in: 0...12, using: &random) }
        if random.chance(2) { descriptor.fetchOffset = Int.random(in: 0...6, using: &random) }
        descriptor.includesPendingChanges = !random.chance(5)
        let spare = Int.random(in: 1...5, using: &random)
        if random.chance(4) {
            var fetch = ResultDefinition(descriptor, sectionedBy: section).fetch
            fetch.fetchLimit = Int.random(in: 1...20, using: &random)
            descriptor.after = (try? snapshot.fetchPage(fetch))?.next
        }
        return ResultDefinition(descriptor, sectionedBy: section, spare: spare)
    }

    private static func predicate(_ random: inout SeededGenerator) -> Predicate<Tome>? {
        let number = Int.random(in: 0..<8, using: &random)
        switch Int.random(in: 0..<10, using: &random) {
        case 8: return #Predicate { $0.sequels.count > 0 }
        case 9: return #Predicate { $0.prequels.contains { $0.year > number } || $0.pages == number }
        case 7: return #Predicate { $0.isLow && $0.year != number }
        case 0: return #Predicate { $0.year > number }
        case 1: return #Predicate { $0.pages != number && $0.title != nil }
        case 2: return #Predicate { $0.bookcase.floor == 1 }
        case 3: return #Predicate { $0.bookcase == nil }
        case 4: return #Predicate { $0.year == number || $0.bookcase.tomes.count > 3 }
        default: return nil
        }
    }

    private static func order(_ random: inout SeededGenerator) -> [Ordering<Tome>] {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: []
        case 8: [.ascending(\.bookcase, \.label, nils: .last), .descending(\.year)]
        case 9: [.through(\.bookcase, .descending(\.label, ignoringCase: true, nils: .first))]
        case 5: [.descending(\.bookcase, \.name), .ascending(\.year)]
        case 6: [.ascending(\.title, ignoringCase: true, nils: .last)]
        case 7: [.ascending(\.pages), .ascending(\.bookcase, \.floor, nils: .last)]
        case 1: [.ascending(\.year)]
        case 2: [.descending(\.title), .ascending(\.pages)]
        case 3: [.descending(\.year), .ascending(\.title)]
        default: [.ascending(\.title)]
        }
    }

    private static func section(_ random: inout SeededGenerator) -> Ordering<Tome>? {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: Ordering([\Tome.bookcase], isDescending: false, CallSite(#fileID, #line))
        case 1: .ascending(\.title)
        default: nil
        }
    }
}

extension Context {
    /// Random changes of tomes and bookcases, few of which have values of their own.
    func changeTomes(_ seed: UInt64, count: Int) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<count {
            let tomes = (try? fetch(Tome.self)) ?? []
            let bookcases = (try? fetch(Bookcase.self)) ?? []
            func title() -> String? { ["a", "b", "B", "c", nil].randomElement(using: &random)! }
            func number() -> Int { Int.random(in: 0..<8, using: &random) }
            let tome = tomes.randomElement(using: &random)
            switch Int.random(in: 0..<14, using: &random) {
            case 12: if let other = tomes.randomElement(using: &random) { tome?.sequels.insert(other) }
            case 13: tome?.prequels.removeAll()
            case 0, 1:
                insert(
                    Tome(
                        title: title(), year: number(), pages: number(),
                        bookcase: ToOne(bookcases.randomElement(using: &random)?.id)))
            case 2:
                if bookcases.count < 5 {
                    insert(
                        Bookcase(name: ["s", "t"].randomElement(using: &random)!, floor: number() % 3, label: title()))
                }
            case 3: if tomes.count > 20 { tome?.delete() }
            case 4: tome?.title = title()
            case 5: tome?.year = number()
            case 6, 7: tome?.pages = number()
            case 8, 9: tome?.bookcase = random.chance(4) ? nil : bookcases.randomElement(using: &random)
            case 10:
                let bookcase = bookcases.randomElement(using: &random)
                if random.chance(2) { bookcase?.floor = number() % 3 } else { bookcase?.label = title() }
            default: if random.chance(4) { bookcases.randomElement(using: &random)?.delete() }
            }
        }
    }
}

extension Context {
    /// Takes back what is unsaved of some tomes and bookcases, and some deletes.
    func discardTomes(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let ids = (insertedObjects + updatedObjects + deletedObjects).map(\.anyID)
        discard(ids.filter { _ in random.chance(2) })
    }
}

/// A context's result, and its updates applied one after another.
@MainActor private struct WatchedResults {
    let context: Context
    let results: FetchedResults<Tome>
    private var updates: ReplayedUpdates

    init(_ context: Context, _ random: inout SeededGenerator) throws {
        self.context = context
        let definition = ResultProgram.definition(&random, in: context.coordinator.snapshot)
        results = try context.sync { try $0.results(definition) }
        updates = ReplayedUpdates(results.updates, results.objects.ids, results.sections.map(\.count))
    }

    mutating func check(_ random: inout SeededGenerator, always: Bool) throws {
        if always || random.chance(2) {
            // Ends a turn: what a nested context has saved is told soon, and perhaps not yet.
            context.sync { _ in }
            try updates.catchUp()
            let isPending = results.descriptor.includesPendingChanges
            try updates.check(in: context.sync { isPending ? $0.state.flushed : $0.state.base })
        }
        guard always || random.chance(2) else { return }
        let fetch = results.definition.fetch
        let fresh = try context.sync { try $0.fetchIDs(fetch) }
        try demand(results.objects.ids == fresh) { "objects \(results.objects.ids) instead of \(fresh) for \(fetch)" }
        let objects = fresh.map { id in context.sync { $0[id] } }
        try demand(zip(results.objects, objects).allSatisfy { $1 == nil ? $0.isDeleted : $0 === $1 }) {
            "other objects"
        }
        let sections = results.sections
        guard updates.definition.section != nil else { return try demand(sections.isEmpty) { "sections" } }
        try demand(sections.flatMap { $0.map(\.id) } == fresh) { "sections" }
        try demand(Set(sections.map(\.id)).count == sections.count) { "a section twice" }
    }
}

/// A list that follows updates, as a collection view does.
private struct ReplayedUpdates {
    private var iterator: ResultUpdates<Tome>.Iterator
    private var ids: [Tome.ID]
    /// How many rows each section has.
    private var sections: [Int]
    private var values: ResultValues<Tome>?
    private let source: ResultSource<Tome>
    var definition: ResultDefinition<Tome> { source.newest.definition }

    init(_ updates: ResultUpdates<Tome>, _ ids: [Tome.ID], _ sections: [Int]) {
        (iterator, self.ids, self.sections, source) = (updates.makeAsyncIterator(), ids, sections, updates.source)
    }

    mutating func catchUp() throws {
        guard let update = try iterator.newestUpdate() else { return }
        let old = ids
        var list: [Tome.ID?] = ids
        let leaving = update.removed + update.moved.map(\.from)
        for index in leaving.sorted().reversed() { list.remove(at: index) }
        let entering = update.inserted.map { ($0, update.values[$0].id) } + update.moved.map { ($0.to, old[$0.from]) }
        for (index, id) in entering.sorted(by: { $0.0 < $1.0 }) { list.insert(id, at: index) }
        ids = list.compactMap { $0 }
        try demand(ids == update.values.map(\.id)) { "\(update) makes \(old) \(ids), not \(update.values.map(\.id))" }
        try demand(Set(leaving).count == leaving.count) { "\(update) removes a row twice" }
        let common = Set(old).intersection(ids)
        try demand(update.removed.allSatisfy { !common.contains(old[$0]) }) { "\(update): no move" }
        if let before = values {
            let changed = ids.indices.filter { index in
                before.first { $0.id == ids[index] }.map { !$0.value.isSame(as: update.values[index].value) } ?? false
            }
            try demand(changed == update.updated) { "\(update), where \(changed) are other values" }
        }
        values = update.values
        try replaySections(update)
    }

    private mutating func replaySections(_ update: ResultUpdate<Tome>) throws {
        var numbers: [Int?] = Array(sections.indices)
        for number in update.removedSections.reversed() { numbers.remove(at: number) }
        for number in update.insertedSections { numbers.insert(nil, at: number) }
        let after = update.sections.map(\.count)
        try demand(numbers.count == after.count) { "\(update): sections \(sections) to \(after)" }
        for (number, old) in numbers.enumerated() where !update.updatedSections.contains(number) {
            guard let old else { continue }
            try demand(sections[old] == after[number]) { "\(update): section \(number) has changed" }
        }
        sections = after
    }

    func check(in snapshot: Snapshot) throws {
        let fresh = try ResultRows(definition, in: snapshot)
        let expected = fresh.rows(in: 0..<fresh.count).map { Tome.ID(row: $0) }
        let fetch = definition.fetch
        try demand(expected == snapshot.fetchIDs(fetch)) { "a result that is no fetch: \(fetch)" }
        try demand(ids == expected) { "updates lead to \(ids) instead of \(expected)" }
        try demand(sections == fresh.sections.map(\.count)) { "sections of \(sections) rows" }
        guard let values else { return }
        let rows = try snapshot.fetchValues(fetch)
        try demand(zip(values, rows).allSatisfy { $0.value.isSame(as: $1) }) { "values of another state" }
    }
}

extension Tome {
    fileprivate func isSame(as other: Tome) -> Bool {
        title == other.title && year == other.year && pages == other.pages && bookcase == other.bookcase
    }
}
