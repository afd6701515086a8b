import Foundation
import Testing

@testable import Graph

/// A property of an optional of a program's own type: added, required later, and optional again.
struct OptionalOfOwnTypeTests {
    fileprivate struct Place: Codable, Equatable, Sendable {
        var name: String
    }

    fileprivate enum V1 {
        @Entity struct Item {
            var number: Int
        }
    }

    fileprivate enum V2 {
        @Entity struct Item {
            var number: Int
            var place: Place?
            var places: [Place]?
        }
    }

    fileprivate enum V3 {
        @Entity struct Item {
            var number: Int
            var place: Place = Place(name: "nowhere")
            var places: [Place] = [Place(name: "none")]
        }
    }

    /// Without a default.
    fileprivate enum V4 {
        @Entity struct Item {
            var number: Int
            var place: Place
        }
    }

    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test func `it is nil when it is added, the default when it is required, and optional again`() async throws {
        let first = try await Coordinator(for: V1.Item.self, at: folder.file())
        try await Context(first).transaction { context in
            for number in 1...3 { context.insert(V1.Item(number: number)) }
        }
        try await first.close()

        for _ in 0..<2 {
            let second = try await Coordinator(for: V2.Item.self, at: folder.file())
            let items = try second.snapshot.fetchValues(V2.Item.self)
            #expect(items.map(\.number) == [1, 2, 3] && items.allSatisfy { $0.place == nil && $0.places == nil })
            try await second.close()
        }
        let second = try await Coordinator(for: V2.Item.self, at: folder.file())
        #expect(second.diagnostics == [])
        try await Context(second).transaction { context in
            let item = try context.fetch(V2.Item.self)[1]
            item.place = Place(name: "here")
            item.places = []
        }
        try await second.close()

        let before = FileManager.default.contents(atPath: folder.file())
        let error = await #expect(throws: GraphError.self) {
            try await Coordinator(for: V4.Item.self, at: folder.file(), dropping: ["Item.places"])
        }
        guard case .migrationFailed(_, let failures)? = error else { throw try #require(error) }
        #expect(failures.map(\.property) == ["place", "place"])
        #expect(FileManager.default.contents(atPath: folder.file()) == before)

        let preview = try await Coordinator.migrationPreview(for: V3.Item.self, at: folder.file())
        #expect(preview.changes.map(\.property) == ["place", "places"])
        #expect(preview.changes.allSatisfy { $0.handling == .converted })
        for _ in 0..<2 {
            let third = try await Coordinator(for: V3.Item.self, at: folder.file())
            let items = try third.snapshot.fetchValues(V3.Item.self)
            #expect(items.map(\.place.name) == ["nowhere", "here", "nowhere"])
            #expect(items.map(\.places) == [[Place(name: "none")], [], [Place(name: "none")]])
            try await third.close()
        }

        // And back, which changes nothing in the file.
        let again = try await Coordinator(for: V2.Item.self, at: folder.file())
        let items = try again.snapshot.fetchValues(V2.Item.self)
        #expect(items.map(\.place?.name) == ["nowhere", "here", "nowhere"] && again.diagnostics == [])
        try await again.close()
    }

    @Test func `what was nil in the journal's past does not matter`() async throws {
        let first = try await Coordinator(for: V2.Item.self, at: folder.file())
        try await Context(first).transaction { $0.insert(V2.Item(number: 1)) }
        try await Context(first).transaction { context in
            let item = try context.fetch(V2.Item.self)[0]
            item.place = Place(name: "here")
            item.places = []
        }
        try await first.close()
        let third = try await Coordinator(for: V3.Item.self, at: folder.file())
        #expect(try third.snapshot.fetchValues(V3.Item.self).map(\.place.name) == ["here"])
        try await third.close()
    }
}
