import Foundation

/// What was built beside the running tests: the plugin, and the modules of a program that uses it.
struct BuildFolder {
    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    /// The program that the compiler starts to expand Graph's macros.
    let plugin: String
    /// The folder of `Graph.swiftmodule`.
    let modules: String

    /// Looks upwards from the running test, wherever the build folder is. Programs for the machine that builds have names of
    /// their own where those for the machine that runs could be others.
    init() throws {
        let starts =
            [Bundle.main.executablePath, CommandLine.arguments.first, Bundle.main.bundlePath].compactMap { $0 }
            + CommandLine.arguments.filter { $0.contains(".xctest") }
        var plugin: String?
        var modules: String?
        for start in starts {
            var folder = URL(fileURLWithPath: start).resolvingSymlinksInPath()
            while folder.path.count > 1 {
                folder.deleteLastPathComponent()
                let place = folder
                plugin =
                    plugin
                    ?? ["GraphMacrosPlugin-tool", "GraphMacrosPlugin"].map { place.appendingPathComponent($0).path }
                    .first { FileManager.default.isExecutableFile(atPath: $0) && !Self.isFolder($0) }
                modules = modules ?? (Self.isModuleFolder(place.path + "/Modules") ? place.path + "/Modules" : nil)
            }
        }
        guard let plugin, let modules else {
            throw Missing(description: "no plugin or no module near \(starts)")
        }
        self.plugin = plugin
        self.modules = modules
    }

    private static func isFolder(_ path: String) -> Bool {
        var isFolder = ObjCBool(false)
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }

    private static func isModuleFolder(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: path + "/Graph.swiftmodule")
    }

    /// The compiled files of the module.
    func objects() throws -> [String] {
        let folder = URL(fileURLWithPath: modules).deletingLastPathComponent().appendingPathComponent("Graph.build")
            .path
        return try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".o") }
            .map { "\(folder)/\($0)" }
    }

    /// The compiler with the plugin, given sources by file name: what it says, and whether it has no objection.
    func compile(
        _ sources: [String: String],
        _ options: [String],
        in folder: ScratchFolder
    ) throws -> (succeeded: Bool, output: String) {
        for (name, source) in sources {
            try source.write(toFile: folder.file(name), atomically: true, encoding: .utf8)
        }
        return try Self.run(
            [
                "swiftc", "-swift-version", "6", "-wmo", "-module-name", "Corpus", "-package-name", "Corpus", "-I",
                modules,
            ]
                + ["-load-plugin-executable", "\(plugin)#GraphMacrosPlugin"] + options
                + sources.keys.sorted().map(folder.file),
            in: folder
        )
    }

    /// The module's public symbols, as the compiler lists them for documentation.
    func symbolGraph() throws -> Data {
        struct TargetInfo: Decodable {
            struct Target: Decodable { let triple: String }
            let target: Target
        }
        let folder = try ScratchFolder()
        let info = try Self.run(["swiftc", "-print-target-info"], in: folder).output
        let triple = try JSONDecoder().decode(TargetInfo.self, from: Data(info.utf8)).target.triple
        var arguments = ["swift", "symbolgraph-extract", "-module-name", "Graph", "-I", modules, "-target", triple]
        #if os(macOS)
            let sdk = try Self.run(["xcrun", "--show-sdk-path"], in: folder).output
            arguments += ["-sdk", sdk.trimmingCharacters(in: .whitespacesAndNewlines)]
        #endif
        let (succeeded, output) = try Self.run(arguments + ["-output-dir", folder.path], in: folder)
        guard succeeded else { throw Missing(description: output) }
        return try Data(contentsOf: URL(fileURLWithPath: folder.file("Graph.symbols.json")))
    }

    private static func run(
        _ arguments: [String],
        in folder: ScratchFolder
    ) throws -> (succeeded: Bool, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
        let pipe = Pipe()
        process.standardError = pipe
        process.standardOutput = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationReason == .exit && process.terminationStatus == 0, output)
    }
}

/// A folder that goes when nobody needs it any more.
final class ScratchFolder: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "graph-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    func file(_ name: String) -> String { path + "/" + name }
}
