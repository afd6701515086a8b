import Testing

@testable import Graph

@Entity private struct Page {
    var text = ""
    var book: ToOne<Book> = nil
    @Relationship(.deny, inverse: \PadNote.page) var notes: ToMany<PadNote> = []
}

@Entity private struct Book {
    var title = ""
    @Relationship(.cascade, inverse: \Page.book) var pages: ToMany<Page> = []
}

@Entity private struct PadNote {
    var text = ""
    var page: ToOne<Page> = nil
    var pad: ToOne<Pad> = nil
}

@Entity private struct Pad {
    var title = ""
    @Relationship(.cascade, inverse: \PadNote.pad) var notes: ToMany<PadNote> = []
}

/// A part that may not go while its box is there.
@Entity private struct Part {
    var name = ""
    @Relationship(.deny) var box: ToOne<Team> = nil
}

@Entity private struct Volume {
    var title = ""
    var jacket: ToOne<Jacket> = nil
}

/// May not go while a volume has it.
@Entity private struct Jacket {
    @Relationship(.deny, inverse: \Volume.jacket) var volume: ToOne<Volume> = nil
}

@Entity private struct Series {
    var name = ""
    @Relationship(.cascade, inverse: \Booklet.series) var issues: ToMany<Booklet> = []
}

@Entity private struct Booklet {
    var title = ""
    var series: ToOne<Series> = nil
    var topics: ToMany<Topic> = []
}

/// May not go while it has issues.
@Entity private struct Topic {
    var name = ""
    @Relationship(.deny, inverse: \Booklet.topics) var issues: ToMany<Booklet> = []
}

/// R13, R14: delete rules worked out again on what others have committed.
struct DeleteRuleTests {
    private let coordinator: Coordinator
    private let one: Context
    private let two: Context

    init() async throws {
        coordinator = try await Coordinator(for: Page.self, Book.self, PadNote.self, Pad.self, Team.self, Person.self)
        one = Context(coordinator)
        two = Context(coordinator)
    }

    /// Both ends of a link are deleted, and the policy keeps one of them.
    @Test(arguments: [false, true], [false, true])
    func `R14 a link denies a delete again when its other end comes back`(
        isTopicFirst: Bool,
        isRefreshed: Bool
    ) async throws {
        let coordinator = try await Coordinator(
            for: Series.self, Booklet.self, Topic.self, checksEveryCommit: true)
        let context = Context(coordinator, mergePolicy: .mergeByPropertyStoreTrump)
        let (series, issue, topic) = try await context.transaction { context in
            let series = context.insert(Series())
            let issue = context.insert(Booklet())
            issue.series = series
            let topic = context.insert(Topic())
            issue.topics.insert(topic)
            return (series.id, issue.id, topic.id)
        }
        await context.perform { context in
            if isTopicFirst { context[topic]?.delete() }
            context[series]?.delete()
            if !isTopicFirst { context[topic]?.delete() }
        }
        if isRefreshed {
            try await coordinator.transaction { _ = $0.insert(Topic()) }
            await context.refresh()
        }
        try await coordinator.transaction { $0[issue]?.title = "kept" }
        let error = await #expect(throws: GraphError.self) { try await context.save() }
        guard case .deleteDenied(let denied) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(denied.map(\.id) == [AnyPersistentID(topic)])
        #expect(denied.first?.remaining == [AnyPersistentID(issue)])
        // Without the topic's delete all is as it was.
        await context.perform { $0.discard([AnyPersistentID(topic)]) }
        try await context.save()
        #expect(coordinator.snapshot.value(for: series) != nil)
        #expect(try coordinator.snapshot.related(\Booklet.topics, of: issue) == [topic])
    }

    @Test(.bug(id: "deny behind a cascade")) func `a row that cascades in the save alone is kept by who denies it`()
        async throws
    {
        let book = try await one.transaction { $0.insert(Book()).id }
        await two.refresh()
        let (page, note) = try await two.transaction { context in
            let page = context.insert(Page(book: ToOne(book)))
            return (page.id, context.insert(PadNote(page: ToOne(page.id))).id)
        }
        try await one.perform { try $0.object(for: book).delete() }
        let error = await #expect(throws: GraphError.self) { try await one.save() }
        guard case .deleteDenied(let denied) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(denied.map(\.id.description) == ["\(AnyPersistentID(page))"])
        #expect(coordinator.snapshot.value(for: page) != nil)
        #expect(coordinator.snapshot.value(for: note)?.page.id == page)
    }

    @Test(.bug(id: "deny behind a cascade")) func `who denies a delete and is deleted by a cascade denies nothing`()
        async throws
    {
        let (page, pad) = try await one.transaction { ($0.insert(Page()).id, $0.insert(Pad()).id) }
        await two.refresh()
        let note = try await two.transaction { $0.insert(PadNote(page: ToOne(page), pad: ToOne(pad))).id }
        try await one.perform { context in
            try context.object(for: page).delete()
            try context.object(for: pad).delete()
        }
        try await one.save()
        #expect(coordinator.snapshot.value(for: note) == nil)
        #expect(coordinator.snapshot.value(for: page) == nil)
    }

    @Test(.bug(id: "nullify conflicts")) func `nullifying a reference to a deleted object is no conflict`()
        async throws
    {
        let (red, blue) = try await one.transaction { ($0.insert(Team(name: "red")).id, $0.insert(Team(name: "b")).id) }
        let people = try await one.transaction { context in
            context.insert(contentsOf: ["renamed", "moved", "deleted"].map { Person(name: $0, team: ToOne(red)) })
        }
        await two.refresh()
        try await two.transaction { context in
            try context.object(for: people[0]).name = "other"
            try context.object(for: people[1]).team = context.object(for: blue)
            try context.object(for: people[2]).delete()
        }
        try await one.perform { try $0.object(for: red).delete() }
        try await one.save()
        let snapshot = coordinator.snapshot
        #expect(snapshot.value(for: red) == nil)
        #expect(snapshot.value(for: people[0])?.name == "other")
        #expect(snapshot.value(for: people[0])?.team.id == nil)
        #expect(snapshot.value(for: people[1])?.team.id == blue)
        #expect(snapshot.value(for: people[2]) == nil)
        #expect(await one.hasChanges == false)
    }

    @Test(.bug(id: "nullify conflicts")) func `a refresh keeps where others moved the members of a deleted object`()
        async throws
    {
        let (red, blue) = try await one.transaction { ($0.insert(Team(name: "red")).id, $0.insert(Team(name: "b")).id) }
        let people = try await one.transaction { context in
            context.insert(contentsOf: ["moved", "deleted"].map { Person(name: $0, team: ToOne(red)) })
        }
        await two.refresh()
        try await two.transaction { context in
            try context.object(for: people[0]).team = context.object(for: blue)
            try context.object(for: people[1]).delete()
        }
        try await one.perform { try $0.object(for: red).delete() }
        await one.refresh()
        await one.perform { #expect($0[people[0]]?.team?.id == blue) }
        try await one.save()
        #expect(coordinator.snapshot.value(for: people[0])?.team.id == blue)
    }

    @Test(.bug(id: "stale after rules")) func `objects show what a save made of a dead reference`()
        async throws
    {
        let team = try await one.transaction { $0.insert(Team(name: "red")).id }
        let person = try await one.transaction { $0.insert(Person(name: "Ada")).id }
        try await one.perform { context in
            let (red, ada) = try (context.object(for: team), context.object(for: person))
            red.delete()
            ada.team = red
            context.insert(Person(name: "holder"))
        }
        let held = try await one.heldSave(person)
        #expect(held == nil)
        #expect(coordinator.snapshot.value(for: person)?.team.id == nil)
        try await one.transaction { try $0.object(for: person).name = "Eve" }
    }

    @Test(.bug(id: "deny of a to-one")) func `a to-one that denies keeps its owner`() async throws {
        let coordinator = try await Coordinator(for: Part.self, Team.self, Person.self)
        let context = Context(coordinator)
        let (box, part) = try await context.transaction { context in
            let box = context.insert(Team(name: "box"))
            return (box.id, context.insert(Part(box: ToOne(box.id))).id)
        }
        try await context.perform { try $0.object(for: part).delete() }
        await #expect(throws: GraphError.self) { try await context.save() }
        await context.rollback()
        try await context.transaction { context in
            try context.object(for: part).delete()
            try context.object(for: box).delete()
        }
        #expect(coordinator.snapshot.count(of: Part.self) == 0)
        let other = try await context.transaction { $0.insert(Part(box: ToOne($0.insert(Team(name: "b")).id))).id }
        try await context.transaction { context in
            let part = try context.object(for: other)
            part.box = nil
            part.delete()
        }
        #expect(coordinator.snapshot.count(of: Part.self) == 0)
    }

    /// How a new volume comes to refer to the jacket that its context deletes.
    enum Claim: CaseIterable {
        /// It took the jacket from the volume that had it, and that is taken back.
        case takenBack
        /// By its identifier, after the delete.
        case byIdentifier
    }

    @Test(arguments: Claim.allCases, [false, true])
    func `who denies a delete keeps what is deleted, whatever others refer to or committed meanwhile`(
        claim: Claim, isRebased: Bool
    ) async throws {
        let coordinator = try await Coordinator(for: Volume.self, Jacket.self)
        let context = Context(coordinator, mergePolicy: .mergeByPropertyObjectTrump)
        let (jacket, volume) = try await context.transaction { context in
            let jacket = context.insert(Jacket()).id
            return (jacket, context.insert(Volume(title: "old", jacket: ToOne(jacket))).id)
        }
        try await context.perform { context in
            if claim == .byIdentifier { try context.object(for: jacket).delete() }
            context.insert(Volume(title: "new", jacket: ToOne(jacket)))
            if claim == .byIdentifier { return }
            try context.object(for: jacket).delete()
            try context.object(for: volume).discardChanges()
        }
        if isRebased { _ = try await coordinator.transaction { $0.insert(Volume(title: "another")).id } }
        let error = await #expect(throws: GraphError.self) { try await context.save() }
        guard case .deleteDenied(let denied) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(denied.map(\.remaining) == [[AnyPersistentID(volume)]])
        #expect(coordinator.snapshot.value(for: volume)?.jacket.id == jacket)
    }
}

extension Context {
    /// Saves while the object is held, and tells which team it shows afterwards.
    fileprivate func heldSave(_ id: PersistentID<Person>) async throws -> PersistentID<Team>? {
        let person = try object(for: id)
        try await save()
        return person.value.team.id
    }
}
