/// How a program's schema follows from that of a file: what has changed, and where each property of the program comes from.
///
/// Things are the same if they have the same name, or if the file's name is an original name in the program.
struct SchemaComparison: Sendable {
    /// Where the values of a property come from.
    enum Source: Sendable {
        /// The file has none: rows get the default, or nil.
        case nowhere
        /// The file's property of this number. `conversion` is nil if both have the same type.
        case attribute(Int, ValueConversion?)
        case relationship(Int)
    }

    struct EntitySource: Sendable {
        /// The number of the file's entity; nil if it has none.
        let number: Int?
        /// By property.
        var properties: [Source] = []
    }

    let old: Schema
    let new: Schema
    /// By entity of the program.
    private(set) var entities: [EntitySource] = []
    /// Entities before their properties, in the program's order; then what only the file has.
    private(set) var changes: [SchemaChange] = []
    /// By entity of the file, its number in the program.
    private let successors: [Int: Int]
    private let rowCounts: [Int]
    /// Ends of relationships that lead nowhere, since their other ends do.
    private var emptied: [(entity: Int, property: Int)] = []
    private let dropped: Set<String>

    /// - Parameters:
    ///   - rowCounts: how many rows each entity of the file has, or `someRows`. Nothing is lost where there are none.
    ///   - dropping: entities, and properties as `Entity.property`, that the program gives up for good.
    init(from old: Schema, to new: Schema, rowCounts: [Int], dropping: [String] = []) {
        let dropped = Set(dropping)
        (self.old, self.new, self.rowCounts, self.dropped) = (old, new, rowCounts, dropped)
        let names = old.entities.map(\.name)
        let numbers = new.entities.map { entity in
            Self.index(of: entity.knownNames, in: names, without: dropped)
        }
        successors = Dictionary(
            uniqueKeysWithValues: numbers.enumerated().compactMap { new, old in old.map { ($0, new) } })
        entities = numbers.map { EntitySource(number: $0) }
        for entity in new.entities.indices {
            refuseUncertainName(of: new.entities[entity], among: names)
            compareEntity(entity)
        }
        for (entity, property) in emptied { entities[entity].properties[property] = .nowhere }
        for (number, entity) in old.entities.enumerated() where successors[number] == nil {
            let count = rowCounts[number]
            if count == 0 || dropped.contains(entity.name) {
                let what = count == 0 ? "removed" : "removed with its \(Self.objects(count))"
                note(entity.name, nil, what, .converted, isRemoval: true)
            } else {
                let advice = "open with dropping: [\"\(entity.name.shortened())\"] to delete them"
                refuse(
                    entity.name, nil, "removed, but the file has \(Self.objects(count))", advice, isRemoval: true)
            }
        }
        let order = numbers.compactMap { $0 }
        if order != order.sorted() {
            note(new.entities[0].name, nil, "the entities have another order", .converted, isNeutral: true)
        }
    }

    var refused: [SchemaChange] { changes.filter { $0.handling == .refused } }

    /// The same comparison for a file with objects of each entity.
    var asIfThereWereObjects: SchemaComparison {
        SchemaComparison(from: old, to: new, rowCounts: rowCounts.map { _ in Self.someRows }, dropping: Array(dropped))
    }

    /// So many rows are there where nobody has counted them.
    static let someRows = Int.max

    private static func objects(_ count: Int) -> String {
        count == 1 ? "1 object" : count == someRows ? "objects" : "\(count) objects"
    }

    /// The known names that the file has. If it has several, those that go are left out; a single one is meant, whatever an
    /// earlier version of the program has dropped.
    private static func found(
        _ knownNames: [String], in names: [String], of entity: String? = nil, without dropped: Set<String>
    ) -> [String] {
        let found = knownNames.filter { names.contains($0) }
        return found.count < 2 ? found : found.filter { !dropped.contains((entity.map { $0 + "." } ?? "") + $0) }
    }

    /// The first of these.
    private static func index(
        of knownNames: [String], in names: [String], of entity: String? = nil, without dropped: Set<String>
    ) -> Int? {
        found(knownNames, in: names, of: entity, without: dropped).first.flatMap { names.firstIndex(of: $0) }
    }

    private mutating func note(
        _ entity: String, _ property: String?, _ summary: String, _ handling: SchemaChange.Handling,
        isNeutral: Bool = false, isRemoval: Bool = false
    ) {
        changes.append(
            SchemaChange(
                entity: entity, property: property, summary: summary, handling: handling, advice: nil,
                isNeutral: isNeutral, isRemoval: isRemoval))
    }

    private mutating func refuse(
        _ entity: String, _ property: String?, _ summary: String, _ advice: String, isRemoval: Bool = false,
        isUncertain: Bool = false
    ) {
        changes.append(
            SchemaChange(
                entity: entity, property: property, summary: summary, handling: .refused, advice: advice,
                isRemoval: isRemoval, isUncertain: isUncertain))
    }

    // MARK: Entities

    /// An entity of which the file has several names may be any of these, until the program drops the others.
    private mutating func refuseUncertainName(of entity: EntityDescription, among names: [String]) {
        let kept = Self.found(entity.knownNames, in: names, without: dropped)
        guard kept.count > 1 else { return }
        let both = "the file has both '\(kept[0].shortened())' and '\(kept[1].shortened())', and either may be it"
        refuse(entity.name, nil, both, "open with dropping: [\"…\"] and the name that goes", isUncertain: true)
    }

    private mutating func compareEntity(_ number: Int) {
        let entity = new.entities[number]
        let properties = entity.properties
        guard let oldNumber = entities[number].number else {
            entities[number].properties = properties.map { _ in .nowhere }
            return note(entity.name, nil, "added", .converted)
        }
        let oldEntity = old.entities[oldNumber]
        if oldEntity.name != entity.name {
            note(entity.name, nil, "renamed from '\(oldEntity.name.shortened())'", .recorded, isNeutral: true)
        }
        compareCompounds(of: entity, oldEntity)
        // Those of transient ones belong to no file.
        let oldNames = oldEntity.properties.map { $0.isTransient ? "" : $0.name }
        let sources = properties.map { property in
            property.isTransient ? nil : source(of: property, in: entity, oldNames)
        }
        let removed = oldEntity.properties.indices.filter {
            !sources.contains($0) && !oldEntity.properties[$0].isTransient
        }
        for (position, property) in properties.enumerated() where !property.isTransient {
            if let source = sources[position] {
                if oldNames[source] != property.name {
                    note(
                        entity.name, property.name, "renamed from '\(oldNames[source].shortened())'", .recorded,
                        isNeutral: true)
                }
                entities[number].properties.append(compare(position, of: number, with: source, of: oldNumber))
            } else {
                entities[number].properties.append(.nowhere)
                noteAddition(of: position, to: number, removed, of: oldNumber)
            }
        }
        entities[number].properties += properties.filter(\.isTransient).map { _ in .nowhere }
        for position in removed { note(entity.name, oldNames[position], "removed", .converted, isRemoval: true) }
        let order = sources.compactMap { $0 }
        if order != order.sorted() {
            note(entity.name, nil, "the properties have another order", .converted, isNeutral: true)
        }
    }

    /// Where a property comes from. If the file has both its name and an original one, it says itself which of the two.
    private mutating func source(of property: Property, in entity: EntityDescription, _ oldNames: [String]) -> Int? {
        let kept = Self.found(property.knownNames, in: oldNames, of: entity.name, without: dropped)
        if kept.count > 1 {
            let advice = "open with dropping: [\"\(entity.name).…\"] and the name that goes"
            let both = "the file has both '\(kept[0].shortened())' and '\(kept[1].shortened())', and either may be it"
            refuse(entity.name, property.name, both, advice, isUncertain: true)
        }
        return kept.first.flatMap { oldNames.firstIndex(of: $0) }
    }

    /// Whether something that the file has is nothing in the program.
    var removes: Bool { changes.contains(where: \.isRemoval) }

    private mutating func compareCompounds(of entity: EntityDescription, _ oldEntity: EntityDescription) {
        /// The names of the program.
        func texts(_ description: EntityDescription, _ name: (String) -> String) -> [String] {
            description.compounds.map { compound in
                let names = compound.properties.map(name).joined(separator: ", ")
                return "(\(names.shortened(to: 400))) \(compound.uniqueness == nil ? "indexed" : "unique")"
            }
        }
        let newTexts = texts(entity) { $0 }
        let oldTexts = texts(oldEntity) { name in
            entity.properties.first { $0.knownNames.contains(name) }?.name ?? name
        }
        for text in newTexts where !oldTexts.contains(text) {
            note(entity.name, nil, text, .recorded, isNeutral: text.hasSuffix("indexed"))
        }
        for text in oldTexts where !newTexts.contains(text) {
            note(entity.name, nil, "no longer \(text)", .recorded, isNeutral: text.hasSuffix("indexed"))
        }
    }

    private mutating func noteAddition(of position: Int, to number: Int, _ removed: [Int], of oldNumber: Int) {
        let (entity, oldEntity) = (new.entities[number], old.entities[oldNumber])
        let property = entity.properties[position]
        guard rowCounts[oldNumber] > 0 else { return note(entity.name, property.name, "added", .converted) }
        let candidate = removed.first { candidate in
            isAlike(candidate, of: oldNumber, position, of: number)
                && !dropped.contains("\(entity.name).\(oldEntity.properties[candidate].name)")
        }
        if let candidate {
            let name = oldEntity.properties[candidate].name.shortened()
            let advice = "say so with originalName: \"\(name)\", or open with dropping: [\"\(entity.name).\(name)\"]"
            return refuse(entity.name, property.name, "added, perhaps renamed from '\(name)'", advice)
        }
        guard case .attribute = property.role, property.initializeDefault == nil, !isOptional(property) else {
            let value = property.initializeDefault == nil ? "" : " with its default"
            return note(entity.name, property.name, "added\(value)", .converted)
        }
        refuse(
            entity.name, property.name,
            "added, but nothing says what it is in the \(Self.objects(rowCounts[oldNumber])) of the file",
            "declare a default, or make it optional")
    }

    private func isOptional(_ property: Property) -> Bool {
        if property.isNullable { return true }
        return if case .optional? = AttributeKind(property.operations.kind) { true } else { false }
    }

    /// Whether a property that only the file has may be one that only the program has.
    private func isAlike(_ property: Int, of oldEntity: Int, _ newProperty: Int, of newEntity: Int) -> Bool {
        let (oldEnd, newEnd) = (old.end(oldEntity, property), new.end(newEntity, newProperty))
        if let oldEnd, let newEnd {
            return successors[oldEnd.target] == newEnd.target && (newEnd.isToMany || !oldEnd.isToMany)
        }
        guard oldEnd == nil, newEnd == nil,
            let oldKind = AttributeKind(old.entities[oldEntity].properties[property].operations.kind),
            let kind = AttributeKind(new.entities[newEntity].properties[newProperty].operations.kind)
        else { return false }
        return ValueConversion(from: oldKind, to: kind) != nil
    }

    // MARK: Properties

    private mutating func compare(_ position: Int, of entity: Int, with oldPosition: Int, of oldEntity: Int) -> Source {
        let name = (new.entities[entity].name, new.entities[entity].properties[position].name)
        switch (old.end(oldEntity, oldPosition), new.end(entity, position)) {
        case (nil, nil):
            return compareAttributes(position, of: entity, with: oldPosition, of: oldEntity)
        case (let oldEnd?, let newEnd?):
            if compare(oldEnd, newEnd, name) { return .relationship(oldPosition) }
            // Two ends of one relationship have to agree.
            if let inverse = newEnd.inverse { emptied.append((newEnd.target, inverse)) }
            return .nowhere
        case (nil, _?):
            refuse(name.0, name.1, "an attribute becomes a relationship", SchemaChange.needsPlan)
        case (_?, nil):
            refuse(name.0, name.1, "a relationship becomes an attribute", SchemaChange.needsPlan)
        }
        return .nowhere
    }

    private mutating func compareAttributes(
        _ position: Int, of entity: Int, with oldPosition: Int, of oldEntity: Int
    ) -> Source {
        let (oldProperty, property) = (
            old.entities[oldEntity].properties[oldPosition], new.entities[entity].properties[position]
        )
        let name = (new.entities[entity].name, property.name)
        let indexing = (Self.indexing(of: oldProperty), Self.indexing(of: property))
        if indexing.0 != indexing.1 {
            note(
                name.0, name.1, indexing.1.isEmpty ? "no longer \(indexing.0)" : indexing.1, .recorded,
                isNeutral: indexing.0 != "unique" && indexing.1 != "unique")
        }
        let kinds = (oldProperty.operations.kind, property.operations.kind)
        if oldProperty.valueType == property.valueType { return .attribute(oldPosition, nil) }
        guard let oldKind = AttributeKind(kinds.0), let kind = AttributeKind(kinds.1),
            let conversion = ValueConversion(from: oldKind, to: kind)
        else {
            let summary = "\(kinds.0.shortened()) becomes \(kinds.1.shortened())"
            refuse(name.0, name.1, summary, SchemaChange.needsPlan)
            return .nowhere
        }
        if kinds.0 != kinds.1 {
            note(name.0, name.1, "\(kinds.0.shortened()) becomes \(kinds.1.shortened())", .converted)
        }
        return .attribute(oldPosition, conversion)
    }

    private static func indexing(of property: Property) -> String {
        guard case .attribute(let uniqueness, let isIndexed) = property.role else { return "" }
        return uniqueness != nil ? "unique" : isIndexed ? "indexed" : ""
    }

    /// Returns whether what the old end leads to is what the new one does.
    private mutating func compare(
        _ oldEnd: RelationshipEnd, _ newEnd: RelationshipEnd, _ name: (String, String)
    ) -> Bool {
        var isSame = true
        func refuse(_ reason: String) {
            self.refuse(name.0, name.1, reason, SchemaChange.needsPlan)
            isSame = false
        }
        if successors[oldEnd.target] != newEnd.target {
            let targets = (old.entities[oldEnd.target].name.shortened(), new.entities[newEnd.target].name)
            refuse("leads to \(targets.1) instead of \(targets.0)")
        } else if !hasSameInverse(oldEnd, newEnd) {
            refuse("has another inverse")
        } else if oldEnd.isToMany, !newEnd.isToMany {
            refuse("to-many becomes to-one")
        } else if oldEnd.isOrdered, !newEnd.isOrdered {
            refuse("an ordered relationship becomes an unordered one")
        }
        if !oldEnd.isToMany, newEnd.isToMany { note(name.0, name.1, "to-one becomes to-many", .converted) }
        if !oldEnd.isOrdered, newEnd.isOrdered { note(name.0, name.1, "becomes ordered", .converted) }
        if oldEnd.rule != newEnd.rule {
            note(name.0, name.1, "\(oldEnd.rule.rawValue) becomes \(newEnd.rule.rawValue)", .recorded)
        }
        if oldEnd.counts != newEnd.counts {
            note(name.0, name.1, "\(oldEnd.counts) becomes \(newEnd.counts)", .recorded)
        }
        return isSame
    }

    /// Whether two relationships have the same other end, or one that follows from this one.
    private func hasSameInverse(_ oldEnd: RelationshipEnd, _ newEnd: RelationshipEnd) -> Bool {
        let entity = new.entities[newEnd.target]
        let names = old.entities[oldEnd.target].properties.map(\.name)
        func oldProperty(of property: Property) -> Int? {
            Self.index(of: property.knownNames, in: names, of: entity.name, without: dropped)
        }
        let source = newEnd.inverse.flatMap { oldProperty(of: entity.properties[$0]) }
        switch (oldEnd.inverse, newEnd.inverse) {
        case (nil, nil):
            return true
        case (let oldInverse?, _?):
            return source == oldInverse
        case (nil, let inverse?):
            // A new to-one relationship might have to lead to two objects.
            return source == nil && new.end(newEnd.target, inverse)?.isToMany == true
        case (let oldInverse?, nil):
            return !entity.properties.contains { oldProperty(of: $0) == oldInverse }
        }
    }
}

/// One end of a relationship, of any kind.
struct RelationshipEnd {
    let target: Int
    /// The property at the other end.
    let inverse: Int?
    let isToMany: Bool
    let isOrdered: Bool
    let rule: DeleteRule
    let counts: MemberCounts
}

extension Schema {
    /// nil for an attribute.
    func end(_ entity: Int, _ property: Int) -> RelationshipEnd? {
        let description = entities[entity]
        guard let relationship = description.properties[property].relationship else { return nil }
        if let toOne = description.toOnes.first(where: { $0.property == property }) {
            return RelationshipEnd(
                target: toOne.target, inverse: toOne.inverse, isToMany: false, isOrdered: false,
                rule: relationship.rule, counts: relationship.counts)
        }
        return description.toManys.first { $0.property == property }.map { toMany in
            RelationshipEnd(
                target: toMany.source, inverse: toMany.inverse, isToMany: true, isOrdered: toMany.isOrdered,
                rule: relationship.rule, counts: relationship.counts)
        }
    }
}

extension MemberCounts: CustomStringConvertible {
    /// `any number`, `at least 1`, `1 to 3`.
    var description: String {
        switch maximum {
        case nil: minimum == 0 ? "any number" : "at least \(minimum)"
        case let maximum?: minimum == 0 ? "at most \(maximum)" : "\(minimum) to \(maximum)"
        }
    }
}
