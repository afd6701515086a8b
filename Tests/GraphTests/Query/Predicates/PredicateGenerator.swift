import Foundation

@testable import Graph

/// A node of a predicate with a function that says what it comes to: an interpreter that is written without the engine, and fails
/// where Swift's operators would stop the program.
struct GeneratedNode<Output> {
    let expression: any StandardPredicateExpression<Output>
    let value: (Surroundings) throws -> Output
}

/// What a node may read.
struct Surroundings {
    var piece: Piece
    /// The elements that inner closures are at, the innermost one last.
    var elements: [Int] = []
    let facts: Facts
    let log: Log

    /// What the interpreter has met.
    final class Log {
        /// Whether Swift's `<` orders two texts otherwise than their normal forms, as 6.3 does where one begins the other.
        var hasDifferentOrder = false
    }

    func crate(_ reference: ToOne<Crate>) -> Crate? { reference.id.flatMap { facts.crates[$0] } }

    func crateOfPiece(_ id: Piece.ID) -> Crate? { facts.values[id].flatMap { crate($0.crate) } }

    func pieces(_ reference: ToOne<Crate>) -> [Piece] { reference.id.flatMap { facts.members[$0] } ?? [] }

    func above(_ reference: ToOne<Crate>) -> [Crate] {
        (reference.id.flatMap { facts.above[$0] } ?? []).compactMap { facts.crates[$0] }
    }

    func below(_ reference: ToOne<Crate>) -> [Crate.ID] { reference.id.flatMap { facts.below[$0] } ?? [] }
}

/// All objects of a state, and what their relationships come to, without the engine.
struct Facts {
    /// In the order of insertion.
    let pieces: [IdentifiedValue<Piece>]
    let crates: [Crate.ID: Crate]
    let above: [Crate.ID: [Crate.ID]]
    private(set) var values: [Piece.ID: Piece] = [:]
    /// The pieces of each crate, in any order.
    private(set) var members: [Crate.ID: [Piece]] = [:]
    private(set) var below: [Crate.ID: [Crate.ID]] = [:]

    init(_ pieces: [IdentifiedValue<Piece>], _ crates: [IdentifiedValue<Crate>], above: [Crate.ID: [Crate.ID]]) {
        (self.pieces, self.above) = (pieces, above)
        self.crates = Dictionary(uniqueKeysWithValues: crates.map { ($0.id, $0.value) })
        for piece in pieces {
            values[piece.id] = piece.value
            if let crate = piece.value.crate.id { members[crate, default: []].append(piece.value) }
        }
        for (lower, uppers) in above {
            for upper in uppers { below[upper, default: []].append(lower) }
        }
    }

    init(_ snapshot: Snapshot) throws {
        let crates = try snapshot.fetchIdentifiedValues(Crate.self)
        let above = try crates.map { ($0.id, try snapshot.related(\Crate.above, of: $0.id)) }
        self.init(
            try snapshot.fetchIdentifiedValues(Piece.self), crates, above: Dictionary(uniqueKeysWithValues: above))
    }
}

struct NoResult: Error {}

extension String {
    fileprivate var normal: String { precomposedStringWithCanonicalMapping }
}

/// What Foundation's node calls: Foundation's own `contains` for strings says that nothing contains an empty one.
private func contains<Whole: Collection>(_ whole: Whole, _ part: Whole) -> Bool where Whole.Element: Equatable {
    whole.contains(part)
}

typealias Expressions = PredicateExpressions

/// Builds predicates of random nodes about pieces, from all that `#Predicate` can write.
struct PredicateGenerator {
    var random: SeededGenerator
    /// Whether relationships may be followed, which Foundation's own evaluation cannot.
    var followsRelationships: Bool
    let piece: Expressions.Variable<Piece>
    /// The pieces whose unique values conditions ask for.
    private let known: [IdentifiedValue<Piece>]
    /// Foundation stops the program where it describes nodes that are not its own.
    private(set) var isPrintable: Bool
    /// Variables of inner closures.
    private var elements: [Expressions.Variable<Int>] = []

    init(
        _ piece: Expressions.Variable<Piece>, known: [IdentifiedValue<Piece>], seed: UInt64, followsRelationships: Bool
    ) {
        (self.piece, self.known, self.followsRelationships) = (piece, known, followsRelationships)
        random = SeededGenerator(seed: seed)
        isPrintable = !followsRelationships
    }

    /// A node of the engine's own is used.
    mutating func noteOwnNode() { isPrintable = false }

    mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }
    mutating func one<Value>(_ values: [Value]) -> Value { values[number(0..<values.count)] }

    func stored<V: Sendable & Codable>(_ keyPath: any WritableKeyPath<Piece, V> & Sendable) -> GeneratedNode<V> {
        GeneratedNode(expression: Expressions.build_KeyPath(root: piece, keyPath: keyPath)) {
            $0.piece[keyPath: keyPath]
        }
    }

    func constant<V: Sendable & Codable>(_ value: V) -> GeneratedNode<V> {
        GeneratedNode(expression: Expressions.build_Arg(value)) { _ in value }
    }

    // MARK: Conditions

    mutating func condition(_ depth: Int) -> GeneratedNode<Bool> {
        guard depth > 0 else { return leaf() }
        switch number(0..<25) {
        case 0, 1, 2, 3: return and(condition(depth - 1), condition(depth - 1))
        case 4, 5, 6: return or(condition(depth - 1), condition(depth - 1))
        case 7:
            let node = condition(depth - 1)
            func open(_ node: some StandardPredicateExpression<Bool>) -> any StandardPredicateExpression<Bool> {
                Expressions.build_Negation(node)
            }
            return GeneratedNode(expression: open(node.expression)) { try !node.value($0) }
        case 8: return conditional(condition(depth - 1), condition(depth - 1), condition(depth - 1))
        case 9, 10: return compare(integer(depth - 1), integer(depth - 1))
        case 11: return compare(text(depth - 1), text(depth - 1))
        case 12: return compare(double(depth - 1), double(depth - 1))
        case 13: return equal(optionalInteger(depth - 1), optionalInteger(depth - 1))
        case 14: return equal(optionalText(depth - 1), optionalText(depth - 1))
        case 15: return loop(depth - 1)
        case 16: return isPart(of: text(depth - 1))
        case 17: return range(integer(depth - 1), integer(depth - 1), integer(depth - 1))
        case 18: return equal(text(depth - 1), text(depth - 1))
        case 21: return range(text(depth - 1), text(depth - 1), text(depth - 1))
        case 19 where followsRelationships: return members(depth - 1)
        case 20 where followsRelationships: return reference()
        case 22, 23, 24: return special(depth - 1)
        default: return equal(integer(depth - 1), integer(depth - 1))
        }
    }

    /// A condition that an index may serve.
    private mutating func leaf() -> GeneratedNode<Bool> {
        if followsRelationships, number(0..<5) == 0 { return reference() }
        let sample = Piece.random(&random)
        switch number(0..<30) {
        case 22, 23, 24: return optional(sample)
        case 28: return equal(stored(\.token), constant(sample.token))
        case 29: return among(stored(\.token), [sample.token, one(Piece.tokens)])
        case 25, 26, 27: return unique(sample)
        case 0: return equal(stored(\.number), constant(sample.number))
        case 1: return compare(stored(\.number), constant(sample.number))
        case 2: return equal(stored(\.small), constant(sample.small))
        case 3: return equal(constant(sample.name), stored(\.name))
        case 4: return compare(stored(\.name), constant(sample.name))
        case 5: return equal(stored(\.note), constant(sample.note))
        case 6: return equal(stored(\.weight), constant(sample.weight))
        case 7: return compare(constant(sample.weight), stored(\.weight))
        case 8: return equal(stored(\.grade), constant(sample.grade))
        case 9: return stored(\.isNew)
        case 10: return equal(stored(\.made), constant(sample.made))
        case 11: return compare(stored(\.made), constant(sample.made))
        case 12: return starts(stored(\.name), constant(sample.name))
        case 13: return among(stored(\.number), [sample.number, sample.count, 7])
        case 14: return among(stored(\.name), [sample.name, sample.label])
        case 15: return range(constant(sample.number), constant(sample.number + 3), stored(\.number))
        case 16: return equal(stored(\.group), constant(sample.group))
        case 17, 18: return twice(sample)
        default: return compound(sample)
        }
    }

    /// A condition on unique values, which a random one would not meet.
    private mutating func unique(_ sample: Piece) -> GeneratedNode<Bool> {
        let (piece, other) = known.isEmpty ? (sample, sample) : (one(known).value, one(known).value)
        switch number(0..<5) {
        case 0: return equal(stored(\.serial), constant(piece.serial))
        case 1: return compare(stored(\.serial), constant(piece.serial))
        case 2: return among(stored(\.serial), [piece.serial, sample.serial, other.serial])
        case 3: return equal(constant(piece.code), stored(\.code))
        default: return among(stored(\.code), [piece.code, sample.code, other.code])
        }
    }

    /// Two conditions on one property, whose ranges are intersected.
    private mutating func twice(_ sample: Piece) -> GeneratedNode<Bool> {
        let beginning = starts(stored(\.name), constant(one(Piece.texts)))
        switch number(0..<6) {
        case 0: return and(equal(stored(\.name), constant(sample.name)), beginning)
        case 1: return and(beginning, compare(stored(\.name), constant(sample.name)))
        case 2: return and(starts(stored(\.name), constant(sample.name)), beginning)
        case 3: return and(among(stored(\.name), [sample.name, sample.label]), beginning)
        case 4:
            return and(
                compare(stored(\.weight), constant(sample.weight)), equal(constant(sample.weight), stored(\.weight)))
        default:
            return and(
                range(constant(sample.number), constant(sample.number + 3), stored(\.number)),
                compare(stored(\.number), constant(sample.number + 1)))
        }
    }

    /// Conditions that a compound index may serve together.
    private mutating func compound(_ sample: Piece) -> GeneratedNode<Bool> {
        let group = equal(stored(\.group), constant(sample.group))
        let rank = equal(stored(\.rank), constant(sample.rank))
        switch number(0..<6) {
        case 0: return and(group, rank)
        case 1: return and(compare(stored(\.rank), constant(sample.rank)), group)
        case 2: return and(and(starts(stored(\.name), constant(sample.name)), group), rank)
        case 3: return and(starts(stored(\.name), constant(sample.name)), group)
        case 4: return and(equal(stored(\.name), constant(sample.name)), group)
        default:
            return and(
                and(rank, range(constant(0), constant(2), stored(\.group))), among(stored(\.name), [sample.name]))
        }
    }

    private func and(_ lhs: GeneratedNode<Bool>, _ rhs: GeneratedNode<Bool>) -> GeneratedNode<Bool> {
        func open(_ lhs: some StandardPredicateExpression<Bool>, _ rhs: some StandardPredicateExpression<Bool>)
            -> any StandardPredicateExpression<Bool>
        { Expressions.build_Conjunction(lhs: lhs, rhs: rhs) }
        return GeneratedNode(expression: open(lhs.expression, rhs.expression)) { try lhs.value($0) && rhs.value($0) }
    }

    private func or(_ lhs: GeneratedNode<Bool>, _ rhs: GeneratedNode<Bool>) -> GeneratedNode<Bool> {
        func open(_ lhs: some StandardPredicateExpression<Bool>, _ rhs: some StandardPredicateExpression<Bool>)
            -> any StandardPredicateExpression<Bool>
        { Expressions.build_Disjunction(lhs: lhs, rhs: rhs) }
        return GeneratedNode(expression: open(lhs.expression, rhs.expression)) { try lhs.value($0) || rhs.value($0) }
    }

    private func conditional<V>(
        _ test: GeneratedNode<Bool>, _ first: GeneratedNode<V>, _ second: GeneratedNode<V>
    ) -> GeneratedNode<V> {
        func open(
            _ test: some StandardPredicateExpression<Bool>, _ first: some StandardPredicateExpression<V>,
            _ second: some StandardPredicateExpression<V>
        ) -> any StandardPredicateExpression<V> { Expressions.build_Conditional(test, first, second) }
        return GeneratedNode(expression: open(test.expression, first.expression, second.expression)) {
            try test.value($0) ? first.value($0) : second.value($0)
        }
    }

    mutating func equal<V: Equatable>(_ lhs: GeneratedNode<V>, _ rhs: GeneratedNode<V>) -> GeneratedNode<Bool> {
        let isNegated = number(0..<4) == 0
        func open(_ lhs: some StandardPredicateExpression<V>, _ rhs: some StandardPredicateExpression<V>)
            -> any StandardPredicateExpression<Bool>
        {
            isNegated
                ? Expressions.build_NotEqual(lhs: lhs, rhs: rhs) : Expressions.build_Equal(lhs: lhs, rhs: rhs)
        }
        return GeneratedNode(expression: open(lhs.expression, rhs.expression)) {
            try (lhs.value($0) == rhs.value($0)) != isNegated
        }
    }

    mutating func compare<V: Comparable>(_ lhs: GeneratedNode<V>, _ rhs: GeneratedNode<V>) -> GeneratedNode<
        Bool
    > {
        let operation = one(
            [.lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual] as [Expressions.ComparisonOperator])
        func open(_ lhs: some StandardPredicateExpression<V>, _ rhs: some StandardPredicateExpression<V>)
            -> any StandardPredicateExpression<Bool>
        { Expressions.build_Comparison(lhs: lhs, rhs: rhs, op: operation) }
        return GeneratedNode(expression: open(lhs.expression, rhs.expression)) {
            Self.isOrdered(try lhs.value($0), operation, try rhs.value($0), $0)
        }
    }

    private static func isOrdered<V: Comparable>(
        _ left: V, _ operation: Expressions.ComparisonOperator, _ right: V, _ surroundings: Surroundings
    ) -> Bool {
        func result(_ left: V, _ right: V) -> Bool {
            switch operation {
            case .lessThan: left < right
            case .lessThanOrEqual: left <= right
            case .greaterThan: left > right
            default: left >= right
            }
        }
        guard let texts = (left as? String).flatMap({ left in (right as? String).map { (left, $0) } }),
            let (normal, other) = (texts.0.normal as? V).flatMap({ one in (texts.1.normal as? V).map { (one, $0) } })
        else { return result(left, right) }
        if result(normal, other) != result(left, right) { surroundings.log.hasDifferentOrder = true }
        return result(normal, other)
    }

    /// Conditions on optionals, as programs write them.
    private mutating func optional(_ sample: Piece) -> GeneratedNode<Bool> {
        switch number(0..<(followsRelationships ? 10 : 7)) {
        case 0, 1: return unwrapping(stored(\.note), one(Piece.texts), one(Piece.texts))
        case 2: return unwrapping(stored(\.small), one([-128, -1, 0, 1, 127]), 0)
        case 3: return unwrapping(stored(\.share), one([-1, -0.0, 0, 1, .nan]), sample.weight)
        case 4: return compare(coalesce(stored(\.note), constant(one(Piece.texts))), constant(one(Piece.texts)))
        case 5: return equal(coalesce(stored(\.small), constant(1)), constant(one([-128, 0, 1, 127])))
        case 6: return beginning()
        case 7: return unwrapping(related().level, number(-1..<5), 2)
        case 8: return unwrapping(related().code, one(Piece.texts), one(Piece.texts))
        default: return compare(constant(number(-1..<5)), coalesce(related().level, constant(number(-1..<5))))
        }
    }

    /// `if let value = … { value < bound && value != other } else { otherwise }`, and the same as an optional that is compared.
    private mutating func unwrapping<V: Comparable & Codable & Sendable>(
        _ optional: GeneratedNode<V?>, _ bound: V, _ other: V
    ) -> GeneratedNode<Bool> {
        let operation = one(
            [.lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual] as [Expressions.ComparisonOperator])
        let (isCompared, otherwise, isEqual) = (number(0..<3) == 0, number(0..<4) == 0, number(0..<3) == 0)
        func both(_ value: Expressions.Variable<V>) -> some StandardPredicateExpression<Bool> {
            Expressions.build_Conjunction(
                lhs: Expressions.build_Comparison(lhs: value, rhs: Expressions.build_Arg(bound), op: operation),
                rhs: Expressions.build_NotEqual(lhs: value, rhs: Expressions.build_Arg(other)))
        }
        func equals(_ value: Expressions.Variable<V>) -> some StandardPredicateExpression<Bool> {
            Expressions.build_Equal(lhs: value, rhs: Expressions.build_Arg(bound))
        }
        func finish(_ map: some StandardPredicateExpression<Bool?>) -> any StandardPredicateExpression<Bool> {
            isCompared
                ? Expressions.build_Equal(lhs: map, rhs: Expressions.build_Arg(Bool?.some(!otherwise)))
                : Expressions.build_NilCoalesce(lhs: map, rhs: Expressions.build_Arg(otherwise))
        }
        func open(_ optional: some StandardPredicateExpression<V?>) -> any StandardPredicateExpression<Bool> {
            isEqual
                ? finish(Expressions.build_flatMap(optional) { equals($0) })
                : finish(Expressions.build_flatMap(optional) { both($0) })
        }
        return GeneratedNode(expression: open(optional.expression)) { surroundings in
            let result = try optional.value(surroundings).map {
                isEqual ? $0 == bound : Self.isOrdered($0, operation, bound, surroundings) && $0 != other
            }
            return isCompared ? result == !otherwise : result ?? otherwise
        }
    }

    /// `note?.starts(with: …) == true`
    private mutating func beginning() -> GeneratedNode<Bool> {
        let (text, wanted) = (one(Piece.texts), number(0..<4) > 0)
        let note = Expressions.build_KeyPath(root: piece, keyPath: \Piece.note)
        let starts = Expressions.build_flatMap(note) {
            Expressions.build_starts($0, with: Expressions.build_Arg(text))
        }
        return GeneratedNode(
            expression: Expressions.build_Equal(lhs: starts, rhs: Expressions.build_Arg(Bool?.some(wanted)))
        ) { $0.piece.note.map { $0.starts(with: text) } == wanted }
    }

    private mutating func range<V: Comparable>(
        _ lower: GeneratedNode<V>, _ upper: GeneratedNode<V>, _ element: GeneratedNode<V>
    ) -> GeneratedNode<Bool> {
        let isClosed = number(0..<2) == 0
        func open(
            _ lower: some StandardPredicateExpression<V>, _ upper: some StandardPredicateExpression<V>,
            _ element: some StandardPredicateExpression<V>
        ) -> any StandardPredicateExpression<Bool> {
            isClosed
                ? Expressions.build_contains(Expressions.build_ClosedRange(lower: lower, upper: upper), element)
                : Expressions.build_contains(Expressions.build_Range(lower: lower, upper: upper), element)
        }
        return GeneratedNode(expression: open(lower.expression, upper.expression, element.expression)) {
            let (low, high) = (try lower.value($0), try upper.value($0))
            let found = try element.value($0)
            guard low <= high else { throw NoResult() }
            return Self.isOrdered(low, .lessThanOrEqual, found, $0)
                && Self.isOrdered(found, isClosed ? .lessThanOrEqual : .lessThan, high, $0)
        }
    }

    private func starts(_ text: GeneratedNode<String>, _ prefix: GeneratedNode<String>) -> GeneratedNode<Bool> {
        func open(_ text: some StandardPredicateExpression<String>, _ prefix: some StandardPredicateExpression<String>)
            -> any StandardPredicateExpression<Bool>
        { Expressions.build_starts(text, with: prefix) }
        return GeneratedNode(expression: open(text.expression, prefix.expression)) {
            try text.value($0).starts(with: prefix.value($0))
        }
    }

    private mutating func isPart(of text: GeneratedNode<String>) -> GeneratedNode<Bool> {
        let part = one(Piece.texts)
        func open(_ text: some StandardPredicateExpression<String>) -> any StandardPredicateExpression<Bool> {
            Expressions.build_contains(text, Expressions.build_Arg(part))
        }
        return number(0..<2) == 0
            ? starts(text, constant(part))
            : GeneratedNode(expression: open(text.expression)) { try contains(text.value($0), part) }
    }

    func among<V: Equatable & Codable & Sendable>(_ element: GeneratedNode<V>, _ values: [V]) -> GeneratedNode<
        Bool
    > {
        func open(_ element: some StandardPredicateExpression<V>) -> any StandardPredicateExpression<Bool> {
            Expressions.build_contains(Expressions.build_Arg(values), element)
        }
        return GeneratedNode(expression: open(element.expression)) { try values.contains(element.value($0)) }
    }

    /// A condition on the elements of an array. Foundation makes the variable of the inner closure itself, and the closure's type
    /// is known only once it is made: it is made twice.
    private mutating func loop(_ depth: Int) -> GeneratedNode<Bool> {
        let isForAll = number(0..<2) == 0
        let start = self
        func make(_ variable: Expressions.Variable<Int>) -> (node: GeneratedNode<Bool>, after: PredicateGenerator) {
            var generator = start
            generator.elements.append(variable)
            return (generator.condition(depth), generator)
        }
        func open<Test: StandardPredicateExpression<Bool>>(_ test: Test) -> any StandardPredicateExpression<Bool> {
            let tags = Expressions.build_KeyPath(root: piece, keyPath: \Piece.tags)
            return isForAll
                ? Expressions.build_allSatisfy(tags) { make($0).node.expression as! Test }
                : Expressions.build_contains(tags) { make($0).node.expression as! Test }
        }
        let (test, after) = make(Expressions.Variable<Int>())
        (random, isPrintable) = (after.random, isPrintable && after.isPrintable)
        return GeneratedNode(expression: open(test.expression)) { surroundings in
            func isMet(_ tag: Int) throws -> Bool {
                var inside = surroundings
                inside.elements.append(tag)
                return try test.value(inside)
            }
            return isForAll
                ? try surroundings.piece.tags.allSatisfy(isMet) : try surroundings.piece.tags.contains(where: isMet)
        }
    }

    // MARK: Values

    mutating func integer(_ depth: Int) -> GeneratedNode<Int> {
        if !elements.isEmpty, number(0..<3) == 0 {
            let position = number(0..<elements.count)
            return GeneratedNode(expression: elements[position]) { $0.elements[position] }
        }
        guard depth > 0 else {
            return switch number(0..<7) {
            case 0: stored(\.number)
            case 1: stored(\.count)
            case 2: stored(\.group)
            case 3:
                GeneratedNode(expression: Expressions.build_KeyPath(root: piece, keyPath: \.doubled)) {
                    $0.piece.doubled
                }
            case 4:
                GeneratedNode(
                    expression: Expressions.build_KeyPath(
                        root: Expressions.build_KeyPath(root: piece, keyPath: \.size), keyPath: \.width)
                ) { $0.piece.size.width }
            case 5:
                GeneratedNode(
                    expression: Expressions.build_KeyPath(
                        root: Expressions.build_KeyPath(root: piece, keyPath: \.tags), keyPath: \.count)
                ) { $0.piece.tags.count }
            default: constant(number(-2..<6))
            }
        }
        switch number(0..<11) {
        case 9, 10: return specialInteger(depth - 1)
        case 0, 1, 2: return arithmetic(integer(depth - 1), integer(depth - 1))
        case 3, 4: return division(integer(depth - 1), integer(depth - 1))
        case 5: return conditional(condition(depth - 1), integer(depth - 1), integer(depth - 1))
        case 6: return coalesce(optionalInteger(depth - 1), integer(depth - 1))
        case 7: return unwrapped(optionalInteger(depth - 1))
        default: return element(at: integer(depth - 1))
        }
    }

    private mutating func arithmetic(_ lhs: GeneratedNode<Int>, _ rhs: GeneratedNode<Int>) -> GeneratedNode<Int> {
        let operation = one([.add, .subtract, .multiply] as [Expressions.ArithmeticOperator])
        // Some results do not fit.
        let large = number(0..<6) == 0 ? constant(Int.max / 2) : lhs
        func open(_ lhs: some StandardPredicateExpression<Int>, _ rhs: some StandardPredicateExpression<Int>)
            -> any StandardPredicateExpression<Int>
        { Expressions.build_Arithmetic(lhs: lhs, rhs: rhs, op: operation) }
        return GeneratedNode(expression: open(large.expression, rhs.expression)) {
            let (left, right) = (try large.value($0), try rhs.value($0))
            let (result, overflow) =
                switch operation {
                case .add: left.addingReportingOverflow(right)
                case .subtract: left.subtractingReportingOverflow(right)
                default: left.multipliedReportingOverflow(by: right)
                }
            guard !overflow else { throw NoResult() }
            return result
        }
    }

    private mutating func division(_ lhs: GeneratedNode<Int>, _ rhs: GeneratedNode<Int>) -> GeneratedNode<Int> {
        let isRemainder = number(0..<2) == 0
        func open(_ lhs: some StandardPredicateExpression<Int>, _ rhs: some StandardPredicateExpression<Int>)
            -> any StandardPredicateExpression<Int>
        {
            isRemainder
                ? Expressions.build_Remainder(lhs: lhs, rhs: rhs) : Expressions.build_Division(lhs: lhs, rhs: rhs)
        }
        return GeneratedNode(expression: open(lhs.expression, rhs.expression)) {
            let (left, right) = (try lhs.value($0), try rhs.value($0))
            let (result, overflow) =
                isRemainder
                ? left.remainderReportingOverflow(dividingBy: right) : left.dividedReportingOverflow(by: right)
            guard !overflow else { throw NoResult() }
            return result
        }
    }

    private func coalesce<V>(_ lhs: GeneratedNode<V?>, _ rhs: GeneratedNode<V>) -> GeneratedNode<V> {
        func open(_ lhs: some StandardPredicateExpression<V?>, _ rhs: some StandardPredicateExpression<V>)
            -> any StandardPredicateExpression<V>
        { Expressions.build_NilCoalesce(lhs: lhs, rhs: rhs) }
        return GeneratedNode(expression: open(lhs.expression, rhs.expression)) { try lhs.value($0) ?? rhs.value($0) }
    }

    func unwrapped<V>(_ node: GeneratedNode<V?>) -> GeneratedNode<V> {
        func open(_ node: some StandardPredicateExpression<V?>) -> any StandardPredicateExpression<V> {
            Expressions.build_ForcedUnwrap(node)
        }
        return GeneratedNode(expression: open(node.expression)) {
            guard let value = try node.value($0) else { throw NoResult() }
            return value
        }
    }

    private func element(at index: GeneratedNode<Int>) -> GeneratedNode<Int> {
        func open(_ index: some StandardPredicateExpression<Int>) -> any StandardPredicateExpression<Int> {
            Expressions.build_subscript(Expressions.build_KeyPath(root: piece, keyPath: \Piece.tags), index)
        }
        return GeneratedNode(expression: open(index.expression)) {
            let index = try index.value($0)
            guard $0.piece.tags.indices.contains(index) else { throw NoResult() }
            return $0.piece.tags[index]
        }
    }

    mutating func optionalInteger(_ depth: Int) -> GeneratedNode<Int?> {
        let tags = Expressions.build_KeyPath(root: piece, keyPath: \Piece.tags)
        switch number(0..<(followsRelationships ? 9 : 7)) {
        case 5, 6: return specialOptionalInteger()
        case 0: return GeneratedNode(expression: Expressions.build_max(tags)) { $0.piece.tags.max() }
        case 1: return GeneratedNode(expression: Expressions.build_min(tags)) { $0.piece.tags.min() }
        case 2:
            let key = one(["a", "b"])
            let points = Expressions.build_KeyPath(root: piece, keyPath: \Piece.points)
            return GeneratedNode(expression: Expressions.build_subscript(points, Expressions.build_Arg(key))) {
                $0.piece.points[key]
            }
        case 3:
            let note = Expressions.build_KeyPath(root: piece, keyPath: \Piece.note)
            return GeneratedNode(
                expression: Expressions.build_flatMap(note) { Expressions.build_KeyPath(root: $0, keyPath: \.count) }
            ) { $0.piece.note.map(\.count) }
        case 4: return constant(one([nil, 0, 1, 3]))
        default: return related().level
        }
    }

    mutating func text(_ depth: Int) -> GeneratedNode<String> {
        switch number(0..<5) {
        case 0: return stored(\.name)
        case 1: return stored(\.label)
        case 2: return coalesce(optionalText(depth - 1), stored(\.label))
        case 3 where depth > 0: return conditional(condition(depth - 1), stored(\.name), stored(\.label))
        default: return constant(one(Piece.texts))
        }
    }

    mutating func optionalText(_ depth: Int) -> GeneratedNode<String?> {
        switch number(0..<(followsRelationships ? 5 : 2)) {
        case 0: stored(\.note)
        case 1: constant(one(Piece.texts + [nil]))
        case 2: related().remark
        default: related().code
        }
    }

    private mutating func double(_ depth: Int) -> GeneratedNode<Double> {
        switch number(0..<4) {
        case 0: return stored(\.weight)
        case 1: return coalesce(stored(\.share), constant(0.5))
        case 2:
            let (lhs, rhs): (GeneratedNode<Double>, GeneratedNode<Double>) = (
                stored(\.weight), constant(one([0, 2, -1]))
            )
            func open(_ lhs: some StandardPredicateExpression<Double>, _ rhs: some StandardPredicateExpression<Double>)
                -> any StandardPredicateExpression<Double>
            { Expressions.build_Division(lhs: lhs, rhs: rhs) }
            return GeneratedNode(expression: open(lhs.expression, rhs.expression)) { try lhs.value($0) / rhs.value($0) }
        default: return constant(one([-1, -0.0, 0, 0.5, 1, 2, .infinity, .nan]))
        }
    }

    // MARK: Relationships

    private typealias RelatedNodes = (
        code: GeneratedNode<String?>, remark: GeneratedNode<String?>, level: GeneratedNode<Int?>
    )

    /// Properties of a piece's crate, or of the crate of that one's owner.
    private mutating func related() -> RelatedNodes {
        let crate = Expressions.build_KeyPath(root: piece, keyPath: \Piece.crate)
        guard number(0..<3) == 0 else { return Self.related(crate) { $0.crate($0.piece.crate) } }
        let owner = Expressions.build_KeyPath(root: crate, keyPath: \.owner)
        return Self.related(Expressions.build_KeyPath(root: owner, keyPath: \.crate)) { surroundings in
            guard let owner = surroundings.crate(surroundings.piece.crate)?.owner.id else { return nil }
            return surroundings.crateOfPiece(owner)
        }
    }

    private static func related(
        _ crate: some StandardPredicateExpression<ToOne<Crate>>, _ find: @escaping (Surroundings) -> Crate?
    ) -> RelatedNodes {
        (
            GeneratedNode(expression: Expressions.build_KeyPath(root: crate, keyPath: \.code)) { find($0)?.code },
            GeneratedNode(expression: Expressions.build_KeyPath(root: crate, keyPath: \.remark)) { find($0)?.remark },
            GeneratedNode(expression: Expressions.build_KeyPath(root: crate, keyPath: \.level)) { find($0)?.level }
        )
    }

    private mutating func reference() -> GeneratedNode<Bool> {
        let crate = Expressions.build_KeyPath(root: piece, keyPath: \Piece.crate)
        switch number(0..<6) {
        case 0:
            let id = PersistentID<Crate>(row: UInt64(number(1..<5)))
            return GeneratedNode(expression: Expressions.build_Equal(lhs: crate, rhs: Expressions.build_Arg(id))) {
                $0.piece.crate.id == id
            }
        case 1:
            return GeneratedNode(
                expression: Expressions.build_Equal(lhs: crate, rhs: Expressions.build_NilLiteral())
            ) { $0.piece.crate.id == nil }
        case 2: return equal(related().level, constant(one([nil, 1, 2, 3])))
        case 3: return equal(related().remark, constant(one(Piece.texts + [nil])))
        default: return equal(related().code, constant(one(Piece.texts.map(Optional.some))))
        }
    }

    /// A condition on the members of a piece's crate.
    private mutating func members(_ depth: Int) -> GeneratedNode<Bool> {
        let crate = Expressions.build_KeyPath(root: piece, keyPath: \Piece.crate)
        let bound = number(-2..<9)
        switch number(0..<5) {
        case 0:
            let count = Expressions.build_KeyPath(
                root: Expressions.build_KeyPath(root: crate, keyPath: \.pieces), keyPath: \.count)
            return compare(
                GeneratedNode(expression: count) { $0.pieces($0.piece.crate).count }, constant(number(0..<20)))
        case 1:
            let above = Expressions.build_KeyPath(root: crate, keyPath: \.above)
            return GeneratedNode(
                expression: Expressions.build_contains(above) { above in
                    Expressions.build_Equal(
                        lhs: Expressions.build_KeyPath(root: above, keyPath: \.level), rhs: Expressions.build_Arg(2))
                }
            ) { $0.above($0.piece.crate).contains { $0.level == 2 } }
        case 2:
            let below = Expressions.build_KeyPath(root: crate, keyPath: \.below)
            let count = Expressions.build_KeyPath(
                root: Expressions.build_filter(below) { below in
                    Expressions.build_Negation(
                        Expressions.build_KeyPath(
                            root: Expressions.build_KeyPath(root: below, keyPath: \.pieces), keyPath: \.isEmpty))
                }, keyPath: \.count)
            return compare(
                GeneratedNode(expression: count) { surroundings in
                    surroundings.below(surroundings.piece.crate).count { !surroundings.pieces(ToOne($0)).isEmpty }
                }, constant(number(0..<3)))
        case 3:
            let isForAll = number(0..<2) == 0
            let pieces = Expressions.build_KeyPath(root: crate, keyPath: \.pieces)
            func test(_ member: Expressions.Variable<Piece>) -> some StandardPredicateExpression<Bool> {
                Expressions.build_Comparison(
                    lhs: Expressions.build_KeyPath(root: member, keyPath: \.number),
                    rhs: Expressions.build_Arg(bound), op: .greaterThan)
            }
            return GeneratedNode(
                expression: isForAll
                    ? Expressions.build_allSatisfy(pieces) { test($0) } as any StandardPredicateExpression<Bool>
                    : Expressions.build_contains(pieces) { test($0) }
            ) { surroundings in
                let members = surroundings.pieces(surroundings.piece.crate)
                return isForAll ? members.allSatisfy { $0.number > bound } : members.contains { $0.number > bound }
            }
        default:
            // The inner condition compares with the outer row, too.
            let isForAll = number(0..<2) == 0
            let pieces = Expressions.build_KeyPath(root: crate, keyPath: \.pieces)
            func test(_ member: Expressions.Variable<Piece>) -> some StandardPredicateExpression<Bool> {
                Expressions.build_Disjunction(
                    lhs: Expressions.build_Comparison(
                        lhs: Expressions.build_KeyPath(root: member, keyPath: \.number),
                        rhs: Expressions.build_Arg(bound), op: .greaterThan),
                    rhs: Expressions.build_Equal(
                        lhs: Expressions.build_KeyPath(root: member, keyPath: \.name),
                        rhs: Expressions.build_KeyPath(root: piece, keyPath: \.label)))
            }
            return GeneratedNode(
                expression: isForAll
                    ? Expressions.build_allSatisfy(pieces) { test($0) }
                        as any StandardPredicateExpression<Bool>
                    : Expressions.build_contains(pieces) { test($0) }
            ) { surroundings in
                let members = surroundings.pieces(surroundings.piece.crate)
                func isMet(_ member: Piece) -> Bool { member.number > bound || member.name == surroundings.piece.label }
                return isForAll ? members.allSatisfy(isMet) : members.contains(where: isMet)
            }
        }
    }
}
