import Foundation
import Testing

@testable import Graph

/// What the versions of a plan have to be, and which version a store has.
struct PlanVersionTests {
    fileprivate enum Euros: SchemaVersion {
        static let entities: [any Entity.Type] = [Price.self, Setting.self]

        @Entity struct Price {
            var amount: Int
        }

        @Entity struct Setting {
            var key: String
        }
    }

    /// The same schema, and other values.
    fileprivate enum Cents: SchemaVersion {
        static let entities: [any Entity.Type] = [Price.self, Setting.self]

        @Entity struct Price {
            var amount: Int
        }

        @Entity struct Setting {
            var key: String
        }
    }

    fileprivate enum Forgetful: SchemaVersion {
        static let entities: [any Entity.Type] = [Cents.Price.self]
    }

    /// Has another one's name.
    fileprivate enum Old {
        enum Cents: SchemaVersion {
            static let entities: [any Entity.Type] = Euros.entities
        }
    }

    fileprivate enum Songs1: SchemaVersion {
        static let entities: [any Entity.Type] = [Song.self]

        @Entity struct Song {
            var seconds: Int
            var length: Int
            var kind: String
        }
    }

    fileprivate enum Songs2: SchemaVersion {
        static let entities: [any Entity.Type] = [Song.self]

        @Entity struct Song {
            @Attribute(originalName: "seconds") var length: Int
            var kind: Int
        }
    }

    private static let toCents = MigrationStep.custom(from: Euros.self, to: Cents.self) { _, new in
        for price in try new.fetch(Cents.Price.self) { price.amount *= 100 }
    }

    private let folder: TemporaryFolder
    private var path: String { folder.file() }

    init() throws {
        folder = try TemporaryFolder()
    }

    private func makeEuros() async throws {
        let store = try await Coordinator(for: Euros.Price.self, Euros.Setting.self, at: path)
        try await store.transaction { context in
            context.insert(Euros.Price(amount: 5))
            context.insert(Euros.Setting(key: "a"))
        }
        try await store.close()
    }

    private func open(_ plan: MigrationPlan, at path: String? = nil) async throws -> Coordinator {
        try await Coordinator(for: Cents.Price.self, Cents.Setting.self, at: path ?? self.path, migration: plan)
    }

    private func amounts(_ store: Coordinator) throws -> [Int] {
        try store.snapshot.fetchValues(Cents.Price.self).map(\.amount)
    }

    @Test(arguments: [
        MigrationPlan(.custom(from: Euros.self, to: Forgetful.self) { _, _ in }),
        MigrationPlan(.custom(from: Old.Cents.self, to: Cents.self) { _, _ in }),
        // The program has the types of the version before.
        MigrationPlan(.custom(from: Songs1.self, to: Songs2.self) { _, _ in }),
    ])
    func `a plan with two versions of one name, or not for the program's entities, is refused`(
        plan: MigrationPlan
    ) async throws {
        try await makeEuros()
        let before = FileManager.default.contents(atPath: path)
        for path in [path, folder.file("new.graph")] {
            await #expect(throws: GraphError.self) { try await open(plan, at: path) }
        }
        let inMemory = await #expect(throws: GraphError.self) {
            try await Coordinator(for: Cents.Price.self, Cents.Setting.self, migration: plan)
        }
        let preview = await #expect(throws: GraphError.self) {
            try await Coordinator.migrationPreview(for: Cents.Price.self, Cents.Setting.self, at: path, migration: plan)
        }
        for error in [inMemory, preview] {
            guard case .invalidSchema? = error else { throw try #require(error) }
        }
        #expect(FileManager.default.contents(atPath: path) == before)
    }

    @Test func `a copy of a fork, or of a store in memory, has the version of the plan`() async throws {
        try await makeEuros()
        let plan = MigrationPlan(Self.toCents)
        let store = try await open(plan)
        let fork = try await store.fork(at: store.snapshot.token)
        try await fork.copy(to: folder.file("fork.graph"))
        let memory = try await Coordinator(for: Cents.Price.self, Cents.Setting.self, migration: plan)
        try await memory.transaction { _ = $0.insert(Cents.Price(amount: 500)) }
        try await memory.copy(to: folder.file("memory.graph"))
        try await store.copy(to: folder.file("copy.graph"))
        try await store.close()
        for name in ["fork.graph", "memory.graph", "copy.graph"] {
            let copy = try await open(plan, at: folder.file(name))
            #expect(try amounts(copy) == [500], "\(name)")
            try await copy.close()
        }
    }

    @Test(arguments: [("Song.length", 240), ("Song.seconds", 7), (nil, nil)] as [(String?, Int?)])
    func `a step takes the name that is not dropped`(dropped: String?, length: Int?) async throws {
        let first = try await Coordinator(for: Songs1.Song.self, at: path)
        try await first.transaction { _ = $0.insert(Songs1.Song(seconds: 240, length: 7, kind: "")) }
        try await first.close()
        let plan = MigrationPlan(.custom(from: Songs1.self, to: Songs2.self) { _, _ in })
        let dropping = dropped.map { [$0] } ?? []
        guard let length else {
            let error = await #expect(throws: GraphError.self) {
                try await Coordinator(for: Songs2.Song.self, at: path, migration: plan)
            }
            guard case .schemaMismatch(_, let differences)? = error else { throw try #require(error) }
            #expect(differences.count == 1 && differences.contains { $0.contains("either may be it") })
            let preview = try await Coordinator.migrationPreview(for: Songs2.Song.self, at: path, migration: plan)
            #expect(!preview.isPossible)
            return
        }
        let store = try await Coordinator(for: Songs2.Song.self, at: path, migration: plan, dropping: dropping)
        #expect(try store.snapshot.fetchValues(Songs2.Song.self).map(\.length) == [length])
        try await store.close()
    }
}
