#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// What predicates ask of a to-many relationship. `#Predicate` writes these nodes where a closure calls `contains`, `allSatisfy` or
// `filter` of a `ToMany`.

extension PredicateExpressions {
    /// Whether any of an object's members meets a condition, or all do. `#Predicate` makes it.
    public struct MembersTest<Owner: PredicateExpression, Target: Entity, Test: PredicateExpression>: PredicateExpression
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
    ) -> Equal<KeyPath<LHS, PersistentID<Target>?>, NilLiteral<PersistentID<Target>>> where LHS.Output == ToOne<Target> {
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
    public init(from decoder: any Decoder) throws { throw GraphError.membersOutsideOfStore }
    /// Fails: an archive cannot name the node.
    public func encode(to encoder: any Encoder) throws { throw GraphError.membersOutsideOfStore }
}

extension PredicateExpressions.MembersFilter: Codable where Owner: Codable, Test: Codable {
    /// Fails: an archive cannot name the node.
    public init(from decoder: any Decoder) throws { throw GraphError.membersOutsideOfStore }
    /// Fails: an archive cannot name the node.
    public func encode(to encoder: any Encoder) throws { throw GraphError.membersOutsideOfStore }
}

extension PredicateExpressions.MembersTest: StandardPredicateExpression
where Owner: StandardPredicateExpression, Test: StandardPredicateExpression {}

extension PredicateExpressions.MembersFilter: StandardPredicateExpression
where Owner: StandardPredicateExpression, Test: StandardPredicateExpression {}

// MARK: Compiling

extension PredicateExpressions.MembersTest: PredicateNode where Owner: PredicateNode, Test: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Bool> {
        let isForAll = isForAll
        let (source, visit) = try compiler.members(members, variable, test)
        return Term(source: source) {
            var result = isForAll
            try visit { matches, _ in
                guard matches != isForAll else { return true }
                result = matches
                return false
            }
            return result
        }
    }
}

extension PredicateExpressions.MembersFilter: PredicateNode where Owner: PredicateNode, Test: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<[Target]> {
        let (source, visit) = try compiler.members(members, variable, test)
        return Term(source: source) {
            var values: [Target] = []
            try visit { matches, row in
                if matches { values.append(row.assumingMemoryBound(to: Target.self).pointee) }
                return true
            }
            return values
        }
    }
}

extension PredicateCompiler {
    /// A function that calls its argument with the test's result and the row of each member, in order, until it returns false.
    fileprivate func members<Owner: PredicateNode, Target, Test: PredicateNode>(
        _ members: Owner, _ variable: PredicateExpressions.Variable<Target>, _ test: Test
    ) throws -> (TermSource, ((Bool, UnsafeRawPointer) throws -> Bool) throws -> Void)
    where Owner.Output == ToMany<Target>, Test.Output == Bool {
        let owner = try members.term(self)
        guard let members = owner.members else {
            throw GraphError.predicateNotSupported("\(ToMany<Target>.self) is not a stored relationship")
        }
        dependOn(members.relationship)
        dependOn(members.relationship.source)
        let slot = addVariable(variable.key, of: Target.self, owner.source)
        let test = try test.term(self)
        let scope = scope
        let visit = { (body: (Bool, UnsafeRawPointer) throws -> Bool) in
            let owner = try members.owner()
            guard owner != 0 else { return }
            let table = scope.snapshot.entities[members.relationship.source].rows
            try withUnsafeBytes(of: owner.bigEndian) { prefix in
                _ = try scope.snapshot.memberIndex(of: members.relationship).forEachRow(withPrefix: prefix) { row in
                    guard let address = table.address(of: row) else { return true }
                    (slot.address, slot.number) = (address, row)
                    return try body(test.value(), address)
                }
            }
        }
        return (owner.source.merged(with: test.source), visit)
    }
}
