/// What `SchemaAssembly` knows of an entity so far; see `EntityDescription`.
struct EntityDraft {
    let name: String
    var originalNames: [String] = []
    let type: any Entity.Type
    let layout: RowLayout
    let hooks: EntityHooks
    let compounds: [CompoundIndex]
    var properties: [Property]
    var transients: [TransientDescription] = []
    var indexes: [IndexDescription] = []
    var toOnes: [ToOneDescription] = []
    var toManys: [ToManyDescription] = []
    var references: [Reference] = []
    var linkTables: [Int] = []
    var hasInversesToMaintain = false
    var hasCounts = false
}

extension EntityDraft {
    /// A declaration may be used for several schemas.
    init(_ declaration: EntityDescription) {
        self.init(
            name: declaration.name, originalNames: declaration.originalNames, type: declaration.type,
            layout: declaration.layout, hooks: declaration.hooks, compounds: declaration.compounds,
            properties: declaration.properties)
    }

    /// The indexes by which the values of one property can be looked up.
    var equalityIndexes: [EqualityIndex] {
        indexes.enumerated().compactMap { number, index in
            let property = properties[index.first.property]
            guard index.rest.isEmpty, let offset = property.keyPathOffset else { return nil }
            let type = (property.valueType as? any OptionalValue.Type)?.wrappedType ?? property.valueType
            guard index.first.key.equals == nil || type is any RawRepresentable.Type else { return nil }
            return EqualityIndex(
                number: number, offset: offset, type: ObjectIdentifier(property.valueType), skipsNil: index.skipsNil,
                append: index.first.key.append
            )
        }
    }
}
