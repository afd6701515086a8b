import Graph

/// The engine's side of ``Workload/insertWorkloads`` and ``Workload/footprintWorkloads``.
enum EngineInsert {
    static let contenders: [String: Workload.Contender] = [
        "insert_bulk_memory": { setting in
            let data = setting.data
            return { _ in
                let coordinator = try await Coordinator(for: Team.self, Person.self)
                let stopwatch = Stopwatch()
                let store = try await EngineStore(coordinator, loading: data)
                return Measurement(amount: stopwatch.seconds, count: data.rows, answer: try store.answer())
            }
        },
        "insert_bulk_durable": { setting in
            return { _ in
                let path = setting.freshPath("insert.graph")
                defer { setting.remove(path) }
                let coordinator = try await EngineStore.open(path)
                let stopwatch = Stopwatch()
                let store = try await EngineStore(coordinator, loading: setting.data)
                let seconds = stopwatch.seconds
                let answer = try store.answer()
                try await coordinator.close()
                return Measurement(amount: seconds, count: setting.data.rows, answer: answer)
            }
        },
        "disk": { setting in
            let path = try await setting.engineFile.path
            return { _ in try Workload.fileSize(path, rows: setting.data.rows) }
        },
        "disk_compacted": { setting in
            let path = try await setting.compactedEngineFile
            return { _ in try Workload.fileSize(path, rows: setting.data.rows) }
        },
        "disk_compacted_rows": { setting in
            let path = try await setting.compactedEngineFile
            return { _ in
                let size = try Workload.fileSize(path, rows: setting.data.rows)
                let entries = try CompactedFile(path).entryBytes
                return Measurement(amount: size.amount - entries, count: size.count, answer: size.answer)
            }
        },
    ]

    static let footprint: FootprintProcess.Load = { rows, _ in
        return {
            let coordinator = try await Coordinator(for: Team.self, Person.self)
            _ = try await EngineStore(coordinator, rows: rows, teams: PeopleData.teamCount(rows: rows))
            return FootprintProcess.Store(object: coordinator) { try EngineStore.answer(coordinator) }
        }
    }
}
