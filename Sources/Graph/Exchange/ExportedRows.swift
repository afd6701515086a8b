/// Rows and links as text, in pieces: what ``Snapshot/exportedRows(progress:)`` and its relatives return.
///
/// The text is made while it is asked for, so that it takes the memory of one piece, and it is that of one state, whatever is
/// saved meanwhile. Every iteration begins anew.
///
/// ```swift
/// for try await piece in coordinator.snapshot.exportedRows() { try file.write(contentsOf: piece) }
/// ```
public struct ExportedRows: AsyncSequence, Sendable {
    /// A part of what is written, in which each line has the same form.
    enum Part: Sendable {
        /// Rows of an entity, in the order of their numbers or in this one.
        case rows(ExchangedEntity, [RowNumber]?)
        /// Members of a relationship, owner by owner, of all owners or of these; the set has the same ones.
        case links(ToManyDescription, [RowNumber]?, Set<RowNumber>)
    }

    let snapshot: Snapshot
    let isCSV: Bool
    let parts: [Part]
    let progress: (@Sendable (StoreProgress) -> Void)?

    /// Begins with the first byte.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Goes from piece to piece.
    public struct Iterator: AsyncIteratorProtocol {
        private let source: ExportedRows
        private let meter: ProgressMeter
        private let total: UInt64
        private var done: UInt64 = 0
        private var part = 0
        private var cursor: RowCursor?

        /// The least length of a piece that is not the last one.
        private static let pieceBytes = 1 << 16

        fileprivate init(_ source: ExportedRows) {
            self.source = source
            meter = ProgressMeter(source.progress)
            total = source.parts.reduce(0) { $0 + UInt64(source.rowCount(of: $1)) }
        }

        /// The next bytes; nil after the last ones. A piece ends with a line.
        ///
        /// - Throws: `.notEncodable`, if a value cannot be encoded, or if its row would take more than 64 MiB, which no import
        ///   reads. `.cancelled`, if the task was cancelled.
        ///
        /// Complexity: O(length of the piece), and O(log *n*) for each row and link among *n*.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(GraphError) -> [UInt8]? {
            var piece: [UInt8] = []
            while piece.count < Self.pieceBytes, part < source.parts.count {
                if Task.isCancelled { throw .cancelled }
                if cursor == nil {
                    cursor = source.cursor(over: source.parts[part])
                    source.appendHeader(of: source.parts[part], to: &piece)
                }
                guard let row = cursor?.next() else {
                    (cursor, part) = (nil, part + 1)
                    continue
                }
                try source.append(row, of: source.parts[part], to: &piece)
                done += 1
            }
            guard !piece.isEmpty else { return nil }
            meter.report(.writing, done, of: total)
            return piece
        }

        /// The same from no particular isolation.
        public mutating func next() async throws(GraphError) -> [UInt8]? { try await next(isolation: nil) }
    }
}

/// Goes through numbers of rows.
private struct RowCursor {
    let rows: RowTable
    /// nil for all rows of the table.
    let chosen: [RowNumber]?
    private var place = 0
    private var run: RowTable.Run?
    private var occupancy: UInt32 = 0

    init(rows: RowTable, chosen: [RowNumber]?) {
        (self.rows, self.chosen) = (rows, chosen)
        if chosen == nil { enter(rows.run(from: 0)) }
    }

    private mutating func enter(_ run: RowTable.Run?) { (self.run, occupancy) = (run, run?.occupancy ?? 0) }

    mutating func next() -> RowNumber? {
        if let chosen {
            place += 1
            return place <= chosen.count ? chosen[place - 1] : nil
        }
        while occupancy == 0, let end = run?.end { enter(rows.run(from: end)) }
        guard let run, occupancy != 0 else { return nil }
        defer { occupancy &= occupancy - 1 }
        return run.firstRow + UInt64(occupancy.trailingZeroBitCount)
    }
}

/// The form of the text.
extension ExportedRows {
    /// So many members stand in a line of JSON.
    private static let membersOfLine = 1_000

    private func entity(of part: Part) -> Int {
        switch part {
        case .rows(let entity, _): entity.number
        case .links(let relationship, _, _): relationship.entity
        }
    }

    private func chosenRows(of part: Part) -> [RowNumber]? {
        switch part {
        case .rows(_, let rows), .links(_, let rows, _): rows
        }
    }

    fileprivate func rowCount(of part: Part) -> Int {
        chosenRows(of: part)?.count ?? snapshot.entities[entity(of: part)].rows.count
    }

    fileprivate func cursor(over part: Part) -> RowCursor {
        RowCursor(rows: snapshot.entities[entity(of: part)].rows, chosen: chosenRows(of: part))
    }

    fileprivate func appendHeader(of part: Part, to piece: inout [UInt8]) {
        guard isCSV else { return }
        switch part {
        case .rows(let entity, _):
            let names = entity.storedProperties.map { entity.description.properties[$0].name }
            appendRecord(([entity.idName] + names).map { (.text($0), true) }, to: &piece)
        case .links(let relationship, _, _):
            let entity = ExchangedEntity(relationship.entity, of: snapshot.schema)
            let name = entity.description.properties[relationship.property].name
            appendRecord([(.text(entity.idName), true), (.text(name), true)], to: &piece)
        }
    }

    private func appendRecord(_ values: [(StoredValue, isPlain: Bool)], to piece: inout [UInt8]) {
        for (place, (value, isPlain)) in values.enumerated() {
            if place > 0 { piece.append(UInt8(ascii: ",")) }
            CSVField.append(value, isPlain: isPlain, to: &piece)
        }
        piece += "\r\n".utf8
    }

    fileprivate func append(_ row: RowNumber, of part: Part, to piece: inout [UInt8]) throws(GraphError) {
        switch part {
        case .rows(let entity, _): try append(row, of: entity, to: &piece)
        case .links(let relationship, let owners, let set):
            appendLinks(of: row, relationship, among: owners.map { _ in set }, to: &piece)
        }
    }

    private func append(_ row: RowNumber, of entity: ExchangedEntity, to piece: inout [UInt8]) throws(GraphError) {
        guard let address = snapshot.entities[entity.number].rows.address(of: row) else { return }
        let start = piece.count
        if isCSV {
            var values: [(StoredValue, isPlain: Bool)] = [(.number("\(row)"), true)]
            for property in entity.storedProperties {
                values.append((try entity.storedValue(of: property, at: address), entity.roles[property].isPlain))
            }
            appendRecord(values, to: &piece)
        } else {
            var entries: [StoredValue.Entry] = []
            for property in entity.storedProperties {
                let value = try entity.storedValue(of: property, at: address)
                entries.append(.init(key: .text(entity.description.properties[property].name), value: value))
            }
            appendLine(of: entity.name, row, "values", .map(entries), to: &piece)
        }
        guard piece.count - start <= RecordBuffer.limitBytes else {
            throw .notEncodable(
                entity: entity.name,
                reason: "row \(row) takes \(piece.count - start) bytes as text, and an import reads "
                    + "\(RecordBuffer.limitBytes) at most")
        }
    }

    private func appendLine(
        of entity: String, _ row: RowNumber, _ key: String, _ contents: StoredValue, to piece: inout [UInt8]
    ) {
        StoredValue.map(["entity": .text(entity), "id": .number("\(row)"), key: contents]).appendJSON(to: &piece)
        piece.append(UInt8(ascii: "\n"))
    }

    private func appendLinks(
        of owner: RowNumber, _ relationship: ToManyDescription, among owners: Set<RowNumber>?, to piece: inout [UInt8]
    ) {
        var members = snapshot.members(of: owner, through: relationship)
        if relationship.isSymmetric(in: snapshot.schema) {
            // An owner that is not among these does not name its members.
            members.removeAll { $0 < owner && owners?.contains($0) != false }
        }
        guard !members.isEmpty else { return }
        let description = snapshot.schema.entities[relationship.entity]
        let name = description.properties[relationship.property].name
        if isCSV {
            for member in members {
                appendRecord([(.number("\(owner)"), true), (.number("\(member)"), true)], to: &piece)
            }
            return
        }
        for start in stride(from: 0, to: members.count, by: Self.membersOfLine) {
            let part = members[start...].prefix(Self.membersOfLine)
            let list = StoredValue.list(part.map { .number("\($0)") })
            appendLine(of: description.name, owner, "links", .map([name: list]), to: &piece)
        }
    }
}
