import Foundation

@testable import Graph

/// A store file in `Golden`, which an older version of the engine wrote. Tests open copies.
enum GoldenStore: String, CaseIterable {
    case library = "library-v1"
    case libraryCompacted = "library-v1-compacted"
    case libraryEmpty = "library-v1-empty"
    case libraryUnclean = "library-v1-unclean"
    case wide = "wide-v1"
    case wideCompacted = "wide-v1-compacted"

    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Golden")

    var isWide: Bool { self == .wide || self == .wideCompacted }

    var file: URL { Self.folder.appendingPathComponent("\(rawValue).graph") }

    /// What the version that wrote the file read from it, as `PlainRows` shows it. A compaction changes nothing of it.
    var expectedRows: [String] {
        get throws {
            let name = rawValue.replacingOccurrences(of: "-compacted", with: "")
            let text = try String(contentsOf: Self.folder.appendingPathComponent("\(name).jsonl"), encoding: .utf8)
            return text.split(separator: "\n").map(String.init)
        }
    }

    /// A copy in a folder of its own, which goes away with the returned value.
    func copy() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        try FileManager.default.copyItem(atPath: file.path, toPath: folder.file())
        return folder
    }

    /// Opens a store with the model that the golden files have.
    func open(_ path: String) async throws(GraphError) -> Coordinator {
        isWide
            ? try await Coordinator(for: LibraryV1.Wide.self, at: path)
            : try await LibraryV1.open(path)
    }

    func rows(of snapshot: Snapshot) throws -> [String] {
        isWide ? try LibraryV1.wideRows(of: snapshot) : try LibraryV1.rows(of: snapshot)
    }
}

extension LibraryV1 {
    static func open(_ path: String, readOnly: Bool = false) async throws(GraphError) -> Coordinator {
        try await Coordinator(
            for: Author.self, Book.self, Chapter.self, Tag.self, Publisher.self, Reader.self, Card.self, Shelf.self,
            Draft.self, at: path, readOnly: readOnly)
    }
}
