extension Context {
    /// The objects that a descriptor asks for, kept up to date.
    ///
    /// - Throws: what ``fetch(_:)`` throws.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:)``. Reading it later takes O(*k* log *n*) for *k* changed objects of the
    /// entity and *n* of the result, or a fetch if the predicate follows relationships and objects at their other ends have changed.
    public func results<E: Entity>(_ descriptor: FetchDescriptor<E>) throws -> FetchedResults<E> {
        try results(ResultDefinition(descriptor))
    }

    /// The same, in sections of objects that have one value of a property. Sections come in the order of that property, nil first,
    /// before all sort criteria, and a page token belongs to all of these. The limit counts through all sections.
    ///
    /// Complexity: that of ``results(_:)``, and O(*s*) for *s* sections when a section gains or loses objects.
    public func results<E: Entity, V: OrderedAttributeValue>(
        _ descriptor: FetchDescriptor<E>,
        sectionedBy keyPath: any KeyPath<E, V> & Sendable,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws -> FetchedResults<E> {
        try results(ResultDefinition(descriptor, sectionedBy: .ascending(keyPath, file: file, line: line)))
    }

    /// The same, in sections of objects that refer to one object, in the order of these objects' insertion, nil first.
    ///
    /// Complexity: that of ``results(_:)``, and O(*s*) for *s* sections when a section gains or loses objects.
    public func results<E: Entity, Target>(
        _ descriptor: FetchDescriptor<E>,
        sectionedBy keyPath: any KeyPath<E, ToOne<Target>> & Sendable,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws -> FetchedResults<E> {
        let section = Ordering<E>([keyPath], isDescending: false, CallSite(file, line))
        return try results(ResultDefinition(descriptor, sectionedBy: section))
    }

    func results<E: Entity>(_ definition: ResultDefinition<E>) throws -> FetchedResults<E> {
        _ = try state.base.entityIndex(of: E.self)
        return try FetchedResults(definition, state)
    }
}
