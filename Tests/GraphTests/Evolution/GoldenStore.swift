import Foundation

@testable import Graph

/// A store file in `Golden`, which an older version of the engine wrote. Tests open copies.
enum GoldenStore: String, CaseIterable {
    case library = "library-v1"
    case libraryCompacted = "library-v1-compacted"
    case libraryEmpty = "library-v1-empty"
    case libraryUnclean = "library-v1-unclean"
    // Written since files have checkpoints with index entries, metadata, versions and earlier schemas.
    case libraryIndexed = "library-v1-indexed"
    case libraryTail = "library-v1-tail"
    case libraryMetadata = "library-v1-metadata"
    case libraryMigrated = "library-v1-migrated"
    case libraryRecorded = "library-v1-recorded"
    // Written since files have history and its consumers.
    case libraryHistory = "library-v1-history"
    // Written since several programs can save to one log.
    case libraryShared = "library-v1-shared"
    case wide = "wide-v1"
    case wideCompacted = "wide-v1-compacted"
    case wideTail = "wide-v1-tail"

    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Golden")

    var isWide: Bool { rawValue.hasPrefix("wide") }

    var file: URL { Self.folder.appendingPathComponent("\(rawValue).graph") }

    /// What the version that wrote the file read from it, as `lines(of:)` shows it. A compaction changes nothing of it.
    var expectedLines: [String] {
        get throws {
            let text = try String(contentsOf: rowsFile, encoding: .utf8)
            return text.split(separator: "\n").map(String.init)
        }
    }

    /// Some have the rows of another one.
    var rowsFile: URL {
        let name = ["-compacted", "-indexed"].reduce(rawValue) { $0.replacingOccurrences(of: $1, with: "") }
        return Self.folder.appendingPathComponent("\(name).jsonl")
    }

    /// What records 1 and on of the file are, without reading their contents as anything.
    var records: [JournalFixture.Replayed] {
        get throws {
            let disk = SimulatedDisk()
            disk.setContents([UInt8](try Data(contentsOf: file)), at: JournalFixture.path)
            return try JournalFixture.read(disk)
        }
    }

    static let digestsFile = folder.appendingPathComponent("digests.txt")

    /// Of each file, a line with its SHA-256 and its name.
    static func digests() throws -> [String] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { !["README.md", "digests.txt"].contains($0) }.sorted()
        return try names.map { name in
            let bytes = try [UInt8](Data(contentsOf: folder.appendingPathComponent(name)))
            return SHA256.digest(bytes).map { PlainText.hexadecimal($0) }.joined() + "  " + name
        }
    }

    /// A copy in a folder of its own, which goes away with the returned value.
    func copy() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        try FileManager.default.copyItem(atPath: file.path, toPath: folder.file())
        return folder
    }

    /// Opens a store with the model that the golden files have.
    func open(_ path: String, readOnly: Bool = false) async throws(GraphError) -> Coordinator {
        isWide
            ? try await Coordinator(for: LibraryV1.Wide.self, at: path, readOnly: readOnly)
            : try await LibraryV1.open(path, readOnly: readOnly)
    }

    /// The rows, as `PlainRows` shows them, with a line for the metadata behind the first one if there are any.
    func lines(of coordinator: Coordinator) async throws -> [String] {
        var lines = try rows(of: coordinator.snapshot)
        let metadata = await coordinator.metadata
        if !metadata.isEmpty {
            let texts = PlainText.object(metadata.map { ($0.key, $0.value) })
            lines.insert("{\"metadata\":\(texts)}", at: 1)
        }
        return lines
    }

    func rows(of snapshot: Snapshot) throws -> [String] {
        isWide ? try LibraryV1.wideRows(of: snapshot) : try LibraryV1.rows(of: snapshot)
    }
}

extension SchemaRecord {
    /// With an index of each attribute that can have one.
    func indexingAttributes() throws -> SchemaRecord {
        var record = self
        for (entity, description) in try Schema(self).entities.enumerated() {
            for (number, property) in description.properties.enumerated() where property.operations.key != nil {
                guard case .attribute(let kind, .none) = entities[entity].properties[number].role else { continue }
                record.entities[entity].properties[number] = Property(
                    name: property.name, role: .attribute(kind: kind, .indexed))
            }
        }
        return record
    }
}

extension LibraryV1 {
    static func open(
        _ path: String, readOnly: Bool = false, migration: MigrationPlan? = nil
    ) async throws(GraphError) -> Coordinator {
        try await Coordinator(
            for: Author.self, Book.self, Chapter.self, Tag.self, Publisher.self, Reader.self, Card.self, Shelf.self,
            Draft.self, at: path, readOnly: readOnly, migration: migration)
    }

    static func open(_ path: String, joining log: JournalCommitLog) async throws(GraphError) -> Coordinator {
        try await Coordinator(
            for: Author.self, Book.self, Chapter.self, Tag.self, Publisher.self, Reader.self, Card.self, Shelf.self,
            Draft.self, at: path, joining: log)
    }
}
