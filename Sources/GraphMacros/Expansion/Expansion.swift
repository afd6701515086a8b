/// What the compiler asks when it meets one of the package's macros.
struct ExpansionRequest: Sendable {
    /// As `#externalMacro` names it.
    let macro: String
    /// `member`, `extension`, …
    var role = ""
    let attribute: SourceText
    let declaration: SourceText
    /// The name by which an extension reaches the type.
    var extendedType: String?
    /// Whether the type does not conform yet.
    var addsConformance = true
    /// The declarations around this one without their members, from the innermost out.
    var lexicalContext: [SourceText] = []
}

/// The answer: what is written into the program, and what the program's author is told.
struct Expansion: Equatable, Sendable {
    /// nil if there is nothing to say to the compiler but the problems.
    let source: String?
    var problems: [Problem] = []
    /// Whether the problems' ranges are those of the attribute, not of the declaration.
    var concernsAttribute = false
}

extension Expansion {
    init(of request: ExpansionRequest) {
        switch request.macro {
        case "EntityMacro":
            self = EntityMacro.expand(request)
        case "PropertyMacro":
            self = PropertyMacro.expand(request)
        default:
            self.init(
                source: nil,
                problems: [
                    Problem(
                        message: "Graph has no macro '\(request.macro)'; the program may need a newer version of Graph",
                        range: 0..<0)
                ],
                concernsAttribute: true
            )
        }
    }
}
