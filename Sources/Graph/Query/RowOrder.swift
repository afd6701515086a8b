/// A sort whose properties have been found in the schema: compares rows by address.
@usableFromInline
struct RowOrder: Sendable {
    /// A class, since comparisons go through the criteria: a copy of a struct would count all of its references.
    final class Criterion: Sendable {
        /// The property whose index has this order; nil if no index can.
        let property: Int?
        let id: PropertyID
        /// The references that lead to the property's row.
        let references: [Reference]
        let offset: Int
        let isDescending: Bool
        let ignoresCase: Bool
        /// Those of the property's keys, or of what is compared in their place.
        let precedes: @Sendable (UnsafeRawPointer, UnsafeRawPointer) -> Bool
        let append: @Sendable (UnsafeRawPointer, inout ByteWriter) -> Bool
        /// Where rows without a value come, if that is not where the keys of the property have them.
        let nils: NilPlacement?
        /// Whether a value is nil; nil for a property that cannot be.
        let isNil: (@Sendable (UnsafeRawPointer) -> Bool)?

        struct Reference: Sendable {
            let id: PropertyID
            let offset: Int
            let target: Int
        }

        fileprivate init<E>(_ ordering: Ordering<E>, of entity: Int, in schema: Schema) throws(GraphError) {
            var (entity, references): (Int, [Reference]) = (entity, [])
            for keyPath in ordering.path.dropLast() {
                guard let toOne = schema.entities[entity].toOne(at: keyPath) else {
                    throw .notOrdered(schema.entities[entity].describe(keyPath, ordering.site))
                }
                references.append(
                    Reference(
                        id: PropertyID(entity: entity, property: toOne.property), offset: toOne.offset,
                        target: toOne.target))
                entity = toOne.target
            }
            let (description, keyPath) = (schema.entities[entity], ordering.path[ordering.path.count - 1])
            guard let number = description.number(of: keyPath),
                let key = description.properties[number].operations.key
            else { throw .notOrdered(description.describe(keyPath, ordering.site)) }
            let declared = description.properties[number]
            let optional = declared.valueType as? any OptionalValue.Type
            func isNil(_ type: any OptionalValue.Type) -> @Sendable (UnsafeRawPointer) -> Bool {
                { type.isNil(at: $0) }
            }
            let usual: NilPlacement = ordering.isDescending ? .last : .first
            let isUsual = references.isEmpty && (optional == nil || ordering.nils == usual)
            property = isUsual && ordering.foldedKey == nil ? number : nil
            id = PropertyID(entity: entity, property: number)
            self.references = references
            offset = declared.offset
            isDescending = ordering.isDescending
            ignoresCase = ordering.foldedKey != nil
            let compared = ordering.foldedKey ?? key
            (precedes, append) = (compared.precedes, compared.append)
            nils = isUsual ? nil : ordering.nils
            self.isNil = optional.map(isNil)
        }
    }

    let entity: Int
    let criteria: [Criterion]
    /// The first criterion where it is a property of the rows themselves, nil as usual: it decides most comparisons.
    private let leading: Leading?
    /// The rows that references lead to; empty if there are none.
    private var rows: [EntityRows]

    /// - Throws: `GraphError.notOrdered` for a property that is computed, not stored.
    init<E>(_ orderings: [Ordering<E>], in snapshot: Snapshot) throws(GraphError) {
        entity = try snapshot.entityNumber(of: E.self)
        var criteria: [Criterion] = []
        for ordering in orderings { criteria.append(try Criterion(ordering, of: entity, in: snapshot.schema)) }
        self.criteria = criteria
        leading = criteria.first.flatMap { $0.nils == nil ? Leading($0) : nil }
        rows = []
        move(to: snapshot)
    }

    /// Follows references in another state from now on.
    mutating func move(to snapshot: Snapshot) {
        if criteria.contains(where: { !$0.references.isEmpty }) { rows = snapshot.entities }
    }

    /// The entities that references lead to.
    var targets: Set<Int> { Set(criteria.flatMap { $0.references.map(\.target) }) }

    private struct Leading: Sendable {
        let offset: Int
        let isDescending: Bool
        let precedes: @Sendable (UnsafeRawPointer, UnsafeRawPointer) -> Bool

        init(_ criterion: Criterion) {
            (offset, isDescending, precedes) = (criterion.offset, criterion.isDescending, criterion.precedes)
        }
    }

    @usableFromInline
    func precedes(_ lhs: FoundRow, _ rhs: FoundRow) -> Bool {
        if let leading {
            let (left, right) = (lhs.address + leading.offset, rhs.address + leading.offset)
            if leading.precedes(left, right) { return !leading.isDescending }
            if leading.precedes(right, left) { return leading.isDescending }
        }
        for criterion in leading == nil ? criteria[...] : criteria.dropFirst() {
            if criterion.nils == nil {
                let (left, right) = (lhs.address + criterion.offset, rhs.address + criterion.offset)
                if criterion.precedes(left, right) { return !criterion.isDescending }
                if criterion.precedes(right, left) { return criterion.isDescending }
            } else {
                switch (value(criterion, of: lhs.address), value(criterion, of: rhs.address)) {
                case (nil, nil): continue
                case (nil, _): return criterion.nils == .first
                case (_, nil): return criterion.nils == .last
                case (let left?, let right?):
                    if criterion.precedes(left, right) { return !criterion.isDescending }
                    if criterion.precedes(right, left) { return criterion.isDescending }
                }
            }
        }
        return lhs.number < rhs.number
    }

    /// Appends bytes that order as the criterion does; those of no row begin with another's.
    func append(_ criterion: Criterion, of row: UnsafeRawPointer, to writer: inout ByteWriter) {
        var value = row + criterion.offset
        if let nils = criterion.nils {
            guard let address = self.value(criterion, of: row) else {
                return writer.append(nils == .first ? 0 : .max)
            }
            writer.append(1)
            value = address
        }
        let start = writer.count
        _ = criterion.append(value, &writer)
        if criterion.isDescending { writer.invert(from: start) }
    }

    /// The address of a row's value; nil if there is none.
    private func value(_ criterion: Criterion, of row: UnsafeRawPointer) -> UnsafeRawPointer? {
        var row = row
        for reference in criterion.references {
            let target = (row + reference.offset).load(as: RowNumber.self)
            guard target != 0, let address = rows[reference.target].rows.address(of: target) else { return nil }
            row = address
        }
        let value = row + criterion.offset
        return criterion.isNil?(value) == true ? nil : value
    }
}

extension EntityDescription {
    fileprivate func toOne(at keyPath: AnyKeyPath) -> ToOneDescription? {
        number(of: keyPath).flatMap { number in toOnes.first { $0.property == number } }
    }

    fileprivate func describe(_ keyPath: AnyKeyPath, _ site: CallSite) -> String {
        name(of: keyPath) ?? "\(keyPath.readable), in the ordering at \(site),"
    }
    /// The property of exactly this key path; nil for one that leads into a property's value or is computed.
    func number(of keyPath: AnyKeyPath) -> Int? {
        properties.firstIndex { ($0.keyPath as AnyKeyPath) == keyPath }
    }

    /// The entity and the property, `Person.address.city`; nil for a computed property, whose key path does not know its name.
    func name(of keyPath: AnyKeyPath) -> String? {
        if let number = number(of: keyPath) { return "\(name).\(properties[number].name)" }
        let path = keyPath.readable
        guard let dot = path.firstIndex(of: "."), !path.contains("<computed") else { return nil }
        return name + path[dot...]
    }
}

extension AnyKeyPath {
    /// `\Person.name`, or `\Person.<computed (String)>` without the address that the key path of a computed property prints.
    var readable: String {
        var parts = "\(self)".split(separator: "<computed 0x", omittingEmptySubsequences: false)
        for number in parts.indices.dropFirst() { parts[number] = parts[number].drop { $0.isHexDigit || $0 == " " } }
        return parts.joined(separator: "<computed ")
    }
}
