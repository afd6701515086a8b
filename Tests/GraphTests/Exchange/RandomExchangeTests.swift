import Foundation
import Synchronization
import Testing

@testable import Graph

@Entity private struct TextCard {
    var user: EncodedText?
    var owner: EncodedText
    var nested: EncodedText??
    var users: [EncodedText]
    var some: [EncodedText?]
    var named: [String: EncodedText]
}

/// Random stores with each kind of relationship, written and read back.
struct RandomExchangeTests {
    private func open() async throws -> Coordinator {
        try await Coordinator(
            Schema.version(0, of: StoreShape.types), path: nil, fileSystem: PosixFileSystem(),
            options: JournalOptions(),
            checksEveryCommit: true)
    }

    /// A store that a random program has made, as far as the program gets.
    private func library(seed: UInt64) async throws -> Snapshot {
        let program = StoreProgram(length: 80, seed: seed)
        var run = try await StoreProgramRun(path: nil, .none, nil, undoes: false)
        try await run.perform(program)
        // Deletes change references without running hooks, which an import then runs.
        try await Context(run.coordinator).transaction { context in
            for shelf in try context.fetch(Library.Shelf.self) where shelf.name == "2" && shelf.pinned == nil {
                shelf.name = "3"
            }
            for cover in try context.fetch(Library.Cover.self) where cover.color == 5 && cover.book == nil {
                cover.color = 6
            }
        }
        return run.coordinator.snapshot
    }

    /// All rows and links as CSV, a source for each table.
    private func tables(of snapshot: Snapshot) async throws -> [RowSource] {
        func table<E: Entity>(_ type: E.Type, _ rows: ExportedRows) async throws -> RowSource {
            .csv(of: type, ByteSource(try await rows.bytes(), pieceBytes: 1_000))
        }
        var sources: [RowSource] = []
        for (number, entity) in snapshot.schema.entities.enumerated() {
            sources.append(try await table(entity.type, snapshot.exportedRows(of: number, nil, .csv, nil)))
            for relationship in entity.toManys where relationship.isExchanged(in: snapshot.schema) {
                let links = ExportedRows(
                    snapshot: snapshot, isCSV: true, parts: [.links(relationship, nil, [])], progress: nil)
                sources.append(try await table(entity.type, links))
            }
        }
        return sources
    }

    /// The lines in another order, but links among links in theirs, each in a line of its own.
    private static func mixed(_ lines: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        func isLinks(_ line: String) -> Bool { line.contains(#","links":{"#) }
        var all: [String] = []
        for line in String(decoding: lines, as: UTF8.self).split(separator: "\n") {
            let parts = line.split(whereSeparator: { "[]".contains($0) })
            guard isLinks(String(line)), parts.count == 3 else {
                all.append(String(line))
                continue
            }
            for member in parts[1].split(separator: ",") { all.append("\(parts[0])[\(member)]\(parts[2])") }
        }
        var links = all.filter(isLinks).makeIterator()
        let mixed = all.shuffled(using: &random).map { isLinks($0) ? links.next() ?? "" : $0 }
        return Array(mixed.joined(separator: "\n").utf8)
    }

    private func failure(seed: UInt64) async -> String? {
        do {
            let snapshot = try await library(seed: seed)
            let expected = try snapshot.exchanged()
            let lines = try await snapshot.exportedRows().bytes()
            var random = SeededGenerator(seed: seed)
            let tables = try await tables(of: snapshot).shuffled(using: &random)
            let mixed = RowSource.jsonLines(ByteSource(Self.mixed(lines, &random)))
            for isEmpty in [true, false] {
                let lists = [[.jsonLines(ByteSource(lines, pieceBytes: 333))], tables] + (isEmpty ? [[mixed]] : [])
                for sources in lists {
                    let store = try await open()
                    if !isEmpty {
                        try await store.transaction { context in
                            for _ in 0..<3 { context.insert(Library.Author()) }
                            context.insert(Library.Cover())
                        }
                    }
                    let first = await store.counters.all
                    try await store.importRows(from: sources)
                    let found = try store.snapshot.exchanged(from: first)
                    guard found == expected else { return "seed \(seed): \(found) is not \(expected)" }
                    let errors = store.snapshot.checkByHand()
                    guard errors.isEmpty else { return "seed \(seed): \(errors)" }
                    guard isEmpty else { continue }
                    let again = try await store.snapshot.exportedRows().bytes()
                    guard again == lines else { return "seed \(seed): other identifiers" }
                }
            }
            return nil
        } catch {
            return "seed \(seed): \(error)"
        }
    }

    @Test func `random stores come back, in both formats, into empty stores and others`() async {
        for failure in await Seeds.failures(of: Seeds.programs(share: 4), failure) { Issue.record("\(failure)") }
    }

    @Test func `values that a type encodes as one text come back, in both formats`() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let store = try await Coordinator(for: TextCard.self)
        var ids = ["null", "\"x\"", "ada", "", "1", "true", "{}", "[\"a\"]", " ", ",", "\"", "a\r\nb", "\\"].map {
            EncodedText($0)
        }
        ids += (0..<50).map { _ in EncodedText(AttributeValues.string(&random)) }
        var cards: [TextCard] = []
        for user: EncodedText? in ids + [nil] {
            let some: [EncodedText?] = (0..<Int.random(in: 0...3, using: &random)).map { _ in
                ids.randomElement(using: &random)
            }
            cards.append(
                TextCard(
                    user: user, owner: user ?? EncodedText("null"), nested: random.chance(3) ? .some(nil) : user,
                    users: some.compactMap { $0 }, some: some + [nil], named: ["null": user ?? EncodedText("")]))
        }
        let rows = cards
        try await store.transaction { context in _ = context.insert(contentsOf: rows) }
        let expected = try store.snapshot.exchanged()
        let query = FetchDescriptor<TextCard>()
        for source in [
            RowSource.jsonLines(store.snapshot.exportedRows()),
            .csv(of: TextCard.self, try store.snapshot.exportedRows(query, as: .csv)),
        ] {
            let copy = try await Coordinator(for: TextCard.self)
            try await copy.importRows(from: [source])
            #expect(try copy.snapshot.exchanged() == expected, "seed \(seed)")
            #expect(try await copy.snapshot.exportedRows().bytes() == store.snapshot.exportedRows().bytes())
        }
    }

    @Test func `an import in batches that is interrupted anywhere goes on where it was`() async throws {
        for seed in Seeds.programs(share: 4) {
            var run = try await AnnalsRun(path: nil, seed: seed)
            try await run.run(60)
            let snapshot = run.coordinator.snapshot
            let lines = try await snapshot.exportedRows().bytes()
            for isEmpty in [true, false] {
                let store = try await Annals.open(nil)
                if !isEmpty { try await store.transaction { _ = $0.insert(Annals.Topic(name: "first")) } }
                let first = await store.counters.all
                let last = Mutex<ImportPoint?>(nil)
                let batchSize = Int.random(in: 1...20, using: &run.random)
                while true {
                    let end = Int.random(in: 0...(lines.count * 2), using: &run.random)
                    let source = BrokenSource(bytes: lines, end: end)
                    let point = try last.withLock { $0 }.map {
                        try JSONDecoder().decode(ImportPoint.self, from: try JSONEncoder().encode($0))
                    }
                    do {
                        try await store.importRows(
                            from: [.jsonLines(source)], batchSize: batchSize, resumingAt: point,
                            progress: { progress in last.withLock { $0 = progress.point } })
                        break
                    } catch is BrokenSource.IsBroken {}
                }
                #expect(try store.snapshot.exchanged(from: first) == snapshot.exchanged(), "seed \(seed), \(batchSize)")
                #expect(store.snapshot.checkByHand() == [], "seed \(seed)")
                if isEmpty { #expect(try await store.snapshot.exportedRows().bytes() == lines, "seed \(seed)") }
            }
        }
    }

    @Test func `a link that two sides share comes once`() async throws {
        let store = try await open()
        try await store.transaction { context in
            let (ann, ben, cay) = (
                context.insert(Library.Author(name: "1")), context.insert(Library.Author(name: "2")),
                context.insert(Library.Author(name: "3"))
            )
            ann.friends.append(ben)
            ben.friends.append(cay)
            cay.friends.append(cay)
        }
        func links(_ rows: ExportedRows) async throws -> [Substring] {
            try await rows.text().split(separator: "\n").filter { $0.contains("links") }
        }
        let all = [
            #"{"entity":"Author","id":1,"links":{"friends":[2]}}"#,
            #"{"entity":"Author","id":2,"links":{"friends":[3]}}"#,
            #"{"entity":"Author","id":3,"links":{"friends":[3]}}"#,
        ]
        #expect(try await links(store.snapshot.exportedRows()).map(String.init) == all)
        let query = FetchDescriptor<Library.Author>()
        #expect(try await links(store.snapshot.exportedRows(query)).map(String.init) == all)
        // The one who is not in the query does not name others.
        let some = FetchDescriptor<Library.Author>(fetchOffset: 1)
        #expect(
            try await links(store.snapshot.exportedRows(some)).first
                == #"{"entity":"Author","id":2,"links":{"friends":[1,3]}}"#)
    }

    /// Ends with an error.
    private struct BrokenSource: AsyncSequence, AsyncIteratorProtocol, Sendable {
        struct IsBroken: Error {}

        let bytes: [UInt8]
        let end: Int
        var offset = 0

        func makeAsyncIterator() -> Self { self }

        mutating func next() async throws -> [UInt8]? {
            guard offset < bytes.count else { return nil }
            guard offset < end else { throw IsBroken() }
            defer { offset += 100 }
            return Array(bytes[offset...].prefix(100))
        }
    }

    /// Whatever is done to a text, an import of it ends with a sound store and no more than an error.
    @Test func `texts that were tampered with do no harm`() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let snapshot = try await library(seed: Seeds.first)
        let lines = try await snapshot.exportedRows().bytes()
        let tables = try await tables(of: snapshot)
        let marks = Array("\"\\{}[],:-.0123456789eEnul\n\r\u{0}é".utf8) + [0xFF, 0xC0, 0xED]
        for round in 0..<300 {
            var bytes = lines
            if round % 2 == 1, let table = tables.randomElement(using: &random) {
                var stream = try await table.open()
                bytes = []
                while let piece = try await stream.next() { bytes += piece }
            }
            guard !bytes.isEmpty else { continue }
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] = marks.randomElement(using: &random) ?? 0
                case 1: bytes.insert(marks.randomElement(using: &random) ?? 0, at: place)
                case 2: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...9, using: &random)))
                default:
                    let other = Int.random(in: 0..<bytes.count, using: &random)
                    bytes.insert(contentsOf: bytes[other...].prefix(Int.random(in: 1...200, using: &random)), at: place)
                }
                if bytes.isEmpty { bytes = [0] }
            }
            let store = try await open()
            let source = ByteSource(bytes, pieceBytes: 4_096)
            func read<E: Entity>(_ type: E.Type) -> RowSource { .csv(of: type, source) }
            let type = StoreShape.types.randomElement(using: &random) ?? Library.Book.self
            do {
                try await store.importRows(
                    from: [round % 2 == 1 ? read(type) : .jsonLines(source)],
                    onConflict: [nil, .upsert, .replace, .keepExisting, .reject].randomElement(using: &random) ?? nil,
                    batchSize: [nil, 3].randomElement(using: &random) ?? nil,
                    ignoresUnknownTargets: random.chance(2))
            } catch let error as GraphError {
                #expect(error.description.utf8.count < 4_000, "seed \(seed), round \(round)")
            }
            #expect(store.snapshot.checkByHand() == [], "seed \(seed), round \(round)")
        }
    }
}
