/// One variable of an entity, and what the schema says of it.
struct PropertyDeclaration {
    private let variable: Variable
    private let source: SourceText
    /// The name of the struct.
    private let entity: Name

    init(_ variable: Variable, of entity: Name, in source: SourceText) {
        self.variable = variable
        self.entity = entity
        self.source = source
    }

    /// The members of `ManagedObject`, which hide an entity's property of the same name. `id` is another matter: many structs
    /// have one for other reasons, and their author is only warned.
    static let hiddenNames: Set = [
        "value", "version", "isInserted", "isUpdated", "isDeleted", "hasChanges", "committedValue", "delete", "anyID",
        "context", "replacedBy", "changedValues", "refresh", "discardChanges", "hash", "hashValue", "debugDescription",
    ]

    /// Attributes of the language that leave a property stored as it is.
    private static let languageAttributes: Set = [
        "available", "usableFromInline", "exclusivity", "_spi", "preconcurrency",
    ]

    private func own(_ name: String) -> Attribute? {
        variable.attributes.first { $0.name == name && $0.isGraphs }
    }

    /// nil if it is not stored.
    var name: String? { variable.isStored ? variable.name?.text : nil }

    var isTransient: Bool { own("Transient") != nil }

    var isToMany: Bool { (try? type())?.kind == .toMany }

    /// Whether it is the schema itself.
    var isSchema: Bool { variable.name?.text == "schema" && variable.modifier("static") != nil }

    var isDeprecated: Bool {
        variable.attributes.contains { attribute in
            attribute.name == "available"
                && attribute.arguments.contains { source[$0.value] == "deprecated" || $0.label == "deprecated" }
        }
    }

    /// A statement of the schema, or nil if the schema leaves the variable out or it has a problem.
    func line(reporting problems: inout [Problem]) throws(Problem) -> String? {
        let found = try findProblem()
        if let found, !problems.contains(found) { problems.append(found) }
        guard found == nil, variable.isStored, let name = variable.name else { return nil }
        if name.text == "id", !problems.contains(where: \.isWarning) { problems.append(hiddenIdentifier(name)) }
        let kind = try type()?.kind ?? .attribute
        let method =
            switch kind {
            case _ where isTransient: "transient"
            case .toOne: "toOne"
            case .toMany: "toMany"
            case .attribute, .wrappedRelationship: "attribute"
            }
        let arguments = ["\(name.text.debugDescription)", "\\.\(name.source)"] + (try options())
        return "$0.\(method)(\(arguments.joined(separator: ", ")))"
    }

    /// A statement with the value that an attribute has in objects which are older than it, or nil if it is declared without one.
    func defaultLine() throws(Problem) -> String? {
        guard let name = variable.name, let value = variable.initialValue, !isTransient, source[value] != "nil",
            try type()?.kind == .attribute
        else { return nil }
        return "$0.defaultValue(of: \\.\(name.source), \(try defaultValue()))"
    }

    /// In the order of the schema's parameters.
    private func options() throws(Problem) -> [String] {
        var options: [String] = []
        if isTransient { options.append("default: \(try defaultValue())") }
        if let unique = own("Unique") {
            options.append("unique: true")
            options += copies(of: ["onConflict"], from: unique)
        }
        if own("Indexed") != nil { options.append("indexed: true") }
        if let relationship = own("Relationship") {
            if inverse != nil { options += copies(of: ["inverse"], from: relationship) }
            if let rule = relationship.argument(nil) { options.append("deleteRule: \(source[rule.value])") }
            options += copies(of: ["ordered", "minimum", "maximum", "originalName"], from: relationship)
        }
        if let attribute = own("Attribute") { options += copies(of: ["originalName"], from: attribute) }
        return options
    }

    /// Those of an attribute's arguments, in this order, that there are.
    private func copies(of labels: [String], from attribute: Attribute) -> [String] {
        labels.compactMap { label in
            attribute.argument(label).map { "\(label): \(source[$0.value])" }
        }
    }

    /// The key path that is named as inverse, if one is.
    private var inverse: Range<Int>? {
        own("Relationship")?.argument("inverse").flatMap { source[$0.value] == "nil" ? nil : $0.value }
    }

    /// The initial value as an argument.
    private func defaultValue() throws(Problem) -> String {
        guard let range = variable.initialValue else { return "nil" }
        let value = SourceText(source[range])
        let first = try Lexer.tokens(of: value).first.map { value[$0.range] }
        // These may be initial values, but arguments only as the result of a closure.
        if first == "if" || first == "switch" { return "{ \(source[range]) }()" }
        // Nothing may follow a directive on its line.
        return source[range] + (source[range].hasSuffix("#endif") ? "\n        " : "")
    }

    private func type() throws(Problem) -> PropertyType? {
        if let type = variable.type { return try PropertyType(annotation: SourceText(source[type])) }
        guard let value = variable.initialValue else { return nil }
        return try PropertyType(initialValue: SourceText(source[value]))
    }

    // MARK: Problems

    /// The first thing that is wrong with the declaration.
    private func findProblem() throws(Problem) -> Problem? {
        guard variable.isStored else {
            return variable.attributes.first(where: \.isOfProperty)?.misplaced ?? ownSchema()
        }
        guard let name = variable.name else {
            return problem("write a variable for each of these names, so that @Entity sees their types")
        }
        if let problem = modifierProblem(name) ?? nameProblem(name) ?? attributeProblem(name) { return problem }
        return try typeProblem(name)
    }

    private func problem(_ message: String, at range: Range<Int>? = nil) -> Problem {
        Problem(message: message, range: range ?? variable.range)
    }

    private func ownSchema() -> Problem? {
        guard isSchema else { return nil }
        return problem("@Entity declares 'schema': remove this one, or write ': Entity' instead of '@Entity'")
    }

    private func modifierProblem(_ name: Name) -> Problem? {
        if let lazy = variable.modifier("lazy") {
            return problem(
                "a row has no lazy properties: make '\(name.text)' computed, or give it its value at insert",
                at: lazy.range)
        }
        if let weak = variable.modifier("weak", "unowned") {
            return problem(
                "a row holds values, not references: to refer to an object of another entity write 'var \(name.text): ToOne<…> = nil'",
                at: weak.range)
        }
        if variable.isLet, variable.initialValue != nil {
            return problem(
                "every row would store the same '\(name.text)': write 'static let', or 'var' if it can change")
        }
        return nil
    }

    private func nameProblem(_ name: Name) -> Problem? {
        if name.text == "schema" { return problem("@Entity declares 'schema': choose another name") }
        guard Self.hiddenNames.contains(name.text) else { return nil }
        return problem(
            "every managed object has a member '\(name.text)', which would hide this property: choose another name")
    }

    private func hiddenIdentifier(_ name: Name) -> Problem {
        let message =
            "objects have an 'id' of their own, their identifier, which hides this property: choose another name, with "
            + "'@Attribute(originalName: \"id\")' if there are files already, or read it as 'object.value.id'"
        return Problem(message: message, range: name.range, isWarning: true)
    }

    private func attributeProblem(_ name: Name) -> Problem? {
        if variable.sharesDeclaration, let attribute = own("Attribute") ?? own("Relationship") {
            return problem(
                "'@\(attribute.name)' would apply to all of these: write a '\(variable.isLet ? "let" : "var")' for each",
                at: attribute.range)
        }
        if let attribute = own("Attribute"), attribute.argument(nil) != nil {
            return problem(
                "write options as attributes of their own: '@Unique', '@Indexed', '@Transient'", at: attribute.range)
        }
        let foreign = variable.attributes.first { attribute in
            !attribute.isOfProperty && !Self.languageAttributes.contains(attribute.name)
        }
        guard let foreign else { return nil }
        switch foreign.name {
        case "MainActor":
            return problem("rows go to every context and thread: remove '@MainActor'", at: foreign.range)
        default:
            return problem(
                "@Entity cannot see how '@\(foreign.name)' stores '\(name.text)': remove it, or write the schema by hand",
                at: foreign.range)
        }
    }

    private func typeProblem(_ name: Name) throws(Problem) -> Problem? {
        guard let type = try type() else {
            guard !isTransient else { return nil }
            return problem(
                "write the type of '\(name.text)': the value does not show whether it is an attribute or a relationship"
            )
        }
        if let transient = own("Transient") { return transientProblem(name, type, transient) }
        switch type.kind {
        case .attribute:
            return own("Relationship").map {
                problem("'@Relationship' needs a property whose type is written as ToOne<…> or ToMany<…>", at: $0.range)
            }
        case .wrappedRelationship:
            return problem(
                "a relationship is a ToOne, which can be nil, or a ToMany, not part of another type", at: variable.type)
        case .toOne, .toMany:
            if let problem = try inverseProblem(name, type) ?? countProblem(type) { return problem }
            let attribute = own("Unique") ?? own("Indexed") ?? own("Attribute")
            return attribute.map {
                problem(
                    $0.name == "Indexed"
                        ? "a relationship always has an index: remove '@Indexed'"
                        : "'@\($0.name)' is for attributes: give a relationship's options to '@Relationship'",
                    at: $0.range)
            }
        }
    }

    private func inverseProblem(_ name: Name, _ type: PropertyType) throws(Problem) -> Problem? {
        guard let inverse else { return nil }
        let path = SourceText(source[inverse])
        let words = try Lexer.tokens(of: path).map { path[$0.range] }
        if words.starts(with: ["\\", "."]) {
            let path = source[inverse].dropFirst()
            return problem(
                "name the other entity in the key path, as in '\\\(type.target ?? "Other")\(path)'", at: inverse)
        }
        guard [entity.source, "Self"].contains(where: { words == ["\\", $0, ".", name.source] }) else { return nil }
        return problem(
            "an attribute cannot name its own property, which is a circular reference for the compiler: write the schema by hand, with 'inverse: \(source[inverse])'",
            at: inverse)
    }

    private func countProblem(_ type: PropertyType) -> Problem? {
        guard type.kind == .toOne, let relationship = own("Relationship") else { return nil }
        if let ordered = relationship.argument("ordered") {
            return problem(
                "a ToOne leads to one object at most: write 'ordered:' at the other end, if that is a ToMany",
                at: ordered.value)
        }
        return relationship.argument("maximum").map {
            problem("a ToOne leads to one object at most: 'maximum:' is for a ToMany", at: $0.value)
        }
    }

    private func transientProblem(_ name: Name, _ type: PropertyType, _ transient: Attribute) -> Problem? {
        if type.kind == .toMany {
            return problem("a to-many relationship cannot be transient: remove '@Transient'", at: transient.range)
        }
        let other = own("Unique") ?? own("Indexed") ?? own("Attribute") ?? own("Relationship")
        if let other {
            return problem(
                "'@\(other.name)' is for stored values, and a transient value is not stored: remove one of the two",
                at: other.range)
        }
        if variable.isLet || (variable.initialValue == nil && !type.isOptional) {
            return problem(
                "a transient value must be a 'var' with a default: write 'var \(name.text): … = …'")
        }
        return nil
    }
}
