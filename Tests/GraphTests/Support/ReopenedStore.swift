import Foundation
import Testing

@testable import Graph

/// A store on a file of its own, for tests of what comes back from it.
struct ReopenedStore<E: Entity> {
    let folder: TemporaryFolder
    let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file()
    }

    /// Opens the store, runs the body on a new context, saves, and closes.
    func save(_ body: @Sendable (isolated Context) throws -> Void) async throws {
        let coordinator = try await Coordinator(for: E.self, at: path)
        let context = Context(coordinator)
        try await context.perform(body)
        try await context.save()
        #expect(coordinator.snapshot.checkInvariants() == [])
        try await coordinator.close()
    }

    /// What the file holds.
    func values() async throws -> [E] {
        let coordinator = try await Coordinator(for: E.self, at: path)
        let values = try coordinator.snapshot.fetchValues(E.self)
        try await coordinator.close()
        return values
    }
}
