import Testing

@testable import Graph

/// Steps of a plan change rows in commits of their own, which count.
struct VersionsAfterStepsTests {
    fileprivate enum V1: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item { @Indexed var name: String }
    }

    fileprivate enum V2: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item {
            @Indexed var name: String
            var first = 0
        }
    }

    fileprivate enum V3: SchemaVersion {
        static let entities: [any Entity.Type] = [Item.self]
        @Entity struct Item {
            @Indexed var name: String
            var first = 0
            var second = 0
        }
    }

    @Test func `no row has a later version than its store, also after a plan, a delete and an undo`() async throws {
        let folder = try TemporaryFolder()
        let old = try await Coordinator(for: V1.Item.self, at: folder.file())
        try await old.transaction { context in for name in ["a", "b"] { context.insert(V1.Item(name: name)) } }
        try await old.close()
        let plan = MigrationPlan(
            .custom(from: V1.self, to: V2.self) { _, new in for item in try new.fetch(V2.Item.self) { item.first = 1 }
            },
            .custom(from: V2.self, to: V3.self) { _, new in for item in try new.fetch(V3.Item.self) { item.second = 1 }
            })
        let store = try await Coordinator(for: V3.Item.self, at: folder.file(), migration: plan)
        let id = try #require(try store.snapshot.fetchIDs(V3.Item.self).first)
        let version = try #require(store.snapshot.version(of: id))
        #expect(version.number == 3 && store.snapshot.commit.number == 3)
        let context = Context(store)
        await context.perform { context in
            context.undoLimit = 10
            context[id]?.delete()
        }
        try await context.save()
        _ = await context.undo()
        await context.perform { $0[id]?.name = "z" }
        try await context.save()
        #expect(try #require(store.snapshot.version(of: id)).number > version.number)
        try await store.close()
        let again = try await Coordinator(for: V3.Item.self, at: folder.file(), migration: plan)
        #expect(again.check() == [])
        #expect(try again.snapshot.fetchValues(V3.Item.self, sortedBy: [.ascending(\.name)]).map(\.name) == ["b", "z"])
        try await again.close()
    }
}
