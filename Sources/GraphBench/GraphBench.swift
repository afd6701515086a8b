import Foundation

/// The benchmark: reads the command line, measures, reports.
enum GraphBench {
    /// - Returns: the exit code of the process.
    static func run(_ arguments: [String], engine: EngineSuite) async -> Int32 {
        let workloads = engine.joined(to: Workload.all)
        let options: Options
        do {
            options = try Options.parse(arguments, workloads: workloads.map(\.name))
        } catch {
            complain(error.message)
            return 2
        }
        if let fault = faultOfFiles(options, isDebugBuild: RunDescription.isDebugBuild) {
            complain(fault)
            return 2
        }
        do {
            switch options.command {
            case .help:
                print(Options.help)
                return 0
            case .list:
                print(Workload.list(workloads))
                return 0
            case .measure:
                let description = RunDescription.current(options, arguments: arguments)
                return try await MeasureCommand(options: options, run: description, workloads: workloads).run()
            case .compare(let old, let new):
                return compare(old, new)
            case .footprint(let side):
                try await FootprintProcess.report(
                    side, of: options.workloads.first ?? FootprintProcess.people, rows: options.sizes[0],
                    seed: options.seed ?? 1, engine: engine)
                return 0
            case .pair(let opponent):
                let description = RunDescription.current(options, arguments: arguments)
                return try await PairCommand(
                    options: options, run: description, workloads: workloads, opponent: opponent
                ).run()
            case .runs:
                try await RunServer.run(options, workloads: workloads)
                return 0
            case .updates:
                warnAboutDebugBuild()
                let description = RunDescription.current(options, arguments: arguments)
                return try await UpdatesCommand(options: options, run: description, measure: engine.updates).run()
            case .soak:
                warnAboutDebugBuild()
                let description = RunDescription.current(options, arguments: arguments)
                return try await SoakCommand(options: options, run: description, measure: engine.soak).run()
            case .wordNet(let source):
                warnAboutDebugBuild()
                return try await WordNetCommand(source: source, options: options, check: engine.wordNet).run()
            }
        } catch {
            complain(String(describing: error))
            return 1
        }
    }

    static func complain(_ message: String) {
        FileHandle.standardError.write(Data("GraphBench: \(message)\n".utf8))
    }

    static func warnAboutDebugBuild() {
        guard RunDescription.isDebugBuild else { return }
        print("THIS IS A DEBUG BUILD: its figures mean nothing. Use swift run -c release GraphBench.")
    }

    /// Why files cannot or should not be written where they are to be, found before anything is measured.
    static func faultOfFiles(_ options: Options, isDebugBuild: Bool) -> String? {
        if let directory = options.directory, !isOpenFolder(directory) {
            return "\(directory) is no folder that files can be written to"
        }
        for path in [options.json, options.svg].compactMap({ $0 }) {
            if isDebugBuild { return "a debug build's figures mean nothing: it writes no \(path)" }
            guard isOpenFolder(URL(fileURLWithPath: path).deletingLastPathComponent().path) else {
                return "\(path) cannot be written: there is no such folder, or it is closed"
            }
            if isFolder(path) { return "\(path) cannot be written: it is a folder" }
        }
        return nil
    }

    private static func isFolder(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }

    private static func isOpenFolder(_ path: String) -> Bool {
        isFolder(path) && FileManager.default.isWritableFile(atPath: path)
    }

    private static func compare(_ old: String, _ new: String) -> Int32 {
        do throws(ResultFile.Invalid) {
            let (text, code) = try CompareCommand(old: ResultFile(path: old), new: ResultFile(path: new)).run()
            print(text)
            return code
        } catch {
            complain(error.description)
            return 2
        }
    }
}
