import Foundation

@testable import Graph

/// What reads texts and encodings from elsewhere: the first byte says which, the rest is what it reads. What is taken leads back
/// to itself.
enum FuzzedDecoder: UInt8, CaseIterable {
    case jsonLines, csv, csvLinks, token, pageToken, json, cbor, schema, date, sharedRecord, log, logRecords

    static func findings(_ bytes: [UInt8]) async -> [String] {
        guard let first = bytes.first, let schema = FuzzedProgram.everything else { return [] }
        let decoder = allCases[Int(first) % allCases.count]
        let rest = Array(bytes.dropFirst())
        let text = String(validating: rest, as: UTF8.self)
        switch decoder {
        case .jsonLines:
            return await importFindings(.jsonLines(Pieces(rest), name: "lines"), schema)
        case .csv: return await importFindings(.csv(of: Everything.self, Pieces(rest)), schema)
        case .csvLinks: return await importFindings(.csv(of: Team.self, Pieces(rest)), schema)
        case .token:
            guard let text, let token = HistoryToken(text) else { return [] }
            return token.description == text ? [] : ["\(token) is not \(text)"]
        case .pageToken: return text.map { pageFindings($0, schema) } ?? []
        case .json: return jsonFindings(rest)
        case .cbor: return cborFindings(rest)
        case .schema: return schemaFindings(rest)
        case .date:
            guard let text, let date = DateText.date(of: text), let again = DateText.text(of: date) else { return [] }
            return DateText.date(of: again) == date ? [] : ["\(text) becomes \(again)"]
        case .sharedRecord:
            let store = StoreID(high: 1, low: 2)
            let record = try? SharedRecord(rest, of: store, schema: SharedRecord.schemaNumber(schema), path: "log")
            return record == nil || record?.bytes == rest ? [] : ["a record is another one"]
        case .log:
            var log = LogReader()
            log.append(rest)
            while (try? log.next()) ?? nil != nil {}
            return []
        case .logRecords: return await logFindings(RecordScript(reading: rest), schema)
        }
    }

    // MARK: Imports

    /// A stream that has some bytes in two pieces.
    struct Pieces: AsyncSequence, Sendable {
        let bytes: [UInt8]

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pieces: [bytes.prefix(40), bytes.dropFirst(40)]) }

        struct AsyncIterator: AsyncIteratorProtocol {
            var pieces: [ArraySlice<UInt8>]

            mutating func next() async -> ArraySlice<UInt8>? { pieces.isEmpty ? nil : pieces.removeFirst() }
        }
    }

    private static func store(_ schema: Schema) async throws(GraphError) -> Coordinator {
        try await Coordinator(
            schema, path: nil, fileSystem: SimulatedDisk(), options: JournalFixture.options(), retention: .none)
    }

    /// Imports into an empty store, all or nothing, and what came of it once more.
    private static func importFindings(_ source: RowSource, _ schema: Schema) async -> [String] {
        do {
            let coordinator = try await store(schema)
            do {
                try await coordinator.importRows(from: [source], ignoresUnknownTargets: true)
            } catch let error {
                _ = "\(error)"
                return coordinator.snapshot.commit == .none ? [] : ["a refused import has saved: \(error)"]
            }
            let snapshot = coordinator.snapshot
            var findings = snapshot.checkByHand()
            var lines: [UInt8] = []
            for try await piece in snapshot.exportedRows() { lines += piece }
            let copy = try await store(schema)
            try await copy.importRows(from: [.jsonLines(Pieces(lines))])
            findings += snapshot.valueDifferences(to: copy.snapshot).map { "imported again: \($0)" }
            return findings
        } catch { return ["what was imported is not imported again: \(error)"] }
    }

    private static func pageFindings(_ text: String, _ schema: Schema) -> [String] {
        guard let token = PageToken(text) else { return [] }
        var descriptor = FetchDescriptor<Everything>(sortBy: [.ascending(\.text), .descending(\.large)])
        descriptor.after = token
        _ = try? Snapshot(schema: schema).fetchIDs(descriptor)
        return PageToken(token.description) == token ? [] : ["a page token is another one"]
    }

    // MARK: Encodings

    private static func jsonFindings(_ bytes: [UInt8]) -> [String] {
        guard let value = try? JSONReader.read(bytes) else { return [] }
        let text = value.description
        guard let again = try? JSONReader.read(Array(text.utf8)), again == value else {
            return ["JSON is not read as it was written: \(text)"]
        }
        return []
    }

    /// What tools show of a value, and what programs read of it.
    private static func cborFindings(_ bytes: [UInt8]) -> [String] {
        let value = StoredValue(encoded: [1] + bytes, isExact: true)
        _ = value.description
        return (bytes + [0]).withUnsafeBytes { buffer -> [String] in
            let content = UnsafeRawBufferPointer(rebasing: buffer.dropLast())
            guard let place = try? CBORCoders.decode(Everything.Place.self, from: content).value else { return [] }
            let again = try? CBORCoders.withEncoding(of: place) { bytes in
                try bytes.withUnsafeBytes { try CBORCoders.decode(Everything.Place.self, from: $0).value }
            }
            // A NaN is not equal to itself.
            guard place.remark?.isNaN != true else { return [] }
            return again == place ? [] : ["\(place) becomes \(again as Any)"]
        }
    }

    private static func schemaFindings(_ bytes: [UInt8]) -> [String] {
        bytes.withUnsafeBytes { payload -> [String] in
            guard let record = try? SchemaRecord(reading: payload) else { return [] }
            guard (try? Schema(record)) != nil else { return [] }
            let again = record.bytes
            let read = again.withUnsafeBytes { try? SchemaRecord(reading: $0) }
            return read?.bytes == again ? [] : ["a schema is not read as it was written"]
        }
    }

    // MARK: Logs

    /// A log with right checksums and fingerprints, which a copy receives.
    private static func logFindings(_ script: RecordScript, _ schema: Schema) async -> [String] {
        let disk = SimulatedDisk()
        do {
            let options = JournalFixture.options()
            let store = try await Coordinator(
                schema, path: FuzzedFile.path, fileSystem: disk, options: options, compaction: .manual)
            var token = store.snapshot.token
            try await store.close()
            var log = LogWriter(since: token, salt: 5)
            for record in script.records {
                guard let kind = LogRecord.Kind(rawValue: record.kind) else { continue }
                log.append(LogRecord(kind: kind, payload: record.payload, fingerprint: token.fingerprint))
                if kind == .commit { record.payload.withUnsafeBytes { token.add($0) } }
            }
            let receiver = try await LogReceiver(
                schema, path: FuzzedFile.path, fileSystem: disk, options: options, compaction: .manual)
            do { try await receiver.receive(Pieces(log.take())) } catch { _ = "\(error)" }
            let snapshot = receiver.snapshot
            var findings = snapshot.checkByHand()
            try await receiver.close()
            let again = try await Coordinator(
                schema, path: FuzzedFile.path, fileSystem: disk, options: options, compaction: .manual)
            findings += snapshot.differences(to: again.snapshot).map { "opened again: \($0)" }
            try await again.close()
            return findings
        } catch { return ["the copy of a log: \(error)"] }
    }
}
