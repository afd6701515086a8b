#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension PredicateExpressions.SequenceContains: PredicateNode where LHS: PredicateNode, RHS: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Bool> {
        let (sequence, element) = (try sequence.term(compiler), try element.term(compiler))
        if let elements = sequence.constant { return compiler.isElement(element, of: Array(elements)) }
        return sequence.combined(with: element) { $0.contains($1) }
    }
}

extension PredicateExpressions.SequenceContainsWhere: PredicateNode where LHS: PredicateNode, RHS: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Bool> {
        let (sequence, test) = try compiler.loop(sequence, variable.key, test)
        return sequence.mapped { elements in try elements.contains { try test($0) } }
    }
}

extension PredicateExpressions.SequenceAllSatisfy: PredicateNode where LHS: PredicateNode, RHS: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Bool> {
        let (sequence, test) = try compiler.loop(sequence, variable.key, test)
        return sequence.mapped { elements in try elements.allSatisfy { try test($0) } }
    }
}

extension PredicateExpressions.Filter: PredicateNode where LHS: PredicateNode, RHS: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Output> {
        let (sequence, test) = try compiler.loop(sequence, variable.key, filter)
        return sequence.mapped { elements in try elements.filter { try test($0) } }
    }
}

extension PredicateCompiler {
    /// A sequence, with the source of the test, and a test of its elements.
    fileprivate func loop<Elements: PredicateNode, Test: PredicateNode>(
        _ sequence: Elements, _ variable: PredicateExpressions.VariableID, _ test: Test
    ) throws -> (Term<Elements.Output>, (Elements.Output.Element) throws -> Bool)
    where Elements.Output: Sequence, Test.Output == Bool {
        var sequence = try sequence.term(self)
        let slot = addVariable(variable, of: Elements.Output.Element.self, sequence.source)
        let test = try test.term(self)
        sequence.source = sequence.source.merged(with: test.source)
        return (sequence, { element in try slot.holding(element, test.value) })
    }
}

extension PredicateExpressions.SequenceStartsWith: PredicateNode where Base: PredicateNode, Prefix: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Bool> {
        let (base, prefix) = (try base.term(compiler), try prefix.term(compiler))
        if let text = base as? Term<String>, let prefix = prefix as? Term<String> {
            return compiler.text(text, startsWith: prefix)
        }
        return base.combined(with: prefix) { $0.starts(with: $1) }
    }
}

extension PredicateExpressions.SequenceMinimum: PredicateNode where Elements: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Output> { try elements.term(compiler).mapped { $0.min() } }
}

extension PredicateExpressions.SequenceMaximum: PredicateNode where Elements: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Output> { try elements.term(compiler).mapped { $0.max() } }
}

extension PredicateExpressions.CollectionContainsCollection: PredicateNode
where Base: PredicateNode, Other: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Bool> {
        try base.term(compiler).combined(with: other.term(compiler)) { $0.contains($1) }
    }
}

extension PredicateExpressions.StringContainsRegex: PredicateNode where Subject: PredicateNode, Regex: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Bool> {
        try subject.term(compiler).combined(with: regex.term(compiler)) { $0.contains($1) }
    }
}

extension PredicateExpressions.CollectionIndexSubscript: PredicateNode
where Wrapped: PredicateNode, Index: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Output> {
        let term: Term<Output> = try wrapped.term(compiler).combined(with: index.term(compiler)) { elements, index in
            guard index >= elements.startIndex, index < elements.endIndex else {
                throw PredicateFailure("the index \(index) is out of bounds")
            }
            return elements[index]
        }
        return compiler.noting(term)
    }
}

extension PredicateExpressions.CollectionRangeSubscript: PredicateNode
where Wrapped: PredicateNode, Range: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Output> {
        let term: Term<Output> = try wrapped.term(compiler).combined(with: range.term(compiler)) { elements, range in
            guard range.lowerBound >= elements.startIndex, range.upperBound <= elements.endIndex else {
                throw PredicateFailure("the range \(range) is out of bounds")
            }
            return elements[range]
        }
        return compiler.noting(term)
    }
}

extension PredicateExpressions.DictionaryKeySubscript: PredicateNode where Wrapped: PredicateNode, Key: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Output> {
        try wrapped.term(compiler).combined(with: key.term(compiler)) { $0[$1] }
    }
}

extension PredicateExpressions.DictionaryKeyDefaultValueSubscript: PredicateNode
where Wrapped: PredicateNode, Key: PredicateNode, Default: PredicateNode {
    func term(_ compiler: PredicateCompiler) throws -> Term<Output> {
        let (wrapped, key, other) = (try wrapped.term(compiler), try key.term(compiler), try `default`.term(compiler))
        let source = wrapped.source.merged(with: key.source).merged(with: other.source)
        return Term(source: source) {
            let (dictionary, key) = (try wrapped.value(), try key.value())
            return try dictionary[key] ?? other.value()
        }
    }
}
