// swift-format-ignore-file: AlwaysUseLowerCamelCase
// `#Predicate` gives the builders their names.

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// What predicates ask of a to-many relationship. `#Predicate` writes these nodes where a closure calls `contains`, `allSatisfy` or
// `filter` of a `ToMany`.

extension PredicateExpressions {
    /// Whether any of an object's members meets a condition, or all do. `#Predicate` makes it.
    public struct MembersTest<Owner: PredicateExpression, Target: Entity, Test: PredicateExpression>:
        PredicateExpression
    where Owner.Output == ToMany<Target>, Test.Output == Bool {
        let members: Owner
        let variable: Variable<Target>
        let test: Test
        /// Whether all members must meet the condition.
        let isForAll: Bool

        init(_ members: Owner, isForAll: Bool, _ builder: (Variable<Target>) -> Test) {
            (self.members, self.isForAll) = (members, isForAll)
            variable = Variable()
            test = builder(variable)
        }

        /// Fails: members are in a store, and a fetch evaluates the predicate there.
        ///
        /// Complexity: O(1).
        public func evaluate(_ bindings: PredicateBindings) throws -> Bool { throw GraphError.membersOutsideOfStore }
    }

    /// Those of an object's members that meet a condition. `#Predicate` makes it.
    public struct MembersFilter<Owner: PredicateExpression, Target: Entity, Test: PredicateExpression>:
        PredicateExpression
    where Owner.Output == ToMany<Target>, Test.Output == Bool {
        let members: Owner
        let variable: Variable<Target>
        let test: Test

        init(_ members: Owner, _ builder: (Variable<Target>) -> Test) {
            self.members = members
            variable = Variable()
            test = builder(variable)
        }

        /// Fails: members are in a store, and a fetch evaluates the predicate there.
        ///
        /// Complexity: O(1).
        public func evaluate(_ bindings: PredicateBindings) throws -> [Target] {
            throw GraphError.membersOutsideOfStore
        }
    }

    /// For `#Predicate`.
    ///
    /// Complexity: O(1).
    public static func build_contains<Owner, Target, Test>(
        _ members: Owner, where builder: (Variable<Target>) -> Test
    ) -> MembersTest<Owner, Target, Test> {
        MembersTest(members, isForAll: false, builder)
    }

    /// For `#Predicate`.
    ///
    /// Complexity: O(1).
    public static func build_allSatisfy<Owner, Target, Test>(
        _ members: Owner, _ builder: (Variable<Target>) -> Test
    ) -> MembersTest<Owner, Target, Test> {
        MembersTest(members, isForAll: true, builder)
    }

    /// For `#Predicate`.
    ///
    /// Complexity: O(1).
    public static func build_filter<Owner, Target, Test>(
        _ members: Owner, _ builder: (Variable<Target>) -> Test
    ) -> MembersFilter<Owner, Target, Test> {
        MembersFilter(members, builder)
    }

    /// For `#Predicate`: `$0.team == nil`.
    ///
    /// Complexity: O(1).
    public static func build_Equal<LHS: PredicateExpression, Target: Entity>(
        lhs: LHS, rhs: NilLiteral<PersistentID<Target>>
    ) -> Equal<KeyPath<LHS, PersistentID<Target>?>, NilLiteral<PersistentID<Target>>>
    where LHS.Output == ToOne<Target> {
        build_Equal(lhs: build_KeyPath(root: lhs, keyPath: \.id), rhs: rhs)
    }

    /// For `#Predicate`: `$0.team != nil`.
    ///
    /// Complexity: O(1).
    public static func build_NotEqual<LHS: PredicateExpression, Target: Entity>(
        lhs: LHS, rhs: NilLiteral<PersistentID<Target>>
    ) -> NotEqual<KeyPath<LHS, PersistentID<Target>?>, NilLiteral<PersistentID<Target>>>
    where LHS.Output == ToOne<Target> {
        build_NotEqual(lhs: build_KeyPath(root: lhs, keyPath: \.id), rhs: rhs)
    }

    /// For `#Predicate`: `$0.team == id`.
    ///
    /// Complexity: O(1).
    public static func build_Equal<LHS: PredicateExpression, RHS: PredicateExpression, Target: Entity>(
        lhs: LHS, rhs: RHS
    ) -> Equal<KeyPath<LHS, PersistentID<Target>?>, RHS>
    where LHS.Output == ToOne<Target>, RHS.Output == PersistentID<Target>? {
        build_Equal(lhs: build_KeyPath(root: lhs, keyPath: \.id), rhs: rhs)
    }

    /// For `#Predicate`: `$0.team != id`.
    ///
    /// Complexity: O(1).
    public static func build_NotEqual<LHS: PredicateExpression, RHS: PredicateExpression, Target: Entity>(
        lhs: LHS, rhs: RHS
    ) -> NotEqual<KeyPath<LHS, PersistentID<Target>?>, RHS>
    where LHS.Output == ToOne<Target>, RHS.Output == PersistentID<Target>? {
        build_NotEqual(lhs: build_KeyPath(root: lhs, keyPath: \.id), rhs: rhs)
    }
}

extension GraphError {
    fileprivate static var membersOutsideOfStore: GraphError {
        .predicateNotSupported("the members of a relationship are in a store: fetch with the predicate")
    }
}

extension PredicateExpressions.MembersTest: Sendable where Owner: Sendable, Test: Sendable {}
extension PredicateExpressions.MembersFilter: Sendable where Owner: Sendable, Test: Sendable {}

// `#Predicate` asks that its nodes be Codable. Foundation's own archives know its own nodes only.
extension PredicateExpressions.MembersTest: Codable where Owner: Codable, Test: Codable {
    /// Fails: an archive cannot name the node.
    ///
    /// Complexity: O(1).
    public init(from decoder: any Decoder) throws { throw GraphError.membersOutsideOfStore }
    /// Fails: an archive cannot name the node.
    ///
    /// Complexity: O(1).
    public func encode(to encoder: any Encoder) throws { throw GraphError.membersOutsideOfStore }
}

extension PredicateExpressions.MembersFilter: Codable where Owner: Codable, Test: Codable {
    /// Fails: an archive cannot name the node.
    ///
    /// Complexity: O(1).
    public init(from decoder: any Decoder) throws { throw GraphError.membersOutsideOfStore }
    /// Fails: an archive cannot name the node.
    ///
    /// Complexity: O(1).
    public func encode(to encoder: any Encoder) throws { throw GraphError.membersOutsideOfStore }
}

extension PredicateExpressions.MembersTest: StandardPredicateExpression
where Owner: StandardPredicateExpression, Test: StandardPredicateExpression {}

extension PredicateExpressions.MembersFilter: StandardPredicateExpression
where Owner: StandardPredicateExpression, Test: StandardPredicateExpression {}
