#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Which rows of one state a fetch is for: those that meet its predicate, behind the page that it begins after.
///
/// Confined to its maker: it remembers which row it is at.
final class RowPredicate<E: Entity> {
    private let compiler: PredicateCompiler
    private let term: Term<Bool>
    let condition: RowCondition
    /// Behind which page the rows are that are wanted.
    private(set) var position: PagePosition?

    /// Nil if the fetch is for all rows.
    ///
    /// - Throws: `GraphError.unknownEntity`, `GraphError.predicateNotSupported`, `GraphError.pageTokenMismatch`.
    init?(_ descriptor: FetchDescriptor<E>, _ order: RowOrder, in snapshot: Snapshot) throws {
        compiler = PredicateCompiler(PredicateScope(snapshot), entity: order.entity)
        position = try descriptor.after.map { try PagePosition($0, order, snapshot.schema) }
        if let predicate = descriptor.predicate {
            compiler.setRoot(predicate.variable.key)
            term = try compiler.term(of: predicate.expression)
        } else if position != nil {
            term = Term(constant: true)
        } else {
            return nil
        }
        condition = compiler.condition(of: term)
    }

    /// Another state whose rows are asked about, and in which relationships are followed.
    func move(to snapshot: Snapshot) {
        compiler.scope.snapshot = snapshot
        position?.move(to: snapshot)
    }

    /// Other entities whose rows decide what matches, perhaps the rows' own too, and relationships whose members do. Those to which
    /// the program's own code follows references are known once it has.
    var entities: Set<Int> { compiler.entities.union(compiler.scope.followed) }
    var relationships: [ToManyDescription] { compiler.relationships }
    var linkTables: [Int] { compiler.relationships.compactMap(\.linkTable) }

    /// What rows meet that decide the answer; nil if any row may.
    var searches: [[PropertyKeys]]? { compiler.scope.mayFail ? nil : condition.access.searches }

    /// Whether the answer for a row depends on nothing but the row.
    var isLocal: Bool { compiler.entities.isEmpty && relationships.isEmpty && !compiler.scope.isProgramCalled }

    /// - Throws: `GraphError.predicateFailed`.
    func matches(_ row: RowNumber, _ value: UnsafePointer<E>) throws -> Bool {
        if let position, !position.isBefore(row, value) { return false }
        (compiler.root.address, compiler.root.number) = (UnsafeRawPointer(value), row)
        do { return try compiler.scope.evaluating(term.value) } catch let failure as PredicateFailure {
            throw GraphError.predicateFailed(AnyPersistentID(PersistentID<E>(row: row)), operation: failure.operation)
        }
    }

    /// The rows of a block that match, as a mask, up to the first whose condition has no result: then that error is returned too.
    func matches(in block: RowBlock, _ occupancy: UInt32) -> (UInt32, (any Error)?) {
        if position == nil, let mask = try? compiler.scope.evaluating({ try condition.narrow(block, occupancy) }) {
            return (mask, nil)
        }
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

extension SnapshotReader {
    /// Notes what a search depends on: ranges of keys where they bound what can match, else the whole entity, and what it follows.
    ///
    /// - Parameters:
    ///   - predicate: nil for all rows.
    ///   - entities: others whose rows decide, besides those that the predicate names.
    func read<E>(for predicate: RowPredicate<E>?, of entity: Int, following entities: Set<Int>) {
        if let searches = predicate?.searches {
            for conditions in searches { readRows(of: entity, where: conditions) }
        } else {
            readAll(of: entity)
        }
        for other in entities.union(predicate?.entities ?? []) { readAll(of: other) }
        predicate?.linkTables.forEach(readLinks)
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
