/// A type's declaration, as far as a macro needs it. Ranges are of bytes in the source text.
struct TypeDeclaration: Sendable {
    var attributes: [Attribute]
    var modifiers: [Modifier]
    /// `struct`, `class`, `enum`, …
    let keyword: String
    let keywordRange: Range<Int>
    let name: Name
    /// `<T>`
    let genericParameters: Range<Int>?
    let inherited: [Range<Int>]
    var members: [Member] = []
}

/// A name as it is written and as it is meant: without the back-ticks.
struct Name: Sendable {
    let source: String
    let range: Range<Int>

    var text: String {
        source.count > 2 && source.hasPrefix("`") ? String(source.dropFirst().dropLast()) : source
    }
}

/// `@Relationship(.cascade, inverse: \Image.topic)`
struct Attribute: Sendable {
    /// Without what qualifies it.
    let name: String
    /// The module or type before it, `""` if there is none.
    let qualifier: String
    let range: Range<Int>
    let arguments: [Argument]

    struct Argument: Sendable {
        let label: String?
        let value: Range<Int>
    }
}

/// `private`, or `private(set)` with what is in the brackets.
struct Modifier: Sendable {
    let name: String
    let detail: String?
    let range: Range<Int>
}

enum Member: Sendable {
    case variable(Variable)
    /// `#if DEBUG`, `#elseif …`, `#else`, `#endif`
    case condition(Condition)
    case method(Method)
    /// Any other declaration: the keyword, and the name if it is a type's.
    case other(keyword: String, name: Name?, attributes: [Attribute])
}

struct Condition: Sendable {
    /// `#if`, …
    let directive: String
    /// The whole line.
    let range: Range<Int>
}

/// A function that has a name, so no operator.
struct Method: Sendable {
    let attributes: [Attribute]
    let modifiers: [Modifier]
    let name: Name
    var isGeneric = false
    var hasParameters = false
    /// `async`, `throws`, …
    var effects: [String] = []
    /// The type of what it returns, if it is written.
    var result: Range<Int>?
}

/// One name that a `var` or `let` binds.
struct Variable: Sendable {
    let attributes: [Attribute]
    let modifiers: [Modifier]
    let isLet: Bool
    /// nil for a pattern, as in `var (a, b) = (1, 2)`.
    let name: Name?
    /// Of the name or the pattern.
    let range: Range<Int>
    var type: Range<Int>?
    let initialValue: Range<Int>?
    /// Whether the attributes are those of other variables too, as in `@Unique var a, b: Int`.
    var sharesDeclaration = false
    /// Whether it has accessors of its own, so that nothing is stored. Observers leave it stored.
    let isComputed: Bool

    func modifier(_ names: String...) -> Modifier? {
        modifiers.first { names.contains($0.name) && $0.detail != "set" }
    }

    var isStored: Bool { !isComputed && modifier("static", "class") == nil }
}
