#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Compiles the nodes of one predicate for one schema.
final class PredicateCompiler {
    let schema: Schema
    /// The state in which references are followed.
    let scope: PredicateScope
    /// The predicate's own variable.
    let root: RowSlot
    private(set) var slots: [PredicateExpressions.VariableID: RowSlot] = [:]
    /// Other entities whose rows decide whether a row matches, and relationships whose members do.
    private(set) var entities: Set<Int> = []
    private(set) var relationships: [ToManyDescription] = []

    init(_ scope: PredicateScope, entity: Int) {
        (schema, self.scope) = (scope.snapshot.schema, scope)
        root = RowSlot(entity: entity, isRow: true, .row)
    }

    /// Compiles the condition on the members of a relationship, whose rows it is to test side by side.
    init(inside other: PredicateCompiler, _ root: RowSlot, _ variable: PredicateExpressions.VariableID) {
        (schema, scope, self.root, slots) = (other.schema, other.scope, root, other.slots)
        slots[variable] = root
    }

    /// Takes over what the condition depends on.
    func absorb(_ inner: PredicateCompiler) {
        entities.formUnion(inner.entities)
        for relationship in inner.relationships { dependOn(relationship) }
    }

    /// How often variables other than the predicate's own were named.
    var outerUseCount: Int { slots.values.reduce(-root.useCount) { $0 + $1.useCount } }

    func setRoot(_ variable: PredicateExpressions.VariableID) { slots[variable] = root }

    /// Another name for a variable.
    func name(_ variable: PredicateExpressions.VariableID, as other: PredicateExpressions.VariableID) {
        slots[variable] = slots[other]
    }

    /// A variable inside the predicate.
    func addVariable<V>(_ variable: PredicateExpressions.VariableID, of type: V.Type, _ source: TermSource) -> RowSlot {
        let entity = (type as? any Entity.Type).flatMap { schema.index(of: $0) }
        // A variable of a captured value has none before it is set.
        let slot = RowSlot(entity: entity, isRow: false, source.isConstant ? .row : source)
        slots[variable] = slot
        return slot
    }

    /// Notes that an operation may have no result for some rows.
    func noting<Output>(_ term: Term<Output>) -> Term<Output> {
        if term.constant == nil { scope.mayFail = true }
        return term
    }

    /// Notes that rows of another entity decide.
    func dependOn(_ entity: Int) { entities.insert(entity) }

    /// Notes that members of a relationship decide.
    func dependOn(_ relationship: ToManyDescription) {
        if relationship.toOne != nil { entities.insert(relationship.source) }
        if !relationships.contains(where: relationship.isSame) { relationships.append(relationship) }
    }

    // MARK: Logic

    /// How to test rows side by side.
    func condition(of term: Term<Bool>) -> RowCondition {
        if let condition = term.condition { return condition }
        switch term.source {
        case .nothing: return term.constant.map(RowCondition.constant) ?? RowCondition(of: root, term.value)
        case .target(let reference): return RowCondition(onTargetOf: reference, slot: root, scope, term.value)
        case .row: return RowCondition(of: root, term.value)
        }
    }

    func and(_ lhs: Term<Bool>, _ rhs: Term<Bool>) -> Term<Bool> {
        var term = Term(source: lhs.source.merged(with: rhs.source)) { try lhs.value() && rhs.value() }
        term.condition = condition(of: lhs) && condition(of: rhs)
        return term
    }

    func or(_ lhs: Term<Bool>, _ rhs: Term<Bool>) -> Term<Bool> {
        var term = Term(source: lhs.source.merged(with: rhs.source)) { try lhs.value() || rhs.value() }
        term.condition = condition(of: lhs) || condition(of: rhs)
        return term
    }

    func not(_ operand: Term<Bool>) -> Term<Bool> {
        var term = operand.mapped { !$0 }
        term.condition = !condition(of: operand)
        return term
    }

    /// A condition, with what indexes say of rows that meet it.
    func condition<Output>(_ term: Term<Output>, _ access: IndexAccess) -> Term<Output> {
        guard let condition = (term as? Term<Bool>).map({ condition(of: $0) }) else { return term }
        var term = term
        // The intersection with all says that others may be among them.
        term.condition = RowCondition(narrow: condition.narrow, access: .intersection(.all, access))
        return term
    }

    // MARK: Comparisons

    func equal<V: Equatable>(_ lhs: Term<V>, _ rhs: Term<V>) -> Term<Bool> {
        var term = lhs.combined(with: rhs) { $0 == $1 }
        let (operand, other) = lhs.isProperty ? (lhs, rhs) : (rhs, lhs)
        guard let constant = other.constant else { return term }
        if let access = operand.accessIfTrue, constant as? Bool == true { return condition(term, access) }
        if let (column, value) = operand.coalesced, value != constant, let key = key(of: constant, in: column) {
            return condition(term, key.access(of: column))
        }
        guard let column = operand.column else { return term }
        var condition = column.isOfRows(of: root) ? equality(column.offset, constant) : condition(of: term)
        let keyColumn = operand.unwrapped ?? column
        if let key = key(of: constant, in: keyColumn) { condition.access = key.access(of: keyColumn) }
        term.condition = condition
        return term
    }

    func compare<V: Comparable>(_ lhs: Term<V>, _ rhs: Term<V>, _ comparison: ComparisonKind) -> Term<Bool> {
        var term = lhs.combined(with: rhs, comparison.function(for: V.self))
        let isSwapped = !lhs.isProperty
        let (operand, other) = isSwapped ? (rhs, lhs) : (lhs, rhs)
        guard let constant = other.constant else { return term }
        let kind = isSwapped ? comparison.swapped : comparison
        if let (column, value) = operand.coalesced, !kind.function(for: V.self)(value, constant),
            let access = access(to: column, kind, constant)
        {
            return condition(term, access)
        }
        guard let column = operand.column else { return term }
        var condition = column.isOfRows(of: root) ? order(column.offset, kind, constant) : condition(of: term)
        if let access = access(to: operand.unwrapped ?? column, kind, constant) { condition.access = access }
        term.condition = condition
        return term
    }

    private func access<V>(to column: Column, _ kind: ComparisonKind, _ constant: V) -> IndexAccess? {
        guard V.self is any OrderedAttributeValue.Type, let key = key(of: constant, in: column) else { return nil }
        let (range, isExact) = kind.range(key)
        return .keys(KeyAccess(column: column, ranges: [range], areExact: isExact))
    }

    func isElement<R: RangeExpression>(_ element: Term<R.Bound>, in range: Term<R>) -> Term<Bool> {
        let bounds = (range.constant as? any BoundedRange<R.Bound>)?.bounds
        guard let bounds, element.isProperty else {
            return range.combined(with: element, R.containment)
        }
        let lower = bounds.lower.map { compare(element, Term(constant: $0), .greaterOrEqual) }
        let upper = bounds.upper.map {
            compare(element, Term(constant: $0), bounds.includesUpper ? .lessOrEqual : .less)
        }
        guard let lower else { return upper ?? Term(constant: true) }
        return upper.map { and(lower, $0) } ?? lower
    }

    func isElement<V: Equatable>(_ element: Term<V>, of elements: [V]) -> Term<Bool> {
        var contains: (V) -> Bool = { elements.contains($0) }
        if let type = V.self as? any (Hashable & Equatable).Type { contains = hashed(elements, type) }
        var term = element.mapped(contains)
        guard let column = element.column else { return term }
        var condition =
            column.isOfRows(of: root)
            ? RowCondition(at: column.offset, FunctionTest(function: contains)) : condition(of: term)
        let keyColumn = element.unwrapped ?? column
        let keys = elements.compactMap { key(of: $0, in: keyColumn) }
        if keys.count == elements.count {
            let ranges = Set(keys.map { KeyRange(from: $0.first, upTo: $0.last, includesUpper: true) })
            condition.access = .keys(
                KeyAccess(
                    column: keyColumn, ranges: ranges.sorted { $0.lower.lexicographicallyPrecedes($1.lower) },
                    areExact: keys.allSatisfy(\.isExact)))
        }
        term.condition = condition
        return term
    }

    /// - Precondition: `V` and `H` are the same type.
    private func hashed<V, H: Hashable>(_ elements: [V], _ type: H.Type) -> (V) -> Bool {
        let set = Set(elements.map { unsafeBitCast($0, to: H.self) })
        return { set.contains(unsafeBitCast($0, to: H.self)) }
    }

    func text(_ text: Term<String>, startsWith prefix: Term<String>) -> Term<Bool> {
        var term = text.combined(with: prefix) { $0.hasCharacters($1) }
        guard let column = text.column, let prefix = prefix.constant else { return term }
        var condition =
            column.isOfRows(of: root)
            ? RowCondition(at: column.offset, HasPrefix(prefix: prefix)) : condition(of: term)
        let keyColumn = text.unwrapped ?? column
        if let key = key(of: prefix, in: keyColumn) {
            // Without the end mark.
            let range = KeyRange(prefix: Array(key.first.dropLast(2)))
            condition.access = .keys(KeyAccess(column: keyColumn, ranges: [range], areExact: false))
        }
        term.condition = condition
        return term
    }

    /// The key of a value in a property's indexes; `first` and `last` differ where other bits are equal to it. Nil if the property
    /// has no order, and for nil behind a reference, which rows without a target have too.
    private func key<V>(of value: V, in column: Column) -> PropertyKey? {
        guard let id = column.property else { return nil }
        let property = schema.entities[id.entity].properties[id.property]
        guard let operations = property.operations.key else { return nil }
        var key = ByteWriter(capacity: 64)
        if property.relationship != nil {
            // An index of references lists those that lead to an object.
            guard let target = value as? any ObjectIdentifying, target.rowNumber != 0 else { return nil }
            key.appendBigEndian(target.rowNumber)
        } else {
            guard !hasOwnEquality(value) else { return nil }
            if V?.self == property.valueType {
                _ = withUnsafePointer(to: Optional(value)) { operations.append($0, &key) }
            } else {
                guard V.self == property.valueType || column.isWrapped else { return nil }
                let isNil = withUnsafePointer(to: value) { (V.self as? any OptionalValue.Type)?.isNil(at: $0) ?? false }
                guard !isNil || column.path.isEmpty else { return nil }
                // An optional has the value that it wraps at its beginning.
                _ = withUnsafePointer(to: value) { operations.append($0, &key) }
            }
        }
        guard let zeros = operations.equals, key.bytes == zeros.least || key.bytes == zeros.greatest else {
            return PropertyKey(first: key.bytes, last: key.bytes, isExact: operations.equals == nil)
        }
        return PropertyKey(first: zeros.least, last: zeros.greatest, isExact: false)
    }
}

/// The keys that equal values of a property have, from the first to the last.
struct PropertyKey {
    let first: [UInt8]
    let last: [UInt8]
    /// Whether values with these keys are equal; NaN is not equal to itself.
    let isExact: Bool

    /// The rows with these keys.
    func access(of column: Column) -> IndexAccess {
        let range = KeyRange(from: first, upTo: last, includesUpper: true)
        return .keys(KeyAccess(column: column, ranges: [range], areExact: isExact))
    }
}

/// The state that a predicate is evaluated in.
final class PredicateScope {
    var snapshot: Snapshot {
        didSet {
            generation += 1
            guard let before = searched else { return }
            formerlyFollowed.formUnion(before.followed)
            searched = SearchedState(snapshot)
        }
    }
    /// The state for code of the program; nil if the predicate calls none.
    private var searched: SearchedState?
    private var formerlyFollowed: Set<Int> = []
    /// Whether an operation may have no result for some rows, which then decide the answer whatever else is asked of them.
    var mayFail = false
    /// Another one for each state: what is remembered of one does not hold in the next.
    private(set) var generation = 0

    init(_ snapshot: Snapshot) {
        self.snapshot = snapshot
    }

    /// The predicate calls code of the program.
    func callsProgram() {
        if searched == nil { searched = SearchedState(snapshot) }
    }

    /// The entities that the program's code has followed references to.
    var followed: Set<Int> { formerlyFollowed.union(searched?.followed ?? []) }

    var isProgramCalled: Bool { searched != nil }

    /// Evaluates a condition, in which the program's code may follow references.
    func evaluating<Result>(_ body: () throws -> Result) rethrows -> Result {
        guard let searched else { return try body() }
        return try SearchedState.current.withValue(searched, operation: body)
    }
}

extension Column {
    /// Whether the property is one of the rows that the predicate is asked about.
    func isOfRows(of root: RowSlot) -> Bool { slot === root && path.isEmpty && !isIdentifier }
}

/// An identifier of any entity.
protocol ObjectIdentifying {
    var rowNumber: RowNumber { get }
}

extension PersistentID: ObjectIdentifying {
    var rowNumber: RowNumber { row }
}

extension ToOne: ObjectIdentifying {
    var rowNumber: RowNumber { row }
}

extension String {
    /// `starts(with:)`, which compares characters: "\r\n" does not begin with "\r".
    func hasCharacters(_ prefix: String) -> Bool {
        hasPrefix(prefix) && (prefix.utf8.last != 13 || starts(with: prefix))
    }
}
