/// What a save does about objects that others have changed or deleted since the context read them.
///
/// | policy | an object that both sides changed | changed here, deleted there | deleted here, changed there |
/// |---|---|---|---|
/// | ``error`` | the save fails and reports it | the save fails | the save fails |
/// | ``mergeByPropertyStoreTrump`` | property by property, theirs where both changed it | stays deleted | stays, as it is there |
/// | ``mergeByPropertyObjectTrump`` | property by property, ours where both changed it | comes back | is deleted |
/// | ``overwrite`` | ours, every property | comes back | is deleted |
/// | ``rollback`` | theirs, every property | stays deleted | stays, as it is there |
///
/// Conflicts are found by row versions. Links, and the order of members, belong to no row: what different contexts do to them
/// adds up under every policy. A delete is dropped as a whole, with all that cascaded from it. A reference to an object that
/// others deleted becomes nil under every policy but ``error``, unless the relationship needs an object.
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

    /// Nothing is saved; the error lists all conflicts. The policy of contexts that are made without one.
    public static let error = MergePolicy(kind: .error)
    /// Each property is theirs if they changed it, otherwise ours.
    public static let mergeByPropertyStoreTrump = MergePolicy(kind: .storeTrump)
    /// Each property is ours if we changed it, otherwise theirs.
    public static let mergeByPropertyObjectTrump = MergePolicy(kind: .objectTrump)
    /// Conflicting objects are saved as they are here.
    public static let overwrite = MergePolicy(kind: .overwrite)
    /// Conflicting objects stay as they are in the store; the rest is saved.
    public static let rollback = MergePolicy(kind: .rollback)

    /// Functions of the program decide.
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
    /// An entity's rule decides alone. A property with a rule is merged in any case: by the rule where both sides changed it,
    /// otherwise it is as the side has it that did. If rules cover all that was changed here, the rest of the row is theirs; if
    /// not, `otherwise` decides about it.
    ///
    /// - Parameter otherwise: what holds where no rule does, deletes under rules for properties included.
    /// - Precondition: every key path leads to a stored property of an entity that the coordinator was opened with.
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

/// How conflicts of one entity, or of one property, are merged. Rules run on the coordinator while other saves wait: they are
/// to be pure functions.
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

    /// Decides about whole objects: from the row that the context had read, ours (nil if it was deleted here), and theirs (nil if
    /// it was deleted there). `base` is nil only for an object whose delete both sides took back.
    ///
    /// What the function throws becomes part of the conflict that the save then reports.
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

/// What becomes of an object in conflict.
public enum MergeResolution<E: Entity>: Sendable {
    /// The object is saved with these values; deleted on one side, it comes back. To-many properties in them say nothing.
    case row(E)
    /// The object stays as it is in the store.
    case keep
    /// The object is deleted.
    case delete
}

/// How two changes of one value become one.
public struct PropertyMerge<Value: Sendable>: Sendable {
    let merge: @Sendable (_ base: Value, _ ours: Value, _ theirs: Value) throws -> Value

    /// A function of the value before both changes and of the two after them. What it throws becomes part of the conflict.
    public init(_ merge: @escaping @Sendable (_ base: Value, _ ours: Value, _ theirs: Value) throws -> Value) {
        self.merge = merge
    }

    /// The value of the last to save, which is ours.
    public static var lastWriter: PropertyMerge { PropertyMerge { _, ours, _ in ours } }
}

extension PropertyMerge where Value: AdditiveArithmetic {
    /// Both changes add up: theirs plus what we added.
    public static var counter: PropertyMerge { PropertyMerge { base, ours, theirs in theirs + (ours - base) } }
}

extension PropertyMerge where Value: FixedWidthInteger {
    /// Both changes add up: theirs plus what we added. A sum that the type cannot hold is a conflict.
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
    /// The larger one of ours and theirs.
    public static var max: PropertyMerge { PropertyMerge { _, ours, theirs in Swift.max(ours, theirs) } }
    /// The smaller one of ours and theirs.
    public static var min: PropertyMerge { PropertyMerge { _, ours, theirs in Swift.min(ours, theirs) } }
}

extension PropertyMerge where Value: SetAlgebra {
    /// Theirs with what we added and without what we removed.
    public static var union: PropertyMerge {
        PropertyMerge { base, ours, theirs in
            theirs.union(ours.subtracting(base)).subtracting(base.subtracting(ours))
        }
    }
}
