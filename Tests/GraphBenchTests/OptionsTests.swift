import Foundation
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
                "--suite", "full", "--rows", "5000", "--runs=7", "--seed", "11", "--workload", "one", "--workload",
                "two", "--no-peer",
                "--directory",
                "here", "--json", "there", "--svg=drawn",
            ], workloads: names)
        #expect(options.suite == .full)
        #expect(options.sizes == [5_000])
        #expect(options.runs == 7)
        #expect(options.workloads == names)
        #expect(options.seed == 11)
        #expect(!options.usesPeer)
        #expect(options.directory == "here")
        #expect(options.json == "there")
        #expect(options.svg == "drawn")
        #expect(options.command == .measure)
    }

    @Test func `a suite has its sizes, and growth takes others`() throws {
        #expect(try Options.parse([], workloads: names).sizes == [100_000])
        #expect(try Options.parse(["--suite", "full"], workloads: names).sizes == [1_000_000])
        let growth = try Options.parse(["--suite=growth"], workloads: names)
        #expect(growth.sizes == [10_000, 100_000, 1_000_000])
        let other = try Options.parse(["--rows=30000,1000", "--suite", "growth"], workloads: names)
        #expect(other.sizes == [1_000, 30_000])
    }

    @Test func `raw limits are no part of growth`() {
        for suite in Suite.allCases {
            let groups = Set(Workload.all.filter(suite.includes).map(\.group))
            #expect(groups == (suite == .growth ? [.store] : [.store, .limit]))
        }
    }

    @Test func `comparing takes two files`() throws {
        #expect(
            try Options.parse(["compare", "old.json", "new.json"], workloads: names).command
                == .compare("old.json", "new.json"))
    }

    @Test func `the help names every option and the list every suite and workload`() {
        for option in [
            "--suite", "--rows", "--runs", "--seed", "--workload", "--list", "--no-peer", "--directory", "--json",
            "--svg",
            "--help",
            "compare", "wordnet", "updates", "--updates", "--commit", "pair", "--pairs",
        ] {
            #expect(Options.help.contains(option))
        }
        let list = Workload.list(Workload.all)
        for name in Workload.all.map(\.name) + Suite.allCases.map(\.rawValue) {
            #expect(list.contains("  \(name) "))
        }
        let limits = list.components(separatedBy: "raw limits of the machine").last ?? ""
        #expect(limits.contains("limit_load"))
        #expect(!limits.contains("get_by_id"))
    }

    @Test func `files that should not or cannot be written are refused before anything is measured`() {
        var options = Options()
        #expect(GraphBench.faultOfFiles(options, isDebugBuild: true) == nil)
        options.json = "results.json"
        #expect(GraphBench.faultOfFiles(options, isDebugBuild: false) == nil)
        #expect(GraphBench.faultOfFiles(options, isDebugBuild: true) != nil)
        options.json = "/nowhere/results.json"
        #expect(GraphBench.faultOfFiles(options, isDebugBuild: false) != nil)
        options.json = nil
        options.svg = "results.svg"
        #expect(GraphBench.faultOfFiles(options, isDebugBuild: true) != nil)
        options.svg = FileManager.default.temporaryDirectory.path
        #expect(GraphBench.faultOfFiles(options, isDebugBuild: false)?.hasSuffix("it is a folder") == true)
        options.svg = nil
        options.directory = FileManager.default.temporaryDirectory.path
        #expect(GraphBench.faultOfFiles(options, isDebugBuild: true) == nil)
        for path in ["/nowhere/files", Platform.executable.path] {
            options.directory = path
            #expect(GraphBench.faultOfFiles(options, isDebugBuild: false) != nil)
        }
    }

    @Test func `WordNet has a usual folder and takes another`() throws {
        #expect(
            try Options.parse(["wordnet"], workloads: names).command == .wordNet(WordNetFiles.defaultDirectory))
        #expect(try Options.parse(["wordnet", "files"], workloads: names).command == .wordNet("files"))
    }

    @Test func `updates have their number and commits their size`() throws {
        let usual = try Options.parse(["updates"], workloads: names)
        #expect(usual.command == .updates && usual.updates == 1_000_000 && usual.commitSize == 1_000)
        let other = try Options.parse(["updates", "--rows=5000", "--updates", "7", "--commit=3"], workloads: names)
        #expect(other.sizes == [5_000] && other.updates == 7 && other.commitSize == 3)
    }

    @Test func `pairs are measured beside a program or a peer`() throws {
        let usual = try Options.parse(["pair", "sqlite"], workloads: names)
        #expect(usual.command == .pair(.side(.sqlite)) && usual.pairs == 15 && usual.workloads == [])
        #expect(try Options.parse(["pair", "native"], workloads: names).command == .pair(.side(.native)))
        let other = try Options.parse(
            ["pair", "before/GraphBench", "--pairs", "40", "--workload", "two", "--rows", "5000"], workloads: names)
        #expect(other.command == .pair(.program("before/GraphBench")))
        #expect(other.pairs == 40 && other.workloads == ["two"] && other.sizes == [5_000])
        #expect(try Options.parse(["pair", "Graph"], workloads: names).command == .pair(.program("Graph")))
        let served = try Options.parse(["runs-of", "two", "--rows", "5000", "--seed=3"], workloads: names)
        #expect(served.command == .runs && served.workloads == ["two"] && served.seed == 3)
    }

    @Test(
        arguments: [
            ["pair"], ["pair", "sqlite", "--pairs", "14"], ["pair", "one", "two"], ["runs-of"], ["runs-of", "three"],
            ["--updates", "0"], ["updates", "--commit"],
            ["--unknown"], ["--seed"], ["--seed", "0"], ["--seed", "some"], ["--rows"], ["--rows", "few"],
            ["--rows", "999"], ["--runs", "0"], ["--workload", "three"],
            ["--list=all"], ["stray"], ["--directory", "--list"], ["--suite", "huge"], ["--rows", "1000,2000"],
            ["--suite", "growth", "--rows", "1000"], ["--suite", "growth", "--rows", "2000,2000"],
            ["--suite", "growth", "--rows", "1000,,2000"], ["--rows", "9223372036854775807"], ["--runs", "100000"],
            ["compare"], ["compare", "one.json"], ["compare", "one", "two", "three"], ["--svg"],
            ["--json", "same", "--svg", "same"],
        ])
    func `a command line that cannot be followed is refused`(arguments: [String]) {
        #expect(throws: Options.Invalid.self) { try Options.parse(arguments, workloads: names) }
    }
}
