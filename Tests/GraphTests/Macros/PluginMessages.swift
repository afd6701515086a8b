@testable import GraphMacros

/// What the compiler sends.
enum PluginMessages {
    static func capability(hostVersion: Int) -> JSON {
        .object(["getCapability": .object(["capability": .object(["protocolVersion": .number(hostVersion)])])])
    }

    /// With the fields of the compiler's that are not read, too.
    static func expansion(of declaration: String, macro: String = "EntityMacro", without field: String? = nil) -> JSON {
        var content: [String: JSON] = [
            "macro": .object([
                "moduleName": .string("GraphMacros"), "typeName": .string(macro), "name": .string("Entity"),
            ]),
            "macroRole": .string("member"),
            "discriminator": .string("$s4main1AV6EntityfMe_"),
            "attributeSyntax": syntax("@Entity", kind: "attribute", offset: 100),
            "declSyntax": syntax(declaration, kind: "declaration", offset: 108),
            "extendedTypeSyntax": syntax("A", kind: "type", offset: 0),
            "conformanceListSyntax": syntax(": Graph.Entity", kind: "type", offset: 0),
            "lexicalContext": .array([]),
        ]
        if let field { content[field] = nil }
        return .object(["expandAttachedMacro": .object(content)])
    }

    private static func syntax(_ source: String, kind: String, offset: Int) -> JSON {
        let location = JSON.object([
            "fileID": .string("main/a.swift"), "fileName": .string("/a.swift"), "offset": .number(offset),
            "line": .number(1), "column": .number(1),
        ])
        return .object(["kind": .string(kind), "source": .string(source), "location": location])
    }
}
