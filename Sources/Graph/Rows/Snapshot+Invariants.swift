extension Snapshot {
    /// Checks every index, inverse, reference, unique value and count against the rows and links alone; returns the violations.
    func check() -> [String] {
        var failures = checkInvariants()
        for entity in schema.entities.indices {
            entities[entity].rows.forEachRow { row, _, _ in
                let id = RowID(entity: entity, row: row)
                for key in sharedKeys(of: id) {
                    for other in key.others where other > row {
                        failures.append(schema.describe(id, sharesKeyWith: other, in: key.index))
                    }
                }
                if let reason = brokenReference(of: id) { failures.append(reason) }
                failures += countFailures(of: id).map(\.description)
            }
        }
        for number in linkTables.indices {
            linkTables[number].members.forEachEntry { entry in
                let link = LinkTable.Link(entry)
                if let violation = missingEnd(of: link, in: number) {
                    failures.append(schema.describe(violation, of: link, in: number))
                }
                return true
            }
        }
        return failures
    }

    /// Checks the structures, and that each index and link table follows from the rows and links. That must hold in a context's
    /// working state too.
    func checkInvariants() -> [String] {
        var failures: [String] = []
        for (entity, description) in schema.entities.enumerated() {
            let state = entities[entity]
            failures += state.rows.checkInvariants().map { "\(description.name): rows: \($0)" }
            for (number, index) in description.indexes.enumerated() {
                let name = "\(description.name).\(description.name(of: index))"
                var expected = 0
                state.rows.forEachRow { row, _, address in
                    var entry = ByteWriter()
                    guard index.makeEntry(for: row, at: address, in: &entry) else { return }
                    expected += 1
                    if !entry.bytes.withUnsafeBytes({ state.indexes[number].contains($0) }) {
                        failures.append("\(name): row \(row) is missing in the index")
                    }
                }
                if state.indexes[number].count != expected {
                    failures.append("\(name): \(state.indexes[number].count) entries for \(expected) rows")
                }
                do {
                    try state.indexes[number].checkInvariants()
                } catch {
                    failures.append("\(name): index: \(error)")
                }
            }
        }
        for number in linkTables.indices { failures += checkLinkTable(number) }
        return failures
    }

    /// Checks a link table, and that it agrees with the inverse table or with the references that it orders.
    private func checkLinkTable(_ number: Int) -> [String] {
        let table = schema.linkTables[number]
        let name = schema.name(of: table)
        var failures = linkTables[number].checkInvariants(isOrdered: table.isOrdered).map { "\(name): \($0)" }
        linkTables[number].members.forEachEntry { entry in
            let link = LinkTable.Link(entry)
            if let violation = disagreement(about: link, in: number) {
                failures.append(schema.describe(violation, of: link, in: number))
            }
            return true
        }
        if let toOne = table.toOne {
            let index = schema.entities[table.members].toOnes[toOne].index
            let count = entities[table.members].indexes[index].count
            if linkTables[number].members.count != count {
                failures.append("\(name): \(linkTables[number].members.count) places for \(count) references")
            }
        }
        return failures
    }
}
