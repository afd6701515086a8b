import Testing

@testable import Graph

/// Imported again by its key; has one sheet, which is its own.
@Entity struct Record {
    @Unique(onConflict: .upsert) var key: String
    @Relationship(.cascade, inverse: \Sheet.record) var sheet: ToOne<Sheet> = nil
    @Relationship(inverse: \Tab.record) var label: ToOne<Tab> = nil
    @Relationship(.deny, inverse: \Seal.record) var seal: ToOne<Seal> = nil
}

/// Is nothing without its record.
@Entity struct Sheet {
    var number: Int
    @Unique(onConflict: .upsert) var code: String? = nil
    @Relationship(minimum: 1) var record: ToOne<Record> = nil
    @Relationship(.cascade, inverse: \Line.sheet) var lines: ToMany<Line> = []
}

@Entity struct Line {
    var text: String
    var sheet: ToOne<Sheet> = nil
}

@Entity struct Tab {
    var text: String
    var record: ToOne<Record> = nil
}

@Entity struct Seal {
    var number: Int
    var record: ToOne<Record> = nil
}

/// Both have keys.
@Entity private struct Cabinet {
    @Unique(onConflict: .upsert) var key: String
    @Relationship(.deny, inverse: \Padlock.cabinet) var lock: ToOne<Padlock> = nil
}

@Entity private struct Padlock {
    @Unique(onConflict: .upsert) var key: String
    var code: Int
    var cabinet: ToOne<Cabinet> = nil
}

/// Its first import counts.
@Entity struct Original {
    @Unique(onConflict: .keepExisting) var key: String
    @Relationship(.cascade, inverse: \Copy.original) var copy: ToOne<Copy> = nil
}

@Entity struct Copy {
    var number: Int
    @Relationship(minimum: 1) var original: ToOne<Original> = nil
}

/// R39: what a one-to-one relationship loses when a new object takes the place of another one.
struct DisplacedObjectTests {
    let coordinator: Coordinator
    let context: Context

    init() async throws {
        coordinator = try await Coordinator(
            for: Record.self, Sheet.self, Line.self, Tab.self, Seal.self, Original.self, Copy.self,
            checksEveryCommit: true)
        context = Context(coordinator)
    }

    private func denial(_ body: @Sendable (isolated Context) throws -> Void) async throws -> ErrorList<DeniedDelete> {
        do {
            try await context.transaction(body)
            return []
        } catch GraphError.deleteDenied(let denied) {
            return denied
        }
    }

    @Test func `R39 cascade: the displaced object is deleted, and what cascades from it`() async throws {
        for number in 1...3 {
            try await context.transaction { context in
                let record = context.insert(Record(key: "a"))
                let sheet = context.insert(Sheet(number: number))
                sheet.lines = [context.insert(Line(text: "\(number)"))]
                record.sheet = sheet
            }
        }
        let snapshot = coordinator.snapshot
        #expect(snapshot.count(of: Record.self) == 1)
        let record = try #require(try snapshot.fetchValues(Record.self).first)
        #expect(try snapshot.fetchValues(Sheet.self).map(\.number) == [3])
        #expect(record.sheet.id == (try snapshot.fetchIDs(Sheet.self)).first)
        #expect(try snapshot.fetchValues(Line.self).map(\.text) == ["3"])
    }

    @Test func `R39 cascade: objects of the displaced object say that they are deleted`() async throws {
        let old = try await context.transaction { context in
            let record = context.insert(Record(key: "a"))
            record.sheet = context.insert(Sheet(number: 1))
            return record.sheet?.id
        }
        try await context.transaction { context in
            let record = context.insert(Record(key: "a"))
            record.sheet = context.insert(Sheet(number: 2))
        }
        try await context.perform { context in
            #expect(context[try #require(old)] == nil)
            let record = try #require(try context.first(Record.self))
            #expect(record.sheet?.number == 2 && record.sheet?.record == record)
        }
    }

    @Test func `R39 cascade: a related object that was imported again keeps its identifier`() async throws {
        var sheets: [[Sheet.ID]] = []
        for number in 1...2 {
            try await context.transaction { context in
                let record = context.insert(Record(key: "a"))
                record.sheet = context.insert(Sheet(number: number, code: "x"))
            }
            sheets.append(try coordinator.snapshot.fetchIDs(Sheet.self))
        }
        #expect(sheets[0] == sheets[1])
        #expect(try coordinator.snapshot.fetchValues(Sheet.self).map(\.number) == [2])
        #expect(try coordinator.snapshot.fetchValues(Record.self).map(\.sheet.id) == sheets[0].map { $0 })
    }

    @Test func `R39 nullify: the displaced object stays without its reference`() async throws {
        for text in ["old", "new"] {
            try await context.transaction { context in
                let record = context.insert(Record(key: "a"))
                record.label = context.insert(Tab(text: text))
            }
        }
        let labels = try coordinator.snapshot.fetchValues(Tab.self)
        #expect(labels.map(\.text) == ["old", "new"] && labels.map { $0.record.id == nil } == [true, false])
    }

    @Test(arguments: [false, true]) func `R39 deny: two that have their keys stay together, whichever gives way first`(
        areLocksFirst: Bool
    ) async throws {
        let store =
            if areLocksFirst {
                try await Coordinator(for: Padlock.self, Cabinet.self, checksEveryCommit: true)
            } else {
                try await Coordinator(for: Cabinet.self, Padlock.self, checksEveryCommit: true)
            }
        for code in 1...3 {
            try await store.transaction { context in
                context.insert(Cabinet(key: "a")).lock = context.insert(Padlock(key: "a", code: code))
            }
        }
        #expect(try store.snapshot.fetchValues(Padlock.self).map(\.code) == [3])
        let error = await #expect(throws: GraphError.self) {
            try await store.transaction { context in
                context.insert(Cabinet(key: "a")).lock = context.insert(Padlock(key: "b", code: 4))
            }
        }
        guard case .deleteDenied(let denied) = error else { throw try #require(error) }
        #expect(denied.first?.isReplaced == true)
    }

    @Test func `R39 deny: the save is refused, naming the related object, and goes through without one of its own`()
        async throws
    {
        let (record, seal) = try await context.transaction { context in
            let record = context.insert(Record(key: "a"))
            record.seal = context.insert(Seal(number: 1))
            return (record.id, record.seal?.id)
        }
        let denied = try await denial { context in
            let record = context.insert(Record(key: "a"))
            record.seal = context.insert(Seal(number: 2))
        }
        let denial = try #require(denied.first)
        #expect(denied.totalCount == 1 && denial.isReplaced && denial.id == AnyPersistentID(record))
        #expect(denial.remaining == [AnyPersistentID(try #require(seal))] && denial.remainingCount == 1)
        #expect(denial.description == "Record/p1 may not be replaced while Record.seal leads to Seal/p1")
        #expect(coordinator.snapshot.count(of: Seal.self) == 1)
        try await context.transaction { _ = $0.insert(Record(key: "a")) }
        #expect(coordinator.snapshot.value(for: record)?.seal.id == seal)
        // When the old one goes too, nothing is left to deny it.
        try await context.transaction { context in
            try context.object(for: try #require(seal)).delete()
            let new = context.insert(Record(key: "a"))
            new.seal = context.insert(Seal(number: 3))
        }
        #expect(try coordinator.snapshot.fetchValues(Seal.self).map(\.number) == [3])
    }

    @Test func `R39 deny: new objects alone deny nothing`() async throws {
        try await context.transaction { context in
            for number in 1...2 {
                let record = context.insert(Record(key: "a"))
                record.seal = context.insert(Seal(number: number))
            }
        }
        let seals = try coordinator.snapshot.fetchValues(Seal.self)
        #expect(seals.map(\.number) == [1, 2] && seals.map { $0.record.id == nil } == [true, false])
    }

    @Test func `R39 keepExisting: what the new object refers to is taken, and follows the rule`() async throws {
        for number in 1...2 {
            try await context.transaction { context in
                let original = context.insert(Original(key: "a"))
                original.copy = context.insert(Copy(number: number))
            }
        }
        #expect(try coordinator.snapshot.fetchValues(Copy.self).map(\.number) == [1])
        #expect(coordinator.snapshot.count(of: Original.self) == 1)
    }

    @Test func `R39 what others committed is displaced too`() async throws {
        let other = Context(coordinator)
        await other.perform { context in
            let record = context.insert(Record(key: "a"))
            record.sheet = context.insert(Sheet(number: 2))
        }
        try await context.transaction { context in
            let record = context.insert(Record(key: "a"))
            record.sheet = context.insert(Sheet(number: 1))
        }
        try await other.save()
        #expect(try coordinator.snapshot.fetchValues(Sheet.self).map(\.number) == [2])
        #expect(coordinator.snapshot.count(of: Record.self) == 1)
    }
}
