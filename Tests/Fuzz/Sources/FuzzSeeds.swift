import Foundation

@testable import Graph

/// Inputs to begin with: golden files, small stores with a bit of everything, and texts.
enum FuzzSeeds {
    private static let golden = FuzzCorpus.folder.appendingPathComponent("../../GraphTests/Evolution/Golden")
        .standardized

    static func inputs(of target: FuzzTarget) async throws -> [[UInt8]] {
        switch target {
        case .file: return try files(in: golden) + (await stores())
        case .records, .salvage:
            let scripts = try (files(in: golden) + (await stores())).map { try RecordScript(of: $0) }
            return (scripts + scripts.compactMap(atLimit)).map(\.bytes)
        case .programs:
            var inputs: [[UInt8]] = []
            for (number, store) in try await versions().enumerated() {
                // Each version's file, as each of the programs opens it.
                for program in 0..<Evolving.versions.count where program >= number {
                    inputs.append(try RecordScript(of: store, program: UInt8(program * 2)).bytes)
                }
            }
            return inputs + (try await stores().map { try RecordScript(of: $0, program: 1).bytes })
        case .operations:
            return (0..<40).map { (seed: UInt64) in
                var random = SeededGenerator(seed: seed)
                return (0..<Int.random(in: 10...160, using: &random)).map { _ in
                    UInt8(truncatingIfNeeded: random.next())
                }
            }
        case .decoders: return try await texts()
        }
    }

    private static func files(in folder: URL) throws -> [[UInt8]] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        return try names.filter { $0.hasSuffix(".graph") }.map {
            [UInt8](try Data(contentsOf: folder.appendingPathComponent($0)))
        }
    }

    /// A checkpoint of one of the last commits that there may be; nil for a file without one.
    private static func atLimit(_ script: RecordScript) -> RecordScript? {
        let head = script.records.firstIndex { $0.kind == 3 && $0.payload.first == 0 }
        guard let head, script.baseCommit < 0x80 else { return nil }
        var script = script
        script.baseCommit = 0xFE
        var number = ByteWriter()
        number.appendVarint(script.baseCommitNumber)
        script.records[head].payload.replaceSubrange(1..<2, with: number.bytes)
        return script
    }

    // MARK: Stores

    private static func everything(_ number: Int) -> Everything {
        Everything(
            text: "text \(number)", small: Int8(number), large: number % 2 == 0 ? nil : 1 << 40, huge: -(1 << 100),
            isOn: true, single: 1.5, double: .infinity, date: Date(timeIntervalSinceReferenceDate: 12.5),
            price: Decimal(string: "12.50") ?? 0,
            token: UUID(uuidString: "F81D4FAE-7DEC-41D0-A765-00A0C91E6BF6") ?? UUID(),
            link: URL(string: "https://example.org/a?b"), data: Data([1, 2, 3]), names: ["a", "b"],
            counts: ["x": [1, -1], "y": []], marks: [1, nil], color: .green,
            place: Everything.Place(name: "é", numbers: [1, 300, -70_000], remark: 0.1))
    }

    private static func options(_ seed: UInt64) -> JournalOptions { JournalFixture.options(seed: seed) }

    /// A store as it is left at several moments: with commits, compacted, with history, and with commits behind that.
    private static func stores() async throws -> [[UInt8]] {
        guard let schema = FuzzedProgram.everything else { return [] }
        let (disk, path) = (SimulatedDisk(), FuzzedFile.path)
        var files: [[UInt8]] = []
        for retention in [HistoryRetention(), .none] {
            let coordinator = try await Coordinator(
                schema, path: path, fileSystem: disk, options: options(UInt64(files.count)), compaction: .manual,
                retention: retention)
            let context = Context(coordinator)
            for step in 0..<4 {
                try await context.perform { context in
                    let team = context.insert(Team(name: "team \(step)"))
                    let person = context.insert(
                        Person(name: "p", email: "\(step)@\(retention.commits ?? 1)", age: step))
                    person.team = team
                    let one = context.insert(everything(step * 2 + (retention == .none ? 60 : 0)))
                    let two = context.insert(everything(step * 2 + 1 + (retention == .none ? 60 : 0)))
                    two.other = one
                    one.friends = [two, one]
                    if step % 2 == 1 { one.team = team }
                    if step == 3, let first = try context.fetch(Everything.self).first {
                        first.friends = []
                        first.place.numbers = [7]
                        try context.fetch(Team.self).first?.delete()
                        try context.fetch(Person.self).first?.delete()
                    }
                }
                try await context.save()
                files.append(disk.contents(path) ?? [])
                if step == 1 {
                    try await coordinator.compact()
                    files.append(disk.contents(path) ?? [])
                }
            }
            _ = try await coordinator.consumer(named: "reader")
            try await coordinator.close()
            files.append(disk.contents(path) ?? [])
        }
        return files
    }

    /// A file of each version of a program.
    private static func versions() async throws -> [[UInt8]] {
        var files: [[UInt8]] = []
        for version in Evolving.versions {
            let disk = SimulatedDisk()
            let coordinator = try await Coordinator(
                try version.schema(), path: FuzzedFile.path, fileSystem: disk, options: options(1), compaction: .manual,
                migration: version.plan)
            let context = Context(coordinator)
            let changes: [EvolvingChange] = [
                .insertAuthor(name: "a"), .insertAuthor(name: "b"), .insertBook(title: "t", isbn: 1, author: nil),
            ]
            try await context.perform { context in
                for change in changes { try version.perform(context, change, EvolvingState()) }
            }
            try await context.save()
            try await coordinator.compact()
            let state = try version.read(coordinator.snapshot)
            let more: [EvolvingChange] = [
                .move(book: 0, author: 1), .insertBook(title: "u", isbn: 2, author: 1), .deleteAuthor(0),
            ]
            try await context.perform { context in
                for change in more { try version.perform(context, change, state) }
            }
            try await context.save()
            try await coordinator.close()
            files.append(disk.contents(FuzzedFile.path) ?? [])
        }
        return files
    }

    // MARK: Texts

    private static func texts() async throws -> [[UInt8]] {
        guard let schema = FuzzedProgram.everything, let file = try await stores().dropLast().last else { return [] }
        let disk = SimulatedDisk()
        disk.setContents(file, at: FuzzedFile.path)
        let coordinator = try await Coordinator(
            schema, path: FuzzedFile.path, fileSystem: disk, options: options(9), compaction: .manual)
        let snapshot = coordinator.snapshot
        var inputs: [[UInt8]] = []
        func add(_ decoder: FuzzedDecoder, _ bytes: [UInt8]) { inputs.append([decoder.rawValue] + bytes) }
        func text(_ rows: ExportedRows) async throws -> [UInt8] {
            var bytes: [UInt8] = []
            for try await piece in rows { bytes += piece }
            return bytes
        }
        let lines = try await text(snapshot.exportedRows())
        add(.jsonLines, lines)
        for line in lines.split(separator: 10) { add(.jsonLines, line + [10]) }
        for line in lines.split(separator: 10).prefix(9) { add(.json, Array(line)) }
        add(.csv, try await text(snapshot.exportedRows(of: 2, nil, .csv, nil)))
        add(.csvLinks, try await text(snapshot.exportedRows(of: 0, nil, .csv, nil)))
        for relationship in schema.entities[2].toManys where relationship.isExchanged(in: schema) {
            let links = ExportedRows(
                snapshot: snapshot, isCSV: true, parts: [.links(relationship, nil, [])], progress: nil)
            add(.csv, try await text(links))
        }
        add(.token, Array(snapshot.token.description.utf8))
        var descriptor = FetchDescriptor<Everything>(sortBy: [.ascending(\.text), .descending(\.large)])
        descriptor.fetchLimit = 1
        if let next = try snapshot.fetchPage(descriptor).next { add(.pageToken, Array(next.description.utf8)) }
        try CBORCoders.withEncoding(of: everything(1).place) { add(.cbor, $0) }
        add(.schema, SchemaRecord(schema).bytes)
        for record in try files(in: golden).prefix(4).map({ try RecordScript(of: $0) }) {
            add(.schema, record.records.first?.payload ?? [])
        }
        add(.date, Array("2026-11-25T23:16:58.25+01:00".utf8))
        let store = StoreID(high: 1, low: 2)
        var script = try RecordScript(of: file)
        let commits = script.records.filter { $0.kind == 2 }
        for commit in commits.prefix(2) {
            var token = HistoryToken(commit: try CommitRecord.head(of: commit.payload).number, store: store)
            commit.payload.withUnsafeBytes { token.add($0) }
            add(
                .sharedRecord,
                SharedRecord(
                    commit.payload, token, after: HistoryToken(store: store), schema: SharedRecord.schemaNumber(schema)
                ).bytes)
        }
        var log = LogWriter(since: HistoryToken(store: store), salt: 5)
        for commit in commits { log.append(LogRecord(kind: .commit, payload: commit.payload)) }
        add(.log, log.take())
        script.records.removeAll { LogRecord.Kind(rawValue: $0.kind) == nil }
        add(.logRecords, script.bytes)
        return inputs
    }
}
