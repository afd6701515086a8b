/// The members of a struct that `@Entity` writes.
///
/// They stand in the struct, not in the extension that has the conformance, because what they take from the program (inverses,
/// initial values) means there what it means in the program: an extension of `Model.Team` sees nothing of `Model`.
struct EntityMembers {
    /// A line of the schema, or more, and the line of the program that it is about.
    struct Statement {
        let text: String
        let line: Int
    }

    /// The module selector (SE-0491) reaches Graph even where the program has a type of that name.
    #if compiler(>=6.3)
        static let module = "Graph::"
    #else
        static let module = "Graph."
    #endif

    /// `public`, …; nothing where that is the default.
    let access: String?
    let name: String
    /// Those of the schema behind its name.
    let arguments: [String]
    var statements: [Statement] = []
    /// The file that the statements' lines are of; none if it is not known.
    let fileName: String
    /// Whether the schema uses what the program says is not to be used any more.
    var isDeprecated = false
    /// Whether the program has these already, which is an error in itself.
    var hasSchema = false
    var hasObject = false

    var text: String {
        let access = access.map { $0 + " " } ?? ""
        var lines: [String] = []
        if !hasSchema {
            if isDeprecated { lines.append("@available(*, deprecated)") }
            let arguments = ([name.debugDescription] + arguments).joined(separator: ", ")
            lines.append("\(access)nonisolated static let schema = \(Self.module)EntitySchema<Self>(\(arguments)) {")
            lines += located(statements)
            lines.append("}")
        }
        if !hasObject { lines.append("\(access)typealias Object = \(Self.module)ManagedObject<Self>") }
        return lines.joined(separator: "\n")
    }

    /// The statements, with the compiler told which lines of the program they are about, so that it reports there what a
    /// property's type does not allow. It takes the file's name as it stands, so that some names cannot be written.
    private func located(_ statements: [Statement]) -> [String] {
        let indented = statements.map { Statement(text: "    " + $0.text, line: $0.line) }
        guard !fileName.isEmpty, !fileName.contains(where: { $0 == "\"" || $0 == "\\" || $0.isNewline }) else {
            return indented.map(\.text)
        }
        var lines: [String] = []
        var next: Int?
        for statement in indented {
            if next != statement.line {
                lines.append("    #sourceLocation(file: \"\(fileName)\", line: \(statement.line))")
            }
            lines.append(statement.text)
            next = statement.line + statement.text.count { $0.isNewline } + 1
        }
        return lines + ["    #sourceLocation()"]
    }
}
