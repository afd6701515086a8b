import Testing

@testable import GraphMacros

struct ExpansionTests {
    @Test func expands() {
        let e = Expansion(
            of: ExpansionRequest(
                macro: "EntityMacro", attribute: SourceText("@Entity"),
                declaration: SourceText("@Entity struct A { var x = 1 }")))
        print(e)
    }
}
