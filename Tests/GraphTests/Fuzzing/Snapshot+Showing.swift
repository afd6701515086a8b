@testable import Graph

extension Snapshot {
    /// Reads every value as tools show it.
    func showEverything() {
        for (number, entity) in schema.entities.enumerated() {
            entities[number].rows.forEachRow { row, _, address in
                for property in entity.properties.indices {
                    let id = RowID(entity: number, row: row)
                    _ = storedValue(of: property, id, at: address).description
                }
            }
        }
    }

    /// What differs from another snapshot of a schema that says the same: rows, versions, values and links.
    func differences(to other: Snapshot) -> [String] {
        guard schema.entities.map(\.name) == other.schema.entities.map(\.name) else { return ["the schemas"] }
        var differences: [String] = []
        for (number, entity) in schema.entities.enumerated()
        where encodedRows(of: number) != other.encodedRows(of: number) {
            differences.append("rows of \(entity.name)")
        }
        for (number, table) in schema.linkTables.enumerated() where links(of: number) != other.links(of: number) {
            differences.append("links of \(schema.name(of: table))")
        }
        return differences
    }

    private func encodedRows(of entity: Int) -> [UInt8] {
        var writer = ByteWriter()
        entities[entity].rows.forEachRow { row, version, address in
            writer.appendVarint(row)
            writer.appendVarint(version.number)
            for property in schema.entities[entity].properties where property.isStored {
                try? property.operations.encode(address + property.offset, &writer)
            }
        }
        return writer.bytes
    }

    private func links(of table: Int) -> [[UInt8]] {
        var links: [[UInt8]] = []
        linkTables[table].members.forEachEntry { entry in
            links.append(Array(entry))
            return true
        }
        return links
    }
}

extension Snapshot {
    /// What differs but for versions and for how an order is kept.
    func valueDifferences(to other: Snapshot) -> [String] {
        var differences: [String] = []
        for (number, entity) in schema.entities.enumerated() where lines(of: number) != other.lines(of: number) {
            differences.append("\(entity.name)")
        }
        return differences
    }

    private func lines(of entity: Int) -> [String] {
        var lines: [String] = []
        entities[entity].rows.forEachRow { row, _, address in
            let id = RowID(entity: entity, row: row)
            let values = schema.entities[entity].properties.indices.map { storedValue(of: $0, id, at: address) }
            lines.append("\(row) \(values)")
        }
        return lines
    }
}
