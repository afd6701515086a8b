/// Cuts Swift source into tokens, after the lexical structure in *The Swift Programming Language*.
///
/// The compiler has parsed the source before, so this reads valid programs rightly and need only notice what it cannot
/// read. It takes time in proportion to the source and does not recurse, whatever the source is.
struct Lexer {
    let bytes: [UInt8]
    var position = 0
    var tokens: [Token] = []
    /// The indices of the brackets and conditions of compilation that are still open.
    private var open: [Int] = []
    private var startsLine = true
    var followsSpace = true

    /// The tokens of a source; each opening bracket knows its closing one.
    static func tokens(of source: SourceText) throws(Problem) -> [Token] {
        var lexer = Lexer(bytes: source.bytes)
        try lexer.run()
        return lexer.tokens
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    private mutating func run() throws(Problem) {
        while true {
            try skipSpace()
            guard position < bytes.count else { break }
            try readToken()
            startsLine = false
            followsSpace = false
        }
        if let last = open.last { throw problem("this bracket is not closed", at: tokens[last].range.lowerBound) }
        matchAngles()
    }

    /// Finds what could be lists of generic parameters or arguments.
    private mutating func matchAngles() {
        /// The `<` that await their `>`.
        var open: [Int] = []
        /// How many of them are outside each of the brackets around a token, which they cannot cross.
        var outside: [Int] = []
        for (index, token) in tokens.enumerated() {
            let inside = open.count - (outside.last ?? 0)
            if token.is("{") || !token.isPartOfType || namesOperator(index + 1) { open.removeLast(inside) }
            if token.is("(") || token.is("[") || token.is("{") {
                outside.append(open.count)
            } else if token.is(")") || token.is("]") || token.is("}") {
                open.removeLast(inside)
                outside.removeLast()
            } else if token.is("<") {
                open.append(index)
            } else if token.is(">"), !tokens.isArrow(at: index), inside > 0 {
                let opening = open.removeLast()
                tokens[opening].closingAngle = index
                tokens[index].closesAngle = true
            }
        }
    }

    /// Whether an operator at an index is one that is being declared.
    func namesOperator(_ index: Int) -> Bool {
        guard index > 0, tokens[index - 1].kind == .word else { return false }
        let word = bytes[tokens[index - 1].range]
        return word.elementsEqual("func".utf8) || word.elementsEqual("operator".utf8)
    }

    func problem(_ message: String, at offset: Int) -> Problem {
        Problem(message: message, range: offset..<min(offset + 1, bytes.count))
    }

    func byte(_ distance: Int = 0) -> UInt8? {
        position + distance < bytes.count ? bytes[position + distance] : nil
    }

    func isAt(_ text: StaticString) -> Bool {
        guard bytes.count - position >= text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { $0.elementsEqual(bytes[position..<position + text.utf8CodeUnitCount]) }
    }

    // MARK: White space

    private mutating func skipSpace() throws(Problem) {
        while let byte = byte() {
            switch byte {
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
                startsLine = true
                position += 1
            case UInt8(ascii: " "), 0x09, 0x0B, 0x0C, 0:
                position += 1
            case UInt8(ascii: "/") where self.byte(1) == UInt8(ascii: "/"):
                skipLine()
            case UInt8(ascii: "/") where self.byte(1) == UInt8(ascii: "*"):
                try skipBlockComment()
            case 0xC2 where self.byte(1) == 0xA0:
                position += 2  // U+00A0, which the compiler takes for a space
            default:
                return
            }
            followsSpace = true
        }
    }

    mutating func skipLine() {
        while let byte = byte(), byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") { position += 1 }
    }

    /// Block comments nest.
    mutating func skipBlockComment() throws(Problem) {
        let start = position
        var depth = 0
        repeat {
            if isAt("/*") {
                depth += 1
                position += 2
            } else if isAt("*/") {
                depth -= 1
                position += 2
            } else if let byte = byte() {
                if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") { startsLine = true }
                position += 1
            } else {
                throw problem("this comment does not end", at: start)
            }
        } while depth > 0
    }

    // MARK: Tokens

    private mutating func readToken() throws(Problem) {
        guard let first = byte() else { return }
        let start = position
        switch first {
        case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"):
            open.append(tokens.count)
            append(.punctuation, length: 1)
        case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"):
            try close(first)
        case UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: ":"), UInt8(ascii: "."), UInt8(ascii: "@"),
            UInt8(ascii: "\\"):
            append(.punctuation, length: 1)
        case UInt8(ascii: "\""):
            try skipString(delimiters: 0)
            append(.string, from: start)
        case UInt8(ascii: "#"):
            try readPound()
        case UInt8(ascii: "`"):
            guard let end = bytes[(start + 1)...].firstIndex(of: first), end > start + 1 else {
                throw problem("this backtick has no closing one", at: start)
            }
            position = end + 1
            append(.word, from: start)
        case UInt8(ascii: "0")...UInt8(ascii: "9"):
            skipNumber()
            append(.number, from: start)
        case UInt8(ascii: "/"):
            if skipBareRegex() {
                append(.regex, from: start)
            } else {
                append(.operatorCharacter, length: 1)
            }
        default:
            try readWordOrOperator()
        }
    }

    mutating func append(_ kind: Token.Kind, from start: Int) {
        tokens.append(
            Token(
                kind: kind,
                range: start..<position,
                character: bytes[start],
                startsLine: startsLine,
                followsSpace: followsSpace
            )
        )
    }

    mutating func append(_ kind: Token.Kind, length: Int) {
        position += length
        append(kind, from: position - length)
    }

    private mutating func close(_ bracket: UInt8) throws(Problem) {
        guard let opening = open.popLast(), tokens[opening].character == Self.opening(bracket) else {
            throw problem("this bracket closes nothing", at: position)
        }
        tokens[opening].closing = tokens.count
        append(.punctuation, length: 1)
    }

    /// Conditions of compilation enclose their branches, as brackets do.
    mutating func matchCondition(from start: Int) {
        let directive = bytes[start..<position]
        if directive.elementsEqual("#if".utf8) {
            open.append(tokens.count)
        } else if directive.elementsEqual("#endif".utf8), let last = open.last, tokens[last].kind == .pound {
            open.removeLast()
            tokens[last].closing = tokens.count
        }
    }

    private static func opening(_ bracket: UInt8) -> UInt8 {
        switch bracket {
        case UInt8(ascii: ")"): UInt8(ascii: "(")
        case UInt8(ascii: "]"): UInt8(ascii: "[")
        default: UInt8(ascii: "{")
        }
    }

    private mutating func readWordOrOperator() throws(Problem) {
        let start = position
        guard let (scalar, length) = scalar(at: position) else {
            throw problem("this is not UTF-8", at: position)
        }
        if Self.isOperator(scalar) {
            return append(.operatorCharacter, length: length)
        }
        guard Self.isWord(scalar) else { throw problem("Swift does not allow this character here", at: position) }
        skipWord()
        append(.word, from: start)
    }

    mutating func skipWord() {
        while let (scalar, length) = scalar(at: position), Self.isWord(scalar), !Self.isOperator(scalar) {
            position += length
        }
    }

    private mutating func skipNumber() {
        while let byte = byte() {
            if byte == UInt8(ascii: "."), let next = self.byte(1),
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next)
            {
                position += 2
            } else if Self.isWord(Unicode.Scalar(byte)), byte < 0x80 {
                position += 1
            } else {
                return
            }
        }
    }

    // MARK: Characters

    /// The Unicode scalar that begins at a byte and its length, or nil if none does.
    private func scalar(at offset: Int) -> (Unicode.Scalar, length: Int)? {
        guard offset < bytes.count else { return nil }
        if bytes[offset] < 0x80 { return (Unicode.Scalar(bytes[offset]), 1) }
        var decoder = UTF8()
        var iterator = bytes[offset..<min(offset + 4, bytes.count)].makeIterator()
        guard case .scalarValue(let scalar) = decoder.decode(&iterator) else { return nil }
        return (scalar, UTF8.width(scalar))
    }

    private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "_", "$": true
        default: scalar.value >= 0x80 && scalar.value != 0xA0
        }
    }

    /// The characters of operators, as the language's grammar lists them.
    private static func isOperator(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        // ! % & * + - / < = > ? ^ | ~
        case 0x21, 0x25, 0x26, 0x2A, 0x2B, 0x2D, 0x2F, 0x3C...0x3F, 0x5E, 0x7C, 0x7E: true
        case 0xA1...0xA7, 0xA9, 0xAB, 0xAC, 0xAE, 0xB0, 0xB1, 0xB6, 0xBB, 0xBF, 0xD7, 0xF7: true
        case 0x2016, 0x2017, 0x2020...0x2027, 0x2030...0x203E, 0x2041...0x2053, 0x2055...0x205E: true
        case 0x2190...0x23FF, 0x2500...0x2775, 0x2794...0x2BFF, 0x2E00...0x2E7F, 0x3001...0x3003, 0x3008...0x3020: true
        case 0x3030: true
        default: false
        }
    }
}
