#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Figures of objects, unsaved changes included; otherwise the same as those of ``Snapshot``.
extension Context {
    /// The sum of a property's values; 0 of none.
    ///
    /// Complexity: that of ``Snapshot/sum(_:where:)``.
    public func sum<E: Entity, V: NumericAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        where predicate: Predicate<E>? = nil
    ) throws -> V.Sum {
        try state.searched(true).sum(keyPath, where: predicate)
    }

    /// The average of a property's values; nil of none.
    ///
    /// Complexity: that of ``Snapshot/sum(_:where:)``.
    public func average<E: Entity, V: NumericAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        where predicate: Predicate<E>? = nil
    ) throws -> V.Average? {
        try state.searched(true).average(keyPath, where: predicate)
    }

    /// The least of a property's values, in the order of sorting; nil if there is none.
    ///
    /// Complexity: that of ``Snapshot/minimum(_:where:)``.
    public func minimum<E: Entity, V: OrderedAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        where predicate: Predicate<E>? = nil
    ) throws -> V.NonOptional? {
        try state.searched(true).minimum(keyPath, where: predicate)
    }

    /// The greatest of a property's values, in the order of sorting; nil if there is none.
    ///
    /// Complexity: that of ``Snapshot/minimum(_:where:)``.
    public func maximum<E: Entity, V: OrderedAttributeValue>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        where predicate: Predicate<E>? = nil
    ) throws -> V.NonOptional? {
        try state.searched(true).maximum(keyPath, where: predicate)
    }

    /// The values that a property has, each once.
    ///
    /// Complexity: that of ``Snapshot/distinct(_:where:)``.
    public func distinct<E: Entity, V: Sendable>(
        _ keyPath: any KeyPath<E, V> & Sendable,
        where predicate: Predicate<E>? = nil
    ) throws -> [V] {
        try state.searched(true).distinct(keyPath, where: predicate)
    }

    /// What a closure makes of each group of objects that have the same value of a property, in the order of the values, nil
    /// first.
    ///
    /// Complexity: that of ``Snapshot/grouped(_:by:where:_:)->[(V,Result)]``.
    public func grouped<E: Entity, V: Sendable, Result>(
        _ type: E.Type = E.self,
        by keyPath: any KeyPath<E, V> & Sendable,
        where predicate: Predicate<E>? = nil,
        _ body: (ObjectGroup<E>) throws -> Result
    ) throws -> [(key: V, result: Result)] {
        try state.searched(true).grouped(type, by: keyPath, where: predicate, body)
    }

    /// The same by the object that a reference leads to, in the order of insertion of those, nil first.
    ///
    /// Complexity: that of ``Snapshot/grouped(_:by:where:_:)->[(V,Result)]``.
    public func grouped<E: Entity, Target: Entity, Result>(
        _ type: E.Type = E.self,
        by keyPath: any KeyPath<E, ToOne<Target>> & Sendable,
        where predicate: Predicate<E>? = nil,
        _ body: (ObjectGroup<E>) throws -> Result
    ) throws -> [(key: PersistentID<Target>?, result: Result)] {
        try state.searched(true).grouped(type, by: keyPath, where: predicate, body)
    }
}
