import Synchronization
import Testing

@testable import Graph

/// R26: transactions try again in turn, and none waits for one that waits for it.
struct RetryTests {
    private static func store(_ count: Int) async throws -> (Coordinator, [Person.ID]) {
        let coordinator = try await Coordinator(for: Person.self, Team.self)
        let ids = try await coordinator.transaction { context in
            (0..<count).map { context.insert(Person(name: "person \($0)", age: 0)).id }
        }
        return (coordinator, ids)
    }

    /// A transaction whose first attempts, as many as are said, meet a conflict.
    private static func increment(
        _ id: Person.ID,
        _ coordinator: Coordinator,
        failures: Int = 1,
        _ body: @escaping @Sendable (_ attempt: Int) async throws -> Void = { _ in }
    ) async throws {
        let attempts = Counter()
        try await coordinator.transaction { context in
            let attempt = attempts.next()
            try context.object(for: id).age += 1
            try await body(attempt)
            if attempt <= failures { try await coordinator.transaction { $0[id]?.age += 100 } }
        }
    }

    @Test func `R26: a retry may wait for a task whose own transaction has to retry`() async throws {
        let (coordinator, ids) = try await Self.store(2)
        try await Self.increment(ids[0], coordinator) { attempt in
            guard attempt == 2 else { return }
            try await Task.detached { try await Self.increment(ids[1], coordinator) }.value
        }
        #expect(ids.map { coordinator.snapshot.value(for: $0)?.age } == [101, 101])
    }

    /// Does what it is asked for one after the other, in a task of its own.
    private actor Worker {
        typealias Job = @Sendable () async throws -> Void

        private let jobs: AsyncStream<Job>.Continuation
        private let failures = Mutex(0)

        init() {
            let (stream, jobs) = AsyncStream.makeStream(of: Job.self)
            self.jobs = jobs
            Task { for await job in stream { try? await job() } }
        }

        deinit { jobs.finish() }

        func run(_ job: @escaping Job) async throws {
            let result = await withCheckedContinuation {
                (continuation: CheckedContinuation<Swift.Result<Void, any Error>, Never>) in
                jobs.yield {
                    do {
                        try await job()
                        continuation.resume(returning: .success(()))
                    } catch {
                        continuation.resume(returning: .failure(error))
                    }
                }
            }
            try result.get()
        }
    }

    @Test func `R26: a retry may wait for an actor that is busy with a transaction which waits to retry`() async throws
    {
        let (coordinator, ids) = try await Self.store(3)
        let worker = Worker()
        try await Self.increment(ids[0], coordinator) { attempt in
            guard attempt == 2 else { return }
            // The worker comes to this transaction's own job when it is done with the other one.
            async let other: Void = worker.run { try await Self.increment(ids[1], coordinator, failures: 2) }
            async let own: Void = worker.run { try await Self.increment(ids[2], coordinator) }
            _ = try await (other, own)
        }
        #expect(ids.map { coordinator.snapshot.value(for: $0)?.age } == [101, 201, 101])
    }

    @Test func `R26: a retry may wait for a group of child tasks that retry`() async throws {
        let (coordinator, ids) = try await Self.store(5)
        try await Self.increment(ids[0], coordinator) { attempt in
            guard attempt == 2 else { return }
            try await withThrowingTaskGroup { group in
                for id in ids.dropFirst() {
                    group.addTask { try await Self.increment(id, coordinator, failures: 3) }
                    group.addTask { try await Task.detached { try await Self.increment(id, coordinator) }.value }
                }
                try await group.waitForAll()
            }
        }
        #expect(coordinator.snapshot.value(for: ids[0])?.age == 101)
        for id in ids.dropFirst() { #expect((coordinator.snapshot.value(for: id)?.age ?? 0) % 100 == 2) }
    }

    @Test func `R26: retries of two stores may wait for each other's tasks`() async throws {
        let stores = [try await Self.store(2), try await Self.store(2)]
        try await withThrowingTaskGroup { group in
            for (here, there) in [(stores[0], stores[1]), (stores[1], stores[0])] {
                group.addTask {
                    try await Self.increment(here.1[0], here.0) { attempt in
                        guard attempt == 2 else { return }
                        try await Task.detached { try await Self.increment(there.1[1], there.0) }.value
                    }
                }
            }
            try await group.waitForAll()
        }
        for (coordinator, ids) in stores {
            #expect(ids.map { coordinator.snapshot.value(for: $0)?.age } == [101, 101])
        }
    }

    @Test func `R26: each of many retries gets through, also if their closures wait`() async throws {
        let (coordinator, ids) = try await Self.store(1)
        try await withThrowingTaskGroup { group in
            for _ in 0..<60 {
                group.addTask {
                    try await coordinator.transaction(isolation: .serializable) { context in
                        let person = try context.object(for: ids[0])
                        for _ in 0..<5 { await Task.yield() }
                        person.age += 1
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(coordinator.snapshot.value(for: ids[0])?.age == 60)
    }

    @Test(.bug(id: "inherited turn", "it went ahead of all that waited"))
    func `R26: a task that outlasts the transaction in which it began waits in line as any other`() async throws {
        let clock = ManualClock()
        let coordinator = try await Coordinator(
            Schema([EntityDescription(Person.self), EntityDescription(Team.self)]), path: nil,
            fileSystem: PosixFileSystem(), options: JournalOptions(), clock: clock)
        let ids = try await coordinator.transaction { context in
            (0..<3).map { context.insert(Person(name: "person \($0)", age: 0)).id }
        }
        let (isOver, mayEnd, hasTurn) = (
            AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream()
        )
        let late = Mutex<Task<Void, any Error>?>(nil)
        try await Self.increment(ids[0], coordinator) { attempt in
            guard attempt == 2 else { return }
            let task = Task {
                for await _ in isOver.stream {}
                try await Self.increment(ids[1], coordinator)
            }
            late.withLock { $0 = task }
        }
        let holder = Task.detached {
            try await Self.increment(ids[2], coordinator) { attempt in
                guard attempt == 2 else { return }
                hasTurn.continuation.finish()
                for await _ in mayEnd.stream {}
            }
        }
        for await _ in hasTurn.stream {}
        let isDone = Counter()
        let task = try #require(late.withLock { $0 })
        let watch = Task {
            _ = await task.result
            return isDone.next()
        }
        isOver.continuation.finish()
        // Who waits in line has somebody watch the turn.
        while isDone.value == 0, clock.sleepCount == 0 { await Task.yield() }
        #expect(isDone.value == 0)
        mayEnd.continuation.finish()
        try await holder.value
        _ = await watch.value
        clock.advance(by: .seconds(1))
        #expect(ids.map { coordinator.snapshot.value(for: $0)?.age } == [101, 101, 101])
    }

    // MARK: The line

    @Test func `the first to meet a conflict comes first, also when it comes back`() async {
        let tester = LineTester()
        let tickets = await tester.tickets(3)
        await tester.wait(tickets[2])
        await tester.wait(tickets[0])
        await tester.wait(tickets[1])
        #expect(await tester.course == [3])
        await tester.end(tickets[2])
        await tester.end(tickets[0])
        #expect(await tester.course == [3, 1, 2])
    }

    @Test func `a turn that is passed on is not passed on twice`() async {
        let tester = LineTester()
        let tickets = await tester.tickets(4)
        for ticket in tickets { await tester.wait(ticket) }
        let turn = await tester.turn
        await tester.end(turn)
        await tester.end(turn)
        #expect(await tester.course == [1, 2])
        // It has lost its turn.
        await tester.end(tickets[0])
        #expect(await tester.course == [1, 2])
        await tester.wait(tickets[0])
        await tester.end(tickets[1])
        #expect(await tester.course == [1, 2, 1])
        for ticket in [0, 2, 3] { await tester.end(tickets[ticket]) }
        #expect(await tester.turn == nil)
    }
}

/// A line and who had the turn.
private actor LineTester {
    private var line = RetryLine()
    private(set) var course: [Int] = []
    private var numbers = 0

    var turn: RetryLine.Turn? { line.contendedTurn }

    func tickets(_ count: Int) -> [(number: Int, ticket: RetryLine.Ticket)] {
        (1...count).map { ($0, line.nextTicket()) }
    }

    /// Returns when the transaction has the turn, or is in line.
    func wait(_ ticket: (number: Int, ticket: RetryLine.Ticket)) async {
        guard !line.take(ticket.ticket) else { return course.append(ticket.number) }
        await withCheckedContinuation { (isWaiting: CheckedContinuation<Void, Never>) in
            Task {
                await withCheckedContinuation { continuation in
                    line.wait(ticket.ticket, continuation)
                    isWaiting.resume()
                }
                course.append(ticket.number)
            }
        }
    }

    func end(_ ticket: (number: Int, ticket: RetryLine.Ticket)) async {
        line.end(ticket.ticket)
        for _ in 0..<20 { await Task.yield() }
    }

    func end(_ turn: RetryLine.Turn?) async {
        if let turn { line.end(turn) }
        for _ in 0..<20 { await Task.yield() }
    }
}
