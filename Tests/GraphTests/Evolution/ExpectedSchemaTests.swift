import Foundation
import Testing

@testable import Graph

/// What a program's own tests say of a schema that has shipped.
struct ExpectedSchemaTests {
    fileprivate enum V1: SchemaVersion {
        static let entities: [any Graph.Entity.Type] = [Song.self, Singer.self]

        @Entity struct Song {
            var title: String
            var seconds: Int
        }

        @Entity struct Singer {
            var name: String
        }
    }

    fileprivate enum V2: SchemaVersion {
        static let entities: [any Graph.Entity.Type] = [Song.self, Singer.self]

        @Entity struct Song {
            @Indexed var title: String
            var seconds: Double
            var isFavourite = false
        }

        @Entity struct Singer {
            @Attribute(originalName: "name") var fullName: String
        }
    }

    fileprivate enum V3: SchemaVersion {
        static let entities: [any Graph.Entity.Type] = [Song.self]

        @Entity struct Song {
            var title: String
            var seconds: String
            var rank: Int
        }
    }

    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("v1.schema")
        // The first call writes the file and says so.
        #expect(throws: GraphError.self) {
            try Coordinator.expectSchema(for: V1.Song.self, V1.Singer.self, isCompatibleWith: path)
        }
    }

    private func refusals(_ body: () throws(GraphError) -> [SchemaChange]) -> [String] {
        do throws(GraphError) {
            _ = try body()
            return []
        } catch {
            guard case .schemaMismatch(_, let differences) = error else { return ["\(error)"] }
            return Array(differences)
        }
    }

    @Test func `the present schema is compatible with itself, and the file stays as it is`() throws {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.hasPrefix("graph schema 1\n"))
        for _ in 0..<2 {
            #expect(try Coordinator.expectSchema(for: V1.Song.self, V1.Singer.self, isCompatibleWith: path) == [])
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
    }

    @Test func `what a store's file says of its schema will do`() async throws {
        let store = try await Coordinator(for: V1.Song.self, V1.Singer.self, at: folder.file())
        try await store.close()
        let text = try await StoreInspection(reading: folder.file()).schemaText
        #expect(try text == String(contentsOfFile: path, encoding: .utf8))
    }

    @Test func `changes that opening makes by itself are returned, and others thrown as if there were objects`() throws
    {
        let changes = try Coordinator.expectSchema(for: V2.Song.self, V2.Singer.self, isCompatibleWith: path)
        #expect(changes.count == 4 && changes.allSatisfy { $0.handling != .refused })
        let refused = refusals { () throws(GraphError) in
            try Coordinator.expectSchema(for: V3.Song.self, isCompatibleWith: path)
        }
        #expect(
            refused == [
                "Song.seconds: int becomes string: this needs a migration plan",
                "Song.rank: added, but nothing says what it is in the objects of the file: declare a default, or make it "
                    + "optional",
                #"Singer: removed, but the file has objects: open with dropping: ["Singer"] to delete them"#,
            ])
        #expect(
            refusals { () throws(GraphError) in
                try Coordinator.expectSchema(for: V3.Song.self, isCompatibleWith: path, dropping: ["Singer"])
            }.count == 2)
    }

    @Test func `a plan is asked`() throws {
        let plan = MigrationPlan(.custom(from: V1.self, to: V3.self) { _, _ in Issue.record("a step ran") })
        let changes = try Coordinator.expectSchema(
            for: V3.Song.self, isCompatibleWith: path, migration: plan, dropping: ["Singer"])
        #expect(changes.count == 3 && changes.allSatisfy { $0.handling == .converted })
    }

    @Test(arguments: ["", "graph schema 1", "graph schema 1\nentity 1 \"Song\"\n\u{0}", "SQLite format 3"])
    func `a file that is no schema is refused, and stays`(text: String) throws {
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        #expect {
            try Coordinator.expectSchema(for: V1.Song.self, V1.Singer.self, isCompatibleWith: path)
        } throws: { error in
            guard case GraphError.unusableFile(path, _) = error else { return false }
            return "\(error)".utf8.count < 1_000
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
    }

    @Test func `a folder that is missing is an error`() throws {
        #expect(throws: GraphError.self) {
            try Coordinator.expectSchema(for: V1.Song.self, isCompatibleWith: folder.file("missing") + "/v1.schema")
        }
    }
}
