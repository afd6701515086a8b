/// A rule that a reference of a row breaks.
enum ReferenceViolation: Hashable, Sendable {
    /// The target does not exist.
    case missingTarget
    /// One to one, the target refers to this row instead; to none if it is 0.
    case otherInverse(RowNumber)
}

/// A rule that breaks because a link table has a link, or because it lacks one.
enum LinkViolation: Sendable {
    /// There is a link, and one of its rows does not exist.
    case missingEnd
    /// Of a many-to-many relationship, one link table has the link and the inverse one does not.
    case oneDirection
    /// A member has a position in an order and does not refer to the owner, or the other way round.
    case positionOrReference
}

/// A relationship of a row that has fewer or more objects than it may have.
enum CountViolation: Sendable {
    case missing(ToOneDescription)
    case tooFew(ToManyDescription, count: Int)
    case tooMany(ToManyDescription, count: Int)

    var property: Int {
        switch self {
        case .missing(let toOne): toOne.property
        case .tooFew(let toMany, _), .tooMany(let toMany, _): toMany.property
        }
    }

    var reason: String {
        switch self {
        case .missing: "must not be nil"
        case .tooFew(let toMany, let count):
            "has \(count) objects, where there must be at least \(toMany.counts.minimum)"
        case .tooMany(let toMany, let count):
            "has \(count) objects, where there must be at most \(toMany.counts.maximum ?? .max)"
        }
    }
}

/// A unique key of a row that other rows have, too.
struct SharedKey {
    let index: IndexDescription
    /// The first of the other rows, in ascending order.
    let others: [RowNumber]
}

// MARK: Texts

extension Schema {
    func describe(
        _ violation: ReferenceViolation, of id: RowID, through toOne: ToOneDescription, to target: RowNumber
    ) -> String {
        switch violation {
        case .missingTarget:
            return danglingReference(from: id, through: toOne, to: target).description
        case .otherInverse(let back):
            let name = name(ofOwnerOf: toOne, id.entity)
            return "\(name) of row \(id.row) refers to row \(target), which refers back to \(back)"
        }
    }

    func describe(_ violation: LinkViolation, of link: LinkTable.Link, in number: Int) -> String {
        let name = name(of: linkTables[number])
        switch violation {
        case .missingEnd:
            return "\(name): rows \(link.owner) and \(link.member) are linked, but do not both exist"
        case .oneDirection:
            return "\(name): rows \(link.owner) and \(link.member) are linked in one direction only"
        case .positionOrReference:
            return "\(name): member \(link.member) of row \(link.owner) has a place or a reference, but not both"
        }
    }

    func describe(_ id: RowID, sharesKeyWith other: RowNumber, in index: IndexDescription) -> String {
        let description = entities[id.entity]
        let rows = "rows \(min(id.row, other)) and \(max(id.row, other))"
        return "\(rows) of \(description.name) share a unique value of \(description.name(of: index))"
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

    func id(of id: RowID) -> AnyPersistentID {
        AnyPersistentID(entityName: entities[id.entity].name, row: id.row)
    }

    func name(of table: LinkTableDescription) -> String {
        "\(entities[table.entity].name).\(entities[table.entity].properties[table.property].name)"
    }

    /// The name of the relationship on the entity that refers.
    func name(ofOwnerOf toOne: ToOneDescription, _ entity: Int) -> String {
        "\(entities[entity].name).\(entities[entity].properties[toOne.property].name)"
    }
}

extension EntityDescription {
    /// The names of an index's properties.
    func name(of index: IndexDescription) -> String {
        index.parts.map { properties[$0.property].name }.joined(separator: ", ")
    }
}
