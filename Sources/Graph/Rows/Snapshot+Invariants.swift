extension Snapshot {
    /// Checks every index, inverse, reference, unique value and count against the rows and links alone; returns what does not
    /// hold.
    func check() -> [String] {
        checkInvariants() + checkRules()
    }

    /// Checks the structures, and that each index and list is exactly what the rows and links say: all that holds of a
    /// context's working state too.
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
        for number in adjacencies.indices { failures += checkList(number) }
        return failures
    }

    /// That a list is whole, and agrees with the other side's list or with the references that it orders.
    private func checkList(_ number: Int) -> [String] {
        let list = schema.adjacencies[number]
        let name = "\(schema.entities[list.entity].name).\(schema.entities[list.entity].properties[list.property].name)"
        var failures = adjacencies[number].checkInvariants(isOrdered: list.isOrdered).map { "\(name): \($0)" }
        adjacencies[number].members.forEachEntry { entry in
            let pair = Adjacency.Pair(entry)
            if let mate = list.mate, !adjacencies[mate].contains(pair.owner, of: pair.member) {
                failures.append("\(name): row \(pair.owner) has member \(pair.member), but not the other way round")
            }
            if let toOne = list.toOne {
                let reference = schema.entities[list.members].toOnes[toOne]
                let row = entities[list.members].rows.address(of: pair.member)
                if row.map({ reference.target(ofRowAt: $0) }) != pair.owner {
                    failures.append("\(name): row \(pair.owner) orders \(pair.member), which does not refer to it")
                }
            }
            return true
        }
        if let toOne = list.toOne {
            let index = schema.entities[list.members].toOnes[toOne].index
            let count = entities[list.members].indexes[index].count
            if adjacencies[number].members.count != count {
                failures.append("\(name): \(adjacencies[number].members.count) places for \(count) references")
            }
        }
        return failures
    }

    /// Checks what every commit must keep.
    private func checkRules() -> [String] {
        var failures: [String] = []
        for (entity, description) in schema.entities.enumerated() {
            entities[entity].rows.forEachRow { row, _, address in
                let id = AnyPersistentID(entityName: description.name, row: row)
                for (number, index) in description.indexes.enumerated() where index.uniqueness != nil {
                    for other in rowsSharingKey(of: row, at: address, index: number, of: entity) {
                        failures.append("\(id).\(description.name(of: index)) is the same as that of row \(other)")
                    }
                }
                for toOne in description.toOnes {
                    let target = toOne.target(ofRowAt: address)
                    guard target != 0 else { continue }
                    let name = description.properties[toOne.property].name
                    guard let targetRow = entities[toOne.target].rows.address(of: target) else {
                        failures.append("\(id).\(name) refers to row \(target), which does not exist")
                        continue
                    }
                    if let mate = toOne.mate {
                        let back = schema.toOne(mate).target(ofRowAt: targetRow)
                        if back != row {
                            failures.append("\(id).\(name) refers to row \(target), which refers back to \(back)")
                        }
                    }
                }
                failures += countFailures(of: RowID(entity: entity, row: row)).map(\.description)
            }
        }
        for (number, list) in schema.adjacencies.enumerated() {
            adjacencies[number].members.forEachEntry { entry in
                let pair = Adjacency.Pair(entry)
                if !entities[list.entity].rows.contains(pair.owner)
                    || !entities[list.members].rows.contains(pair.member)
                {
                    let property = schema.entities[list.entity].properties[list.property].name
                    failures.append("\(property): rows \(pair.owner) and \(pair.member) do not both exist")
                }
                return true
            }
        }
        return failures
    }

    /// The relationships of an existing row that lead to fewer or more objects than they may.
    func countFailures(of id: RowID) -> [ValidationFailure] {
        let description = schema.entities[id.entity]
        guard description.hasCounts, let address = entities[id.entity].rows.address(of: id.row) else { return [] }
        var failures: [ValidationFailure] = []
        func report(_ property: Int, _ reason: String) {
            let id = AnyPersistentID(entityName: description.name, row: id.row)
            let name = description.properties[property].name
            failures.append(ValidationFailure(id: id, property: name, reason: reason))
        }
        for toOne in description.toOnes where toOne.isRequired && toOne.target(ofRowAt: address) == 0 {
            report(toOne.property, "must not be nil")
        }
        for toMany in description.toManys where !toMany.counts.isAny {
            let count = memberCount(of: id.row, through: toMany)
            guard !toMany.counts.contains(count) else { continue }
            let limit =
                count < toMany.counts.minimum
                ? "at least \(toMany.counts.minimum)" : "at most \(toMany.counts.maximum ?? .max)"
            report(toMany.property, "has \(count) objects, where there must be \(limit)")
        }
        return failures
    }
}

extension EntityDescription {
    /// The names of an index's properties.
    func name(of index: IndexDescription) -> String {
        index.parts.map { properties[$0.property].name }.joined(separator: ", ")
    }
}
