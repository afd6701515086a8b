import Foundation
import Testing

@testable import Graph

struct ReopeningTests {
    @Test func `a coordinator that is released without close can be opened again at once`() async throws {
        let folder = try TemporaryFolder()
        for round in 1...100 {
            let coordinator = try await Coordinator(for: Team.self, Person.self, at: folder.file())
            let context = Context(coordinator)
            _ = try await context.transaction { $0.insert(Person(name: "\(round)")).id }
            #expect(coordinator.snapshot.count(of: Person.self) == round)
        }
    }

    @Test func `opens that fail leave no lock behind`() async throws {
        let folder = try TemporaryFolder()
        let coordinator = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        try await coordinator.transaction { _ = $0.insert(Team(name: "team")) }
        try await coordinator.close()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: folder.file()))
        bytes[8_300] ^= 1
        try bytes.write(to: URL(fileURLWithPath: folder.file("damaged.graph")))
        for _ in 0..<300 {
            await #expect(throws: GraphError.self) {
                _ = try await Coordinator(for: Team.self, Person.self, at: folder.file("damaged.graph"))
            }
            await #expect(throws: GraphError.self) { _ = try await Coordinator(for: Lone.self, at: folder.file()) }
        }
        let again = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        try await again.close()
    }
}

@Entity private struct Lone {
    var number = 1
}
