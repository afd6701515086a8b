/// Reads the declaration of a type from its tokens: its header, and of its members the variables.
///
/// Everything in round, square or curly brackets is passed over as a whole, so bodies and expressions are never read,
/// and nothing recurses. Where an initial value or a type ends follows from what can begin the next member.
struct DeclarationReader {
    private let source: SourceText
    let tokens: [Token]
    var position = 0
    /// Where the tokens being read end: at the end of the source, or at the bracket that closes the body.
    var end: Int

    /// A declaration with its members, if it is one of a struct.
    static func read(_ source: SourceText) throws(Problem) -> TypeDeclaration {
        var reader = DeclarationReader(source: source, tokens: try Lexer.tokens(of: source))
        var declaration = try reader.readHeader()
        guard reader.isAt("{"), let closing = reader.token()?.closing else {
            throw reader.problem("the body of \(declaration.name.text) is expected here")
        }
        guard declaration.keyword == "struct" else { return declaration }
        reader.position += 1
        reader.end = closing
        declaration.members = try reader.readMembers()
        return declaration
    }

    /// A declaration up to its body. Of what is around another declaration the compiler passes an empty body, which a comment may
    /// have swallowed.
    static func readHeader(_ source: SourceText) throws(Problem) -> TypeDeclaration {
        var reader = DeclarationReader(source: source, tokens: try Lexer.tokens(of: source))
        return try reader.readHeader()
    }

    /// The attribute at the start of a source.
    static func readAttribute(_ source: SourceText) throws(Problem) -> Attribute {
        var reader = DeclarationReader(source: source, tokens: try Lexer.tokens(of: source))
        return try reader.readAttribute()
    }

    private init(source: SourceText, tokens: [Token]) {
        self.source = source
        self.tokens = tokens
        end = tokens.count
    }

    // MARK: Tokens

    func text(_ index: Int) -> String { source[tokens[index].range] }

    func token(_ distance: Int = 0) -> Token? {
        position + distance < end ? tokens[position + distance] : nil
    }

    func isAt(_ character: Unicode.Scalar) -> Bool { token()?.is(character) ?? false }

    /// The word that is next, nil if something else is.
    func word(_ distance: Int = 0) -> String? {
        token(distance)?.kind == .word ? text(position + distance) : nil
    }

    func range(from first: Int, to last: Int) -> Range<Int> {
        tokens[first].range.lowerBound..<max(tokens[first].range.lowerBound, tokens[last].range.upperBound)
    }

    func problem(_ message: String) -> Problem {
        let place = position < tokens.count ? tokens[position].range : source.bytes.count..<source.bytes.count
        return Problem(message: message, range: place)
    }

    /// Moves past a bracket and all that it encloses.
    mutating func skipBrackets() {
        position = (tokens[position].closing ?? position) + 1
    }

    mutating func skipToBrace() {
        while let token = token(), !token.is("{") { skipBrackets() }
    }

    // MARK: The type

    private mutating func readHeader() throws(Problem) -> TypeDeclaration {
        let (attributes, modifiers) = try readAttributesAndModifiers()
        guard let keyword = word() else { throw problem("a declaration is expected here") }
        let keywordRange = tokens[position].range
        position += 1
        // What has no name goes by its keyword.
        let isNameless = ["init", "deinit", "subscript"].contains(keyword)
        let name = isNameless ? Name(source: keyword, range: keywordRange) : try readName()
        let genericParameters = isAt("<") ? try skipAngles() : nil
        let inherited = try readInherited()
        skipToBrace()
        return TypeDeclaration(
            attributes: attributes,
            modifiers: modifiers,
            keyword: keyword,
            keywordRange: keywordRange,
            name: name,
            genericParameters: genericParameters,
            inherited: inherited
        )
    }

    mutating func readName() throws(Problem) -> Name {
        guard let word = word() else { throw problem("a name is expected here") }
        position += 1
        return Name(source: word, range: tokens[position - 1].range)
    }

    private mutating func readInherited() throws(Problem) -> [Range<Int>] {
        guard isAt(":") else { return [] }
        var inherited: [Range<Int>] = []
        repeat {
            position += 1
            let first = position
            while let token = token(), !token.is(","), !token.is("{"), word() != "where" {
                if token.is("<") {
                    _ = try skipAngles()
                } else if token.closing != nil {
                    skipBrackets()
                } else {
                    position += 1
                }
            }
            if position > first { inherited.append(range(from: first, to: position - 1)) }
        } while isAt(",")
        return inherited
    }

    mutating func skipAngles() throws(Problem) -> Range<Int> {
        guard let closing = token()?.closingAngle else { throw problem("this bracket is not closed") }
        defer { position = closing + 1 }
        return range(from: position, to: closing)
    }

    /// Moves past one token, or past all that brackets enclose, where angle brackets that match enclose types. They do so
    /// even in a variable's initial value: behind the comma of `a < b, c` come a name and `=`, which no list of types has.
    mutating func skipWithAngles() {
        if let closing = token()?.closingAngle {
            position = closing + 1
        } else {
            skipBrackets()
        }
    }

    /// Moves past one token of an argument or, if it begins a list of generic arguments or is a bracket, past all that it
    /// encloses.
    private mutating func skipPartOfArgument() {
        if let closing = token()?.closingAngle, endsGenericArguments(closing + 1) {
            position = closing + 1
        } else {
            skipBrackets()
        }
    }

    /// Whether `<…>` before a token is a list of generic arguments, and not two comparisons; the compiler decides by the
    /// same rule.
    private func endsGenericArguments(_ index: Int) -> Bool {
        guard index < tokens.count, !tokens[index].startsLine else { return true }
        let token = tokens[index]
        return token.kind == .punctuation && !token.is("@") && !token.is("\\")
            || token.is("?") || token.is("!") || token.is("=") || token.is(">")
    }

    // MARK: Attributes and modifiers

    static let modifiers: Set = [
        "public", "private", "fileprivate", "internal", "package", "open", "static", "final", "lazy", "weak", "unowned",
        "mutating", "nonmutating", "nonisolated", "override", "required", "convenience", "dynamic", "optional",
        "indirect", "prefix", "postfix", "infix", "distributed", "consuming", "borrowing", "isolated",
        "__consuming", "_const", "_local",
    ]

    mutating func readAttributesAndModifiers() throws(Problem) -> ([Attribute], [Modifier]) {
        var attributes: [Attribute] = []
        var modifiers: [Modifier] = []
        while true {
            if isAt("@") {
                attributes.append(try readAttribute())
            } else if let name = word(), Self.modifiers.contains(name) || (name == "class" && isKeyword(word(1))) {
                let first = position
                position += 1
                var detail: String?
                if isAt("(") {
                    detail = word(1)
                    skipBrackets()
                }
                modifiers.append(Modifier(name: name, detail: detail, range: range(from: first, to: position - 1)))
            } else {
                return (attributes, modifiers)
            }
        }
    }

    func isKeyword(_ word: String?) -> Bool { word.map { Self.keywords.contains($0) } ?? false }

    private mutating func readAttribute() throws(Problem) -> Attribute {
        let first = position
        guard isAt("@") else { throw problem("an attribute is expected here") }
        position += 1
        var name = try readName()
        let start = name.range.lowerBound
        while let token = token(), !token.followsSpace {
            if token.is("<") {
                _ = try skipAngles()
            } else if token.is(".") || token.is(":") {
                position += 1
                if isAt(":") { position += 1 }
                name = try readName()
            } else {
                break
            }
        }
        var arguments: [Attribute.Argument] = []
        if isAt("("), let closing = token()?.closing {
            arguments = readArguments(upTo: closing)
            position = closing + 1
        }
        return Attribute(
            name: name.text,
            qualifier: source[start..<name.range.lowerBound],
            range: range(from: first, to: position - 1),
            arguments: arguments
        )
    }

    /// From the opening bracket on.
    private mutating func readArguments(upTo closing: Int) -> [Attribute.Argument] {
        var arguments: [Attribute.Argument] = []
        position += 1
        while position < closing {
            var label: String?
            // `Graph::Team` begins with no label.
            if token(1)?.is(":") == true, token(2)?.is(":") == false, let word = word() {
                label = word
                position += 2
            }
            let first = position
            while position < closing, !isAt(",") {
                skipPartOfArgument()
            }
            if position > first {
                arguments.append(Attribute.Argument(label: label, value: range(from: first, to: position - 1)))
            }
            position += 1
        }
        return arguments
    }
}
