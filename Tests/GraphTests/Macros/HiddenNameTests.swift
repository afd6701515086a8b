import Testing

@testable import GraphMacros

/// The names that a property cannot have, because a member of `ManagedObject` would win over it.
struct HiddenNameTests {
    @Test func `the hidden names are the members of the managed object`() throws {
        let graph = try SymbolGraph.graph.get()
        let members = graph.symbols.filter { symbol in
            symbol.pathComponents.count == 2 && symbol.pathComponents[0] == "ManagedObject"
                && ["swift.property", "swift.method"].contains(symbol.kind.identifier)
        }
        var names = Set(members.compactMap { $0.pathComponents[1].split(separator: "(").first.map(String.init) })
        #expect(names.remove("id") != nil)
        // The compiler derives it and lists it nowhere.
        names.insert("hashValue")
        #expect(PropertyDeclaration.hiddenNames == names)
    }

    @Test func `the guide lists them`() throws {
        let guide = try DocumentedProgram.text(of: "Docs/Graph.docc/PropertiesOfYourOwn.md")
        for name in PropertyDeclaration.hiddenNames.union(["id", "schema", "Object", "ID"]) {
            #expect(guide.contains("`\(name)`"), "\(name)")
        }
    }

    @Test func `a property called id is taken, with a warning at its name`() {
        let declaration = "@Entity struct Post {\n    var id: String\n    static let identity = 1\n}"
        let expansion = Expansion(
            of: ExpansionRequest(
                macro: "EntityMacro", role: "member", attribute: SourceText("@Entity"),
                declaration: SourceText(declaration)))
        #expect(expansion.source?.contains(#"$0.attribute("id", \.id)"#) == true)
        #expect(expansion.problems.map(\.isWarning) == [true])
        #expect(expansion.problems.first?.message.contains("'object.value.id'") == true)
        let start = "@Entity struct Post {\n    var ".utf8.count
        #expect(expansion.problems.first?.range == start..<start + 2)
    }

    @Test func `the compiler shows the warning, and goes on`() throws {
        let program = "import Graph\n@Entity struct Post {\n    var id = \"\"\n}\n"
        let outcome = try SwiftCompiler().compile(
            ["Post.swift": program], ["-parse-as-library", "-typecheck"], in: TemporaryFolder())
        #expect(outcome.succeeded)
        #expect(outcome.output.contains("/Post.swift:3:9: warning: objects have an 'id' of their own"))
    }
}
