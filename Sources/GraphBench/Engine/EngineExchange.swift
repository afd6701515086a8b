import Foundation
import Graph

/// The engine's side of ``Workload/exchangeWorkloads``.
enum EngineExchange {
    static let contenders: [String: Workload.Contender] = [
        "import_lines": { setting in
            let lines = try await setting.exportedFiles.lines
            return importing(setting.data.rows) { _ in [.jsonLines(at: lines)] }
        },
        "import_csv": { setting in
            let files = try await setting.exportedFiles
            return importing(setting.data.rows) { _ in
                [.csv(of: Team.self, at: files.teams), .csv(of: Person.self, at: files.people)]
            }
        },
        "export_lines": { setting in
            try await exporting(setting) { coordinator, path in
                try await coordinator.snapshot.exportedRows().write(to: path)
            }
        },
    ]

    private static func importing(_ rows: Int, _ sources: @escaping (Int) -> [RowSource]) -> Workload.Trial {
        { run in
            let coordinator = try await Coordinator(for: Team.self, Person.self)
            let stopwatch = Stopwatch()
            try await coordinator.importRows(from: sources(run), batchSize: PeopleData.batch)
            return Measurement(amount: stopwatch.seconds, count: rows, answer: try EngineStore.answer(coordinator))
        }
    }

    /// What is written is read back by the engine, which is not timed.
    static func exporting(
        _ setting: Setting, _ export: @escaping (Coordinator, String) async throws -> Void
    ) async throws -> Workload.Trial {
        let coordinator = try await setting.engineStore.coordinator
        return { _ in
            let path = setting.freshPath("exported.jsonl")
            defer { setting.remove(path) }
            let stopwatch = Stopwatch()
            try await export(coordinator, path)
            let seconds = stopwatch.seconds
            let copy = try await Coordinator(for: Team.self, Person.self)
            try await copy.importRows(from: [.jsonLines(at: path)])
            return Measurement(amount: seconds, count: setting.data.rows, answer: try EngineStore.answer(copy))
        }
    }
}

extension ExportedRows {
    fileprivate func write(to path: String) async throws {
        let file = try FileHandle.creating(path)
        for try await piece in self { try file.write(contentsOf: piece) }
        try file.close()
    }
}

extension FileHandle {
    /// A new file to write to.
    static func creating(_ path: String) throws -> FileHandle {
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        return try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    }
}

/// The people's store as text.
struct ExportedFiles {
    let lines: String
    let teams: String
    let people: String
}

extension Setting {
    var exportedFiles: ExportedFiles {
        get async throws {
            try await shared("exported files") {
                let snapshot = try await engineStore.coordinator.snapshot
                let files = ExportedFiles(
                    lines: freshPath("people.jsonl"), teams: freshPath("teams.csv"), people: freshPath("people.csv"))
                try await snapshot.exportedRows().write(to: files.lines)
                try await snapshot.exportedRows(FetchDescriptor<Team>(), as: .csv).write(to: files.teams)
                try await snapshot.exportedRows(FetchDescriptor<Person>(), as: .csv).write(to: files.people)
                return files
            }
        }
    }
}
