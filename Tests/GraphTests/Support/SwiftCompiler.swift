import Foundation

/// The compiler that built these tests, run on sources that import the module under test and use its macros.
struct SwiftCompiler {
    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    struct Outcome {
        let succeeded: Bool
        let output: String

        var lines: [String] { output.split(separator: "\n").map(String.init) }
    }

    /// The folder of what was built.
    private let build: URL
    /// The program that the compiler starts to expand the macros.
    let plugin: String

    /// Looks upwards from the running test, wherever the build folder is. Programs for the machine that builds have names of
    /// their own where those for the machine that runs could be others.
    init() throws {
        let starts =
            [Bundle.main.executablePath, CommandLine.arguments.first, Bundle.main.bundlePath].compactMap { $0 }
            + CommandLine.arguments.filter { $0.contains(".xctest") }
        for start in starts {
            var folder = URL(fileURLWithPath: start).resolvingSymlinksInPath()
            while folder.path.count > 1 {
                folder.deleteLastPathComponent()
                let plugins = ["GraphMacrosPlugin-tool", "GraphMacrosPlugin"].map(folder.appendingPathComponent)
                guard FileManager.default.fileExists(atPath: folder.path + "/Modules/Graph.swiftmodule"),
                    let plugin = plugins.first(where: Self.isProgram)
                else { continue }
                build = folder
                self.plugin = plugin.path
                return
            }
        }
        throw Missing(description: "no plugin and Modules/Graph.swiftmodule near \(starts)")
    }

    private static func isProgram(_ file: URL) -> Bool {
        var isFolder = ObjCBool(false)
        return FileManager.default.fileExists(atPath: file.path, isDirectory: &isFolder) && !isFolder.boolValue
            && FileManager.default.isExecutableFile(atPath: file.path)
    }

    private var modules: String { build.appendingPathComponent("Modules").path }

    /// Compiles sources, given by file name, with options such as `-typecheck`.
    func compile(_ sources: [String: String], _ options: [String], in folder: TemporaryFolder) throws -> Outcome {
        for (name, source) in sources {
            try source.write(toFile: folder.file(name), atomically: true, encoding: .utf8)
        }
        let common = ["-swift-version", "6", "-I", modules, "-load-plugin-executable", "\(plugin)#GraphMacrosPlugin"]
        return try Self.run(["swiftc"] + common + options + sources.keys.sorted().map(folder.file), in: folder)
    }

    /// The lines of the compiler's output that name an error or a warning; none if it accepts the source.
    ///
    /// The source is compiled to SIL, because the checks of isolation run there and not in the type checker.
    func diagnostics(of source: String) throws -> [String] {
        let folder = try TemporaryFolder()
        let options = ["-parse-as-library", "-enable-upcoming-feature", "ExistentialAny", "-emit-sil"]
        let outcome = try compile(["snippet.swift": source], options + ["-o", folder.file("snippet.sil")], in: folder)
        let lines = outcome.lines.filter { $0.contains("error:") || $0.contains("warning:") }
        if !outcome.succeeded, lines.isEmpty { throw Missing(description: outcome.output) }
        return lines
    }

    /// What a program prints, line by line, run in an empty folder.
    func output(of program: String) throws -> [String] {
        try output(of: ["main.swift": program])
    }

    /// What a program of several files prints.
    func output(of sources: [String: String], _ options: [String] = []) throws -> [String] {
        let folder = try TemporaryFolder()
        let objects = build.appendingPathComponent("Graph.build").path
        // A file that was renamed or removed leaves its object file behind in a folder that was built before.
        let sourceFolder = DocumentedProgram.root.appending(path: "Sources/Graph")
        let sourceFiles = FileManager.default.enumerator(at: sourceFolder, includingPropertiesForKeys: nil)
        let names = (sourceFiles?.compactMap { $0 as? URL } ?? []).map(\.lastPathComponent)
        let files = names.filter { $0.hasSuffix(".swift") }.map { "\(objects)/\($0).o" }
        let linking = ["-o", folder.file("program")] + files
        var compilation = try compile(sources, options + linking, in: folder)
        // On a busy machine the driver was seen to link without any of the libraries that the objects ask for, once in hundreds
        // of times. What is really wrong is so the second time, too.
        if compilation.output.contains("link command failed") {
            compilation = try compile(sources, options + linking, in: folder)
        }
        guard compilation.succeeded else { throw Missing(description: compilation.output) }
        let run = try Self.run([folder.file("program")], in: folder)
        guard run.succeeded else { throw Missing(description: run.output) }
        return run.lines
    }

    /// The module's public symbols, as the compiler lists them for documentation.
    func symbolGraph() throws -> Data {
        struct TargetInfo: Decodable {
            struct Target: Decodable { let triple: String }
            let target: Target
        }
        let folder = try TemporaryFolder()
        let info = try Self.run(["swiftc", "-print-target-info"], in: folder).output
        let triple = try JSONDecoder().decode(TargetInfo.self, from: Data(info.utf8)).target.triple
        var arguments = ["swift", "symbolgraph-extract", "-module-name", "Graph", "-I", modules, "-target", triple]
        #if os(macOS)
            let sdk = try Self.run(["xcrun", "--show-sdk-path"], in: folder).output
            arguments += ["-sdk", sdk.trimmingCharacters(in: .whitespacesAndNewlines)]
        #endif
        let outcome = try Self.run(arguments + ["-output-dir", folder.path], in: folder)
        guard outcome.succeeded else { throw Missing(description: outcome.output) }
        return try Data(contentsOf: URL(fileURLWithPath: folder.file("Graph.symbols.json")))
    }

    private static func run(_ command: [String], in folder: TemporaryFolder) throws -> Outcome {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
        // Where the system heeds the variable, temporary files that a guide's program leaves behind go with the folder.
        process.environment = ProcessInfo.processInfo.environment.merging(["TMPDIR": folder.path]) { $1 }
        let pipe = Pipe()
        process.standardError = pipe
        process.standardOutput = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return Outcome(succeeded: process.terminationStatus == 0, output: output)
    }
}
