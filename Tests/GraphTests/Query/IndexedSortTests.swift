import Testing

@testable import Graph

/// Fetches whose order an index has give what a sort of all rows gives, and look at fewer.
struct IndexedSortTests {
    /// A predicate, an order and what of the result is wanted.
    struct Question: Sendable {
        let criteria: [RankCriterion]
        let matches: @Sendable (Ranked) -> Bool
        let offset: Int
        let limit: Int?

        init(_ random: inout SeededGenerator) {
            criteria = RankCriterion.random(&random)
            let plain = Int.random(in: -2...2, using: &random)
            let predicates: [@Sendable (Ranked) -> Bool] = [
                { _ in true }, { $0.isShown }, { !$0.isShown }, { $0.plain == plain }, { $0.code == nil },
                { $0.serial % 40 == 7 }, { _ in false },
            ]
            matches = predicates.randomElement(using: &random)!
            offset = [0, 0, 1, 7, 60, 1_000].randomElement(using: &random)!
            limit = [nil, 0, 1, 2, 10, 100, 1_000, .max].randomElement(using: &random)!
        }

        var orderings: [Ordering<Ranked>] { criteria.map(\.ordering) }

        var text: String { "\(criteria), offset \(offset), limit \(limit ?? -1)" }

        /// The identifiers that a stable sort gives.
        func answer(_ rows: [(id: Ranked.ID, value: Ranked)]) -> [Ranked.ID] {
            let sorted = RankCriterion.sort(rows.filter { matches($0.value) }, by: criteria)
            return sorted.dropFirst(offset).prefix(limit ?? .max).map(\.id)
        }
    }

    private static func rows(_ snapshot: Snapshot) throws -> [(id: Ranked.ID, value: Ranked)] {
        Array(zip(try snapshot.fetchIDs(Ranked.self), try snapshot.fetchValues(Ranked.self))).map {
            (id: $0, value: $1)
        }
    }

    private static func snapshot(_ values: [Ranked]) throws -> WorkingState {
        var work = WorkingState(base: Snapshot(schema: try Schema([EntityDescription(Ranked.self)])))
        for (number, value) in values.enumerated() { work.insert(RowNumber(number) * 3 + 1, value) }
        return work
    }

    @Test(arguments: [1, 10, 300])
    func `an index in one direction serves no sort in two, and none that ignores case`(limit: Int) throws {
        var random = SeededGenerator(seed: 3)
        let snapshot = try Self.snapshot((0..<700).map { Ranked.random($0, &random) }).snapshot
        let rows = try Self.rows(snapshot)
        func criterion(_ name: String, descending: Bool = false) throws -> RankCriterion {
            try #require(RankCriterion.all.first { $0.name == name && $0.isDescending == descending })
        }
        let sorts = [
            [try criterion("plain"), try criterion("text", descending: true)],
            [try criterion("plain", descending: true), try criterion("text")],
            [try criterion("color"), try criterion("plain", descending: true)],
            [try criterion("text, ignoring case")], [try criterion("code, ignoring case", descending: true)],
        ]
        for criteria in sorts {
            let expected = RankCriterion.sort(rows, by: criteria).prefix(limit).map(\.id)
            let fetch = FetchDescriptor<Ranked>(sortBy: criteria.map(\.ordering), fetchLimit: limit)
            #expect(try snapshot.fetchIDs(fetch) == expected, "\(criteria)")
        }
    }

    @Test(arguments: Sweep.seeds(0..<25))
    func `a snapshot gives what a stable sort gives, and asks about no row twice`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let count = [0, 1, 63, 64, 200, 700].randomElement(using: &random)!
        var work = try Self.snapshot((0..<count).map { Ranked.random($0, &random) })
        for row in work.rows(of: Ranked.self) {
            switch Int.random(in: 0..<8, using: &random) {
            case 0: work.delete(Ranked.self, row)
            case 1: work.change(Ranked.self, row) { $0 = .random($0.serial, &random) }
            default: break
            }
        }
        let rows = try Self.rows(work.snapshot)
        for _ in 0..<40 {
            let question = Question(&random)
            var asked: [Int] = []
            let ids = try work.snapshot.fetchIDs(
                where: {
                    asked.append($0.serial)
                    return question.matches($0)
                }, sortedBy: question.orderings, offset: question.offset, limit: question.limit)
            #expect(ids == question.answer(rows), "\(question.text)")
            #expect(Set(asked).count == asked.count, "\(question.text)")
            let values = try work.snapshot.fetchValues(
                where: question.matches, sortedBy: question.orderings, offset: question.offset, limit: question.limit)
            #expect(values.map(\.serial) == ids.compactMap { work.snapshot.value(for: $0)?.serial }, "\(question.text)")
        }
    }

    @Test(arguments: Sweep.seeds(0..<10))
    func `a context finds its unsaved changes at their places`(seed: UInt64) async throws {
        let coordinator = try await Coordinator(for: Ranked.self)
        let context = Context(coordinator)
        try await context.transaction { context in
            var random = SeededGenerator(seed: seed)
            context.insert(contentsOf: (0..<300).map { Ranked.random($0, &random) })
        }
        try await context.perform { context in
            var random = SeededGenerator(seed: seed + 100)
            for _ in 0..<4 {
                for object in try context.fetch(Ranked.self) {
                    switch Int.random(in: 0..<12, using: &random) {
                    case 0: object.delete()
                    case 1:
                        let other = Ranked.random(object.serial, &random)
                        (object.text, object.color, object.plain) = (other.text, other.color, other.plain)
                    case 2: object.number = .random(in: -2...2, using: &random)
                    default: break
                    }
                }
                let serial = (try context.fetchValues(Ranked.self).map(\.serial).max() ?? 0) + 1
                for number in 0..<20 { context.insert(Ranked.random(serial + number, &random)) }
                let ids = try context.fetchIDs(Ranked.self)
                let rows = zip(ids, try context.fetchValues(Ranked.self)).map { (id: $0, value: $1) }
                let base = try Self.rows(coordinator.snapshot)
                for _ in 0..<15 {
                    let question = Question(&random)
                    let (order, offset, limit) = (question.orderings, question.offset, question.limit)
                    let objects = try context.fetch(
                        where: question.matches, sortedBy: order, offset: offset, limit: limit)
                    #expect(objects.map(\.id) == question.answer(rows), "\(question.text)")
                    let found = try context.fetchIDs(
                        where: question.matches, sortedBy: order, offset: offset, limit: limit)
                    #expect(found == objects.map(\.id))
                    let committed = try context.fetchIDs(
                        where: question.matches, sortedBy: order, offset: offset, limit: limit,
                        includesPendingChanges: false)
                    #expect(committed == question.answer(base), "\(question.text)")
                }
            }
        }
        try await context.save()
        var random = SeededGenerator(seed: seed + 200)
        let rows = try Self.rows(coordinator.snapshot)
        for _ in 0..<30 {
            let question = Question(&random)
            let ids = try coordinator.snapshot.fetchIDs(
                where: question.matches, sortedBy: question.orderings, offset: question.offset, limit: question.limit)
            #expect(ids == question.answer(rows), "\(question.text)")
        }
    }

    @Test(arguments: Sweep.seeds(0..<15))
    func `without a predicate a page is the same part of a stable sort, wherever it begins`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let count = [0, 1, 63, 64, 200, 700, 2_000].randomElement(using: &random)!
        let work = try Self.snapshot((0..<count).map { Ranked.random($0, &random) })
        let rows = try Self.rows(work.snapshot)
        for _ in 0..<30 {
            let criteria = RankCriterion.random(&random)
            let sorted = RankCriterion.sort(rows, by: criteria).map(\.id)
            for offset in [0, 1, count / 2, max(0, count - 1), count, Int.random(in: 0...count, using: &random)] {
                let limit = [nil, 1, 20, 300].randomElement(using: &random)!
                let ids = try work.snapshot.fetchIDs(
                    sortedBy: criteria.map(\.ordering), offset: offset, limit: limit)
                #expect(
                    ids == Array(sorted.dropFirst(offset).prefix(limit ?? .max)),
                    "\(count) rows by \(criteria), offset \(offset), limit \(limit ?? -1)")
            }
        }
    }

    // MARK: How many rows are looked at

    /// 6,400 rows, made once: they take longer than what the tests do with them.
    private static let large: Result<Snapshot, any Error> = Result {
        var random = SeededGenerator(seed: 1)
        return try snapshot((0..<6_400).map { Ranked.random($0, &random) }).snapshot
    }

    @Test(arguments: [0, 1, 100, 6_000, 6_399])
    func `an offset along an index is counted, and rows that are left out are not visited`(offset: Int) throws {
        let snapshot = try Self.large.get()
        let (entity, rows) = (snapshot.schema.entities[0], snapshot.entities[0])
        func skipped(_ orderings: [Ordering<Ranked>]) throws -> Int? {
            let order = try RowOrder(orderings, in: snapshot)
            return IndexWalk(order, of: entity, in: rows, capacity: 20, skippingAtMost: offset)?.skipped
        }
        #expect(try skipped([.ascending(\.serial)]) == offset && skipped([.descending(\.serial)]) == offset)
        #expect(try skipped([.ascending(\.day)]) == offset && skipped([.descending(\.day)]) == offset)
        // Rows that are the same at the beginning have to be sorted before any of them is left out.
        #expect(try skipped([.descending(\.serial), .ascending(\.plain)]) == offset)
        let plain = try snapshot.fetchValues(Ranked.self).map(\.plain).sorted()
        let group = try #require(plain.firstIndex(of: plain[offset]))
        #expect(try skipped([.ascending(\.plain)]) == group)
    }

    /// How many of 6,400 rows a predicate is asked about.
    private static func visits(
        _ orderings: [Ordering<Ranked>], limit: Int?, where isMatch: (Ranked) throws -> Bool = { _ in true }
    ) throws -> Int {
        let snapshot = try large.get()
        var visits = 0
        _ = try snapshot.fetchIDs(
            where: {
                visits += 1
                return try isMatch($0)
            }, sortedBy: orderings, limit: limit)
        return visits
    }

    @Test(arguments: [
        [Ordering<Ranked>.ascending(\.number)], [.descending(\.number)], [.descending(\.text)], [.descending(\.color)],
        [.descending(\.serial)], [.ascending(\.code)], [.ascending(\.plain), .ascending(\.text)],
        [.descending(\.text), .descending(\.number), .descending(\.day)],
    ])
    func `no row is looked at beyond the last that is wanted`(orderings: [Ordering<Ranked>]) throws {
        #expect(try Self.visits(orderings, limit: 1) == 1)
        #expect(try Self.visits(orderings, limit: 30) == 30)
        #expect(try Self.visits(orderings, limit: 3_000) == 3_000)
        #expect(try Self.visits([.ascending(\.serial)], limit: 10) { !$0.serial.isMultiple(of: 3) } == 15)
    }

    @Test func `rows that are the same at the beginning are sorted among themselves alone`() throws {
        #expect(try Self.visits([.descending(\.serial), .ascending(\.plain)], limit: 7) == 7)
        #expect(try Self.visits([.ascending(\.serial), .descending(\.number), .ascending(\.plain)], limit: 7) == 7)
        // Every fifth row has the least value: too many to be sorted for the sake of one.
        #expect(try Self.visits([.ascending(\.plain)], limit: 1) == 6_400)
    }

    @Test func `a walk that finds too little goes over to a scan`() throws {
        #expect(try Self.visits([.ascending(\.serial)], limit: 1) { $0.serial == 99 } == 100)
        #expect(try Self.visits([.ascending(\.serial)], limit: 1) { $0.serial == 100 } == 6_400)
        #expect(try Self.visits([.ascending(\.serial)], limit: 2) { [50, 102].contains($0.serial) } == 103)
        #expect(try Self.visits([.descending(\.day)], limit: nil) { _ in false } == 6_400)
        #expect(try Self.visits([.descending(\.day)], limit: nil) == 6_400)
    }

    @Test func `what the predicate throws comes through, wherever the walk is`() throws {
        struct Stop: Error {}
        for last in [0, 70, 150] {
            var asked: [Int] = []
            #expect(throws: Stop.self) {
                try Self.visits([.ascending(\.serial)], limit: 10) { row in
                    asked.append(row.serial)
                    if row.serial == last { throw Stop() }
                    return false
                }
            }
            #expect(asked == Array(0...last))
        }
    }

    // MARK: Serializable transactions

    @Test(arguments: 0..<3)
    func `a serializable transaction has read every row, however few it looked at`(form: Int) async throws {
        let coordinator = try await Coordinator(for: Ranked.self)
        try await Context(coordinator).transaction { context in
            var random = SeededGenerator(seed: 3)
            context.insert(contentsOf: (0..<200).map { Ranked.random($0, &random) })
        }
        let error = await #expect(throws: GraphError.self) {
            try await coordinator.transaction(isolation: .serializable, retries: 0) { context in
                let order = [Ordering<Ranked>.ascending(\.serial)]
                switch form {
                case 0: #expect(try context.first(sortedBy: order)?.serial == 0)
                case 1: #expect(try context.fetchIDs(sortedBy: order, limit: 1).count == 1)
                default: #expect(try context.fetchValues(sortedBy: order, limit: 1).map(\.serial) == [0])
                }
                try await Context(coordinator).transaction { other in
                    try #require(try other.first(Ranked.self) { $0.serial == 150 }).plain += 1
                }
                var random = SeededGenerator(seed: 4)
                context.insert(Ranked.random(1_000, &random))
            }
        }
        guard case .retriesExhausted? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }
}
