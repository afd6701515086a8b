import Testing

@testable import GraphMacros

/// Declarations and what the macros make of them: the pairs of files in `Expansions`.
struct ExpansionTests {
    @Test(arguments: try ExpansionPair.all(in: .accepted) + ExpansionPair.all(in: .read))
    func `what is written for a declaration`(_ pair: ExpansionPair) {
        #expect(pair.problems() == "")
        #expect(pair.text() == pair.expected)
    }

    @Test(arguments: try ExpansionPair.all(in: .rejected))
    func `what the author of a declaration is told`(_ pair: ExpansionPair) {
        #expect(pair.problems() == pair.expected)
    }

    @Test func `there are enough of them`() throws {
        #expect(try ExpansionPair.all(in: .accepted).count >= 100)
        #expect(try ExpansionPair.all(in: .rejected).count >= 40)
    }
}
