/// The rules that every committed state keeps, each stated once. Saves and replay check the rows that they change, `check()`
/// all rows; a salvage takes the violations and repairs what they are about.
extension Snapshot {
    // MARK: References

    /// Calls the body with each reference of a row to one that does not exist.
    func forEachDanglingReference(
        of id: RowID,
        _ body: (_ toOne: ToOneDescription, _ target: RowNumber) throws -> Void
    ) rethrows {
        guard let address = address(of: id) else { return }
        for toOne in schema.entities[id.entity].toOnes {
            let target = toOne.target(ofRowAt: address)
            if isDangling(target, toOne) { try body(toOne, target) }
        }
    }

    /// The rule that a reference from a row to a target breaks. A reference to 0, which is none, breaks no rule.
    func violation(ofReferenceFrom row: RowNumber, to target: RowNumber, _ toOne: ToOneDescription)
        -> ReferenceViolation?
    {
        guard !isDangling(target, toOne) else { return .missingTarget }
        guard target != 0, let inverse = toOne.inverseToOne, let back = self.target(of: target, through: inverse),
            back != row
        else { return nil }
        return .otherInverse(back)
    }

    private func isDangling(_ target: RowNumber, _ toOne: ToOneDescription) -> Bool {
        target != 0 && !entities[toOne.target].rows.contains(target)
    }

    /// The first broken reference of a row, described.
    func brokenReference(of id: RowID) -> String? {
        guard let address = address(of: id) else { return nil }
        for toOne in schema.entities[id.entity].toOnes {
            let target = toOne.target(ofRowAt: address)
            if let violation = violation(ofReferenceFrom: id.row, to: target, toOne) {
                return schema.describe(violation, of: id, through: toOne, to: target)
            }
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
            run.occupancy.forEachBit { place in
                let target = toOne.target(ofRowAt: run.values + place * stride)
                guard target != 0 else { return }
                if violation(ofReferenceFrom: run.firstRow + UInt64(place), to: target, toOne) != nil {
                    broken |= 1 << UInt32(place)
                }
            }
        }
        return broken == 0 ? nil : run.firstRow + UInt64(broken.trailingZeroBitCount)
    }

    /// A description of what still leads to a row that does not exist; nil if nothing does.
    func brokenDelete(of id: RowID) -> String? {
        for reference in schema.entities[id.entity].references
        where countReferrers(to: id.row, through: reference) > 0 {
            return "row \(id.row) is deleted while others refer to it"
        }
        for number in schema.entities[id.entity].linkTables where !linkTables[number].memberRows(of: id.row).isEmpty {
            return "row \(id.row) is deleted while it has links"
        }
        return nil
    }

    // MARK: Links

    /// The rule that a link, or a position in an order, breaks by contradicting the inverse link table or the member's row. A
    /// link that the table lacks can break it, too.
    func disagreement(about link: LinkTable.Link, in number: Int) -> LinkViolation? {
        let table = schema.linkTables[number]
        let isLinked = linkTables[number].contains(link.member, of: link.owner)
        if let inverse = table.inverse, linkTables[inverse].contains(link.owner, of: link.member) != isLinked {
            return .oneDirection
        }
        if let toOne = table.toOne {
            let reference = schema.entities[table.members].toOnes[toOne]
            let member = entities[table.members].rows.address(of: link.member)
            guard isLinked == (member.map { reference.target(ofRowAt: $0) } == link.owner) else {
                return .positionOrReference
            }
        }
        return nil
    }

    /// The rule that a link, which is there, breaks if an end does not exist.
    func missingEnd(of link: LinkTable.Link, in number: Int) -> LinkViolation? {
        let table = schema.linkTables[number]
        let hasEnds =
            entities[table.entity].rows.contains(link.owner) && entities[table.members].rows.contains(link.member)
        return hasEnds ? nil : .missingEnd
    }

    // MARK: Counts

    /// The relationships of an existing row that have fewer or more objects than allowed, references first.
    func countViolations(of id: RowID) -> [CountViolation] {
        let description = schema.entities[id.entity]
        guard description.hasCounts, let address = address(of: id) else { return [] }
        var violations: [CountViolation] = []
        for toOne in description.toOnes where toOne.isRequired && toOne.target(ofRowAt: address) == 0 {
            violations.append(.missing(toOne))
        }
        for toMany in description.toManys where !toMany.counts.isAny {
            let count = memberCount(of: id.row, through: toMany)
            guard !toMany.counts.contains(count) else { continue }
            violations.append(
                count < toMany.counts.minimum ? .tooFew(toMany, count: count) : .tooMany(toMany, count: count))
        }
        return violations
    }

    /// The same for programs.
    func countFailures(of id: RowID) -> [ValidationFailure] {
        countViolations(of: id).map { violation in
            let property = schema.entities[id.entity].properties[violation.property].name
            return ValidationFailure(id: schema.id(of: id), property: property, reason: violation.reason)
        }
    }

    // MARK: Uniqueness

    /// The unique keys of an existing row that other rows have, too, in the order of the indexes.
    ///
    /// - Parameter limit: how many of the other rows to find for each.
    func sharedKeys(of id: RowID, limit: Int = .max) -> [SharedKey] {
        guard let address = address(of: id) else { return [] }
        var shared: [SharedKey] = []
        for (number, index) in schema.entities[id.entity].indexes.enumerated() where index.uniqueness != nil {
            let others = rowsSharingKey(of: id, at: address, index: number, limit: limit)
            if !others.isEmpty { shared.append(SharedKey(index: index, others: others)) }
        }
        return shared
    }
}
