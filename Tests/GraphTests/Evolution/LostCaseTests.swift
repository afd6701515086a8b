import Foundation
import Testing

@testable import Graph

/// A type that no longer takes a value which the file still has, although the schema has not changed.
struct LostCaseTests {
    fileprivate enum OldKind: String, CaseIterable {
        case old, new
    }

    fileprivate enum NewKind: String, CaseIterable {
        case new
    }

    fileprivate struct Box: Codable, Equatable, Sendable {
        var size = 0
    }

    fileprivate enum Before: SchemaVersion {
        static let entities: [any Entity.Type] = [Doc.self]

        @Entity struct Doc {
            var title: String
        }
    }

    fileprivate enum Old {
        enum Newest: SchemaVersion {
            static let entities: [any Entity.Type] = [Doc.self]

            @Entity struct Doc {
                var name: String
                var kind = OldKind.old
                /// Required, with a default, which nils of the past would become.
                var box = Box()
            }
        }
    }

    fileprivate enum New {
        enum Newest: SchemaVersion {
            static let entities: [any Entity.Type] = [Doc.self]

            @Entity struct Doc {
                var name: String
                var kind = NewKind.new
                var box = Box()
            }
        }
    }

    @Test(arguments: [false, true], [false, true])
    func `a value of today or of the past that the type does not take is refused, with a plan or without`(
        isPast: Bool, hasPlan: Bool
    ) async throws {
        let folder = try TemporaryFolder()
        let path = folder.file()
        let oldPlan = MigrationPlan(.custom(from: Before.self, to: Old.Newest.self) { _, _ in })
        let first = try await Coordinator(for: Old.Newest.Doc.self, at: path, migration: hasPlan ? oldPlan : nil)
        let id = try await first.transaction { $0.insert(Old.Newest.Doc(name: "a")).id }
        try await first.transaction { context in
            context[id]?.name = "b"
            if isPast { context[id]?.kind = .new }
        }
        try await first.close()
        let before = FileManager.default.contents(atPath: path)
        let newPlan = MigrationPlan(.custom(from: Before.self, to: New.Newest.self) { _, _ in })
        let error = await #expect(throws: GraphError.self) {
            try await Coordinator(for: New.Newest.Doc.self, at: path, migration: hasPlan ? newPlan : nil)
        }
        guard case .valueNotReadable(_, _, let property, _, _)? = error else { throw try #require(error) }
        #expect(property == "kind")
        #expect(FileManager.default.contents(atPath: path) == before)
        #expect(!FileManager.default.fileExists(atPath: path + ".schema-1"))
    }
}
