/// A row that two sides changed: its base, ours and theirs. Merges, undo and conflict reports use it.
struct RowMerge {
    let description: EntityDescription
    let base: UnsafeRawPointer
    let ours: UnsafeRawPointer
    let theirs: UnsafeRawPointer

    /// The side that changed a property. Both, even if they set the same value: two increments by one make two.
    enum Side {
        case ours
        case theirs
        case both
    }

    init(_ description: EntityDescription, base: UnsafeRawPointer, ours: UnsafeRawPointer, theirs: UnsafeRawPointer) {
        (self.description, self.base, self.ours, self.theirs) = (description, base, ours, theirs)
    }

    /// The stored properties that either side changed, in the order of declaration.
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
