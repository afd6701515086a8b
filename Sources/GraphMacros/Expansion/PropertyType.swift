/// What a stored property is to the engine, as its type annotation or its initial value shows.
struct PropertyType: Equatable, Sendable {
    enum Kind: Equatable, Sendable {
        case attribute
        case toOne
        case toMany
        /// A relationship within another type, such as an optional of one.
        case wrappedRelationship
    }

    let kind: Kind
    /// Whether a value of it may be missing, so that nil is its default.
    let isOptional: Bool
    /// The entity at the other end of a relationship, if the annotation names it.
    var target: String?

    private static let relationships: [String: Kind] = ["ToOne": .toOne, "ToMany": .toMany]

    init(annotation: SourceText) throws(Problem) {
        let tokens = try Lexer.tokens(of: annotation)
        let name = Self.typeName(at: 0, in: tokens, of: annotation)
        let hasMark = tokens.last?.is("?") == true || tokens.last?.is("!") == true
        isOptional = hasMark && !Self.isFunction(tokens) || name.words.last == "Optional"
        if let last = name.words.last, let kind = Self.relationships[last], name.end < tokens.count,
            tokens[name.end].closingAngle == tokens.count - 1
        {
            self.kind = kind
            target = annotation[tokens[name.end].range.upperBound..<tokens[tokens.count - 1].range.lowerBound]
        } else {
            let namesOne = tokens.contains { $0.kind == .word && Self.relationships[annotation[$0.range]] != nil }
            kind = namesOne ? .wrappedRelationship : .attribute
        }
    }

    /// nil if the value does not begin with a literal or the name of a type.
    init?(initialValue: SourceText) throws(Problem) {
        let tokens = try Lexer.tokens(of: initialValue)
        var first = 0
        while first < tokens.count, tokens[first].kind == .operatorCharacter || tokens[first].is("(") { first += 1 }
        guard first < tokens.count else { return nil }
        isOptional = false
        switch tokens[first].kind {
        case .number, .string:
            kind = .attribute
        case .punctuation where tokens[first].is("["):
            kind = .attribute
        case .word:
            let name = Self.typeName(at: first, in: tokens, of: initialValue).words
            if let relationship = name.lazy.compactMap({ Self.relationships[$0] }).first {
                kind = relationship
            } else if name.first == "true" || name.first == "false" || name.contains(where: Self.isTypeName) {
                kind = .attribute
            } else {
                return nil
            }
        default:
            return nil
        }
    }

    /// `["Graph", "ToOne"]` of `Graph.ToOne<Team>`, and the index of the `<`: the words that dots or colons join.
    private static func typeName(
        at first: Int,
        in tokens: [Token],
        of source: SourceText
    ) -> (words: [String], end: Int) {
        var words: [String] = []
        var index = first
        while index < tokens.count, tokens[index].kind == .word {
            words.append(source[tokens[index].range])
            index += 1
            let end = index
            while index < tokens.count, tokens[index].is(".") || tokens[index].is(":") { index += 1 }
            if index == end { break }
        }
        return (words, index)
    }

    /// Whether an arrow is outside of all brackets, so that what ends the type belongs to the result.
    private static func isFunction(_ tokens: [Token]) -> Bool {
        var index = 0
        while index < tokens.count {
            if tokens[index].is("-") { return true }
            index = (tokens[index].closing ?? tokens[index].closingAngle ?? index) + 1
        }
        return false
    }

    private static func isTypeName(_ name: String) -> Bool {
        name.first { $0 != "_" && $0 != "`" }?.isUppercase ?? false
    }
}
