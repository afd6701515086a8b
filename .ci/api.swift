// Prints what symbol graphs declare, one line for each declaration and each conformance, in no order. The names in
// conformances are mangled; `.ci/api` demangles them, which leaves out modules, and sorts the lines.
//
// What follows `//` in a line is not in the declaration's own text. A symbol graph has no `~Copyable` of structs and
// enums, no isolation of conformances, no raw values of cases, and nothing whose name begins with an underscore.

import Foundation

struct SymbolGraph: Decodable {
    let symbols: [Symbol]
    let relationships: [Relationship]
}

struct Symbol: Decodable {
    struct Identifier: Decodable { let precise: String }
    struct Fragment: Decodable { let spelling: String }
    struct Generics: Decodable { let constraints: [Constraint]? }

    let identifier: Identifier
    let pathComponents: [String]
    let declarationFragments: [Fragment]
    let accessLevel: String
    let availability: [Availability]?
    let swiftGenerics: Generics?
    let swiftExtension: Generics?

    var constraints: Set<String> {
        texts(of: (swiftGenerics?.constraints ?? []) + (swiftExtension?.constraints ?? []))
    }
}

struct Constraint: Decodable {
    let kind: String
    let lhs: String
    let rhs: String

    var text: String { "\(lhs) \(kind == "sameType" ? "==" : ":") \(rhs)" }
}

/// Without what every type parameter conforms to that does not say otherwise.
func texts(of constraints: [Constraint]) -> Set<String> {
    Set(constraints.filter { !["Copyable", "Escapable"].contains($0.rhs) }.map(\.text))
}

struct Availability: Decodable {
    struct Version: Decodable {
        let major: Int
        let minor: Int?
        let patch: Int?
    }

    let domain: String?
    let introduced: Version?
    let deprecated: Version?
    let obsoleted: Version?
    let isUnconditionallyDeprecated: Bool?
    let isUnconditionallyUnavailable: Bool?

    var text: String {
        let versions = [("introduced", introduced), ("deprecated", deprecated), ("obsoleted", obsoleted)]
        let parts = versions.compactMap { name, version in
            version.map { "\(name): \($0.major).\($0.minor ?? 0).\($0.patch ?? 0)" }
        }
        let flags = [("deprecated", isUnconditionallyDeprecated), ("unavailable", isUnconditionallyUnavailable)]
        let list = [domain ?? "*"] + parts + flags.filter { $0.1 == true }.map(\.0)
        return "@available(\(list.joined(separator: ", ")))"
    }
}

struct Relationship: Decodable {
    let kind: String
    let source: String
    let target: String
    let swiftConstraints: [Constraint]?
}

struct PublicAPI {
    private let symbols: [Symbol]
    private let relationships: [Relationship]
    private let constraints: [String: Set<String>]
    private let owners: [String: String]
    private let requirements: Set<String>

    init(_ graphs: [SymbolGraph]) {
        symbols = graphs.flatMap(\.symbols)
        relationships = graphs.flatMap(\.relationships)
        constraints = Dictionary(symbols.map { ($0.identifier.precise, $0.constraints) }) { $0.union($1) }
        let required = relationships.filter { ["requirementOf", "optionalRequirementOf"].contains($0.kind) }
        requirements = Set(required.map(\.source))
        let members = required + relationships.filter { $0.kind == "memberOf" }
        owners = Dictionary(members.map { ($0.source, $0.target) }) { first, _ in first }
    }

    var lines: [String] { symbols.map(line) + Set(relationships.compactMap(line)) }

    private func line(_ symbol: Symbol) -> String {
        let text = symbol.declarationFragments.map(\.spelling).joined()
        let declaration = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        var notes = (symbol.availability ?? []).map(\.text).sorted()
        if requirements.contains(symbol.identifier.precise) { notes.append("requirement") }
        let hidden = hiddenConstraints(of: symbol, declaration: declaration)
        if !hidden.isEmpty { notes.append("where " + hidden.joined(separator: ", ")) }
        let path = symbol.pathComponents.joined(separator: ".")
        let access = symbol.accessLevel == "open" ? "open " : ""
        return "\(path) \(access)\(declaration)" + (notes.isEmpty ? "" : " // " + notes.joined(separator: "; "))
    }

    /// The constraints that neither the declaration nor the type around it shows: those of its extension, and those on
    /// `some` parameters, which the declaration loses where they mention a generic parameter.
    private func hiddenConstraints(of symbol: Symbol, declaration: String) -> [String] {
        let clause = declaration.components(separatedBy: " where ").last?.components(separatedBy: " { get")[0] ?? ""
        let shown = clause.replacingOccurrences(of: "repeat ", with: "").components(separatedBy: ", ")
        let outer = owners[symbol.identifier.precise].flatMap { constraints[$0] } ?? []
        return symbol.constraints.subtracting(shown).subtracting(outer)
            .filter { !$0.hasPrefix("some ") && !$0.hasPrefix("(some ") }.sorted()
    }

    private func line(_ relationship: Relationship) -> String? {
        guard ["conformsTo", "inheritsFrom"].contains(relationship.kind) else { return nil }
        let own = constraints[relationship.source]
        // What nearly every type conforms to: Copyable, Escapable, SendableMetatype.
        var implied = ["s:s8CopyableP", "s:s9EscapableP", "s:s16SendableMetatypeP"]
        // The protocols of this module that types of other modules conform to ask for Sendable, and are listed.
        if own == nil { implied.append("s:s8SendableP") }
        guard !implied.contains(relationship.target) else { return nil }
        let conditions = texts(of: relationship.swiftConstraints ?? []).subtracting(own ?? []).sorted()
        return "\(mangled(relationship.source)) : \(mangled(relationship.target))"
            + (conditions.isEmpty ? "" : " where " + conditions.joined(separator: ", "))
    }

    private func mangled(_ identifier: String) -> String {
        identifier.hasPrefix("s:") ? "$s" + identifier.dropFirst(2) : identifier
    }
}

let graphs = try CommandLine.arguments.dropFirst().map { path in
    try JSONDecoder().decode(SymbolGraph.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
}
for line in PublicAPI(graphs).lines { print(line) }
