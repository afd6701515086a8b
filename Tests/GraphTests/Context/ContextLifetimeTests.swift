import Testing

@testable import Graph

/// R17: what a context had goes with it, however its work ended.
struct ContextLifetimeTests {
    private struct Stop: Error {}

    /// What happens last on a context, which has a changed object.
    enum Ending: CaseIterable {
        case nothing, save, failedSave, failedTransaction, thrownTransaction, waitingTransaction, failedNestedSave
        case rollback, undo, events, autosave, attempt, failedAttempt, thrownAttempt, retries
    }

    /// Refers to what a context consists of as long as that is there; read when all work is over.
    private struct Traces: @unchecked Sendable {
        weak var context: Context?
        weak var state: ContextState?
        weak var object: AnyObject?
    }

    private let coordinator: Coordinator
    private let id: PersistentID<Person>

    init() async throws {
        coordinator = try await Coordinator(for: Team.self, Person.self)
        id = try await coordinator.transaction { $0.insert(Person(name: "Ada")).id }
    }

    @Test(arguments: Ending.allCases) func `a context that nobody has any more is gone with its objects`(
        ending: Ending
    ) async throws {
        let traces: [Traces]
        switch ending {
        case .attempt, .failedAttempt, .thrownAttempt, .retries: traces = await attempt(ending)
        default: traces = [try await work(ending)]
        }
        #expect(traces.count == (ending == .retries ? 3 : 1))
        for trace in traces {
            #expect(trace.context == nil)
            #expect(trace.state == nil)
            #expect(trace.object == nil)
        }
    }

    private func work(_ ending: Ending) async throws -> Traces {
        let parent = ending == .failedNestedSave ? Context(coordinator) : nil
        let context = if let parent { await Context(parent: parent) } else { Context(coordinator) }
        let (id, other) = (id, "by \(ending)")
        let traces = try await context.perform { context in
            if ending == .undo { context.undoLimit = 10 }
            if ending == .autosave { context.autosave = .seconds(3_600) }
            let person = try context.object(for: id)
            person.age += 1
            return Traces(context: context, state: context.state, object: person)
        }
        switch ending {
        case .save: try await context.save()
        case .failedSave, .failedNestedSave:
            let rival = parent ?? Context(coordinator)
            await rival.perform { $0[id]?.age = 100 }
            if parent == nil { try await rival.save() }
            await #expect(throws: GraphError.self) { try await context.save() }
        case .failedTransaction:
            try await coordinator.transaction { $0[id]?.age = 100 }
            await #expect(throws: GraphError.self) { try await context.transaction { $0[id]?.name = other } }
        case .thrownTransaction:
            await #expect(throws: Stop.self) {
                try await context.transaction { context in
                    context[id]?.name = other
                    throw Stop()
                }
            }
        case .waitingTransaction:
            await #expect(throws: Stop.self) {
                try await context.transaction { context in
                    context[id]?.name = other
                    await Task.yield()
                    throw Stop()
                }
            }
        case .rollback: await context.rollback()
        case .undo:
            try await context.save()
            await context.undo()
        case .events: _ = await context.perform { $0.events }
        default: break
        }
        return traces
    }

    private func attempt(_ ending: Ending) async -> [Traces] {
        let (id, coordinator) = (id, coordinator)
        let found = Found()
        _ = try? await coordinator.transaction(retries: ending == .retries ? 2 : 0) { context in
            let person = try context.object(for: id)
            person.age += 1
            found.traces.append(Traces(context: context, state: context.state, object: person))
            if ending == .thrownAttempt { throw Stop() }
            if ending != .attempt { try await Context(coordinator).transaction { $0[id]?.age += 10 } }
        }
        return found.traces
    }

    /// Attempts come one after another.
    private final class Found: @unchecked Sendable {
        var traces: [Traces] = []
    }
}
