import Testing

@testable import Graph

/// The executor is tried by programs whose bugs and whose possible orders are known.
struct SeededExecutorTests {
    private static let strategies = [SeededExecutor.Strategy.uniform, .priorities(changes: 2, steps: 40)]

    /// Tasks that read, let others go first, and write: the textbook's lost update.
    private static func count(on executor: SeededExecutor, tasks: Int) -> (total: Int, order: String)? {
        executor.run {
            let counter = LoggedRegister()
            await withTaskGroup(of: Void.self) { group in
                for task in 0..<tasks {
                    group.addTask {
                        let value = await counter.read(by: task)
                        await Task.yield()
                        await counter.write(value + 1, by: task)
                    }
                }
            }
            return (await counter.value, await counter.order)
        }
    }

    @Test(arguments: strategies) func `a seed is a schedule`(strategy: SeededExecutor.Strategy) throws {
        var traces: Set<[Int]> = []
        for seed in 0..<100 as Range<UInt64> {
            let executors = (0..<2).map { _ in SeededExecutor(seed: seed, strategy: strategy) }
            let results = try executors.map { try #require(Self.count(on: $0, tasks: 4)) }
            #expect(results[0] == results[1])
            #expect(executors[0].trace == executors[1].trace)
            traces.insert(executors[0].trace)
        }
        #expect(traces.count > 50)
    }

    @Test(arguments: strategies) func `a lost update comes up, once and twice`(strategy: SeededExecutor.Strategy) throws
    {
        var totals: Set<Int> = []
        for seed in 0..<200 as Range<UInt64> {
            let executor = SeededExecutor(seed: seed, strategy: strategy)
            totals.insert(try #require(Self.count(on: executor, tasks: 3)).total)
        }
        #expect(totals.isSuperset(of: [1, 2]))
    }

    @Test func `every order of three tasks that read and write comes up`() throws {
        var orders: Set<String> = []
        for seed in 0..<4_000 as Range<UInt64> {
            for strategy in Self.strategies {
                let executor = SeededExecutor(seed: seed, strategy: strategy)
                orders.insert(try #require(Self.count(on: executor, tasks: 3)).order)
            }
        }
        // 6! / (2! · 2! · 2!)
        #expect(orders.count == 90)
    }

    @Test func `priorities find an order that uniform choice hardly ever gives`() throws {
        // The bug: the last task is at its end before the first one begins, although it makes many more steps.
        func isFound(_ seed: UInt64, _ strategy: SeededExecutor.Strategy) throws -> Bool {
            let order = SeededExecutor(seed: seed, strategy: strategy).run {
                let counter = LoggedRegister()
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { _ = await counter.read(by: 0) }
                    group.addTask {
                        for _ in 0..<20 { await Task.yield() }
                        _ = await counter.read(by: 1)
                    }
                }
                return await counter.order
            }
            return try #require(order).hasPrefix("r1")
        }
        let seeds = 0..<300 as Range<UInt64>
        #expect(try seeds.filter { try isFound($0, .uniform) }.isEmpty)
        #expect(try seeds.filter { try isFound($0, .priorities(changes: 1, steps: 60)) }.count > 20)
    }

    @Test func `others come in between a save's capture, its commit, and its return`() throws {
        var moments: Set<String> = []
        for seed in 0..<200 as Range<UInt64> {
            let seen = SeededExecutor(seed: seed, strategy: .uniform).run { () -> Set<String>? in
                guard let coordinator = try? await Coordinator(for: Team.self, Person.self) else { return nil }
                let context = Context(coordinator)
                async let save: Void? = try? context.transaction { _ = $0.insert(Person(name: "Ada")) }
                var seen: Set<String> = []
                for _ in 0..<10 {
                    let isSaveUnderWay = await context.isSaveUnderWay
                    let isPublished = coordinator.snapshot.commit.number == 1
                    seen.insert("\(isSaveUnderWay ? "under way" : "not") \(isPublished ? "published" : "checked")")
                }
                await save
                return seen
            }
            moments.formUnion(try #require(seen ?? nil))
        }
        #expect(moments.sorted() == ["not checked", "not published", "under way checked", "under way published"])
    }

    @Test func `a program that hangs is told from one that ends`() {
        #expect(SeededExecutor(seed: 1, strategy: .uniform).run { 7 } == 7)
        let hangs: Int? = SeededExecutor(seed: 1, strategy: .uniform).run {
            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
            return 7
        }
        #expect(hangs == nil)
    }
}

private actor LoggedRegister {
    var value = 0
    var order = ""

    func read(by task: Int) -> Int {
        order += "r\(task)"
        return value
    }

    func write(_ value: Int, by task: Int) {
        order += "w\(task)"
        self.value = value
    }
}
