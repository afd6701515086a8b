import Testing

@testable import Graph

/// R2: what a conflict says.
struct MergeConflictTests {
    fileprivate enum Program {
        @Entity struct School {
            var name = ""
        }

        @Entity struct Student {
            var age = 0
            var name: String
            var school: ToOne<School> = nil
        }
    }

    @Test func `R2 conflicts print both versions and the three rows`() async throws {
        let coordinator = try await Coordinator(for: Program.Student.self, Program.School.self)
        let (ours, theirs) = (Context(coordinator), Context(coordinator))
        let id = try await theirs.transaction { $0.insert(Program.Student(name: "fan")).id }
        for age in (0..<25).reversed() {
            try await theirs.transaction { try $0.object(for: id).age = age }
        }
        await ours.refresh()
        try await ours.perform { try $0.object(for: id).name = "private_one" }
        try await theirs.transaction { try $0.object(for: id).name = "private_two" }
        do {
            try await ours.save()
            Issue.record("saved")
        } catch {
            #expect(
                "\(error)" == """
                    could not merge changes: 1 conflict
                      Student/p1: oldVersion = 26, newVersion = 27
                        cached row = { age = 0, name = "fan", school = nil }
                        store row  = { age = 0, name = "private_two", school = nil }
                        your row   = { age = 0, name = "private_one", school = nil }
                    """
            )
        }
    }

    @Test func `R2 deletes print as deleted, several conflicts one below the other`() async throws {
        let rivals = try await Rivals()
        let (card, club) = try await rivals.start { context in
            (context.insert(Card(number: 1)).id, context.insert(Club(name: "chess")).id)
        }
        try await rivals.change { context in
            try context.object(for: card).number = 2
            try context.object(for: club).delete()
        } theirs: { context in
            try context.object(for: card).delete()
            try context.object(for: club).name = "go"
        }
        #expect(
            await rivals.save()?.description == """
                could not merge changes: 2 conflicts
                  Club/p1: oldVersion = 1, newVersion = 2
                    cached row = { name = "chess" }
                    store row  = { name = "go" }
                    your row   = deleted
                  Card/p1: oldVersion = 1, newVersion = 0
                    cached row = { number = 1, account = nil }
                    store row  = deleted
                    your row   = { number = 2, account = nil }
                """
        )
    }

    @Test func `R2 a conflict has the three rows with their types and says which side changed what`() async throws {
        let rivals = try await Rivals()
        let id = try await rivals.start { $0.insert(Account(balance: 1, highest: 1, lowest: 1, memo: "same")).id }
        try await rivals.change { context in
            let account = try context.object(for: id)
            (account.balance, account.highest, account.points) = (2, 2, 7)
        } theirs: { context in
            let account = try context.object(for: id)
            (account.balance, account.lowest, account.points) = (3, 3, 7)
        }
        let conflict = try #require(try await rivals.conflicts().first)
        let rows = try #require(conflict.rows(of: Account.self))
        #expect(rows.base == Account(balance: 1, highest: 1, lowest: 1, memo: "same"))
        #expect(rows.ours == Account(balance: 2, points: 7, highest: 2, lowest: 1, memo: "same"))
        #expect(rows.theirs == Account(balance: 3, points: 7, highest: 1, lowest: 3, memo: "same"))
        #expect(conflict.rows(of: Card.self) == nil)
        #expect((conflict.ours as? Account)?.balance == 2 && conflict.ours as? Card == nil)
        let lines = conflict.differences.map {
            "\($0.property) \($0.base) \($0.ours) \($0.theirs) \($0.isChangedHere) \($0.isChangedThere)"
        }
        #expect(
            lines == [
                "balance 1 2 3 true true", "points 0 7 7 true true", "highest 1 2 1 true false",
                "lowest 1 1 3 false true",
            ]
        )
        #expect(conflict.reason == nil)
    }

    @Test func `R2 a conflict names both sides' authors, call sites and the commit`() async throws {
        let rivals = try await Rivals()
        let id = try await rivals.start { $0.insert(Account()).id }
        try await rivals.ours.perform { try $0.object(for: id).balance = 1 }
        try await rivals.theirs.perform { try $0.object(for: id).balance = 2 }
        let theirLine = UInt(#line + 1)
        try await rivals.theirs.save()
        // Newer commits that leave the row alone are none of its conflicts.
        try await rivals.theirs.transaction { _ = $0.insert(Club()) }
        var conflict: MergeConflict?
        let ourLine = UInt(#line + 2)
        do {
            try await rivals.ours.save()
        } catch {
            guard case .conflicts(let conflicts) = error else { throw error }
            conflict = conflicts.first
        }
        let (ours, theirs) = (try #require(conflict?.ourOrigin), try #require(conflict?.theirOrigin))
        #expect(ours.author == "us" && ours.commit == nil)
        #expect(ours.callSite?.description == "GraphTests/MergeConflictTests.swift:\(ourLine)")
        #expect(theirs.author == "them" && theirs.commit == CommitNumber(2))
        #expect(theirs.callSite?.fileID == #fileID && theirs.callSite?.line == theirLine)
    }

    @Test func `R2 transactions are call sites, too, and a context without an author has none`() async throws {
        let rivals = try await Rivals()
        let id = try await rivals.start { $0.insert(Account()).id }
        let context = Context(rivals.coordinator)
        let theirLine = UInt(#line + 1)
        try await rivals.theirs.transaction { try $0.object(for: id).balance = 2 }
        for isAsync in [false, true] {
            let ourLine = UInt(#line + (isAsync ? 7 : 3))
            do {
                if !isAsync {
                    try await context.transaction { try $0.object(for: id).balance = 1 }
                } else {
                    // The line of the call, not of the closure's end.
                    let line = ourLine
                    try await context.transaction {
                        await Task.yield()
                        try $0.object(for: id).balance = Int(line)
                    }
                }
                Issue.record("saved")
            } catch GraphError.conflicts(let conflicts) {
                #expect(conflicts.map(\.ourOrigin?.author) == [nil])
                #expect(conflicts.map(\.ourOrigin?.callSite?.line) == [ourLine])
                #expect(conflicts.map(\.theirOrigin?.callSite?.line) == [theirLine])
                #expect(conflicts.map(\.theirOrigin?.commit?.number) == [2])
            }
            #expect(await context.hasChanges == false)
        }
    }

    @Test func `R2 the newest of several commits that changed the row is named`() async throws {
        let rivals = try await Rivals()
        let id = try await rivals.start { $0.insert(Account()).id }
        try await rivals.ours.perform { try $0.object(for: id).balance = -1 }
        for balance in 1...3 { try await rivals.theirs.transaction { try $0.object(for: id).balance = balance } }
        #expect(try await rivals.conflicts().first?.theirOrigin?.commit == CommitNumber(4))
        // Long ago is not known any more; what is known by then belongs to other rows.
        for _ in 1...40 { try await rivals.theirs.transaction { _ = $0.insert(Club()) } }
        let conflict = try #require(try await rivals.conflicts().first)
        #expect(conflict.theirOrigin == nil && conflict.newVersion == RowVersion(4))
    }

    @Test func `R2 a row that counts from an older base than the context reports that one`() async throws {
        let rivals = try await Rivals()
        let id = try await rivals.start { $0.insert(Account(balance: 1)).id }
        try await rivals.change {
            try $0.object(for: id).balance = 2
        } theirs: {
            try $0.object(for: id).delete()
        }
        await rivals.ours.refresh()
        let conflict = try #require(try await rivals.conflicts().first)
        #expect(conflict.oldVersion == RowVersion(1) && conflict.newVersion == RowVersion(0))
        let rows = try #require(conflict.rows(of: Account.self))
        #expect(rows.base?.balance == 1 && rows.ours?.balance == 2 && rows.theirs == nil)
    }
}
