@testable import Graph

extension Schema {
    /// The schema of a program, version 0, or of another version of it. They differ in what undoes nothing, so that a file may go
    /// back and forth between them: in indexes, which it takes note of, and in the order of properties, for which it is
    /// converted. What is resolved in the order of declaration keeps that.
    static func version(_ version: UInt64, of types: [any Entity.Type]) throws(GraphError) -> Schema {
        var random = SeededGenerator(seed: version)
        let entities = types.map { description(of: $0) }
        return try Schema(version == 0 ? entities : entities.map { varied($0, &random) })
    }

    private static func description<E: Entity>(of type: E.Type) -> EntityDescription { EntityDescription(type) }

    private static func varied(_ entity: EntityDescription, _ random: inout SeededGenerator) -> EntityDescription {
        var properties = entity.properties
        if random.chance(2) {
            var ranked = properties.filter(\.isRanked)[...]
            // In the places of these, wherever they are, they are as before.
            properties = properties.shuffled(using: &random).map { $0.isRanked ? ranked.removeFirst() : $0 }
        }
        var compounds = entity.compounds
        let attributes = properties.filter { $0.operations.key != nil && $0.relationship == nil }.map(\.name)
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            let names = Array(attributes.shuffled(using: &random).prefix(random.chance(2) ? 1 : 2))
            guard !names.isEmpty, !compounds.contains(where: { $0.properties == names }) else { continue }
            compounds.append(CompoundIndex(properties: names, uniqueness: nil))
        }
        return EntityDescription(
            EntityDraft(
                name: entity.name, type: entity.type, layout: entity.layout, hooks: entity.hooks,
                compounds: compounds, properties: properties))
    }
}

extension Property {
    /// Whether its place among others counts: unique values give way in that order, and of two references of which the first
    /// takes back the second, the second is left.
    fileprivate var isRanked: Bool {
        switch role {
        case .attribute(let uniqueness, _): uniqueness != nil
        case .toOne: true
        case .toMany, .transient: false
        }
    }
}
