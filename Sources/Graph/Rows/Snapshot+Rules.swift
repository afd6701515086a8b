/// The rules that every committed state keeps. Saves and replay check the rows that they change, `check()` all rows.
extension Snapshot {
    /// Calls the body with each reference of a row to one that does not exist.
    func forEachDanglingReference(
        of id: RowID,
        _ body: (_ toOne: ToOneDescription, _ target: RowNumber) throws -> Void
    ) rethrows {
        guard let address = address(of: id) else { return }
        for toOne in schema.entities[id.entity].toOnes {
            let target = toOne.target(ofRowAt: address)
            if target != 0, !entities[toOne.target].rows.contains(target) { try body(toOne, target) }
        }
    }

    /// The first broken reference of a row, described: its target does not exist or, one to one, refers to another row.
    func brokenReference(of id: RowID) -> String? {
        guard let address = address(of: id) else { return nil }
        for toOne in schema.entities[id.entity].toOnes {
            let target = toOne.target(ofRowAt: address)
            guard target != 0 else { continue }
            guard entities[toOne.target].rows.contains(target) else {
                return schema.danglingReference(from: id, through: toOne, to: target).description
            }
            guard let inverse = toOne.inverseToOne, let back = self.target(of: target, through: inverse), back != id.row
            else { continue }
            let name = schema.name(ofOwnerOf: toOne, id.entity)
            return "\(name) of row \(id.row) refers to row \(target), which refers back to \(back)"
        }
        return nil
    }

    /// The first broken reference of an entity's rows, described. Several threads search.
    func firstBrokenReference(of entity: Int) -> String? {
        guard !schema.entities[entity].toOnes.isEmpty else { return nil }
        let (rows, parts) = (entities[entity].rows, entities[entity].rows.parts)
        let reasons = concurrentResults(parts.count) { part -> String? in
            var first: RowNumber?
            rows.forEachRun(in: parts[part]) { run in
                if first == nil { first = firstBrokenReference(in: run, of: entity) }
            }
            return first.flatMap { brokenReference(of: RowID(entity: entity, row: $0)) }
        }
        return reasons.lazy.compactMap { $0 }.first
    }

    private func firstBrokenReference(in run: RowTable.Run, of entity: Int) -> RowNumber? {
        var broken: UInt32 = 0
        let stride = entities[entity].rows.layout.stride
        for toOne in schema.entities[entity].toOnes {
            let targets = entities[toOne.target].rows
            run.occupancy.forEachBit { place in
                let target = toOne.target(ofRowAt: run.values + place * stride)
                guard target != 0 else { return }
                let back = toOne.inverseToOne.flatMap { self.target(of: target, through: $0) }
                let row = run.firstRow + UInt64(place)
                if !targets.contains(target) || back ?? row != row { broken |= 1 << UInt32(place) }
            }
        }
        return broken == 0 ? nil : run.firstRow + UInt64(broken.trailingZeroBitCount)
    }

    /// The relationships of an existing row that have fewer or more objects than allowed.
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

    /// A description of what still leads to a row that does not exist; nil if nothing does.
    func brokenDelete(of id: RowID) -> String? {
        for reference in schema.entities[id.entity].references
        where countReferrers(to: id.row, through: reference) > 0 {
            return "row \(id.row) is deleted while others refer to it"
        }
        for number in schema.entities[id.entity].linkLists where !linkTables[number].memberRows(of: id.row).isEmpty {
            return "row \(id.row) is deleted while it has links"
        }
        return nil
    }

    /// Describes a link, or a position in an order, that contradicts the inverse link table or the member's row; nil if both
    /// agree.
    func disagreement(about pair: LinkTable.Pair, in number: Int) -> String? {
        let list = schema.linkTables[number]
        let isListed = linkTables[number].contains(pair.member, of: pair.owner)
        if let inverse = list.inverse, linkTables[inverse].contains(pair.owner, of: pair.member) != isListed {
            return "\(schema.name(of: list)): rows \(pair.owner) and \(pair.member) are linked in one direction only"
        }
        if let toOne = list.toOne {
            let reference = schema.entities[list.members].toOnes[toOne]
            let member = entities[list.members].rows.address(of: pair.member)
            guard isListed == (member.map { reference.target(ofRowAt: $0) } == pair.owner) else {
                let reason = "has a place or a reference, but not both"
                return "\(schema.name(of: list)): member \(pair.member) of row \(pair.owner) \(reason)"
            }
        }
        return nil
    }

    /// Describes a link with an end that does not exist; nil if there is no such link.
    func missingEnd(of pair: LinkTable.Pair, in number: Int) -> String? {
        let list = schema.linkTables[number]
        guard linkTables[number].contains(pair.member, of: pair.owner),
            !entities[list.entity].rows.contains(pair.owner) || !entities[list.members].rows.contains(pair.member)
        else { return nil }
        return "\(schema.name(of: list)): rows \(pair.owner) and \(pair.member) are linked, but do not both exist"
    }
}

extension Schema {
    func id(of id: RowID) -> AnyPersistentID {
        AnyPersistentID(entityName: entities[id.entity].name, row: id.row)
    }

    func name(of list: LinkTableDescription) -> String {
        "\(entities[list.entity].name).\(entities[list.entity].properties[list.property].name)"
    }

    /// The name of the relationship on the entity that refers.
    func name(ofOwnerOf toOne: ToOneDescription, _ entity: Int) -> String {
        "\(entities[entity].name).\(entities[entity].properties[toOne.property].name)"
    }

    func danglingReference(
        from id: RowID,
        through toOne: ToOneDescription,
        to target: RowNumber
    ) -> DanglingReference {
        DanglingReference(
            id: self.id(of: id),
            property: entities[id.entity].properties[toOne.property].name,
            target: self.id(of: RowID(entity: toOne.target, row: target))
        )
    }

    func describe(_ id: RowID, sharesKeyWith other: RowNumber, in index: IndexDescription) -> String {
        let description = entities[id.entity]
        let pair = "rows \(min(id.row, other)) and \(max(id.row, other))"
        return "\(pair) of \(description.name) share a unique value of \(description.name(of: index))"
    }
}
