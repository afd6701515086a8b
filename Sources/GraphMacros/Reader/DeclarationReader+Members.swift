/// Reads the members, and where one ends and the next begins.
extension DeclarationReader {
    mutating func readMembers() throws(Problem) -> [Member] {
        var members: [Member] = []
        while position < end {
            if isAt(";") {
                position += 1
            } else if let token = token(), token.kind == .pound {
                members.append(readDirective())
            } else {
                try readMember(into: &members)
            }
        }
        return members
    }

    private static let conditions: Set = ["#if", "#elseif", "#else", "#endif"]

    /// A condition of compilation, which takes its line, or a macro that declares something.
    private mutating func readDirective() -> Member {
        let first = position
        let name = text(position)
        guard Self.conditions.contains(name) else {
            position += 1
            skipToNextMember()
            return .other(keyword: name, name: nil, attributes: [])
        }
        position = endOfCondition(at: position)
        return .condition(Condition(directive: name, range: range(from: first, to: position - 1)))
    }

    /// The index behind a condition of compilation: the first that begins a line and does not go on there.
    private func endOfCondition(at first: Int) -> Int {
        var index = first + 1
        while index < end, !tokens[index].startsLine || isUnfinished(before: index) {
            index = (tokens[index].closing ?? index) + 1
        }
        return index
    }

    private mutating func readMember(into members: inout [Member]) throws(Problem) {
        let (attributes, modifiers) = try readAttributesAndModifiers()
        guard let keyword = word() else {
            if token()?.kind == .pound, !attributes.isEmpty || !modifiers.isEmpty {
                guard Self.conditions.contains(text(position)) else { return members.append(readDirective()) }
                throw problem(
                    "@Entity cannot read attributes that stand apart from their declaration: put both inside #if")
            }
            throw problem("@Entity cannot read this; a member's declaration is expected here")
        }
        switch keyword {
        case "var", "let":
            position += 1
            try readBindings(attributes, modifiers, isLet: keyword == "let", into: &members)
        case "typealias", "associatedtype":
            position += 1
            members.append(.other(keyword: keyword, name: try readName(), attributes: attributes))
            skipToNextMember()
        case "struct", "class", "enum", "actor", "protocol":
            position += 1
            members.append(.other(keyword: keyword, name: try readName(), attributes: attributes))
            skipToBody()
        case "func" where word(1) != nil:
            position += 1
            members.append(.method(try readMethod(attributes, modifiers)))
            skipToBody()
        case "func", "init", "deinit", "subscript", "extension", "case", "import", "operator", "precedencegroup",
            "macro":
            position += 1
            members.append(.other(keyword: keyword, name: nil, attributes: attributes))
            skipToBody()
        default:
            throw problem("@Entity cannot read this; a member's declaration is expected here")
        }
    }

    private static let effects: Set = ["async", "reasync", "throws", "rethrows"]

    /// From the name on, up to what is behind the type of the result.
    private mutating func readMethod(_ attributes: [Attribute], _ modifiers: [Modifier]) throws(Problem) -> Method {
        var method = Method(attributes: attributes, modifiers: modifiers, name: try readName())
        if isAt("<") {
            method.isGeneric = true
            skipWithAngles()
        }
        guard isAt("("), let closing = token()?.closing else { return method }
        method.hasParameters = closing > position + 1
        position = closing + 1
        while let word = word(), Self.effects.contains(word) {
            method.effects.append(word)
            position += 1
            if isAt("(") { skipBrackets() }
        }
        guard isAt("-"), token(1) != nil, tokens.isArrow(at: position + 1) else { return method }
        position += 2
        let first = position
        while let token = token(), !token.is("{"), !token.is(";"), word() != "where", !beginsMember(position) {
            skipWithAngles()
        }
        if position > first { method.result = range(from: first, to: position - 1) }
        return method
    }

    /// Moves past a declaration that has a body, or to the next member if this one has none.
    private mutating func skipToBody() {
        while let token = token() {
            if token.is("{") { return skipBrackets() }
            if token.is(";") || beginsMember(position) { return }
            skipWithAngles()
        }
    }

    private mutating func skipToNextMember() {
        while position < end, !isAt(";"), !beginsMember(position) { skipWithAngles() }
    }

    static let keywords: Set = [
        "var", "let", "func", "init", "deinit", "subscript", "typealias", "associatedtype", "struct", "class", "enum",
        "protocol", "extension", "case", "import", "operator", "precedencegroup",
    ]

    /// Whether a member begins at a token, and does not go on there.
    private func beginsMember(_ index: Int) -> Bool {
        let token = tokens[index]
        guard token.startsLine, !isUnfinished(before: index) else { return false }
        switch token.kind {
        case .punctuation:
            return token.is("@")
        case .pound:
            // The members of an expression may be under conditions too: `a` and then `#if DEBUG`, `.b()`, `#endif`.
            guard text(index) == "#if" else { return true }
            var behind = index
            while behind < end, Self.conditions.contains(text(behind)) { behind = endOfCondition(at: behind) }
            return behind >= end || !tokens[behind].is(".")
        case .word:
            let word = text(index)
            guard index + 1 < end else { return isKeyword(word) }
            let next = tokens[index + 1]
            // Any word can be the label of a closure.
            if isKeyword(word) { return !next.is(":") }
            guard Self.modifiers.contains(word) || word == "actor" || word == "macro" else { return false }
            return next.kind == .word || next.kind == .pound || next.is("@") || next.is("(")
        default:
            return false
        }
    }

    /// The words that an operand has to follow.
    private static let openWords: Set = ["try", "await", "as", "is", "else", "if", "switch"]

    /// Whether what comes before a token cannot end there: an operator that is set off by space awaits an operand, an
    /// attribute what it applies to.
    private func isUnfinished(before index: Int) -> Bool {
        guard index > 0 else { return false }
        var first = index - 1
        if tokens[first].is(",") || tokens[first].is(":") || tokens.isArrow(at: first) { return true }
        if tokens[first].kind == .word { return isOpenWord(first) || (first > 0 && tokens[first - 1].is("@")) }
        while isOperator(first), first > 0, !tokens[first].followsSpace, isOperator(first - 1) { first -= 1 }
        guard isOperator(first) else { return false }
        // `try?`
        if first == index - 1, !tokens[first].followsSpace, first > 0, isOpenWord(first - 1) { return true }
        // `a.` goes on, `a...` need not.
        let isMember = tokens[index - 1].is(".") && (first == index - 1 || !tokens[index - 2].is("."))
        return isMember || tokens[first].followsSpace
    }

    private func isOperator(_ index: Int) -> Bool {
        let token = tokens[index]
        return (token.kind == .operatorCharacter && !token.closesAngle) || token.is(".")
    }

    private func isOpenWord(_ index: Int) -> Bool {
        guard tokens[index].kind == .word, Self.openWords.contains(text(index)) else { return false }
        return index == 0 || tokens[index].followsSpace || !tokens[index - 1].is(".")
    }

    // MARK: Variables

    private mutating func readBindings(
        _ attributes: [Attribute],
        _ modifiers: [Modifier],
        isLet: Bool,
        into members: inout [Member]
    ) throws(Problem) {
        var variables: [Variable] = [try readBinding(attributes, modifiers, isLet: isLet)]
        while isAt(",") {
            position += 1
            variables.append(try readBinding(attributes, modifiers, isLet: isLet))
        }
        if variables.count > 1 {
            for index in variables.indices { variables[index].sharesDeclaration = true }
        }
        // In `var a, b: Int` the type is that of both.
        for index in variables.indices.reversed().dropFirst()
        where variables[index].type == nil && variables[index].initialValue == nil {
            variables[index].type = variables[index + 1].type
        }
        members += variables.map { .variable($0) }
        guard position >= end || isAt(";") || token()?.startsLine == true else {
            throw problem("@Entity cannot read this declaration from here on")
        }
    }

    private mutating func readBinding(
        _ attributes: [Attribute],
        _ modifiers: [Modifier],
        isLet: Bool
    ) throws(Problem) -> Variable {
        let first = position
        var name: Name?
        if isAt("(") {
            skipBrackets()
        } else {
            name = try readName()
        }
        let pattern = range(from: first, to: position - 1)
        let type = isAt(":") ? try readTypeAnnotation() : nil
        let value = isAt("=") ? try readInitialValue() : nil
        var isComputed = false
        if isAt("{") {
            isComputed = accessor(at: position).map { !Self.observers.contains($0) } ?? true
            skipBrackets()
        }
        return Variable(
            attributes: attributes,
            modifiers: modifiers,
            isLet: isLet,
            name: name,
            range: pattern,
            type: type,
            initialValue: value,
            isComputed: isComputed
        )
    }

    private mutating func readTypeAnnotation() throws(Problem) -> Range<Int> {
        position += 1
        let first = position
        while let token = token(), !token.is("="), !token.is(","), !token.is("{"), !token.is(";"),
            !beginsMember(position)
        {
            if token.is("<") {
                _ = try skipAngles()
            } else {
                skipBrackets()
            }
        }
        guard position > first else { throw problem("a type is expected here") }
        return range(from: first, to: position - 1)
    }

    private mutating func readInitialValue() throws(Problem) -> Range<Int> {
        position += 1
        let first = position
        while let token = token(), !token.is(","), !token.is(";"), position == first || !beginsMember(position) {
            if token.is("{"), position > first, accessor(at: position) != nil { break }
            // The commas of `if let a, b { … } else { … }` separate its conditions.
            if word() == "if", position == first || !tokens[position - 1].is(".") { skipToBrace() }
            skipWithAngles()
        }
        guard position > first else { throw problem("a value is expected here") }
        return range(from: first, to: position - 1)
    }

    private static let observers: Set = ["willSet", "didSet"]

    /// The first of the accessors that a brace opens, if it is one that a variable with an initial value can have. Any
    /// other braces behind a variable's type are accessors too, and behind its initial value a closure.
    private func accessor(at opening: Int) -> String? {
        var reader = self
        reader.position = opening + 1
        reader.end = tokens[opening].closing ?? end
        guard (try? reader.readAttributesAndModifiers()) != nil, let word = reader.word(), let next = reader.token(1),
            Self.observers.contains(word) || word == "init"
        else { return nil }
        return next.is("{") || next.is("(") ? word : nil
    }
}
