@testable import Graph

/// Transactions of contexts and of the coordinator.
extension StoreProgramRun {
    mutating func run(_ transaction: StoreProgram.Transaction, in c: Int) async throws {
        let (isAbandoned, policy) = (transaction.isAbandoned, transaction.policy)
        let savepoint = models[c]
        let oldHead = head
        let looksAtEach = models[c].isLookedAt
        let rolledBack = transaction.rolledBack.compactMap { models[c].perform($0, next: &next) }
        models[c] = savepoint
        let changes = transaction.changes.compactMap { models[c].perform($0, next: &next) }
        models[c].undo.endGroup(at: models[c])
        var expected: ContextModel.Failure?
        var replaced: [StoreModel.ID: StoreModel.ID] = [:]
        if isAbandoned {
            models[c] = savepoint
        } else {
            do throws(ContextModel.Failure) {
                replaced = try models[c].save(to: &head, policy)
            } catch {
                expected = error
                models[c] = savepoint
            }
        }
        var actual: ContextModel.Failure?
        do {
            try await contexts[c].transaction(mergePolicy: policy.mergePolicy) { [held = held[c]] context in
                try context.perform(rolledBack, looksAtEach: looksAtEach)
                if !rolledBack.isEmpty { context.rollback() }
                try context.perform(changes, looksAtEach: looksAtEach)
                if isAbandoned { throw Abandoned() }
                held?.hold(context.insertedObjects)
            }
        } catch is Abandoned {
        } catch let error as GraphError {
            actual = try ContextModel.Failure(error)
        } catch {
            throw error
        }
        try await compareOutcome(c, expected, actual, replaced, since: oldHead)
    }

    /// Runs a transaction that tries again after conflicts.
    mutating func run(_ transaction: StoreProgram.OnCoordinator) async throws {
        let script = TransactionScript()
        let task = Task { [coordinator] in
            defer { script.finish() }
            try await coordinator.transaction(
                isolation: transaction.isSerializable ? .serializable : .snapshot,
                mergePolicy: transaction.policy.mergePolicy
            ) { context in
                guard let (changes, model) = await script.beginAttempt() else { return }
                try context.perform(changes)
                // All that a serializable transaction reads counts.
                if !transaction.isSerializable { try context.compare(with: model, held: nil) }
                await script.endAttempt()
                if transaction.isAbandoned { throw Abandoned() }
            }
        }
        let policy = transaction.isSerializable ? .error : transaction.policy
        var number = 0
        var last: (base: UInt64, outcome: Result<StoreModel, ContextModel.Failure>)?
        while await script.attemptBegins() {
            if let (base, outcome) = last {
                let isExpected: Bool
                switch outcome {
                case .success: isExpected = transaction.isSerializable && base < head.commits
                case .failure(let failure): isExpected = failure.stage == .conflicts || base < head.commits
                }
                try demand(isExpected) { "attempt \(number) was followed by another one, after \(outcome)" }
            }
            var model = ContextModel(base: head)
            let changes = transaction.changes.compactMap { model.perform($0, next: &next) }
            script.tell(changes, model)
            await script.attemptEnds()
            if number == 0, !transaction.meanwhile.isEmpty {
                try await perform(StoreProgram.Step(context: transaction.other, action: .change(transaction.meanwhile)))
                try await perform(
                    StoreProgram.Step(context: transaction.other, action: .save(rollsBackOnFailure: true, .error)))
            }
            number += 1
            let base = model.base.commits
            var newHead = head
            do throws(ContextModel.Failure) {
                _ = try model.save(to: &newHead, policy)
                last = (base, .success(newHead))
            } catch {
                last = (base, .failure(error))
            }
            script.mayEnd()
        }
        let oldHead = head
        do {
            try await task.value
            guard case .success(let newHead) = last?.outcome, !transaction.isAbandoned else {
                throw Mismatch(description: "the transaction succeeded, not \(last as Any)")
            }
            head = newHead
        } catch is Abandoned {
            try demand(transaction.isAbandoned) { "the transaction was abandoned" }
        } catch let error as GraphError {
            guard case .failure(let expected) = last?.outcome, try ContextModel.Failure(error) == expected else {
                throw Mismatch(description: "the transaction gave \(error), not \(last as Any)")
            }
        }
        if head.commits != oldHead.commits || coordinator.snapshot.commit.number != head.commits {
            try await compareStore()
        }
    }

    /// The same as a transaction that waits.
    mutating func runTransaction(
        _ nested: StoreProgram.Nested,
        _ child: ContextModel,
        _ rolledBack: [ModelChange],
        _ changes: [ModelChange],
        in c: Int
    ) async throws {
        let (began, mayEnd) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
        let transaction = Task { [context = contexts[c]] in
            try await context.transaction(mergePolicy: nested.policy.mergePolicy) { context in
                defer { began.continuation.finish() }
                try context.perform(rolledBack)
                if !rolledBack.isEmpty { context.rollback() }
                try context.perform(changes)
                began.continuation.finish()
                for await _ in mayEnd.stream {}
                try context.compare(with: child, held: nil)
                if nested.isAbandoned { throw Abandoned() }
            }
        }
        for await _ in began.stream {}
        do {
            for action in nested.meanwhile { try await perform(StoreProgram.Step(context: c, action: action)) }
        } catch {
            mayEnd.continuation.finish()
            throw error
        }
        let oldHead = head
        models[c].undo.endGroup(at: models[c])
        let savepoint = models[c]
        var child = child
        var expected: ContextModel.Failure?
        var replaced: [StoreModel.ID: StoreModel.ID] = [:]
        if !nested.isAbandoned {
            do throws(ContextModel.Failure) {
                try child.save(into: &models[c], nested.policy)
                models[c].undo.endGroup(at: models[c])
                replaced = try models[c].save(to: &head, nested.policy)
            } catch {
                expected = error
                models[c] = savepoint
            }
        }
        mayEnd.continuation.finish()
        var actual: ContextModel.Failure?
        do {
            try await transaction.value
        } catch is Abandoned {
        } catch let error as GraphError {
            actual = try ContextModel.Failure(error, of: expected?.isOfParent == true ? .parent : .store)
        } catch {
            throw error
        }
        try await compareOutcome(c, expected, actual, replaced, since: oldHead)
    }
}
