import Foundation
import Testing

@testable import Graph

/// Files that older versions wrote open, and have in them what those versions read. See `Golden/README.md`.
struct GoldenStoreTests {
    @Test(arguments: GoldenStore.allCases)
    func `a golden file opens, and holds what its writer read from it`(_ store: GoldenStore) async throws {
        let folder = try store.copy()
        let coordinator = try await store.open(folder.file())
        #expect(coordinator.check() == [])
        // That a file was not closed is said where no lock file is beside it.
        #expect(coordinator.diagnostics.count == (store == .libraryUnclean ? 1 : 0))
        expect(try store.rows(of: coordinator.snapshot), try store.expectedRows)
        try await coordinator.close()
    }

    @Test(arguments: GoldenStore.allCases)
    func `a golden file can be changed, compacted and opened again`(_ store: GoldenStore) async throws {
        let folder = try store.copy()
        var coordinator = try await store.open(folder.file())
        if store.isWide {
            let ids = try coordinator.snapshot.fetchIDs(LibraryV1.Wide.self)
            try await coordinator.transaction { context in
                for id in ids { context[id]?.optionalString = "changed" }
                context[ids[0]]?.delete()
            }
        } else {
            try await coordinator.transaction { context in
                let books = try context.fetch(LibraryV1.Book.self)
                books.first?.delete()
                for book in books.dropFirst() { book.tags = [context.insert(LibraryV1.Tag(name: "new", weight: 1))] }
            }
        }
        let rows = try store.rows(of: coordinator.snapshot)
        try await coordinator.close()
        coordinator = try await store.open(folder.file())
        expect(try store.rows(of: coordinator.snapshot), rows)
        try await coordinator.compact()
        try await coordinator.close()
        coordinator = try await store.open(folder.file())
        #expect(coordinator.check() == [])
        expect(try store.rows(of: coordinator.snapshot), rows)
        try await coordinator.close()
    }

    @Test func `nobody has edited a golden file`() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: GoldenStore.folder.path)
            .filter { !["README.md", "digests.txt"].contains($0) }.sorted()
        let lines = try names.map { name in
            let bytes = try [UInt8](Data(contentsOf: GoldenStore.folder.appendingPathComponent(name)))
            return SHA256.digest(bytes).map { PlainText.hexadecimal($0) }.joined() + "  " + name
        }
        let list = try String(contentsOf: GoldenStore.folder.appendingPathComponent("digests.txt"), encoding: .utf8)
        #expect(lines == list.split(separator: "\n").map(String.init))
    }

    /// One failure for each row that differs.
    private func expect(
        _ rows: [String], _ expected: [String], sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(rows.count == expected.count, sourceLocation: sourceLocation)
        for (row, expected) in zip(rows, expected) {
            #expect(Array(row.utf8) == Array(expected.utf8), "\(row)", sourceLocation: sourceLocation)
        }
    }
}
