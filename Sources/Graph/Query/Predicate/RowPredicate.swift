#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A predicate, made ready to be asked about the rows of one state.
///
/// Confined to whoever makes it: it remembers which row it is at.
final class RowPredicate<E: Entity> {
    private let compiler: PredicateCompiler
    private let term: Term<Bool>
    let condition: RowCondition

    /// The state whose rows are asked about, and in which relationships are followed.
    var snapshot: Snapshot {
        get { compiler.scope.snapshot }
        set { compiler.scope.snapshot = newValue }
    }

    /// - Throws: `GraphError.unknownEntity`, `GraphError.predicateNotSupported`.
    init(_ predicate: Predicate<E>, in snapshot: Snapshot) throws {
        compiler = PredicateCompiler(PredicateScope(snapshot), entity: try snapshot.entityNumber(of: E.self))
        compiler.setRoot(predicate.variable.key)
        term = try compiler.term(of: predicate.expression)
        condition = compiler.condition(of: term)
    }

    /// Other entities whose rows decide what matches, perhaps the rows' own too, and relationships whose members do.
    var entities: Set<Int> { compiler.entities }
    var relationships: [ToManyDescription] { compiler.relationships }

    /// - Throws: `GraphError.predicateFailed`.
    func matches(_ row: RowNumber, _ value: UnsafePointer<E>) throws -> Bool {
        (compiler.root.address, compiler.root.number) = (UnsafeRawPointer(value), row)
        do { return try term.value() } catch let failure as PredicateFailure {
            throw GraphError.predicateFailed(AnyPersistentID(PersistentID<E>(row: row)), operation: failure.operation)
        }
    }

    /// The rows of a block that match, as a mask, up to the first whose condition has no result: then that error is returned too.
    func matches(in block: RowBlock, _ occupancy: UInt32) -> (UInt32, (any Error)?) {
        if let mask = try? condition.narrow(block, occupancy) { return (mask, nil) }
        // A later row's failure may hide an earlier row's match: once more in the order of the rows.
        var result: UInt32 = 0
        var rest = occupancy
        while rest != 0 {
            let place = rest.trailingZeroBitCount
            rest &= rest &- 1
            let value = (block.values + place * block.stride).assumingMemoryBound(to: E.self)
            do {
                if try matches(block.firstRow + RowNumber(place), value) { result |= 1 << place }
            } catch { return (result, error) }
        }
        return (result, nil)
    }
}

extension PredicateCompiler {
    /// - Throws: `GraphError.predicateNotSupported`.
    func term(of expression: any PredicateExpression<Bool>) throws -> Term<Bool> {
        guard let node = expression as? any PredicateNode else {
            throw GraphError.predicateNotSupported(PredicateCompiler.unsupported(in: expression))
        }
        func open<Node: PredicateNode>(_ node: Node) throws -> Term<Bool>? { try node.term(self) as? Term<Bool> }
        guard let term = try open(node) else { preconditionFailure("a predicate is a condition") }
        return term
    }

    /// Names the innermost node that Graph does not know.
    private static func unsupported(in expression: Any) -> String {
        for child in Mirror(reflecting: expression).children {
            if let node = child.value as? any PredicateExpression, !(node is any PredicateNode) {
                return unsupported(in: node)
            }
        }
        let name = "\(type(of: expression))".prefix { $0 != "<" }
        return "\(name) is not supported: the guide Queries lists what is, and what to write instead"
    }
}
