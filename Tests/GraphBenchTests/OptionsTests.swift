import Testing

@testable import GraphBench

struct OptionsTests {
    private let names = ["one", "two"]

    @Test func `without arguments everything is measured`() throws {
        #expect(try Options.parse([], workloads: names) == Options())
    }

    @Test func `every option is understood`() throws {
        let options = try Options.parse(
            [
                "--rows", "5000", "--runs=7", "--workload", "one", "--workload", "two", "--no-peer", "--directory",
                "here", "--json", "there",
            ], workloads: names)
        #expect(options.rows == 5_000)
        #expect(options.runs == 7)
        #expect(options.workloads == names)
        #expect(!options.usesPeer)
        #expect(options.directory == "here")
        #expect(options.json == "there")
    }

    @Test func `WordNet has a usual folder and takes another`() throws {
        #expect(
            try Options.parse(["wordnet"], workloads: names).command == .wordNet(WordNetFiles.defaultDirectory))
        #expect(try Options.parse(["wordnet", "files"], workloads: names).command == .wordNet("files"))
    }

    @Test(
        arguments: [
            ["--unknown"], ["--rows"], ["--rows", "few"], ["--rows", "999"], ["--runs", "0"], ["--workload", "three"],
            ["--list=all"], ["stray"], ["--directory", "--list"],
        ])
    func `a command line that cannot be followed is refused`(arguments: [String]) {
        #expect(throws: Options.Invalid.self) { try Options.parse(arguments, workloads: names) }
    }
}
