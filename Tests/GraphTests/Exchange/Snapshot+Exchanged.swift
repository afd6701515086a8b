@testable import Graph

extension Snapshot {
    /// Values, references and members of all rows from these numbers on, each row by its place among those of its entity: what
    /// two stores have in common if one of them has imported what the other has.
    func exchanged(from first: [RowNumber]? = nil) throws -> [String] {
        var places: [[RowNumber: Int]] = []
        for entity in schema.entities.indices {
            var own: [RowNumber: Int] = [:]
            entities[entity].rows.forEachRow { row, _, _ in
                if row >= first?[entity] ?? 1 { own[row] = own.count }
            }
            places.append(own)
        }
        var lines: [String] = []
        for (number, entity) in schema.entities.enumerated() {
            try entities[number].rows.forEachRow { row, _, address in
                guard let place = places[number][row] else { return }
                var line = "\(entity.name) \(place):"
                for property in entity.properties where property.relationship == nil && property.isStored {
                    var writer = ByteWriter()
                    try property.operations.encode(address + property.offset, &writer)
                    line += " \(property.name) \(writer.bytes)"
                }
                for toOne in entity.toOnes {
                    let target = toOne.target(ofRowAt: address)
                    line += " \(entity.properties[toOne.property].name) \(places[toOne.target][target] ?? -1)"
                }
                for toMany in entity.toManys {
                    let members = members(of: row, through: toMany).map { places[toMany.source][$0] ?? -1 }
                    line += " \(entity.properties[toMany.property].name) \(members)"
                }
                lines.append(line)
            }
        }
        return lines
    }
}

extension ExportedRows {
    /// All of the text.
    func bytes() async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await piece in self { bytes += piece }
        return bytes
    }

    func text() async throws -> String { String(decoding: try await bytes(), as: UTF8.self) }
}

/// Bytes as a stream that gives a few at a time.
struct ByteSource: AsyncSequence, Sendable {
    let bytes: [UInt8]
    var pieceBytes = 7

    init(_ bytes: some Sequence<UInt8>, pieceBytes: Int = 7) {
        (self.bytes, self.pieceBytes) = (Array(bytes), pieceBytes)
    }
    init(_ text: String) { self.init(text.utf8) }

    func makeAsyncIterator() -> Iterator { Iterator(rest: bytes[...], pieceBytes: pieceBytes) }

    struct Iterator: AsyncIteratorProtocol {
        var rest: ArraySlice<UInt8>
        let pieceBytes: Int

        mutating func next() async -> ArraySlice<UInt8>? {
            guard !rest.isEmpty else { return nil }
            defer { rest = rest.dropFirst(pieceBytes) }
            return rest.prefix(pieceBytes)
        }
    }
}

extension RowSource {
    static func jsonLines(_ text: String) -> RowSource { .jsonLines(ByteSource(text)) }
    static func csv<E: Entity>(of type: E.Type, _ text: String) -> RowSource { .csv(of: type, ByteSource(text)) }
}
