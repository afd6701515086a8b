import Foundation
import Testing

@testable import Graph

struct TimeTravelTests {
    @Test(arguments: [true, false]) func `the state of every commit that is kept comes back`(isFile: Bool) async throws
    {
        for seed in Seeds.programs(share: 12) {
            let folder = try TemporaryFolder()
            var run = try await AnnalsRun(path: isFile ? folder.file() : nil, seed: seed)
            for _ in 0..<2 {
                try await run.run(25)
                for state in run.states {
                    let found = try await run.coordinator.snapshot(at: state.token)
                    #expect(found.contents() == state.contents(), "seed \(seed)")
                    #expect(found.check() == [], "seed \(seed)")
                }
            }
            let start = try #require(run.states.randomElement(using: &run.random))
            var last = try await run.coordinator.snapshot(at: start.token)
            for try await commit in run.coordinator.history(since: start.token) {
                let next = try await run.coordinator.snapshot(at: commit.token)
                let expected = SnapshotDifference(before: last, after: next)
                #expect(commit.changes.lines() == expected.lines(), "seed \(seed)")
                last = next
            }
            #expect(last.token == run.coordinator.snapshot.token)
            try await run.coordinator.close()
        }
    }

    @Test(arguments: [true, false]) func `history, applied to a fork at an earlier state, gives the later ones`(
        isFile: Bool
    ) async throws {
        var applied = 0
        for seed in Seeds.programs(share: 12) {
            let folder = try TemporaryFolder()
            var run = try await AnnalsRun(path: isFile ? folder.file() : nil, seed: seed)
            try await run.run(60)
            // Not the newest one, if there are others.
            let start = try #require(run.states.prefix(max(1, run.states.count - 1)).randomElement(using: &run.random))
            var mirror = AppliedHistory(to: try await run.coordinator.fork(at: start.token))
            for try await commit in run.coordinator.history(since: start.token) {
                let state = try await run.coordinator.snapshot(at: commit.token)
                try await mirror.apply(commit, state)
                let found = mirror.fork.snapshot
                let expected = try AppliedHistory.lines(of: state, mirror.ids)
                try #require(try AppliedHistory.lines(of: found) == expected, "seed \(seed), \(commit)")
                #expect(found.check() == [], "seed \(seed), \(commit)")
                applied += 1
            }
            let newest = run.coordinator.snapshot
            #expect(
                try AppliedHistory.lines(of: mirror.fork.snapshot) == AppliedHistory.lines(of: newest, mirror.ids),
                "seed \(seed)")
            try await run.coordinator.close()
        }
        // Files may keep no history.
        #expect(isFile || applied > 0)
    }

    @Test func `a state of the past has queries, relationships and differences`() async throws {
        let folder = try TemporaryFolder()
        for path in [nil, folder.file()] {
            let coordinator = try await Coordinator(for: Team.self, Person.self, at: path, compaction: .manual)
            let context = Context(coordinator)
            let (red, blue) = try await context.transaction { context in
                let (red, blue) = (context.insert(Team(name: "red")), context.insert(Team(name: "blue")))
                for age in 1...20 {
                    context.insert(Person(name: "\(age)", email: "\(age)", age: age, team: ToOne(red.id)))
                }
                return (red.id, blue.id)
            }
            let token = coordinator.snapshot.token
            try await context.transaction { context in
                for person in try context.fetch(Person.self) {
                    person.age += 100
                    person.team = context[blue]
                }
            }
            try await context.transaction { try $0.object(for: red).delete() }
            let then = try await coordinator.snapshot(at: token)
            #expect(then.token == token && then.commit.number == 1 && then.count(of: Team.self) == 2)
            #expect(try then.fetchValues(where: #Predicate<Person> { $0.age > 15 }).count == 5)
            #expect(then.first(\Person.email, equals: "7")?.age == 7)
            #expect(try then.relatedValues(\Team.members, of: red).count == 20)
            #expect(coordinator.snapshot.difference(from: then).changes(of: Person.self).count == 20)
            #expect(coordinator.cachedSnapshot(at: coordinator.snapshot.token)?.commit.number == 3)
            #expect((coordinator.cachedSnapshot(at: token) == nil) == (path != nil))
            var forged = token
            forged.fingerprint ^= 1
            await #expect(throws: GraphError.self) { try await coordinator.snapshot(at: forged) }
            #expect(coordinator.cachedSnapshot(at: forged) == nil)
            try await coordinator.close()
        }
    }

    @Test func `a fork goes its own way`() async throws {
        let folder = try TemporaryFolder()
        let coordinator = try await Coordinator(for: Team.self, Person.self, at: folder.file(), compaction: .manual)
        let context = Context(coordinator)
        let red = try await context.transaction { $0.insert(Team(name: "red")).id }
        let token = coordinator.snapshot.token
        let blue = try await context.transaction { $0.insert(Team(name: "blue")).id }
        let fork = try await coordinator.fork(at: token)
        #expect(fork.snapshot.count(of: Team.self) == 1 && fork.snapshot.commit == token.commit)
        let other = Context(fork)
        let green = try await other.transaction { context in
            try context.object(for: red).name = "dark red"
            return context.insert(Team(name: "green")).id
        }
        #expect(green.row > blue.row)
        #expect(
            fork.snapshot.value(for: red)?.name == "dark red" && coordinator.snapshot.value(for: red)?.name == "red"
        )
        #expect(coordinator.snapshot.commit.number == 2 && fork.check() == [])
        await #expect(throws: GraphError.self) { try await coordinator.snapshot(at: fork.snapshot.token) }
        var numbers: [UInt64] = []
        for try await commit in fork.history() { numbers.append(commit.number.number) }
        #expect(numbers == [2])
        try await coordinator.close()
    }
}
