/// A row as two sides knew it, and what each of them has made of it: what merges, undo and reports of conflicts go by.
struct RowMerge {
    let description: EntityDescription
    let base: UnsafeRawPointer
    let ours: UnsafeRawPointer
    let theirs: UnsafeRawPointer

    /// Who changed a property. Both have also if they made the same of it: two who count one up have counted two.
    enum Side {
        case ours
        case theirs
        case both
    }

    init(_ description: EntityDescription, base: UnsafeRawPointer, ours: UnsafeRawPointer, theirs: UnsafeRawPointer) {
        (self.description, self.base, self.ours, self.theirs) = (description, base, ours, theirs)
    }

    /// The stored properties that somebody changed, in the order of declaration.
    func forEachChange(_ body: (_ number: Int, _ property: Property, _ side: Side) throws -> Void) rethrows {
        for (number, property) in description.properties.enumerated() where property.isStored {
            switch (property.isIdentical(in: base, ours), property.isIdentical(in: base, theirs)) {
            case (true, true): break
            case (false, true): try body(number, property, .ours)
            case (true, false): try body(number, property, .theirs)
            case (false, false): try body(number, property, .both)
            }
        }
    }
}
