import Testing

@testable import Graph

/// A group that cannot be deleted while it has people.
@Entity struct Crew {
    @Unique var name: String
    @Relationship(.deny, inverse: \Hand.crew) var hands: ToMany<Hand> = []
}

@Entity struct Hand {
    @Unique var number: Int? = nil
    var note = ""
    var crew: ToOne<Crew> = nil
    @Relationship(.deny, inverse: \Tool.hands) var tools: ToMany<Tool> = []

    func validate() throws {
        if note == "wrong" { throw ValidationError(\Self.note, String(repeating: "no ", count: 1_000)) }
    }
}

@Entity struct Tool {
    var name = ""
    var hands: ToMany<Hand> = []
}

/// R41: an error lists the first 10,000 offenders of a save, counts all, and prints the first ten.
struct ErrorListTests {
    let coordinator: Coordinator
    let context: Context

    init() async throws {
        coordinator = try await Coordinator(for: Crew.self, Hand.self, Tool.self)
        context = Context(coordinator)
    }

    private func refusal(_ body: @Sendable (isolated Context) throws -> Void) async throws -> GraphError {
        try await context.perform(body)
        return try #require(await #expect(throws: GraphError.self) { try await context.save() })
    }

    @Test func `R41 thousands of new objects with one value are refused in one short message`() async throws {
        let error = try await refusal { context in
            context.insert(contentsOf: (0..<12_000).map { _ in Crew(name: String(repeating: "x", count: 300)) })
        }
        guard case .notUnique(let violations) = error else { throw error }
        #expect(violations.count == 10_000 && violations.totalCount == 12_000)
        #expect(error.description.utf8.count < 3_000 && error.description.contains("12000 violations"))
        #expect(error.description.contains("\n  and 11990 more\n  Nothing was changed"))
        #expect(violations[0].value.utf8.count < 150)
    }

    @Test(.bug(id: "a report for each", "a save made reports of all conflicts, and then threw most away"))
    func `R41 conflicts past the limit are counted, and nothing is made of them`() async throws {
        struct Refused: Error, CustomStringConvertible {
            static let count = Counter()
            var description: String { "\(Self.count.next())" }
        }
        let count = 10_050
        let ids = try await context.transaction { context in
            context.insert(contentsOf: (0..<count).map { Hand(number: $0) })
        }
        try await coordinator.transaction { context in for id in ids { context[id]?.note = "theirs" } }
        await context.perform { context in for id in ids { context[id]?.note = "ours" } }
        let policy = MergePolicy.custom(.entity(Hand.self) { _, _, _ in throw Refused() })
        let error = try #require(
            await #expect(throws: GraphError.self) { try await context.save(mergePolicy: policy) })
        guard case .conflicts(let conflicts) = error else { throw error }
        #expect(conflicts.count == 10_000 && conflicts.totalCount == count)
        #expect(Refused.count.value == 10_000 && conflicts[0].reason == "1")
    }

    @Test(arguments: [UniquenessPolicy.upsert, .replace, .keepExisting])
    func `R10 thousands of new objects with one value become one`(policy: UniquenessPolicy) async throws {
        let count = 3_000
        func check<E: NumberedEntity>(_ type: E.Type) async throws {
            let coordinator = try await Coordinator(for: E.self)
            let context = Context(coordinator)
            try await context.transaction { context in
                context.insert(contentsOf: (1...count).map { E(key: "same", number: $0) })
            }
            let numbers = try coordinator.snapshot.fetchValues(E.self).map(\.number)
            #expect(numbers == [policy == .keepExisting ? 1 : count])
            // And again, on one that is in the store.
            try await context.transaction { context in
                context.insert(contentsOf: (1...count).map { E(key: "same", number: -$0) })
            }
            let again = try coordinator.snapshot.fetchValues(E.self).map(\.number)
            #expect(again == [policy == .keepExisting ? 1 : -count] && coordinator.check() == [])
        }
        switch policy {
        case .upsert: try await check(Upserted.self)
        case .replace: try await check(Replaced.self)
        case .keepExisting: try await check(KeptAsItIs.self)
        case .reject: break
        }
    }

    @Test(
        .bug(id: "rivals of rivals", "n new rows with one value were compared each with all others"),
        arguments: [UniquenessPolicy.reject, .upsert, .replace, .keepExisting])
    func `R10 as many rows are visited for one value as were written, up to a factor`(policy: UniquenessPolicy) throws {
        func visitedCount<E: NumberedEntity>(_ type: E.Type, _ count: Int) throws -> Int {
            var work = WorkingState(base: Snapshot(schema: try Schema([EntityDescription(type)])))
            for row in 1...count { work.insert(RowNumber(row), E(key: "same", number: row)) }
            guard policy == .reject else { return try work.resolveUniqueness().visitedCount }
            var resolution = UniquenessResolution()
            resolution.open = Set((1...count).map { RowID(entity: 0, row: RowNumber($0)) })
            #expect(resolution.rowsSharingValues(in: work).first?.rows.count == count)
            return resolution.visitedCount
        }
        let counts = try [200, 1_600].map { count in
            switch policy {
            case .reject: try visitedCount(Rejected.self, count)
            case .upsert: try visitedCount(Upserted.self, count)
            case .replace: try visitedCount(Replaced.self, count)
            case .keepExisting: try visitedCount(KeptAsItIs.self, count)
            }
        }
        #expect(counts[0] > 0 && counts[1] < 10 * 1_600 && counts[1] < 10 * counts[0], "\(counts)")
    }

    @Test func `R41 one denied delete names its relationship once, with the first ten in the way and their number`()
        async throws
    {
        let ids = try await context.transaction { context in
            let crew = context.insert(Crew(name: "a"))
            for _ in 0..<500 { context.insert(Hand(crew: ToOne(crew.id))) }
            return (crew.id, context.insert(Crew(name: "b")).id)
        }
        let error = try await refusal { context in
            try context.object(for: ids.0).delete()
            try context.object(for: ids.1).delete()
        }
        guard case .deleteDenied(let denied) = error else { throw error }
        #expect(denied.count == 1 && denied.totalCount == 1)
        #expect(denied.first?.remainingCount == 500 && denied.first?.remaining.count == 10)
        #expect(denied.first?.remaining.map(\.description).suffix(1) == ["Hand/p10"])
        #expect(
            error.description == """
                objects may not be deleted: 1 delete
                  Crew/p1 may not be deleted while Crew.hands leads to Hand/p1, Hand/p2, Hand/p3, Hand/p4, Hand/p5, \
                Hand/p6, Hand/p7, Hand/p8, Hand/p9, Hand/p10 and 490 more
                  Nothing was saved: delete or move the related objects first, or discard these deletes.
                """)
    }

    @Test func `R41 links deny a delete once, too`() async throws {
        let hand = try await context.transaction { context in
            let hand = context.insert(Hand())
            hand.tools = RelatedObjects((0..<25).map { context.insert(Tool(name: "\($0)")) })
            return hand.id
        }
        let error = try await refusal { try $0.object(for: hand).delete() }
        guard case .deleteDenied(let denied) = error else { throw error }
        #expect(denied.map(\.remainingCount) == [25] && denied.first?.remaining.count == 10)
        #expect(denied.first?.relationship == "Hand.tools")
    }

    @Test func `R41 all failures are counted, and their reasons cut in the message`() async throws {
        let error = try await refusal { context in
            context.insert(contentsOf: (0..<10_500).map { _ in Hand(note: "wrong") })
        }
        guard case .validationFailed(let failures) = error else { throw error }
        #expect(failures.count == 10_000 && failures.totalCount == 10_500)
        #expect(failures[0].reason.utf8.count == 3_000)
        #expect(error.description.utf8.count < 4_000 && error.description.contains("10500 failures"))
    }

    @Test func `R41 conflicts print the beginning of long values, and keep the whole`() async throws {
        let ids = try await context.transaction { context in
            context.insert(contentsOf: (0..<50).map { Hand(number: $0) })
        }
        let other = Context(coordinator)
        let long = String(repeating: "\u{e9}", count: 20_000)
        try await other.perform { context in for id in ids { try context.object(for: id).note = long } }
        try await context.perform { context in for id in ids { try context.object(for: id).note = "short" } }
        try await context.save()
        let error = try #require(await #expect(throws: GraphError.self) { try await other.save() })
        guard case .conflicts(let conflicts) = error else { throw error }
        #expect(conflicts.count == 50 && error.description.utf8.count < 5_000)
        #expect(conflicts[0].rows(of: Hand.self)?.ours?.note == long)
        #expect(conflicts[0].differences.map(\.theirs) == ["\"short\""])
        #expect(conflicts[0].differences[0].ours.hasSuffix("… (40002 bytes)"))
        #expect(conflicts[0].differences[0].ours.utf8.count < 150)
    }

    @Test func `R41 a text is cut between scalars`() {
        #expect("abc".shortened(to: 3) == "abc" && "abcd".shortened(to: 3) == "abc… (4 bytes)")
        #expect("a\u{e9}\u{e9}".shortened(to: 4) == "a\u{e9}… (5 bytes)")
        #expect("\u{1F600}".shortened(to: 2) == "… (4 bytes)")
    }

    @Test func `R41 a list of errors holds the first 10,000 and counts all`() {
        var list = ErrorList<Int>()
        var made = 0
        func make(_ number: Int) -> Int {
            made += 1
            return number
        }
        for number in 0..<25_000 { list.append(make(number)) }
        #expect(Array(list) == Array(0..<10_000) && list.totalCount == 25_000 && made == 10_000)
        var other = ErrorList(Array(0..<9_999))
        other += list
        #expect(other.count == 10_000 && other.totalCount == 34_999 && other[9_999] == 0)
        #expect(list.description.split(separator: "\n").count == 11)
    }
}

protocol NumberedEntity: Entity {
    init(key: String, number: Int)
    var number: Int { get }
}

@Entity struct Rejected: NumberedEntity {
    @Unique var key: String
    var number: Int
}

@Entity struct Upserted: NumberedEntity {
    @Unique(onConflict: .upsert) var key: String
    var number: Int
}

@Entity struct Replaced: NumberedEntity {
    @Unique(onConflict: .replace) var key: String
    var number: Int
}

@Entity struct KeptAsItIs: NumberedEntity {
    @Unique(onConflict: .keepExisting) var key: String
    var number: Int
}
