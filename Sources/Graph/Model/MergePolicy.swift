/// What a save does about objects that others have changed or deleted since the context read them.
///
/// | policy | an object that both sides changed | changed here, deleted there | deleted here, changed there |
/// |---|---|---|---|
/// | ``error`` | the save fails and reports it | the save fails | the save fails |
/// | ``mergeByPropertyStoreTrump`` | property by property, theirs where both changed it | stays deleted | stays as it is there |
/// | ``mergeByPropertyObjectTrump`` | property by property, ours where both changed it | comes back | is deleted |
/// | ``overwrite`` | ours, every property | comes back | is deleted |
/// | ``rollback`` | theirs, every property | stays deleted | stays as it is there |
///
/// Row versions reveal conflicts. Links, and the order of members, belong to no row: what different contexts do to them adds up
/// under every policy. A policy that drops a delete also drops everything that cascaded from it. A reference to an object that
/// others deleted becomes nil under every policy but ``error``, unless the relationship requires an object.
public struct MergePolicy: Sendable {
    enum Kind: Sendable {
        case error
        case storeTrump
        case objectTrump
        case overwrite
        case rollback
    }

    let kind: Kind
    var rules: [MergeRule] = []

    /// Nothing is saved; the error lists all conflicts. The default policy of a context.
    public static let error = MergePolicy(kind: .error)
    /// Each property has their value if they changed it, otherwise ours.
    public static let mergeByPropertyStoreTrump = MergePolicy(kind: .storeTrump)
    /// Each property has our value if we changed it, otherwise theirs.
    public static let mergeByPropertyObjectTrump = MergePolicy(kind: .objectTrump)
    /// Conflicting objects are saved as they are here.
    public static let overwrite = MergePolicy(kind: .overwrite)
    /// Conflicting objects stay as they are in the store; the rest is saved.
    public static let rollback = MergePolicy(kind: .rollback)

    /// Functions of the program resolve conflicts.
    ///
    /// ```swift
    /// let context = Context(coordinator, mergePolicy: .custom(
    ///     .property(\Account.balance, .counter),
    ///     .property(\Account.tags, .union),
    ///     .entity(Note.self) { base, ours, theirs in theirs == nil ? .delete : .keep },
    ///     otherwise: .mergeByPropertyObjectTrump
    /// ))
    /// ```
    ///
    /// An entity's rule decides alone. A property with a rule is always merged: by the rule if both sides changed it,
    /// otherwise with the value of the side that did. If rules cover all that was changed here, the rest of the row is theirs;
    /// if not, `otherwise` decides about the rest.
    ///
    /// - Parameter otherwise: the policy where no rule applies; rules for properties do not apply to a deleted object.
    /// - Precondition: every key path leads to a stored property of an entity that the coordinator was opened with.
    ///
    /// Complexity: O(*k*) for *k* rules.
    public static func custom(_ rules: MergeRule..., otherwise: MergePolicy = .error) -> MergePolicy {
        MergePolicy(kind: otherwise.kind, rules: rules + otherwise.rules)
    }
}

extension MergePolicy: CustomStringConvertible {
    /// The policy's name, and how many rules it has: `mergeByPropertyObjectTrump`, `custom with 2 rules, otherwise error`.
    public var description: String {
        let name =
            switch kind {
            case .error: "error"
            case .storeTrump: "mergeByPropertyStoreTrump"
            case .objectTrump: "mergeByPropertyObjectTrump"
            case .overwrite: "overwrite"
            case .rollback: "rollback"
            }
        guard !rules.isEmpty else { return name }
        return "custom with \(rules.count) rule\(rules.count == 1 ? "" : "s"), otherwise \(name)"
    }
}

/// How to merge conflicts of one entity, or of one property. Rules must be pure functions: they run on the coordinator while
/// other saves wait.
public struct MergeRule: Sendable {
    enum Scope: Sendable {
        /// Base, ours, theirs; the last one is the row to merge into.
        case entity(
            @Sendable (UnsafeRawPointer?, UnsafeRawPointer?, UnsafeRawPointer?, UnsafeMutableRawPointer) throws ->
                Outcome
        )
        case property(
            any AnyKeyPath & Sendable,
            @Sendable (UnsafeRawPointer, UnsafeRawPointer, UnsafeRawPointer, UnsafeMutableRawPointer) throws -> Void
        )
    }

    enum Outcome: Sendable {
        case merged
        case keep
        case delete
    }

    let entity: any Entity.Type
    let scope: Scope

    /// Resolves conflicts of whole objects, from the row that the context read, ours (nil if deleted here), and theirs (nil if
    /// deleted there). `base` is nil only for an object that was never saved, whose delete both sides took back.
    ///
    /// If the function throws, the save reports the conflict with that error.
    ///
    /// Complexity: O(1).
    public static func entity<E: Entity>(
        _ type: E.Type,
        _ merge: @escaping @Sendable (_ base: E?, _ ours: E?, _ theirs: E?) throws -> MergeResolution<E>
    ) -> MergeRule {
        @Sendable func row(_ address: UnsafeRawPointer?) -> E? { address?.assumingMemoryBound(to: E.self).pointee }
        return MergeRule(
            entity: type,
            scope: .entity { base, ours, theirs, target in
                switch try merge(row(base), row(ours), row(theirs)) {
                case .row(let merged):
                    target.assumingMemoryBound(to: E.self).pointee = merged
                    return .merged
                case .keep: return .keep
                case .delete: return .delete
                }
            }
        )
    }

    /// Merges one property where both sides changed it.
    ///
    /// Complexity: O(1).
    public static func property<E: Entity, V: Sendable>(
        _ keyPath: any WritableKeyPath<E, V> & Sendable,
        _ merge: PropertyMerge<V>
    ) -> MergeRule {
        MergeRule(
            entity: E.self,
            scope: .property(keyPath) { base, ours, theirs, target in
                func value(_ address: UnsafeRawPointer) -> V { address.assumingMemoryBound(to: V.self).pointee }
                target.assumingMemoryBound(to: V.self).pointee =
                    try merge.merge(value(base), value(ours), value(theirs))
            }
        )
    }
}

/// How to resolve one object's conflict.
public enum MergeResolution<E: Entity>: Sendable {
    /// Saves the object with these values; if one side deleted it, it comes back. To-many properties in the values are
    /// ignored.
    case row(E)
    /// Keeps the object as it is in the store. If it was deleted here, all that was deleted with it stays, too.
    case keep
    /// Deletes the object with all that cascades. If it was deleted here, it goes with that delete, or stays with it because of
    /// another object.
    case delete
}

/// Merges two changes of one value into one.
public struct PropertyMerge<Value: Sendable>: Sendable {
    let merge: @Sendable (_ base: Value, _ ours: Value, _ theirs: Value) throws -> Value

    /// Merges with a function of the value before both changes and of the two values after them. If it throws, the save
    /// reports the conflict with that error.
    ///
    /// Complexity: O(1).
    public init(_ merge: @escaping @Sendable (_ base: Value, _ ours: Value, _ theirs: Value) throws -> Value) {
        self.merge = merge
    }

    /// Our value, since ours is the later save.
    public static var lastWriter: PropertyMerge { PropertyMerge { _, ours, _ in ours } }
}

extension PropertyMerge where Value: AdditiveArithmetic {
    /// The sum of both changes: theirs plus what we added.
    public static var counter: PropertyMerge { PropertyMerge { base, ours, theirs in theirs + (ours - base) } }
}

extension PropertyMerge where Value: FixedWidthInteger {
    /// The sum of both changes: theirs plus what we added. A sum that does not fit the type is a conflict.
    public static var counter: PropertyMerge {
        PropertyMerge { base, ours, theirs in
            // The wrapped sum is right if both steps overflowed: the second one then wrapped back.
            let (difference, overflows) = theirs.subtractingReportingOverflow(base)
            let (sum, overflowsAgain) = difference.addingReportingOverflow(ours)
            guard overflows == overflowsAgain else { throw CounterOverflow() }
            return sum
        }
    }
}

struct CounterOverflow: Error, CustomStringConvertible {
    var description: String { "the sum of both changes does not fit the type" }
}

extension PropertyMerge where Value: Comparable {
    /// The larger of ours and theirs.
    public static var max: PropertyMerge { PropertyMerge { _, ours, theirs in Swift.max(ours, theirs) } }
    /// The smaller of ours and theirs.
    public static var min: PropertyMerge { PropertyMerge { _, ours, theirs in Swift.min(ours, theirs) } }
}

extension PropertyMerge where Value: SetAlgebra {
    /// Theirs with what we added and without what we removed. NaN, which equals nothing, is added only if neither base nor theirs
    /// has one.
    public static var union: PropertyMerge {
        PropertyMerge { base, ours, theirs in
            var added = ours.subtracting(base)
            let isNew = base.subtracting(base).isEmpty && theirs.subtracting(theirs).isEmpty
            if !isNew { added.formIntersection(added) }
            return theirs.union(added).subtracting(base.subtracting(ours))
        }
    }
}
