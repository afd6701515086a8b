import Testing

@testable import Graph

@Entity private struct Subject {
    var name = ""
}

@Entity private struct Page {
    var title = ""
    var length = 0
    var topic: ToOne<Subject> = nil
}

/// R13 and R14: a reference that a delete of its target ended belongs to that delete, whatever else happens to the row.
struct NullifyTests {
    private static func store(_ count: Int) async throws -> (Coordinator, Page.ID, [Subject.ID]) {
        let coordinator = try await Coordinator(for: Subject.self, Page.self, checksEveryCommit: true)
        let (page, topics) = try await coordinator.transaction { context in
            let topics = (0..<count).map { context.insert(Subject(name: "\($0)")) }
            let page = context.insert(Page())
            page.topic = topics[0]
            return (page.id, topics.map(\.id))
        }
        return (coordinator, page, topics)
    }

    @Test(arguments: [true, false])
    func `R14 a delete that the policy drops leaves the reference as it was`(isEdited: Bool) async throws {
        let (coordinator, page, topics) = try await Self.store(1)
        let context = Context(coordinator, mergePolicy: .mergeByPropertyStoreTrump)
        await context.perform { context in
            context[topics[0]]?.delete()
            if isEdited { context[page]?.length = 1 }
        }
        try await coordinator.transaction { context in
            context[topics[0]]?.name = "theirs"
            context[page]?.title = "theirs"
        }
        try await context.save()
        let row = coordinator.snapshot.value(for: page)
        #expect(coordinator.snapshot.value(for: topics[0])?.name == "theirs")
        #expect(row?.topic.id == topics[0] && row?.title == "theirs" && row?.length == (isEdited ? 1 : 0))
    }

    @Test(arguments: [MergePolicy.mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump])
    func `R14 a reference that others moved to another object stays there`(policy: MergePolicy) async throws {
        let (coordinator, page, topics) = try await Self.store(2)
        let context = Context(coordinator, mergePolicy: policy)
        await context.perform { context in
            context[topics[0]]?.delete()
            context[page]?.length = 1
        }
        try await coordinator.transaction { $0[page]?.topic = $0[topics[1]] }
        try await context.save()
        let row = coordinator.snapshot.value(for: page)
        #expect(row?.topic.id == topics[1] && row?.length == 1)
        #expect(coordinator.snapshot.value(for: topics[0]) == nil)
    }

    @Test func `R14 a function sees the row without what a delete did to it`() async throws {
        let (coordinator, page, topics) = try await Self.store(1)
        let policy = MergePolicy.custom(
            .entity(Page.self) { base, ours, theirs in
                #expect(ours?.topic == base?.topic)
                return ours.map { .row($0) } ?? .keep
            },
            otherwise: .mergeByPropertyStoreTrump
        )
        let context = Context(coordinator, mergePolicy: policy)
        await context.perform { context in
            context[topics[0]]?.delete()
            context[page]?.length = 1
        }
        try await coordinator.transaction { context in
            context[topics[0]]?.name = "theirs"
            context[page]?.title = "theirs"
        }
        try await context.save()
        #expect(coordinator.snapshot.value(for: page)?.topic.id == topics[0])
        #expect(coordinator.snapshot.value(for: page)?.length == 1)
    }

    @Test func `R18 a reference that ended with a delete is no overlap`() async throws {
        let (coordinator, page, topics) = try await Self.store(2)
        let context = Context(coordinator)
        await context.perform { context in
            context[topics[0]]?.delete()
            context[page]?.length = 1
        }
        try await coordinator.transaction { $0[page]?.topic = $0[topics[1]] }
        #expect(await context.refresh() == [])
        #expect(await context.perform { $0[page]?.topic?.id } == topics[1])
        try await context.save()
        #expect(coordinator.snapshot.value(for: page)?.topic.id == topics[1])
    }
}
