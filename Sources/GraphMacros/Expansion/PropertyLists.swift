/// What `@Entity` is given as `unique:` or `indexed:`: lists of properties' names, which have to be written out there.
struct PropertyLists {
    struct List {
        var names: [Name] = []
        let range: Range<Int>
    }

    struct Name {
        let text: String
        let range: Range<Int>
    }

    private(set) var lists: [List] = []
    /// Of what is no list of lists of names.
    private(set) var problems: [Problem] = []
    private let text: SourceText
    private let tokens: [Token]
    /// Of the text in the source.
    private let start: Int

    init(_ argument: Range<Int>, in source: SourceText) throws(Problem) {
        text = SourceText(source[argument])
        tokens = try Lexer.tokens(of: text)
        start = argument.lowerBound
        guard let elements = elements(of: tokens.indices) else {
            report(
                "write the lists out, as in [[\"first\", \"last\"]], so that @Entity sees the names", at: tokens.indices
            )
            return
        }
        for element in elements { readList(element) }
    }

    private mutating func readList(_ indices: Range<Int>) {
        guard let elements = elements(of: indices) else {
            return report("write a list of properties out here, as in [\"first\", \"last\"]", at: indices)
        }
        if elements.isEmpty { report("this list names no properties", at: indices) }
        var list = List(range: range(of: indices))
        for element in elements {
            if let name = name(element) {
                list.names.append(name)
            } else {
                report("write a property's name here, as in \"first\"", at: element)
            }
        }
        lists.append(list)
    }

    private mutating func report(_ message: String, at indices: Range<Int>) {
        problems.append(Problem(message: message, range: range(of: indices)))
    }

    /// What is wrong with the names.
    func problems(with properties: [PropertyDeclaration], of entity: String) -> [Problem] {
        lists.flatMap { list in
            list.names.indices.compactMap { index in
                let name = list.names[index]
                let isRepeated = list.names[..<index].contains { $0.text == name.text }
                let message =
                    isRepeated ? "'\(name.text)' occurs twice in this list" : problem(of: name.text, properties, entity)
                return message.map { Problem(message: $0, range: name.range) }
            }
        }
    }

    /// There may be several properties of a name, under conditions of compilation.
    private func problem(of name: String, _ properties: [PropertyDeclaration], _ entity: String) -> String? {
        let named = properties.filter { $0.name == name }
        if named.isEmpty { return "'\(entity)' has no stored property '\(name)'" }
        if named.allSatisfy(\.isTransient) {
            return "a transient value is not saved, so it cannot be unique or indexed"
        }
        if named.allSatisfy(\.isToMany) {
            return "a row does not hold its to-many relationships, so they cannot be unique or indexed"
        }
        return nil
    }

    // MARK: Tokens

    private func range(of indices: Range<Int>) -> Range<Int> {
        guard let first = indices.first, let last = indices.last else { return start..<start }
        return start + tokens[first].range.lowerBound..<start + tokens[last].range.upperBound
    }

    /// The elements of an array literal; nil if the tokens are anything else.
    private func elements(of indices: Range<Int>) -> [Range<Int>]? {
        guard let first = indices.first, tokens[first].is("["), tokens[first].closing == indices.upperBound - 1 else {
            return nil
        }
        var elements: [Range<Int>] = []
        var index = first + 1
        while index < indices.upperBound - 1 {
            let start = index
            while index < indices.upperBound - 1, !tokens[index].is(",") {
                index = (tokens[index].closing ?? index) + 1
            }
            elements.append(start..<index)
            index += 1
        }
        return elements
    }

    /// nil if the tokens are anything but a string literal that means what it shows.
    private func name(_ indices: Range<Int>) -> Name? {
        guard indices.count == 1, let token = indices.first.map({ tokens[$0] }), token.kind == .string else {
            return nil
        }
        let literal = text[token.range]
        guard literal.hasPrefix("\""), !literal.hasPrefix("\"\"\""), !literal.contains("\\") else { return nil }
        return Name(text: String(literal.dropFirst().dropLast()), range: range(of: indices))
    }
}
