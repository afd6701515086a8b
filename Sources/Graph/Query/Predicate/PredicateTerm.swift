/// What a node of a predicate has been compiled to: its value for the rows that the variables are at, and what is known of it
/// beforehand.
struct Term<Output> {
    /// - Throws: `PredicateFailure`, where the operation has no result.
    let value: () throws -> Output
    /// Which rows the value depends on.
    var source: TermSource
    /// The stored property that the node is; nil for anything else.
    var column: Column?
    /// The optional property whose value this is, where that is not nil.
    var unwrapped: Column?
    /// The optional property whose value this is, and what it is where that is nil.
    var coalesced: (column: Column, value: Output)?
    /// Of a condition: how to test many rows, and what indexes say of them.
    var condition: RowCondition?
    /// Of an optional condition: what indexes say of the rows for which it is true.
    var accessIfTrue: IndexAccess?
    /// Of a to-many relationship: whose members it has.
    var members: MemberSource?

    init(
        source: TermSource, column: Column? = nil, condition: RowCondition? = nil,
        _ value: @escaping () throws -> Output
    ) {
        (self.value, self.source, self.column, self.condition) = (value, source, column, condition)
    }

    init(constant: Output) {
        self.init(source: .nothing) { constant }
    }

    /// The value, if it is the same for all rows. Evaluated anew, since it may have no result: then it is not known beforehand.
    var constant: Output? {
        guard case .nothing = source else { return nil }
        return try? value()
    }
}

/// What the value of a term depends on.
enum TermSource {
    /// The same for all rows.
    case nothing
    /// The target of one reference of the predicate's own rows: rows with the same target have the same value.
    case target(Column)
    /// More than that.
    case row

    var isConstant: Bool { if case .nothing = self { true } else { false } }

    func merged(with other: TermSource) -> TermSource {
        switch (self, other) {
        case (.nothing, _): other
        case (_, .nothing): self
        case (.target(let column), .target(let other)) where column.offset == other.offset: .target(column)
        default: .row
        }
    }
}

/// A stored property, of the row that a variable is at or of one that references lead to from there.
struct Column {
    let slot: RowSlot
    /// The references that lead from the variable's row to the property's, by the numbers of entity and property.
    var path: [PropertyID] = []
    /// Nil for a part of a property's value.
    let property: PropertyID?
    /// The offset in the property's row.
    let offset: Int
    /// Whether the term has the property's value as an optional, because a reference may lead to no object.
    var isWrapped = false
    /// Whether the term has the identifier of a reference's target in place of the reference.
    var isIdentifier = false

    var asIdentifier: Column {
        var column = self
        column.isIdentifier = true
        return column
    }
}

/// A property of the schema, by numbers.
struct PropertyID: Hashable {
    let entity: Int
    let property: Int
}

/// Where a variable of a predicate is: a row, or any other value.
final class RowSlot {
    /// The address of the variable's value. Its setter keeps the value alive until the next one is set.
    var address: UnsafeRawPointer
    /// The row's number; 0 for a value that is no row.
    var number: RowNumber = 0
    /// The entity whose values these are; nil for other values.
    let entity: Int?
    /// Whether they are rows of the state, with their numbers, and not copies, as elements of a filtered collection are.
    let isRow: Bool
    /// What the variable's value depends on.
    let source: TermSource
    /// The optional property that is unwrapped into the variable.
    var unwrapped: Column?
    /// How often the predicate names the variable.
    var useCount = 0

    init(entity: Int?, isRow: Bool, _ source: TermSource) {
        (self.entity, self.isRow, self.source) = (entity, isRow, source)
        // Never read: a term is evaluated only after its variables are set.
        address = UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped
    }

    /// Runs the body with the variable at a value.
    func holding<Value, Result>(_ value: Value, _ body: () throws -> Result) rethrows -> Result {
        try withUnsafePointer(to: value) {
            address = UnsafeRawPointer($0)
            return try body()
        }
    }
}

/// An operation of a predicate has no result for a row.
struct PredicateFailure: Error {
    let operation: String

    init(_ operation: String) {
        self.operation = operation
    }
}

/// Terms made of others, which depend on what those depend on.
extension Term {
    /// The value of two terms together.
    func combined<Other, Result>(
        with other: Term<Other>, _ combine: @escaping (Output, Other) throws -> Result
    ) -> Term<Result> {
        let (left, right) = (value, other.value)
        return Term<Result>(source: source.merged(with: other.source)) { try combine(left(), right()) }
    }

    func mapped<Result>(_ transform: @escaping (Output) throws -> Result) -> Term<Result> {
        let value = value
        return Term<Result>(source: source) { try transform(value()) }
    }
}

extension Term {
    /// Whether it is a property's value, by itself or with another one in the place of nil.
    var isProperty: Bool { column != nil || coalesced != nil || accessIfTrue != nil }
}
