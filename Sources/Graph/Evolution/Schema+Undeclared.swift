extension Schema {
    /// The schema of a file, without the program's types: values are of the types that Graph stores, those with a raw value are
    /// that, and those of a program's own types stay encoded.
    ///
    /// - Parameter predecessor: a schema that says the same of what is stored, whose rows this one goes on with: tables and leaves
    ///   know their layout by its identity.
    /// - Precondition: the record was read, and is therefore checked, or is a schema's own.
    convenience init(_ record: SchemaRecord, after predecessor: Schema? = nil) throws(GraphError) {
        var assembly = SchemaAssembly(record, after: predecessor)
        assembly.join()
        try self.init(assembly)
    }
}

extension SchemaAssembly {
    /// What a record says, to be joined.
    init(_ record: SchemaRecord, after predecessor: Schema? = nil) {
        var targets: [End: Int] = [:]
        var inverses: [End: End] = [:]
        for (entity, recorded) in record.entities.enumerated() {
            for (number, property) in recorded.properties.enumerated() {
                let end = End(entity: entity, property: number)
                switch property.role {
                case .attribute:
                    continue
                case .toOne(let target, _, let inverse, _):
                    targets[end] = target
                    if let inverse { inverses[end] = End(entity: target, property: inverse) }
                case .toMany(let source, let inverse, _, _, _):
                    let other = End(entity: source, property: inverse)
                    targets[end] = source
                    inverses[end] = other
                    // A to-one relationship does not name a to-many one.
                    inverses[other] = end
                }
            }
        }
        self.init(
            placed: record.entities.enumerated().map { number, entity in
                EntityDraft(entity, predecessor?.entities[number].layout)
            },
            targets: targets, inverses: inverses)
    }
}

extension EntityDraft {
    /// - Parameter known: the layout of such rows, if there is one already.
    init(_ entity: SchemaRecord.Entity, _ known: RowLayout? = nil) {
        var (properties, offset, alignment): ([Property], Int, Int) = ([], 0, 1)
        for recorded in entity.properties {
            let property = Property(recorded)
            offset = (offset + property.alignment - 1) / property.alignment * property.alignment
            properties.append(Property(property, at: offset))
            offset += property.sizeBytes
            alignment = max(alignment, property.alignment)
        }
        self.init(
            name: entity.name,
            type: UndeclaredEntity.self,
            layout: known
                ?? RowLayout(
                    of: properties, stride: max(1, (offset + alignment - 1) / alignment * alignment),
                    alignment: alignment),
            hooks: EntityHooks(UndeclaredEntity.self),
            compounds: entity.compounds.map { compound in
                CompoundIndex(
                    properties: compound.properties.map { entity.properties[$0].name },
                    uniqueness: compound.isUnique ? .reject : nil
                )
            },
            properties: properties
        )
    }
}

extension Property {
    fileprivate convenience init(_ recorded: SchemaRecord.Property) {
        let relationship = { (rule: DeleteRule, isOrdered: Bool, counts: MemberCounts) in
            Relationship(
                target: UndeclaredEntity.self, inverse: nil, rule: rule, isOrdered: isOrdered, counts: counts)
        }
        switch recorded.role {
        case .attribute(let kind, let indexing):
            let type = AttributeKind(kind)?.type ?? EncodedValue.self
            let role = Role.attribute(uniqueness: indexing == .unique ? .reject : nil, isIndexed: indexing == .indexed)
            self.init(undeclared: recorded.name, type, role)
        case .toOne(_, let rule, _, let counts):
            self.init(
                undeclared: recorded.name, ToOne<UndeclaredEntity>.self, .toOne(relationship(rule, false, counts)),
                ToOne<UndeclaredEntity>.operations)
        case .toMany(_, _, let rule, let isOrdered, let counts):
            self.init(
                undeclared: recorded.name, ToMany<UndeclaredEntity>.self,
                .toMany(relationship(rule, isOrdered, counts)), ToMany<UndeclaredEntity>.operations)
        }
    }

    private convenience init<V: AttributeValue>(undeclared name: String, _ type: V.Type, _ role: Role) {
        self.init(undeclared: name, type, role, V.attributeCodec.operations)
    }
}
