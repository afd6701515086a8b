/// The form of texts that rows are written to and read from.
public enum RowFormat: Sendable, Hashable {
    /// A line of JSON (RFC 8259) for each row, with its entity and its identifier, and then lines with links.
    case jsonLines
    /// Rows of one entity (RFC 4180), with a first line that names the properties.
    case csv
}

/// Rows as text.
extension Snapshot {
    /// All objects, with all relationships, as lines of JSON. ``Coordinator/importRows(from:onConflict:batchSize:resumingAt:ignoresUnknownTargets:author:progress:fileID:line:)``
    /// reads them back: into an empty store with the identifiers that the objects have here.
    ///
    /// ```
    /// {"entity":"Person","id":26,"values":{"name":"Ada","born":"1815-12-10T00:00:00Z","team":3}}
    /// {"entity":"Person","id":26,"links":{"friends":[27,31]}}
    /// ```
    ///
    /// Rows come before links, and what required references lead to before what refers to it. Members that refer to their owner
    /// have no links but their order, and a link that two sides share comes once. <doc:MovingData> has the form of each type.
    ///
    /// - Parameter progress: is told how much of the text is made, at most a hundred times in each iteration.
    ///
    /// Complexity: O(*e*) for *e* entities and their properties; see ``ExportedRows/Iterator/next(isolation:)``.
    public func exportedRows(progress: (@Sendable (StoreProgress) -> Void)? = nil) -> ExportedRows {
        noteAll()
        let entities = schema.exchangedEntities
        let rows = schema.entitiesInOrderOfReferences.map { ExportedRows.Part.rows(entities[$0], nil) }
        let links = schema.entities.flatMap(\.toManys).filter { $0.isExchanged(in: schema) }
        return ExportedRows(
            snapshot: self, isCSV: false, parts: rows + links.map { .links($0, nil, []) }, progress: progress)
    }

    /// The objects that a descriptor asks for, in its order. JSON lines have the links of these objects as well; CSV has only
    /// what rows hold, which are attributes and references.
    ///
    /// What the objects refer to need not be among them: an import then has to have it from elsewhere, or to ignore such
    /// references.
    ///
    /// - Throws: what ``fetchIDs(_:)`` throws.
    ///
    /// Complexity: that of ``fetchIDs(_:)``; see ``ExportedRows/Iterator/next(isolation:)``.
    public func exportedRows<E: Entity>(
        _ descriptor: FetchDescriptor<E>, as format: RowFormat = .jsonLines,
        progress: (@Sendable (StoreProgress) -> Void)? = nil
    ) throws -> ExportedRows {
        let entity = try entityIndex(of: E.self)
        if format == .jsonLines { noteAll() }
        let ids = try fetchIDs(descriptor).map(\.row)
        return exportedRows(of: entity, ids, format, progress)
    }

    /// The links of a relationship as CSV: a line for each, with owner and member, and an owner's members in their order. For
    /// many-to-many relationships, of which one side is enough, and for those with an order.
    ///
    /// - Throws: `GraphError.unknownEntity`, also if the property is no relationship of the store.
    ///
    /// Complexity: O(1); see ``ExportedRows/Iterator/next(isolation:)``.
    public func exportedLinks<E: Entity, Target: Entity>(
        _ relationship: any KeyPath<E, ToMany<Target>> & Sendable, progress: (@Sendable (StoreProgress) -> Void)? = nil
    ) throws(GraphError) -> ExportedRows {
        let entity = try entityIndex(of: E.self)
        noteAll()
        let description = schema.entities[entity]
        guard
            let toMany = description.toManys.first(where: {
                description.properties[$0.property].keyPath as AnyKeyPath == relationship
            })
        else { throw .unknownEntity("\(relationship)") }
        return ExportedRows(snapshot: self, isCSV: true, parts: [.links(toMany, nil, [])], progress: progress)
    }

    /// - Parameter rows: nil for all of the entity.
    func exportedRows(
        of entity: Int, _ rows: [RowNumber]?, _ format: RowFormat, _ progress: (@Sendable (StoreProgress) -> Void)?
    ) -> ExportedRows {
        let links = schema.entities[entity].toManys.filter { $0.linkTable != nil && format == .jsonLines }
        // Each of two owners names the other one, unless that does.
        let others = links.contains { $0.isSymmetric(in: schema) } ? Set(rows ?? []) : []
        return ExportedRows(
            snapshot: self, isCSV: format == .csv,
            parts: [.rows(ExchangedEntity(entity, of: schema), rows)] + links.map { .links($0, rows, others) },
            progress: progress)
    }
}

extension Schema {
    /// Each entity behind those that its required references lead to, as far as circles allow.
    var entitiesInOrderOfReferences: [Int] {
        var order: [Int] = []
        var visited: Set<Int> = []
        /// Entities on the way, each with the targets that are left. Recursion would be as deep as there are entities.
        var path: [(entity: Int, targets: [Int])] = []
        func enter(_ entity: Int) {
            guard visited.insert(entity).inserted else { return }
            path.append((entity, entities[entity].toOnes.filter(\.isRequired).map(\.target)))
        }
        for entity in entities.indices {
            enter(entity)
            while let last = path.indices.last {
                if let target = path[last].targets.popLast() {
                    enter(target)
                } else {
                    order.append(path.removeLast().entity)
                }
            }
        }
        return order
    }
}
