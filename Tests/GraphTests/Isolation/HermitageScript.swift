import Testing

@testable import Graph

/// Transactions whose steps a test takes one by one, on a store with the accounts 1 and 2, which have 10 and 20.
final class HermitageScript: Sendable {
    let level: IsolationLevel
    let coordinator: Coordinator
    fileprivate let recorder: HistoryRecorder
    fileprivate let accounts: [Ledger.Account.ID]

    init(level: IsolationLevel) async throws {
        self.level = level
        coordinator = try await .ledger(checksEveryCommit: true)
        accounts = try await Context(coordinator).transaction { context in
            (1...2).map { number in
                let account = context.insert(Ledger.Account(balance: number * 10, stamp: -number))
                account.name = account.id.name
                return account.id
            }
        }
        recorder = HistoryRecorder(Ledger.Rows(accounts: accounts))
        recorder.see(coordinator.snapshot)
    }

    func begin() async -> Transaction {
        let begin = recorder.now()
        let context = Context(coordinator, isolation: level)
        let base = await context.baseState.commit
        return Transaction(self, context, recorder.begin(session: begin, at: begin, on: base))
    }

    /// What the whole of it shows, once all transactions are over.
    func anomalies() -> [Anomaly] {
        var contradictions = recorder.contradictions
        let history = recorder.history(&contradictions)
        #expect(contradictions == [])
        return HistoryChecker.anomalies(of: history, at: .serializable)
    }

    struct Transaction: Sendable {
        private let script: HermitageScript
        private let context: Context
        private let record: HistoryRecorder.Transaction

        fileprivate init(_ script: HermitageScript, _ context: Context, _ record: HistoryRecorder.Transaction) {
            (self.script, self.context, self.record) = (script, context, record)
        }

        /// The balance of account 1 or 2.
        func read(_ number: Int) async -> Int? {
            let id = script.accounts[number - 1]
            return await take { $0.read(id, &$1)?.balance } ?? nil
        }

        func set(_ number: Int, to balance: Int) async {
            let (id, stamp) = (script.accounts[number - 1], script.recorder.choices().stamp)
            await take { context, trace in
                context.write(id, stamp: stamp, &trace) { $0.balance = balance }
            }
        }

        /// The balances of the accounts that match, in their order.
        func search(_ search: Ledger.Search) async -> [Int] {
            await take { context, trace in
                try context.search(search, .objects, &trace)
                return try context.fetchValues(Ledger.Account.self, where: search.isMet).map(\.balance)
            } ?? []
        }

        func insert(_ balance: Int) async {
            let account = Ledger.Account(balance: balance, stamp: script.recorder.choices().stamp)
            await take { $0.insert(account, &$1) }
        }

        /// Adds to the balance of all accounts.
        func add(_ amount: Int) async {
            for number in 1...2 { await set(number, to: (await read(number) ?? 0) + amount) }
        }

        func delete(_ search: Ledger.Search) async {
            await take { context, trace in
                try context.search(search, .ids, &trace)
                for id in try context.fetchIDs(Ledger.Account.self, where: search.isMet) { context.delete(id, &trace) }
            }
        }

        /// Whether it was committed.
        func commit() async -> Bool {
            do {
                try await context.save()
            } catch {
                if case GraphError.conflicts = error {} else { Issue.record(error) }
                record.end(.rejected)
                return false
            }
            script.recorder.see(await context.baseState)
            record.end(.committed(nil))
            return true
        }

        func abort() async {
            await context.rollback()
            record.end(.rejected)
        }

        @discardableResult
        private func take<Result: Sendable>(
            _ body: @Sendable (isolated Context, inout LedgerTrace) throws -> Result
        ) async -> Result? {
            do {
                let (result, trace) = try await context.perform { context in
                    var trace = LedgerTrace()
                    return (try body(context, &trace), trace)
                }
                record.add(trace)
                return result
            } catch {
                Issue.record(error)
                return nil
            }
        }
    }
}
