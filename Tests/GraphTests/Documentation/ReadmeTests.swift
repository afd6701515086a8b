import Testing

/// The Swift in the README is a program that compiles, runs, and prints what it says it prints.
struct ReadmeTests {
    @Test func `the README's program runs and prints what its comments say`() throws {
        let programs = try DocumentedProgram.blocks(of: "README.md")
        try #require(!programs.isEmpty)
        for program in programs {
            try #require(!program.expectedOutput.isEmpty)
            #expect(try SwiftCompiler().output(of: program.source) == program.expectedOutput)
        }
    }
}
