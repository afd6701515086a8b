import Foundation
import Testing

@testable import Graph

/// The cases of Kleppmann's Hermitage (github.com/ept/hermitage), which show by two or three transactions what a level
/// prevents. Each script says what is read and who may commit; the checker says which anomaly the whole of it is.
struct HermitageTests {
    /// What a level makes of an anomaly.
    enum Verdict: String, Sendable {
        case prevented
        case allowed
    }

    /// The levels as they are documented: `Docs/Design/Isolation.md` has these lines as a table.
    static let table: [(anomaly: Anomaly.Kind, meaning: String, snapshot: Verdict, serializable: Verdict)] = [
        (.g0, "the writes of two transactions are mixed", .prevented, .prevented),
        (.g1a, "a read of what is never committed", .prevented, .prevented),
        (.g1b, "a read of what its writer goes on to overwrite", .prevented, .prevented),
        (.g1c, "two transactions read what the other one wrote", .prevented, .prevented),
        (.otv, "part of a transaction is seen, and then not the rest of it", .prevented, .prevented),
        (.pmp, "two searches of one transaction see different states", .prevented, .prevented),
        (.p4, "lost update: a write on top of a version that is not the newest", .prevented, .prevented),
        (
            .gSingle, "read skew: the state before a transaction and the one after it are both seen", .prevented,
            .prevented
        ),
        (.g2Item, "write skew: two transactions change what the other one has read", .allowed, .prevented),
        (.g2, "the same with searches: each adds what the other one has looked for in vain", .allowed, .prevented),
    ]

    struct Case: Sendable, CustomTestStringConvertible {
        let anomaly: Anomaly.Kind
        let testDescription: String
        let run: @Sendable (HermitageScript) async -> Void

        init(
            _ anomaly: Anomaly.Kind,
            _ title: String = "",
            _ run: @escaping @Sendable (HermitageScript) async -> Void
        ) {
            self.anomaly = anomaly
            testDescription = title.isEmpty ? anomaly.rawValue : "\(anomaly.rawValue), \(title)"
            self.run = run
        }
    }

    @Test(arguments: cases, [IsolationLevel.snapshot, .serializable])
    func `a level prevents what it says`(example: Case, level: IsolationLevel) async throws {
        let line = try #require(Self.table.first { $0.anomaly == example.anomaly })
        let verdict = level == .snapshot ? line.snapshot : line.serializable
        let script = try await HermitageScript(level: level)
        await example.run(script)
        let anomalies = script.anomalies()
        #expect(anomalies.contains { $0.kind == example.anomaly } == (verdict == .allowed), "\(anomalies)")
        let checked: HistoryChecker.Level = level == .snapshot ? .snapshot : .serializable
        #expect(anomalies.allSatisfy { !checked.forbids($0.kind) }, "\(anomalies)")
    }

    @Test func `there is a case for each line of the table, and the checker forbids what is prevented`() {
        #expect(Set(Self.cases.map(\.anomaly)) == Set(Self.table.map(\.anomaly)))
        for line in Self.table {
            #expect(HistoryChecker.Level.snapshot.forbids(line.anomaly) == (line.snapshot == .prevented))
            #expect(HistoryChecker.Level.serializable.forbids(line.anomaly) == (line.serializable == .prevented))
        }
    }

    @Test func `the documentation has the table`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent("Docs/Design/Isolation.md"), encoding: .utf8)
        let documented = text.split(separator: "\n").filter {
            $0.hasPrefix("| G") || $0.hasPrefix("| P") || $0.hasPrefix("| O")
        }
        let expected = Self.table.map { line in
            "| \(line.anomaly.rawValue) | \(line.meaning) | \(line.snapshot) | \(line.serializable) |"
        }
        #expect(documented.map(String.init) == expected)
    }

    @Test(arguments: [
        (IsolationLevel.snapshot, false, [10, 20, 20]), (.snapshot, true, [10, 20]), (.serializable, false, [10, 20]),
    ])
    func `R6: two deletes of one object are no conflict by themselves`(
        level: IsolationLevel,
        requiresUnchanged: Bool,
        balances: [Int]
    ) async throws {
        let coordinator = try await HermitageScript(level: level).coordinator
        let contexts = (1...2).map { _ in Context(coordinator, isolation: level) }
        for context in contexts {
            try await context.perform { context in
                let account = try #require(
                    try context.first(where: { (account: Ledger.Account) in account.balance == 20 }))
                if requiresUnchanged { context.require(unchanged: account) }
                context.insert(Ledger.Account(balance: account.balance, stamp: 0))
                account.delete()
            }
        }
        for context in contexts { try? await context.save() }
        #expect(try coordinator.snapshot.fetchValues(Ledger.Account.self).map(\.balance) == balances)
    }

    // MARK: Cases

    private static let cases = [
        Case(.g0) { script in
            let (t1, t2) = (await script.begin(), await script.begin())
            await t1.set(1, to: 11)
            await t2.set(1, to: 12)
            await t1.set(2, to: 21)
            #expect(await t1.commit())
            await t2.set(2, to: 22)
            #expect(await !t2.commit())
        },
        Case(.g1a) { script in
            let (t1, t2) = (await script.begin(), await script.begin())
            await t1.set(1, to: 101)
            #expect(await t2.read(1) == 10)
            await t1.abort()
            #expect(await t2.read(1) == 10)
            #expect(await t2.commit())
        },
        Case(.g1a, "a save that fails") { script in
            let (t1, t2) = (await script.begin(), await script.begin())
            await t1.set(1, to: 101)
            await t2.set(1, to: 11)
            #expect(await t2.commit())
            #expect(await !t1.commit())
            let t3 = await script.begin()
            #expect(await t3.read(1) == 11)
            #expect(await t3.commit())
        },
        Case(.g1b) { script in
            let (t1, t2) = (await script.begin(), await script.begin())
            await t1.set(1, to: 101)
            #expect(await t2.read(1) == 10)
            await t1.set(1, to: 11)
            #expect(await t1.commit())
            #expect(await t2.read(1) == 10)
            #expect(await t2.commit())
        },
        Case(.g1c) { script in
            let (t1, t2) = (await script.begin(), await script.begin())
            await t1.set(1, to: 11)
            await t2.set(2, to: 22)
            #expect(await t1.read(2) == 20)
            #expect(await t2.read(1) == 10)
            #expect(await t1.commit())
            // None has read what the other one wrote: at the level snapshot that is write skew.
            #expect(await t2.commit() == (script.level == .snapshot))
        },
        Case(.otv) { script in
            let (t1, t2) = (await script.begin(), await script.begin())
            await t1.set(1, to: 11)
            await t1.set(2, to: 19)
            await t2.set(1, to: 12)
            #expect(await t1.commit())
            let t3 = await script.begin()
            #expect(await t3.read(1) == 11)
            await t2.set(2, to: 18)
            #expect(await t3.read(2) == 19)
            #expect(await !t2.commit())
            #expect(await t3.read(2) == 19)
            #expect(await t3.read(1) == 11)
            #expect(await t3.commit())
        },
        Case(.otv, "a later writer that is not in the way") { script in
            let t1 = await script.begin()
            await t1.set(1, to: 11)
            await t1.set(2, to: 19)
            #expect(await t1.commit())
            let (t2, t3) = (await script.begin(), await script.begin())
            #expect(await t3.read(1) == 11)
            await t2.set(1, to: 12)
            await t2.set(2, to: 18)
            #expect(await t2.commit())
            #expect(await t3.read(2) == 19)
            #expect(await t3.read(1) == 11)
            #expect(await t3.commit())
        },
        Case(.pmp) { script in
            let (t1, t2) = (await script.begin(), await script.begin())
            #expect(await t1.search(.is30) == [])
            await t2.insert(30)
            #expect(await t2.commit())
            #expect(await t1.search(.multipleOf3) == [])
            #expect(await t1.commit())
        },
        Case(.pmp, "a search for what to write") { script in
            let (t1, t2) = (await script.begin(), await script.begin())
            await t1.add(10)
            await t2.delete(.is20)
            #expect(await t1.commit())
            #expect(await !t2.commit())
            let t3 = await script.begin()
            #expect(await t3.search(.all) == [20, 30])
            #expect(await t3.commit())
        },
        Case(.p4) { script in
            let (t1, t2) = (await script.begin(), await script.begin())
            #expect(await t1.read(1) == 10)
            #expect(await t2.read(1) == 10)
            await t1.set(1, to: 11)
            await t2.set(1, to: 11)
            #expect(await t1.commit())
            #expect(await !t2.commit())
        },
        Case(.p4, "a delete of what was updated") { script in
            let (t1, t2) = (await script.begin(), await script.begin())
            await t1.set(1, to: 20)
            await t2.delete(.all)
            #expect(await t1.commit())
            #expect(await !t2.commit())
        },
        Case(.p4, "an update of what was deleted") { script in
            let (t1, t2) = (await script.begin(), await script.begin())
            await t1.delete(.all)
            await t2.set(1, to: 11)
            #expect(await t1.commit())
            #expect(await !t2.commit())
        },
        Case(.gSingle) { script in
            let (t1, t2) = (await script.begin(), await script.begin())
            #expect(await t1.read(1) == 10)
            #expect(await t2.read(1) == 10)
            #expect(await t2.read(2) == 20)
            await t2.set(1, to: 12)
            await t2.set(2, to: 18)
            #expect(await t2.commit())
            #expect(await t1.read(2) == 20)
            #expect(await t1.commit())
        },
        Case(.gSingle, "with searches") { script in
            let (t1, t2) = (await script.begin(), await script.begin())
            #expect(await t1.search(.multipleOf5) == [10, 20])
            await t2.set(1, to: 12)
            #expect(await t2.commit())
            #expect(await t1.search(.multipleOf3) == [])
            #expect(await t1.commit())
        },
        Case(.gSingle, "with a search for what to write") { script in
            let (t1, t2) = (await script.begin(), await script.begin())
            #expect(await t1.read(1) == 10)
            #expect(await t2.search(.all) == [10, 20])
            await t2.set(1, to: 12)
            await t2.set(2, to: 18)
            #expect(await t2.commit())
            await t1.delete(.is20)
            #expect(await !t1.commit())
        },
        Case(.g2Item) { script in
            let (t1, t2) = (await script.begin(), await script.begin())
            for transaction in [t1, t2] {
                #expect(await transaction.read(1) == 10)
                #expect(await transaction.read(2) == 20)
            }
            await t1.set(1, to: 11)
            await t2.set(2, to: 21)
            #expect(await t1.commit())
            #expect(await t2.commit() == (script.level == .snapshot))
        },
        Case(.g2) { script in
            let (t1, t2) = (await script.begin(), await script.begin())
            #expect(await t1.search(.multipleOf3) == [])
            #expect(await t2.search(.multipleOf3) == [])
            await t1.insert(30)
            await t2.insert(42)
            #expect(await t1.commit())
            #expect(await t2.commit() == (script.level == .snapshot))
        },
        Case(.g2, "that only a reader shows") { script in
            let t1 = await script.begin()
            #expect(await t1.search(.even) == [10, 20])
            let t2 = await script.begin()
            await t2.set(2, to: 25)
            #expect(await t2.commit())
            let t3 = await script.begin()
            #expect(await t3.search(.even) == [10])
            #expect(await t3.commit())
            await t1.set(1, to: 1)
            #expect(await t1.commit() == (script.level == .snapshot))
        },
    ]
}
