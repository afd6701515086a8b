#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Changes of all objects that match, without an object for each. Everything else is as if each object were changed: inverses,
/// delete rules, versions and conflicts, hooks and rules at save, undo; objects that the program holds show the changes.
extension Context {
    /// Changes the value of each object that matches. The changes are pending until the context saves.
    ///
    /// ```swift
    /// try await context.transaction {
    ///     try $0.update(Person.self, where: #Predicate { $0.age > 64 }) { $0.isRetired = true }
    /// }
    /// ```
    ///
    /// Changes the objects that match before it begins; unsaved changes count. Writing a reference keeps its inverse.
    /// Members cannot be assigned: change the references of the members, or the objects themselves. Transient properties are
    /// no part of rows: they have their defaults, and what is written to them is lost.
    ///
    /// - Parameter change: may read the context. If it changes objects, too, what it does to the value it was given comes later.
    /// - Returns: the number of objects that match, changed or not.
    /// - Throws: what `change` throws; `GraphError.toManyNotUpdatable`, and what ``Snapshot/fetchValues(_:)`` throws. Nothing is
    ///   changed then, neither by this nor by what `change` did to the context.
    ///
    /// Complexity: that of ``Snapshot/fetchCount(_:)-(FetchDescriptor<E>)``, and O(log *n*) for each object that matches and each of its indexes that
    /// has to change, among *n* objects.
    @discardableResult
    public func update<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: Predicate<E>,
        _ change: (inout E) throws -> Void
    ) throws -> Int {
        try state.update(rows(type, where: predicate), change)
    }

    /// The same for objects whose values meet a condition.
    ///
    /// Complexity: O(*n*) for *n* objects of the entity, and O(log *n*) for each object that matches and each of its indexes that
    /// has to change.
    @discardableResult @inlinable
    public func update<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: (E) throws -> Bool,
        _ change: (inout E) throws -> Void
    ) throws -> Int {
        try state.update(rows(type, where: predicate), change)
    }

    /// Deletes each object that matches and applies its relationships' delete rules. The deletes are pending until the context
    /// saves.
    ///
    /// ```swift
    /// try await context.transaction { try $0.delete(Person.self, where: #Predicate { $0.age > 99 }) }
    /// ```
    ///
    /// Deletes the objects that match before it begins; unsaved changes count.
    ///
    /// - Returns: the number of objects that match. Those that follow by the delete rules are not counted.
    /// - Throws: what ``Snapshot/fetchValues(_:)`` throws. Nothing is deleted then.
    ///
    /// Complexity: that of ``Snapshot/fetchCount(_:)-(FetchDescriptor<E>)``, and O(*r* log *n*) for *r* deleted objects, nullified references and
    /// removed links, among *n* objects.
    @discardableResult
    public func delete<E: Entity>(_ type: E.Type = E.self, where predicate: Predicate<E>) throws -> Int {
        state.delete(try rows(type, where: predicate), of: type)
    }

    /// The same for objects whose values meet a condition.
    ///
    /// Complexity: O(*n*) for *n* objects of the entity, and O(*r* log *n*) for *r* deleted objects, nullified references and
    /// removed links, among *n* objects.
    @discardableResult @inlinable
    public func delete<E: Entity>(_ type: E.Type = E.self, where predicate: (E) throws -> Bool) throws -> Int {
        state.delete(try rows(type, where: predicate), of: type)
    }

    private func rows<E: Entity>(_ type: E.Type, where predicate: Predicate<E>) throws -> [RowNumber] {
        var rows: [RowNumber] = []
        try state.searched(true).search(FetchDescriptor(predicate: predicate)) { row, _ in rows.append(row) }
        return rows
    }

    @inlinable
    func rows<E: Entity>(_ type: E.Type, where predicate: (E) throws -> Bool) throws -> [RowNumber] {
        var rows: [RowNumber] = []
        try state.searched(true).scan(type, where: predicate) { row, _ in
            rows.append(row)
            return true
        }
        return rows
    }
}
