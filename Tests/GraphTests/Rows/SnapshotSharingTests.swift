import Testing

@testable import Graph

/// Snapshots read by many tasks while commits go on.
struct SnapshotSharingTests {
    @Test func `readers on other threads see whole states while commits go on`() async throws {
        let coordinator = try await Coordinator(for: Team.self, Person.self)
        let context = Context(coordinator)
        let teams = try await context.transaction { context in
            let teams = context.insert(contentsOf: (0..<10).map { Team(name: "team number \($0) of several") })
            context.insert(
                contentsOf: (0..<1_000).map {
                    Person(name: "0", email: "person\($0)@example.com", age: $0, team: ToOne(teams[$0 % 10]))
                })
            return teams
        }
        await withTaskGroup { group in
            for seed in 0..<4 {
                group.addTask {
                    for round in 0..<60 {
                        let snapshot = coordinator.snapshot
                        let names = (try? snapshot.fetchValues(Person.self).map(\.name)) ?? []
                        #expect(Set(names).count == 1 && names.count == 1_000)
                        let members = (try? snapshot.related(\.members, of: teams[(round + seed) % 10])) ?? []
                        #expect(members.count == 100)
                        let sorted = try? snapshot.fetchIDs(
                            Person.self, sortedBy: [.descending(\.age)], offset: 3, limit: 20)
                        #expect(sorted?.count == 20)
                        if round % 50 == 0 { #expect(snapshot.checkInvariants() == []) }
                        await Task.yield()
                    }
                }
            }
            group.addTask {
                for round in 1..<60 {
                    _ = try? await context.transaction { context in
                        for person in try context.fetch(Person.self) {
                            person.name = "\(round)"
                            person.team = context[teams[(round + person.age) % 10]]
                        }
                    }
                }
            }
        }
        #expect(coordinator.snapshot.checkInvariants() == [])
    }
}
