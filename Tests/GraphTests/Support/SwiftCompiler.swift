import Foundation

/// The compiler that built these tests, run on a piece of source that imports the module under test.
struct SwiftCompiler {
    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    private let modules: String

    /// Finds the built module beside the running test, wherever the build folder is.
    init() throws {
        let starts =
            [Bundle.main.executablePath, CommandLine.arguments.first, Bundle.main.bundlePath].compactMap { $0 }
            + CommandLine.arguments.filter { $0.contains(".xctest") }
        for start in starts {
            var folder = URL(fileURLWithPath: start).resolvingSymlinksInPath()
            while folder.path.count > 1 {
                folder.deleteLastPathComponent()
                let modules = folder.appendingPathComponent("Modules").path
                if FileManager.default.fileExists(atPath: modules + "/Graph.swiftmodule") {
                    self.modules = modules
                    return
                }
            }
        }
        throw Missing(description: "no Modules/Graph.swiftmodule near \(starts)")
    }

    /// What makes the compiler find the module and its macros.
    private var options: [String] {
        let folder = URL(fileURLWithPath: modules).deletingLastPathComponent()
        let plugin = folder.appendingPathComponent("GraphMacrosPlugin-tool").path + "#GraphMacrosPlugin"
        return ["-swift-version", "6", "-I", modules, "-load-plugin-executable", plugin]
    }

    /// The lines of the compiler's output that name an error or a warning; none if it accepts the source.
    ///
    /// The source is compiled to SIL, because the checks of isolation run there and not in the type checker.
    func diagnostics(of source: String) throws -> [String] {
        let folder = try TemporaryFolder()
        let file = folder.file("snippet.swift")
        try source.write(toFile: file, atomically: true, encoding: .utf8)
        let (status, output) = try Self.run(
            [
                "swiftc", "-parse-as-library", "-enable-upcoming-feature", "ExistentialAny", "-emit-sil", "-o",
                folder.file("snippet.sil"), file,
            ] + options,
            in: folder
        )
        let lines = output.filter { $0.contains("error:") || $0.contains("warning:") }
        if status != 0, lines.isEmpty { throw Missing(description: output.joined(separator: "\n")) }
        return lines
    }

    /// What a program prints, line by line, run in an empty folder.
    func output(of program: String) throws -> [String] {
        let folder = try TemporaryFolder()
        try program.write(toFile: folder.file("main.swift"), atomically: true, encoding: .utf8)
        let build = URL(fileURLWithPath: modules).deletingLastPathComponent().appendingPathComponent("Graph.build").path
        let objects = try FileManager.default.contentsOfDirectory(atPath: build).filter { $0.hasSuffix(".o") }
        let compilation = try Self.run(
            ["swiftc", folder.file("main.swift"), "-o", folder.file("program")] + options
                + objects.map { "\(build)/\($0)" },
            in: folder
        )
        guard compilation.status == 0 else { throw Missing(description: compilation.output.joined(separator: "\n")) }
        let run = try Self.run([folder.file("program")], in: folder)
        guard run.status == 0 else { throw Missing(description: run.output.joined(separator: "\n")) }
        return run.output
    }

    private static func run(
        _ command: [String],
        in folder: TemporaryFolder
    ) throws -> (status: Int32, output: [String]) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
        let pipe = Pipe()
        process.standardError = pipe
        process.standardOutput = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, output.split(separator: "\n").map(String.init))
    }
}
