#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension PredicateExpressions.MembersTest: PredicateNode where Owner: PredicateNode, Test: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Bool> {
        let isForAll = isForAll
        let loop = try MemberLoop(members, variable.key, test, compiler)
        let join = loop.join(findsMismatches: isForAll)
        var term = Term(source: loop.source) {
            let owner = try loop.owner()
            // A reference that leads to no object has no members there.
            guard owner != 0 else { return isForAll }
            if let found = join?.contains(owner) { return found != isForAll }
            var found = false
            var count = 0
            try loop.forEachMember(of: owner) { _ in
                count += 1
                found = try loop.test() != isForAll
                return !found
            }
            join?.didVisit(count)
            return found != isForAll
        }
        if !isForAll, let access = loop.access(ofRows: compiler.root) {
            var condition = compiler.condition(of: term)
            condition.access = access
            term.condition = condition
        }
        return term
    }
}

extension PredicateExpressions.MembersFilter: PredicateNode where Owner: PredicateNode, Test: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<[Target]> {
        let loop = try MemberLoop(members, variable.key, test, compiler)
        return Term(source: loop.source) {
            var values: [Target] = []
            try loop.forEachMember(of: loop.owner()) { row in
                if try loop.test() { values.append(row.assumingMemoryBound(to: Target.self).pointee) }
                return true
            }
            return values
        }
    }
}

/// The members of an owner, one after another, and a condition on them.
private struct MemberLoop {
    let owner: () throws -> RowNumber
    /// The condition on the member that the loop is at.
    let test: () throws -> Bool
    /// The same for members side by side; nil if it reads variables outside of the closure.
    private let condition: RowCondition?
    let source: TermSource
    private let relationship: ToManyDescription
    private let scope: PredicateScope
    private let slot: RowSlot
    /// Whose members these are, if they are those of a variable's own rows.
    private let ownerSlot: RowSlot?

    init<Owner: PredicateNode, Target, Test: PredicateNode>(
        _ members: Owner, _ variable: PredicateExpressions.VariableID, _ test: Test, _ compiler: PredicateCompiler
    ) throws where Owner.Output == ToMany<Target>, Test.Output == Bool {
        let owners = try members.term(compiler)
        guard let members = owners.members else {
            throw GraphError.predicateNotSupported("\(ToMany<Target>.self) is not a stored relationship")
        }
        compiler.dependOn(members.relationship)
        compiler.dependOn(members.relationship.source)
        slot = RowSlot(entity: members.relationship.source, isRow: true, .row)
        let inner = PredicateCompiler(inside: compiler, slot, variable)
        let useCount = inner.outerUseCount
        let term = try test.term(inner)
        compiler.absorb(inner)
        let isIndependent = inner.outerUseCount == useCount
        condition = isIndependent ? inner.condition(of: term) : nil
        source = isIndependent ? owners.source : .row
        ownerSlot = owners.column.flatMap { $0.path.isEmpty ? $0.slot : nil }
        (owner, relationship, scope, self.test) = (members.owner, members.relationship, compiler.scope, term.value)
    }

    /// What is known of rows with a member that meets the condition; nil if that is nothing, or they are others.
    func access(ofRows root: RowSlot) -> IndexAccess? {
        guard ownerSlot === root, let condition else { return nil }
        if case .all = condition.access { return nil }
        return .members(relationship, condition.access)
    }

    /// Calls the body with each member's row, in order, until it returns false.
    func forEachMember(of owner: RowNumber, _ body: (UnsafeRawPointer) throws -> Bool) throws {
        guard owner != 0 else { return }
        let table = scope.snapshot.entities[relationship.source].rows
        try withUnsafeBytes(of: owner.bigEndian) { prefix in
            _ = try scope.snapshot.memberIndex(of: relationship).forEachRow(withPrefix: prefix) { row in
                guard let address = table.address(of: row) else { return true }
                (slot.address, slot.number) = (address, row)
                return try body(address)
            }
        }
    }

    /// - Parameter findsMismatches: whether to find the owners of members that do not meet the condition.
    func join(findsMismatches: Bool) -> MemberJoin? {
        guard let condition, let toOne = relationship.toOne else { return nil }
        let description = scope.snapshot.schema.entities[relationship.source].toOnes[toOne]
        return MemberJoin(
            scope, members: relationship.source, offset: description.offset,
            narrow: { block, mask in
                let matches = try condition.narrow(block, mask)
                return findsMismatches ? mask & ~matches : matches
            })
    }
}

/// The owners of all members that meet a condition, found by one scan of the members: looking at the members of each owner takes
/// some thirty times as long for each, since they lie anywhere in memory.
///
/// The scan begins when a share of the members has been looked at, so that questions about few owners never pay for it.
private final class MemberJoin {
    private let scope: PredicateScope
    private let members: Int
    private let offset: Int
    private let narrow: (RowBlock, UInt32) throws -> UInt32
    private var generation = 0
    private var visitedCount = 0
    private var owners: Set<RowNumber>?
    private static let visitedShare = 64

    init(
        _ scope: PredicateScope, members: Int, offset: Int, narrow: @escaping (RowBlock, UInt32) throws -> UInt32
    ) {
        (self.scope, self.members, self.offset, self.narrow) = (scope, members, offset, narrow)
    }

    func didVisit(_ count: Int) { visitedCount += count }

    /// Nil as long as looking at the owner's members is better.
    func contains(_ owner: RowNumber) -> Bool? {
        if generation != scope.generation { (generation, visitedCount, owners) = (scope.generation, 0, nil) }
        if let owners { return owners.contains(owner) }
        let table = scope.snapshot.entities[members].rows
        guard visitedCount > table.count / Self.visitedShare else { return nil }
        // If a member has no result, only its owner's rows may fail: never again.
        guard let found = try? scan(table) else {
            visitedCount = .min / 2
            return nil
        }
        owners = found
        return found.contains(owner)
    }

    private func scan(_ table: RowTable) throws -> Set<RowNumber> {
        var owners: Set<RowNumber> = []
        var last: RowNumber = 0
        try table.forEachBlock { block, occupancy in
            var rest = try narrow(block, occupancy)
            while rest != 0 {
                let place = rest.trailingZeroBitCount
                rest &= rest &- 1
                let owner = (block.values + place &* block.stride + offset).load(as: RowNumber.self)
                if owner != last, owner != 0 { owners.insert(owner) }
                last = owner
            }
            return true
        }
        return owners
    }
}
