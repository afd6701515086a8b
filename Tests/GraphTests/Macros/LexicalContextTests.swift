import Testing

@testable import GraphMacros

/// What is around a declaration, as the compiler tells it: headers with empty bodies, which a comment may swallow.
struct LexicalContextTests {
    private func expansion(
        of declaration: String,
        macro: String = "EntityMacro",
        role: String = "member",
        in contexts: String...
    ) -> Expansion {
        Expansion(
            of: ExpansionRequest(
                macro: macro,
                role: role,
                attribute: SourceText("@Unique "),
                declaration: SourceText(declaration),
                lexicalContext: contexts.map { SourceText($0) }
            )
        )
    }

    @Test func `a comment behind a context's name is no part of it`() {
        let declaration = "@Entity struct Team { var name = 1 }"
        for role in ["member", "extension"] {
            let expansion = expansion(of: declaration, role: role, in: "enum Outer // note{}")
            #expect(expansion.problems.isEmpty)
        }
        let header = "@Entity struct Team // the team{}"
        #expect(expansion(of: "@Unique var a: Int", macro: "PropertyMacro", role: "peer", in: header).problems.isEmpty)
    }

    @Test(arguments: ["func f() {}", "init() {}", "deinit {}", "subscript(i: Int) -> Int {}", "var x: Int {}"])
    func `an entity within a function is told to move out`(_ context: String) {
        let problems = expansion(of: "@Entity struct Team {}", in: context, "struct Outer {}").problems
        #expect(problems.map(\.message) == ["an entity cannot be declared inside a function: move 'Team' out of it"])
        #expect(problems.map(\.range) == [15..<19])
    }

    @Test(arguments: [
        "struct Team {}", "@Entity extension Team {}", "@Entity class Team {}", "@Other.Entity struct Team {}",
        "func f() {}", "{}", "",
    ])
    func `a property's attribute outside of an entity says so`(_ context: String) {
        let expansion = expansion(of: "@Unique var a: Int", macro: "PropertyMacro", role: "peer", in: context)
        #expect(expansion.concernsAttribute)
        let message = "'@Unique' works only on a property of an '@Entity' struct"
        #expect(expansion.problems == [Problem(message: message, range: 0..<7)])
    }

    @Test func `statements are located at the lines of their properties`() {
        let declaration = """
            // Of a file's line 10.
            @Entity struct Team {
                var a = 1
                /// A comment.
                var b = 2; var c = 3

                func f() {
                    print(1)
                    print(2)
                    print(3)
                }
                #if DEBUG
                var d = 4
                #endif
            }
            """
        #expect(
            located(declaration, in: "/it's/Team.swift") == #"""
                nonisolated static let schema = Graph::EntitySchema<Self>("Team") {
                    #sourceLocation(file: "/it's/Team.swift", line: 12)
                    $0.attribute("a", \.a)
                    #sourceLocation(file: "/it's/Team.swift", line: 12)
                    $0.defaultValue(of: \.a, 1)
                    #sourceLocation(file: "/it's/Team.swift", line: 14)
                    $0.attribute("b", \.b)
                    #sourceLocation(file: "/it's/Team.swift", line: 14)
                    $0.defaultValue(of: \.b, 2)
                    #sourceLocation(file: "/it's/Team.swift", line: 14)
                    $0.attribute("c", \.c)
                    #sourceLocation(file: "/it's/Team.swift", line: 14)
                    $0.defaultValue(of: \.c, 3)
                    #sourceLocation(file: "/it's/Team.swift", line: 21)
                    #if DEBUG
                    $0.attribute("d", \.d)
                    #sourceLocation(file: "/it's/Team.swift", line: 22)
                    $0.defaultValue(of: \.d, 4)
                    #endif
                    #sourceLocation()
                }
                typealias Object = Graph::ManagedObject<Self>
                """#
        )
        for name in ["/a\"b/Team.swift", #"/a\b/Team.swift"#, "/a\nb/Team.swift"] {
            #expect(located(declaration, in: name)?.contains("#sourceLocation") == false)
        }
    }

    @Test func `constraints and indexes are located at the lines of their lists`() {
        let declaration = """
            @Entity(
                unique: [["a", "b"],
                         ["b"]],
                indexed: [["b", "a"]],
                onConflict:
                    .upsert
            ) struct Team {
                var a = 1
                var b = 2
            }
            """
        #expect(
            located(declaration, in: "/Team.swift") == #"""
                nonisolated static let schema = Graph::EntitySchema<Self>("Team") {
                    #sourceLocation(file: "/Team.swift", line: 17)
                    $0.attribute("a", \.a)
                    #sourceLocation(file: "/Team.swift", line: 17)
                    $0.defaultValue(of: \.a, 1)
                    $0.attribute("b", \.b)
                    #sourceLocation(file: "/Team.swift", line: 18)
                    $0.defaultValue(of: \.b, 2)
                    #sourceLocation(file: "/Team.swift", line: 11)
                    $0.unique("a", "b", onConflict: .upsert)
                    $0.unique("b", onConflict: .upsert)
                    $0.index("b", "a")
                    #sourceLocation()
                }
                typealias Object = Graph::ManagedObject<Self>
                """#
        )
    }

    /// The expansion of a declaration whose first line is line 10 of a file.
    private func located(_ declaration: String, in fileName: String) -> String? {
        let expansion = Expansion(
            of: ExpansionRequest(
                macro: "EntityMacro",
                role: "member",
                attribute: SourceText("@Entity"),
                declaration: SourceText(declaration, fileName: fileName, fileOffset: 100, firstLine: 10),
                addsConformance: false
            )
        )
        return expansion.source?.replacing(EntityMembers.module, with: "Graph::")
    }

    @Test func `a condition whose end cannot be found is a problem`() {
        let problems = expansion(of: "@Entity struct Team {\n#if A\nvar a: Int\nx#endif\n}").problems
        #expect(problems.map(\.message) == ["@Entity cannot read where a condition within 'Team' ends"])
    }
}
