/// `@Entity`: the conformance and the schema of a struct, as one would write them by hand.
struct EntityMacro {
    private let request: ExpansionRequest
    private let source: SourceText
    /// The types and functions around the declaration, from the innermost out, with their sources.
    private let contexts: [(source: SourceText, header: TypeDeclaration)]
    private var problems: [Problem] = []

    static func expand(_ request: ExpansionRequest) -> Expansion {
        var macro = EntityMacro(request: request)
        do throws(Problem) {
            switch request.role {
            case "member": return Expansion(source: try macro.members(), problems: macro.problems)
            case "extension": return Expansion(source: try macro.conformance(), problems: macro.problems)
            default: return Expansion(source: "")
            }
        } catch {
            return Expansion(source: nil, problems: macro.problems + [error])
        }
    }

    private init(request: ExpansionRequest) {
        self.request = request
        source = request.declaration
        contexts = request.lexicalContext.compactMap { context in
            (try? DeclarationReader.readHeader(context)).map { (context, $0) }
        }
    }

    private mutating func report(_ message: String, at range: Range<Int>) {
        problems.append(Problem(message: message, range: range))
    }

    private mutating func members() throws(Problem) -> String {
        let declaration = try DeclarationReader.read(source)
        guard !isLocal(declaration), try problemsOfKind(declaration).isEmpty else { return "" }
        var result = EntityMembers(
            access: access(of: declaration),
            name: declaration.name.text,
            arguments: arguments(of: declaration),
            fileName: source.fileName
        )
        try describe(declaration, in: &result)
        try describeLists(of: declaration, in: &result)
        checkHooks(of: declaration)
        return result.text
    }

    /// The compiler asks for the members of local types too, though they can have no extension.
    private mutating func isLocal(_ declaration: TypeDeclaration) -> Bool {
        let functions: Set = ["func", "init", "deinit", "subscript", "var", "let"]
        guard contexts.contains(where: { functions.contains($0.header.keyword) }) else { return false }
        let name = declaration.name
        report("an entity cannot be declared inside a function: move '\(name.text)' out of it", at: name.range)
        return true
    }

    /// Says what the struct as a whole gets wrong, too; what cannot be read is for `members` to say.
    private mutating func conformance() throws(Problem) -> String {
        guard let declaration = try? DeclarationReader.read(source) else { return "" }
        problems = try problemsOfKind(declaration)
        guard problems.isEmpty, request.addsConformance else { return "" }
        let type = request.extendedType ?? declaration.name.source
        let conformance = "extension \(type): \(EntityMembers.module)Entity {}"
        return (availability(of: declaration) + [conformance]).joined(separator: "\n")
    }

    private func problemsOfKind(_ declaration: TypeDeclaration) throws(Problem) -> [Problem] {
        var macro = self
        macro.checkKind(of: declaration)
        macro.checkPlace(of: declaration)
        try macro.checkConformance(of: declaration)
        return macro.problems
    }

    private mutating func describe(
        _ declaration: TypeDeclaration,
        in result: inout EntityMembers
    ) throws(Problem) {
        var lines = source.lines
        var conditions = 0
        var hasUnconditional = false
        for member in declaration.members {
            switch member {
            case .variable(let variable):
                let property = PropertyDeclaration(variable, of: declaration.name, in: source)
                if property.isSchema { result.hasSchema = true }
                guard let line = try property.line(reporting: &problems) else { continue }
                let number = lines.number(of: variable.range.lowerBound)
                result.statements.append(.init(text: line, line: number))
                if let line = try property.defaultLine() {
                    result.statements.append(.init(text: line, line: number))
                }
                if property.isDeprecated { result.isDeprecated = true }
                if conditions == 0 { hasUnconditional = true }
            case .condition(let condition):
                if condition.directive == "#if" { conditions += 1 }
                if condition.directive == "#endif" { conditions -= 1 }
                let line = lines.number(of: condition.range.lowerBound)
                result.statements.append(.init(text: source[condition.range], line: line))
            case .method(let method):
                if let attribute = method.attributes.first(where: \.isOfProperty) {
                    problems.append(attribute.misplaced)
                }
            case .other(_, let name, let attributes):
                if let attribute = attributes.first(where: \.isOfProperty) { problems.append(attribute.misplaced) }
                if let name { checkName(ofType: name, in: &result) }
            }
        }
        guard conditions == 0 else {
            let message = "@Entity cannot read where a condition within '\(declaration.name.text)' ends"
            throw Problem(message: message, range: declaration.name.range)
        }
        // A closure that uses its parameter nowhere, or under conditions that do not hold, does not compile.
        if !hasUnconditional {
            let line = (result.statements.first?.line ?? source.firstLine + 1) - 1
            result.statements.insert(.init(text: "_ = $0", line: line), at: 0)
        }
    }

    private mutating func checkName(ofType name: Name, in result: inout EntityMembers) {
        guard name.text == "Object" || name.text == "ID" else { return }
        if name.text == "Object" { result.hasObject = true }
        report(
            "Graph uses '\(name.text)' for the type of an entity's \(name.text == "ID" ? "identifiers" : "objects"): choose another name",
            at: name.range)
    }

    /// The constraints and indexes over several properties.
    private mutating func describeLists(
        of declaration: TypeDeclaration,
        in result: inout EntityMembers
    ) throws(Problem) {
        guard let entity = declaration.attributes.first(where: \.isEntity) else { return }
        let policy = entity.argument("onConflict").map { source[$0.value] }
        if let policy, entity.argument("unique") == nil {
            report(
                "'onConflict:' needs 'unique:'; for a single property write '@Unique(onConflict: \(policy))'",
                at: entity.argument("onConflict")?.value ?? entity.range)
        }
        let properties = declaration.members.compactMap { member -> PropertyDeclaration? in
            guard case .variable(let variable) = member else { return nil }
            return PropertyDeclaration(variable, of: declaration.name, in: source)
        }
        var lines = source.lines
        for (label, method) in [("unique", "unique"), ("indexed", "index")] {
            guard let argument = entity.argument(label) else { continue }
            let lists = try PropertyLists(argument.value, in: source)
            problems += lists.problems + lists.problems(with: properties, of: declaration.name.text)
            let ending = label == "unique" ? policy.map { ", onConflict: \($0)" } ?? "" : ""
            for list in lists.lists {
                let names = list.names.map(\.text.debugDescription).joined(separator: ", ")
                let line = lines.number(of: list.range.lowerBound)
                result.statements.append(.init(text: "$0.\(method)(\(names)\(ending))", line: line))
            }
        }
    }

    // MARK: What an entity can be

    /// What a save is to call but would not, without a word: the method that every entity has would do instead. One in
    /// an extension is out of sight here.
    private mutating func checkHooks(of declaration: TypeDeclaration) {
        let methods = declaration.members.compactMap { member -> Method? in
            if case .method(let method) = member, method.couldBeHook { method } else { nil }
        }
        for (name, form) in [("willSave", "mutating func willSave()"), ("validate", "func validate() throws")] {
            let candidates = methods.filter { $0.name.text == name }
            guard !candidates.contains(where: { $0.isHook(in: source) }) else { continue }
            for method in candidates {
                report(
                    "a save does not call a '\(name)' of this form: write '\(form)', or choose another name",
                    at: method.name.range)
            }
        }
    }

    private mutating func checkKind(of declaration: TypeDeclaration) {
        let name = declaration.name.text
        let advice: String? =
            switch declaration.keyword {
            case "struct": nil
            case "class": "write 'struct \(name)'; its objects, which have identity, are of type '\(name).Object'"
            case "actor": "write 'struct \(name)'; the Context, an actor, guards its objects"
            case "enum": "write one with a property of this type"
            default: "write 'struct \(name)'"
            }
        if let advice { report("an entity is a struct: \(advice)", at: declaration.keywordRange) }
    }

    private mutating func checkPlace(of declaration: TypeDeclaration) {
        let name = declaration.name.text
        if let parameters = declaration.genericParameters {
            report(
                "an entity cannot be generic, since a store's rows are of one type: write a struct for each use of '\(name)'",
                at: parameters)
        }
        for outer in contexts where outer.header.genericParameters != nil {
            report(
                "an entity cannot be nested in the generic type '\(outer.header.name.text)': move '\(name)' out of it",
                at: declaration.name.range)
        }
        for (depth, type) in ([declaration] + contexts.map(\.header)).enumerated()
        where depth < contexts.count && Self.access(type.modifiers) == "private" {
            report(
                "an extension cannot reach '\(name)', since '\(type.name.text)' is private within a type: write 'fileprivate'",
                at: declaration.name.range)
        }
    }

    private mutating func checkConformance(of declaration: TypeDeclaration) throws(Problem) {
        let name = declaration.name.text
        if let actor = declaration.attributes.first(where: { $0.name == "MainActor" }) {
            report("rows go to every context and thread: remove '@MainActor'", at: actor.range)
        }
        for inherited in declaration.inherited where try Self.namesIdentifiable(source[inherited]) {
            report(
                "remove 'Identifiable': only '\(name).Object' is identifiable, by the '\(name).ID' that an object gets at insert",
                at: inherited)
        }
    }

    /// Also as part of a composition.
    private static func namesIdentifiable(_ type: String) throws(Problem) -> Bool {
        let source = SourceText(type)
        return try Lexer.tokens(of: source).contains { source[$0.range] == "Identifiable" }
    }

    // MARK: What is written

    private func arguments(of declaration: TypeDeclaration) -> [String] {
        let entity = declaration.attributes.first(where: \.isEntity)
        return entity?.argument("originalName").map { ["originalName: \(source[$0.value])"] } ?? []
    }

    /// The extension stands outside of what encloses the struct, so it is available where that is.
    private func availability(of declaration: TypeDeclaration) -> [String] {
        let types = [(source, declaration)] + contexts
        return types.reversed().flatMap { source, type in
            type.attributes.filter { $0.name == "available" }.map { source[$0.range] }
        }
    }

    /// As far as the struct can be seen, since it conforms to a public protocol; nothing where that is the default.
    private func access(of declaration: TypeDeclaration) -> String? {
        // The members of `public extension X { … }` are public.
        let outer = contexts.first.flatMap { $0.header.keyword == "extension" ? Self.access($0.header.modifiers) : nil }
        let access = Self.access(declaration.modifiers) ?? outer
        return access == "public" || access == "package" ? access : nil
    }

    private static func access(_ modifiers: [Modifier]) -> String? {
        let levels: Set = ["public", "package", "internal", "fileprivate", "private"]
        return modifiers.first { levels.contains($0.name) && $0.detail == nil }?.name
    }
}
