import Foundation

@testable import Graph

/// Casts, and operators of arrays, sets, dictionaries and texts.
extension PredicateGenerator {
    /// A condition by an operator that has no other place.
    mutating func special(_ depth: Int) -> GeneratedNode<Bool> {
        switch number(0..<10) {
        case 0: return typeCheck()
        case 1, 2: return isElement(of: \.marks, integer(depth))
        case 3: return isElement(ofSlice: integer(depth), integer(depth), integer(depth))
        case 4: return isElement(ofFiltered: integer(depth))
        case 5: return hasNoElements()
        case 6, 7: return matches(text(depth))
        case 8: return localized(text(depth))
        default: return equal(optionalText(depth), cast(stored(\.note)))
        }
    }

    /// An integer by an operator that has no other place.
    mutating func specialInteger(_ depth: Int) -> GeneratedNode<Int> {
        let tags = Expressions.build_KeyPath(root: piece, keyPath: \Piece.tags)
        switch number(0..<6) {
        case 0: return minus(integer(depth))
        case 1:
            let (key, other) = (one(["a", "b"]), integer(depth))
            let points = Expressions.build_KeyPath(root: piece, keyPath: \Piece.points)
            func open(_ other: some StandardPredicateExpression<Int>) -> any StandardPredicateExpression<Int> {
                Expressions.build_subscript(points, Expressions.build_Arg(key), default: other)
            }
            return GeneratedNode(expression: open(other.expression)) {
                try $0.piece.points[key] ?? other.value($0)
            }
        case 2:
            let bound = number(-2..<5)
            let filter = Expressions.build_filter(tags) {
                Expressions.build_Comparison(lhs: $0, rhs: Expressions.build_Arg(bound), op: .greaterThan)
            }
            return GeneratedNode(expression: Expressions.build_KeyPath(root: filter, keyPath: \.count)) {
                $0.piece.tags.count { $0 > bound }
            }
        case 3:
            let marks = Expressions.build_KeyPath(root: piece, keyPath: \Piece.marks)
            return GeneratedNode(expression: Expressions.build_KeyPath(root: marks, keyPath: \.count)) {
                $0.piece.marks.count
            }
        case 4: return unwrapped(specialOptionalInteger())
        default: return forceCast(optionalInteger(depth))
        }
    }

    /// The first and the last element of an array, and casts of which some lead to nothing.
    mutating func specialOptionalInteger() -> GeneratedNode<Int?> {
        let tags = Expressions.build_KeyPath(root: piece, keyPath: \Piece.tags)
        switch number(0..<4) {
        case 0:
            return GeneratedNode(expression: Expressions.build_KeyPath(root: tags, keyPath: \.first)) {
                $0.piece.tags.first
            }
        case 1:
            return GeneratedNode(expression: Expressions.build_KeyPath(root: tags, keyPath: \.last)) {
                $0.piece.tags.last
            }
        case 2: return cast(stored(\.small))
        default: return cast(stored(\.number))
        }
    }

    private func minus(_ node: GeneratedNode<Int>) -> GeneratedNode<Int> {
        func open(_ node: some StandardPredicateExpression<Int>) -> any StandardPredicateExpression<Int> {
            Expressions.build_UnaryMinus(node)
        }
        return GeneratedNode(expression: open(node.expression)) {
            let (result, overflow) = 0.subtractingReportingOverflow(try node.value($0))
            guard !overflow else { throw NoResult() }
            return result
        }
    }

    // MARK: Casts

    /// `value as? Desired`
    private func cast<Value, Desired>(_ node: GeneratedNode<Value>) -> GeneratedNode<Desired?> {
        func open(_ node: some StandardPredicateExpression<Value>) -> any StandardPredicateExpression<Desired?> {
            Expressions.ConditionalCast<_, Desired>(node)
        }
        return GeneratedNode(expression: open(node.expression)) {
            try node.value($0) as Any as? Desired
        }
    }

    /// `value as! Desired`
    private func forceCast<Value, Desired>(_ node: GeneratedNode<Value>) -> GeneratedNode<Desired> {
        func open(_ node: some StandardPredicateExpression<Value>) -> any StandardPredicateExpression<Desired> {
            Expressions.ForceCast<_, Desired>(node)
        }
        return GeneratedNode(expression: open(node.expression)) {
            guard let value = try node.value($0) as Any as? Desired else { throw NoResult() }
            return value
        }
    }

    /// `value is Desired`, of which the answer is the same for all rows, or whether there is a value.
    private mutating func typeCheck() -> GeneratedNode<Bool> {
        func check<Value, Desired>(_ node: GeneratedNode<Value>, _: Desired.Type) -> GeneratedNode<Bool> {
            func open(_ node: some StandardPredicateExpression<Value>) -> any StandardPredicateExpression<Bool> {
                Expressions.TypeCheck<_, Desired>(node)
            }
            return GeneratedNode(expression: open(node.expression)) {
                try node.value($0) as Any is Desired
            }
        }
        switch number(0..<4) {
        case 0: return check(stored(\.note), String.self)
        case 1: return check(stored(\.share), Double.self)
        case 2: return check(stored(\.small), Int.self)
        default: return check(stored(\.number), Int.self)
        }
    }

    // MARK: Sequences

    private func isElement(
        of set: any WritableKeyPath<Piece, Set<Int>> & Sendable, _ element: GeneratedNode<Int>
    ) -> GeneratedNode<Bool> {
        func open(_ element: some StandardPredicateExpression<Int>) -> any StandardPredicateExpression<Bool> {
            Expressions.build_contains(Expressions.build_KeyPath(root: piece, keyPath: set), element)
        }
        return GeneratedNode(expression: open(element.expression)) {
            try $0.piece[keyPath: set].contains(element.value($0))
        }
    }

    /// `tags[lower..<upper].contains(element)`
    private func isElement(
        ofSlice lower: GeneratedNode<Int>, _ upper: GeneratedNode<Int>, _ element: GeneratedNode<Int>
    ) -> GeneratedNode<Bool> {
        func open(
            _ lower: some StandardPredicateExpression<Int>,
            _ upper: some StandardPredicateExpression<Int>,
            _ element: some StandardPredicateExpression<Int>
        ) -> any StandardPredicateExpression<Bool> {
            let range = Expressions.build_Range(lower: lower, upper: upper)
            let tags = Expressions.build_KeyPath(root: piece, keyPath: \Piece.tags)
            return Expressions.build_contains(Expressions.build_subscript(tags, range), element)
        }
        return GeneratedNode(expression: open(lower.expression, upper.expression, element.expression)) {
            let (tags, low, high) = ($0.piece.tags, try lower.value($0), try upper.value($0))
            guard 0 <= low, low <= high, high <= tags.count else { throw NoResult() }
            return try tags[low..<high].contains(element.value($0))
        }
    }

    /// `tags.filter { $0 > bound }.contains(element)`
    private mutating func isElement(ofFiltered element: GeneratedNode<Int>) -> GeneratedNode<Bool> {
        let bound = number(-2..<5)
        func open(_ element: some StandardPredicateExpression<Int>) -> any StandardPredicateExpression<Bool> {
            let tags = Expressions.build_KeyPath(root: piece, keyPath: \Piece.tags)
            let filter = Expressions.build_filter(tags) {
                Expressions.build_Comparison(lhs: $0, rhs: Expressions.build_Arg(bound), op: .greaterThan)
            }
            return Expressions.build_contains(filter, element)
        }
        return GeneratedNode(expression: open(element.expression)) {
            try $0.piece.tags.filter { $0 > bound }.contains(element.value($0))
        }
    }

    private mutating func hasNoElements() -> GeneratedNode<Bool> {
        if number(0..<2) == 0 {
            let marks = Expressions.build_KeyPath(root: piece, keyPath: \Piece.marks)
            return GeneratedNode(expression: Expressions.build_KeyPath(root: marks, keyPath: \.isEmpty)) {
                $0.piece.marks.isEmpty
            }
        }
        let points = Expressions.build_KeyPath(root: piece, keyPath: \Piece.points)
        return GeneratedNode(expression: Expressions.build_KeyPath(root: points, keyPath: \.isEmpty)) {
            $0.piece.points.isEmpty
        }
    }

    // MARK: Texts

    /// `text.contains(/…/)`
    private mutating func matches(_ text: GeneratedNode<String>) -> GeneratedNode<Bool> {
        let pattern = one(["^a", "b$", "b+|\u{E9}", "[ab]{2}", "^$", "a.", "\\r\\n", "(a)(b)?c"])
        // All of these are patterns.
        let regex = try! Regex(pattern)
        func open(_ text: some StandardPredicateExpression<String>) -> any StandardPredicateExpression<Bool> {
            Expressions.build_contains(text, Expressions.build_Arg(regex))
        }
        return GeneratedNode(expression: open(text.expression)) { try text.value($0).contains(regex) }
    }

    /// `text.localizedStandardContains(other)`, or whether the texts are the same but for their case.
    private mutating func localized(_ text: GeneratedNode<String>) -> GeneratedNode<Bool> {
        noteOwnNode()
        // Whether "\r\n" contains "\r" depends on the platform: it is one character, and two scalars.
        let texts = Piece.texts.filter { $0 != "a\r" }
        let (other, compares) = (one(texts + ["A", "Ab", "E", "B"]), number(0..<2) == 0)
        func open(_ text: some StandardPredicateExpression<String>) -> any StandardPredicateExpression<Bool> {
            let argument = Expressions.build_Arg(other)
            return compares
                ? Expressions.build_Equal(
                    lhs: Expressions.build_caseInsensitiveCompare(text, argument),
                    rhs: Expressions.build_Arg(ComparisonResult.orderedSame))
                : Expressions.build_localizedStandardContains(text, argument)
        }
        return GeneratedNode(expression: open(text.expression)) {
            let value = try text.value($0)
            return compares
                ? value.caseInsensitiveCompare(other) == .orderedSame
                : value.localizedStandardContains(other)
        }
    }
}
