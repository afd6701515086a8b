/// A lexical element of Swift, as coarse as reading declarations allows: literals are one token each, with whatever they
/// interpolate, and operators are a token for each of their characters.
struct Token: Sendable {
    enum Kind: Sendable, Equatable {
        /// A name or a keyword; which of them, only the place tells.
        case word
        case number
        case string
        case regex
        /// `#if`, `#Predicate`
        case pound
        /// Brackets and `@ . , ; : \\`.
        case punctuation
        /// One character of an operator; `=`, `<`, `>`, `&`, `?` and `!` among them.
        case operatorCharacter
    }

    let kind: Kind
    /// Of bytes in the source.
    let range: Range<Int>
    /// The first byte, which says all where it is the only one.
    let character: UInt8
    /// Whether a line end lies between this token and the one before.
    let startsLine: Bool
    /// Whether white space or a comment lies between this token and the one before.
    let followsSpace: Bool
    /// The index of the bracket that closes this one, or of the `#endif` that closes this `#if`.
    var closing: Int?
    /// The index of the `>` that closes this `<`, if nothing comes between that no list of types contains.
    var closingAngle: Int?
    /// Whether it is such a `>`, and so no operator.
    var closesAngle = false

    /// Whether a list of types may contain it, brackets aside.
    var isPartOfType: Bool {
        switch kind {
        case .word, .number: true
        case .string, .regex, .pound: false
        case .punctuation: character != UInt8(ascii: ";") && character != UInt8(ascii: "\\")
        case .operatorCharacter: "&?!-<>~".utf8.contains(character)
        }
    }

    func `is`(_ character: Unicode.Scalar) -> Bool {
        (kind == .punctuation || kind == .operatorCharacter) && self.character == UInt8(ascii: character)
    }
}

extension [Token] {
    /// Whether the `>` at an index ends `->`.
    func isArrow(at index: Int) -> Bool {
        index > 0 && self[index].is(">") && self[index - 1].is("-") && !self[index].followsSpace
    }
}
