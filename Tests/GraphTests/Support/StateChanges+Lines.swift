@testable import Graph

extension StateChanges {
    /// All that can be asked of what differs between two states.
    func lines() -> [String] {
        var lines = ["\(tokens.before) \(tokens.after)"]
        forEachRow { id, old, new in
            let description = schema.entities[id.entity]
            func text(_ row: UnsafeRawPointer?) -> String { row.map { description.describe($0) } ?? "none" }
            let version = version(of: id).map { "\($0.number)" } ?? "none"
            lines.append("\(description.name) \(id.row) v\(version): \(text(old)), now \(text(new))")
            // By itself it is found alike.
            let (sameOld, sameNew) = row(id)
            if text(sameOld) != text(old) || text(sameNew) != text(new) {
                lines.append("\(id) is another row by itself")
            }
        }
        for (number, entity) in schema.entities.enumerated() {
            lines.append("\(entity.name): \(hasChanges(of: number) ? "changed" : "the same")")
            for relationship in entity.toManys {
                lines.append("members \(relationship.property): \(changedOwners(through: relationship))")
            }
            let (old, new) = row(RowID(entity: number, row: .max))
            if old != nil || new != nil { lines.append("a row that nobody has made") }
        }
        forEachLinkTable { number, table, difference in
            guard table.isRecorded(as: number) else { return }
            for (name, links) in [("removed", difference.removed), ("added", difference.added)] {
                lines += links.map {
                    "\(number) \(name): \($0.owner) \($0.member) \($0.key.map { "\($0.bytes)" } ?? "")"
                }
            }
        }
        return lines
    }
}
