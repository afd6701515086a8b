import Foundation

/// The programs in `Tests/Reader`, for which a machine needs python3 3.8 or later.
enum PythonReader {
    struct Outcome {
        let status: Int32
        let output: String
        let errors: String

        var lines: [String] { output.split(separator: "\n").map(String.init) }
    }

    static let isThere = (try? python(["-c", "import sys; sys.exit(sys.version_info < (3, 8))"]))?.status == 0

    /// Runs `graph_reader.py` on a store.
    static func read(_ path: String) throws -> Outcome { try run("graph_reader.py", arguments: [path]) }

    static func run(_ program: String, arguments: [String]) throws -> Outcome {
        let file = DocumentedProgram.root.appendingPathComponent("Tests/Reader/\(program)").path
        // Without -B it would leave files beside the programs.
        return try python(["-B", file] + arguments)
    }

    private static func python(_ arguments: [String]) throws -> Outcome {
        let folder = try TemporaryFolder()
        let names = ["output", "errors"].map(folder.file)
        for name in names { _ = FileManager.default.createFile(atPath: name, contents: nil) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3"] + arguments
        process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: names[0]))
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: names[1]))
        try process.run()
        process.waitUntilExit()
        let texts = try names.map { try String(contentsOfFile: $0, encoding: .utf8) }
        return Outcome(status: process.terminationStatus, output: texts[0], errors: texts[1])
    }
}
