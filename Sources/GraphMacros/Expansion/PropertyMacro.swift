/// `@Attribute`, `@Unique`, `@Indexed`, `@Transient`, `@Relationship`: they declare nothing themselves. `@Entity` reads them,
/// so all there is to see to is that it does.
enum PropertyMacro {
    static func expand(_ request: ExpansionRequest) -> Expansion {
        do throws(Problem) {
            let attribute = try DeclarationReader.readAttribute(request.attribute)
            if isInEntity(request) { return Expansion(source: "") }
            let message = "'@\(attribute.name)' works only on a property of an '@Entity' struct"
            return Expansion(
                source: "",
                problems: [Problem(message: message, range: attribute.range)],
                concernsAttribute: true
            )
        } catch {
            return Expansion(source: "", problems: [error], concernsAttribute: true)
        }
    }

    private static func isInEntity(_ request: ExpansionRequest) -> Bool {
        guard let context = request.lexicalContext.first, let type = try? DeclarationReader.readHeader(context) else {
            return false
        }
        return type.keyword == "struct" && type.attributes.contains(where: \.isEntity)
    }
}

extension Attribute {
    /// Whether nothing says that another module's attribute is meant.
    var isGraphs: Bool { ["", "Graph.", "Graph::"].contains(qualifier) }

    var isEntity: Bool { isGraphs && name == "Entity" }

    /// Whether it is one of those that `@Entity` reads.
    var isOfProperty: Bool {
        isGraphs && ["Attribute", "Unique", "Indexed", "Transient", "Relationship"].contains(name)
    }

    /// The problem of being where nothing is stored.
    var misplaced: Problem {
        Problem(message: "'@\(name)' needs a stored property; nothing is stored here", range: range)
    }

    func argument(_ label: String?) -> Argument? { arguments.first { $0.label == label } }
}
