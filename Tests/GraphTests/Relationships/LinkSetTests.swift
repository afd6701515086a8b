import Testing

@testable import Graph

@Entity private struct Issue {
    var name = ""
    var topics: ToMany<Topic> = []
}

/// May not go while it has issues.
@Entity private struct Topic {
    var name = ""
    @Relationship(.deny, inverse: \Issue.topics) var issues: ToMany<Issue> = []
}

struct LinkSetTests {
    @Test func `links are found and removed by either end`() {
        var random = SeededGenerator(seed: 1)
        var (links, known): (LinkSet, Set<LinkID>) = (LinkSet(), [])
        func row() -> RowNumber { RowNumber.random(in: 1...6, using: &random) }
        for _ in 0..<4000 {
            let link = LinkID(table: Int.random(in: 0...1, using: &random), owner: row(), member: row())
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                links.removeLinks(of: link.owner, in: link.table)
                known = known.filter { $0.owner != link.owner || $0.table != link.table }
            case 1:
                links.removeLinks(to: link.member, in: link.table)
                known = known.filter { $0.member != link.member || $0.table != link.table }
            case 2:
                links.remove(link)
                known.remove(link)
            default:
                links.insert(link)
                known.insert(link)
            }
            #expect(links.contains(link) == known.contains(link) && links.isEmpty == known.isEmpty)
            #expect(links.all.count == known.count && Set(links.all) == known)
        }
    }

    /// Two issues, each with a topic of its own, and the first topic deleted.
    private static func denied() async throws -> WorkingState {
        let coordinator = try await Coordinator(for: Issue.self, Topic.self)
        try await coordinator.transaction { context in
            for _ in 0..<2 { context.insert(Issue()).topics.insert(context.insert(Topic())) }
        }
        var state = WorkingState(base: coordinator.snapshot)
        state.delete(Topic.self, 1)
        #expect(state.deniedDeletes().count == 1)
        return state
    }

    private static func assignment(_ state: WorkingState, _ issue: RowNumber, _ topics: [RowNumber]) -> ToManyAssignment
    {
        let relationship = state.schema.toMany(\Issue.topics, of: state.schema.number(of: Issue.self))
        return ToManyAssignment(owner: issue, relationship: relationship, members: topics)
    }

    @Test func `R13 new objects with members leave a denied delete denied`() async throws {
        var state = try await Self.denied()
        for row in 3...5 { state.insert(RowNumber(row), Issue()) }
        state.assignments = (3...5).map { Self.assignment(state, RowNumber($0), [2]) }
        _ = state.applyAssignments()
        #expect(state.snapshot.checkInvariants() == [] && state.deniedDeletes().count == 1)
        for row in 3...5 {
            #expect(try state.snapshot.related(\Issue.topics, of: Issue.ID(row: RowNumber(row))).map(\.row) == [2])
        }
    }

    @Test func `R13 assigned together, other members end what they denied`() async throws {
        var state = try await Self.denied()
        state.assign(\Issue.topics, of: 2, [])
        state.assignments = (1...2).map { Self.assignment(state, RowNumber($0), [2]) }
        _ = state.applyAssignments()
        #expect(state.snapshot.checkInvariants() == [] && state.deniedDeletes().isEmpty)
    }

    @Test func `R13 a deleted object that comes back is not denied any more`() async throws {
        var state = try await Self.denied()
        state.insert(1, Topic(name: "again"))
        #expect(state.denyingLinks.isEmpty && state.deniedDeletes().isEmpty)
    }

    @Test func `R14 of objects that are discarded together no missing member stays, and of others each`() async throws {
        var state = WorkingState(base: try await Coordinator(for: Issue.self, Topic.self).snapshot)
        for row in 1...3 {
            state.insert(RowNumber(row), Issue())
            state.assign(\Issue.topics, of: RowNumber(row), [RowNumber(row), 7, 8])
        }
        state.discard([state.schema.id(Issue.self, 1), state.schema.id(Topic.self, 2), state.schema.id(Topic.self, 7)])
        #expect(
            state.danglingMembers.map(\.description) == [
                "Issue/p2.topics refers to Topic/p8, which does not exist",
                "Issue/p3.topics refers to Topic/p3, which does not exist",
                "Issue/p3.topics refers to Topic/p8, which does not exist",
            ])
        state.discard([state.schema.id(Topic.self, 8), state.schema.id(Topic.self, 3)])
        #expect(state.missingMembers.isEmpty)
    }
}
