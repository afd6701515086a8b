@testable import Graph

/// The rules that every commit keeps, written down once more and without the engine's own checks, which replay uses too.
extension Snapshot {
    /// What does not hold of a committed state.
    func checkByHand() -> [String] {
        check() + checkRulesByHand()
    }

    private func checkRulesByHand() -> [String] {
        var failures: [String] = []
        for (entity, description) in schema.entities.enumerated() {
            entities[entity].rows.forEachRow { row, _, address in
                let id = AnyPersistentID(entityName: description.name, row: row)
                for (number, index) in description.indexes.enumerated() where index.uniqueness != nil {
                    for other in rowsSharingKey(of: RowID(entity: entity, row: row), at: address, index: number) {
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
                    if let inverse = toOne.inverseToOne {
                        let back = schema.toOne(inverse).target(ofRowAt: targetRow)
                        if back != row {
                            failures.append("\(id).\(name) refers to row \(target), which refers back to \(back)")
                        }
                    }
                }
                for toOne in description.toOnes where toOne.isRequired && toOne.target(ofRowAt: address) == 0 {
                    failures.append("\(id).\(description.properties[toOne.property].name) is nil")
                }
                for toMany in description.toManys {
                    let count = members(of: row, through: toMany).count
                    if count < toMany.counts.minimum || count > toMany.counts.maximum ?? .max {
                        failures.append("\(id).\(description.properties[toMany.property].name) has \(count) objects")
                    }
                }
            }
        }
        for (number, list) in schema.linkTables.enumerated() {
            linkTables[number].members.forEachEntry { entry in
                let link = LinkTable.Link(entry)
                if !entities[list.entity].rows.contains(link.owner)
                    || !entities[list.members].rows.contains(link.member)
                {
                    let property = schema.entities[list.entity].properties[list.property].name
                    failures.append("\(property): rows \(link.owner) and \(link.member) do not both exist")
                }
                return true
            }
        }
        return failures
    }
}
