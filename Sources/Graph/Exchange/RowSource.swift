/// Where an import reads from: a file, or any stream of bytes, as JSON lines or as CSV.
///
/// ```swift
/// try await coordinator.importRows(from: [.csv(of: Team.self, at: "teams.csv"), .csv(of: Person.self, at: "people.csv")])
/// ```
///
/// Lines, and records of CSV, are UTF-8 and 64 MiB long at most. The first line of CSV names properties, and where a column
/// `id` is, the identifiers; properties without a column get their defaults or nil. Empty lines are left out, also where there
/// is one column. CSV with two columns, an identifier and a to-many relationship, has a link on each line.
public struct RowSource: Sendable {
    /// Which entity CSV has.
    enum CSV: Sendable {
        case type(any Entity.Type)
        /// Of a schema without the program's types.
        case name(String)
    }

    let name: String
    /// nil for lines of JSON.
    let csv: CSV?
    let open: @Sendable () async throws -> any ByteStream

    /// Lines of JSON in a file, as ``Snapshot/exportedRows(progress:)`` writes them. The path may lead through links; it must
    /// end at a file, as pipes are streams.
    ///
    /// Complexity: O(1).
    public static func jsonLines(at path: String) -> RowSource {
        RowSource(name: path, csv: nil, open: { try await FileBytes.open(path) })
    }

    /// Lines of JSON from a stream of pieces, each of any length. A stream of single bytes is one of pieces by `map { [$0] }`.
    ///
    /// - Parameter name: for errors.
    ///
    /// Complexity: O(1).
    public static func jsonLines<Bytes: AsyncSequence & Sendable>(
        _ bytes: Bytes, name: String = "lines"
    ) -> RowSource where Bytes.Element: Sequence<UInt8> {
        RowSource(name: name, csv: nil, open: { PieceBytes(bytes.makeAsyncIterator()) })
    }

    /// CSV with objects of an entity, or with links of theirs, in a file.
    ///
    /// Complexity: O(1).
    public static func csv<E: Entity>(of type: E.Type, at path: String) -> RowSource {
        RowSource(name: path, csv: .type(type), open: { try await FileBytes.open(path) })
    }

    static func csv(ofEntity name: String, at path: String) -> RowSource {
        RowSource(name: path, csv: .name(name), open: { try await FileBytes.open(path) })
    }

    /// CSV with objects of an entity, or with links of theirs, from a stream of pieces, each of any length.
    ///
    /// - Parameter name: for errors; nil for the entity's name.
    ///
    /// Complexity: O(1).
    public static func csv<E: Entity, Bytes: AsyncSequence & Sendable>(
        of type: E.Type, _ bytes: Bytes, name: String? = nil
    ) -> RowSource where Bytes.Element: Sequence<UInt8> {
        RowSource(name: name ?? E.schema.name, csv: .type(type), open: { PieceBytes(bytes.makeAsyncIterator()) })
    }
}

extension RowSource {
    /// The entity of CSV, by its number in the schema; nil for lines of JSON.
    func entity(in schema: Schema) throws(GraphError) -> Int? {
        switch csv {
        case nil: return nil
        case .type(let type):
            guard let number = schema.index(of: type) else { throw .unknownEntity("\(type)") }
            return number
        case .name(let name):
            guard let number = schema.index(named: name) else { throw .unknownEntity(name) }
            return number
        }
    }
}

/// Bytes in pieces, used where the import runs.
protocol ByteStream {
    /// nil at the end.
    nonisolated(nonsending) mutating func next() async throws -> [UInt8]?
}

private struct PieceBytes<Iterator: AsyncIteratorProtocol>: ByteStream where Iterator.Element: Sequence<UInt8> {
    private var iterator: Iterator

    init(_ iterator: Iterator) { self.iterator = iterator }

    nonisolated(nonsending) mutating func next() async throws -> [UInt8]? {
        try await iterator.next(isolation: #isolation).map { Array($0) }
    }
}

/// A file, read on a thread that may wait for the disk.
private struct FileBytes: ByteStream {
    private static let pieceBytes = 1 << 20

    private let path: String
    private let file: any StoreFile
    private var offset: UInt64 = 0

    private init(path: String, file: any StoreFile) { (self.path, self.file) = (path, file) }

    static func open(_ path: String) async throws(GraphError) -> any ByteStream & Sendable {
        try await Journal.onExecutor { () throws(GraphError) in
            let fileSystem = PosixFileSystem()
            do throws(IOError) {
                guard !path.utf8.contains(0) else { throw IOError(operation: .resolve, reason: .missing, code: 0) }
                let file = try fileSystem.openForReading(try fileSystem.resolve(StorePath(path)))
                guard try file.status().kind == .regular else {
                    throw IOError(operation: .open, reason: .other, code: 0)
                }
                return FileBytes(path: path, file: file)
            } catch {
                guard error.code != 0 else {
                    throw .unusableFile(path: path, reason: "not a file to import: check the path")
                }
                throw error.graphError(path: path)
            }
        }
    }

    nonisolated(nonsending) mutating func next() async throws -> [UInt8]? {
        let (file, path, offset) = (file, path, offset)
        let piece = try await Journal.onExecutor { () throws(GraphError) in
            do throws(IOError) {
                return try repeatingInterrupted { () throws(IOError) in try file.readPiece(Self.pieceBytes, at: offset)
                }
            } catch {
                throw error.graphError(path: path)
            }
        }
        self.offset += UInt64(piece.count)
        return piece.isEmpty ? nil : piece
    }
}

extension StoreFile {
    fileprivate func readPiece(_ count: Int, at offset: UInt64) throws(IOError) -> [UInt8] {
        var failure: IOError?
        let piece = [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
            do throws(IOError) {
                done = try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return piece
    }
}
