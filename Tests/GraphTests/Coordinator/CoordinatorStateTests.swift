import Testing

@testable import Graph

/// The order of commits, decided without a coordinator or a file.
struct CoordinatorStateTests {
    private static func start(
        limitBytes: Int? = 1 << 20, checksEveryCommit: Bool = false, nextRow: RowNumber = 10
    ) throws -> CoordinatorState {
        let schema = try Schema.albums()
        return CoordinatorState(
            Snapshot(schema: schema),
            counters: RowCounters(next: schema.entities.map { _ in nextRow }),
            storage: limitBytes.map { .file(path: "albums.graph", transactionBytes: $0) } ?? .memory,
            checksEveryCommit: checksEveryCommit
        )
    }

    private static func insert(_ row: RowNumber, _ code: String, on base: Snapshot) -> SaveRequest {
        var state = WorkingState(base: base)
        state.insert(row, Album(title: "album", code: code))
        return SaveRequest(state: state)
    }

    @Test func `without a file a save is accepted at once, and one of nothing leaves all as it is`() throws {
        var state = try Self.start(limitBytes: nil)
        var trace: CommitTrace?
        let first = try state.admit(Self.insert(1, "a", on: state.commits.head), at: 0, &trace)
        guard case .accepted = first.admission else {
            Issue.record("\(first.admission)")
            return
        }
        #expect(state.commits.head.commit == first.commit.number && first.commit.number == CommitNumber(1))
        let nothing = try state.admit(SaveRequest(state: WorkingState(base: state.commits.head)), at: 0, &trace)
        guard case .nothing = nothing.admission else {
            Issue.record("\(nothing.admission)")
            return
        }
        #expect(state.commits.head.commit == CommitNumber(1) && state.queue.count == 0)
    }

    @Test func `without row numbers nothing is saved, and the error does not say that opening the store again helps`()
        throws
    {
        var state = try Self.start(nextRow: RowCounters.maximum + 1)
        var trace: CommitTrace?
        let save = Self.insert(RowCounters.maximum, "a", on: state.commits.head)
        let error = try #require(throws: GraphError.self) { _ = try state.admit(save, at: 0, &trace) }
        guard case .rowNumbersUsedUp(let entity) = error else { throw error }
        #expect(error.description.hasPrefix("all row numbers of \(entity) are used up, so nothing was saved; "))
        #expect(!error.description.contains("open it again"))
        #expect(state.commits.head.commit == .none && state.ending == nil)
    }

    @Test func `the first save leads, and the next ones wait in the order of their checks`() throws {
        var state = try Self.start()
        let base = state.commits.head
        var trace: CommitTrace? = CommitTrace(store: "albums.graph", origin: ChangeOrigin())
        let first = try state.admit(Self.insert(1, "a", on: base), at: 0, &trace)
        guard case .leads = first.admission else {
            Issue.record("\(first.admission)")
            return
        }
        // It is in the queue, for the leader to report.
        #expect(trace == nil)
        let second = try state.admit(Self.insert(2, "b", on: base), at: 0, &trace)
        guard case .waits = second.admission else {
            Issue.record("\(second.admission)")
            return
        }
        #expect(second.commit.number == CommitNumber(2) && !second.commit.isAsRequested)
        let group = state.queue.takeGroup()
        #expect(group.map(\.step?.snapshot.commit) == [CommitNumber(1), CommitNumber(2)])
        #expect(group.map(\.trace?.recordBytes) == [group[0].record?.count, nil])
    }

    @Test func `a save that is refused changes nothing`() throws {
        var state = try Self.start(limitBytes: 100)
        var trace: CommitTrace?
        _ = try state.admit(Self.insert(1, "a", on: state.commits.head), at: 0, &trace)
        let head = state.commits.head.commit
        for (request, isExpected) in [
            (Self.insert(2, "a", on: state.commits.head), { if case .notUnique = $0 { true } else { false } }),
            (
                Self.insert(2, String(repeating: "b", count: 200), on: state.commits.head),
                { if case .transactionTooLarge = $0 { true } else { false } }
            ),
        ] as [(SaveRequest, (GraphError?) -> Bool)] {
            let error = #expect(throws: GraphError.self) { try state.admit(request, at: 0, &trace) }
            #expect(isExpected(error), "\(String(describing: error))")
            #expect(state.commits.head.commit == head && state.queue.count == 1)
        }
    }

    @Test(arguments: [GraphError.diskFull(path: "albums.graph"), .storeFailed(path: "albums.graph", reason: "sync")])
    func `a group that fails takes those on top of it along`(error: GraphError) throws {
        var state = try Self.start()
        let durable = state.commits.head
        var trace: CommitTrace?
        _ = try state.admit(Self.insert(1, "a", on: durable), at: 0, &trace)
        let group = state.queue.takeGroup()
        _ = try state.admit(Self.insert(2, "b", on: state.commits.head), at: 0, &trace)
        let (followers, _) = state.fail(group, error, published: durable, path: "albums.graph")
        #expect(followers.map(\.step?.snapshot.commit) == [CommitNumber(2)])
        #expect(state.commits.head.commit == durable.commit && state.queue.count == 0)
        if case .diskFull = error { #expect(state.ending == nil) } else { #expect(state.ending != nil) }
        let first = "\(String(describing: state.ending))"
        state.end(.closed(path: "albums.graph"))
        if case .diskFull = error {
            #expect("\(String(describing: state.ending))".contains("closed"))
        } else {
            #expect("\(String(describing: state.ending))" == first)
        }
    }
}
