import Foundation
import Synchronization
import Testing

@testable import Graph

private enum Firm {
    @Entity struct Worker {
        @Unique var email: String
        var name: String
        var grade: Grade = .junior
        var address: Address?
        var started: Date?
        var boss: ToOne<Worker> = nil
        @Relationship(inverse: \Worker.boss) var reports: ToMany<Worker> = []
        @Relationship(inverse: \Project.workers, ordered: true) var projects: ToMany<Project> = []

        func validate() throws {
            if name == "nobody" { throw ValidationError(\Self.name, "must be somebody") }
        }
    }

    enum Grade: String, Sendable {
        case junior
        case senior
    }

    struct Address: Codable, Equatable, Sendable {
        var street: String
        var since: Date?
        var key: Data?
    }

    @Entity struct Project {
        @Unique var code: Int
        @Relationship(minimum: 1) var lead: ToOne<Worker> = nil
        var workers: ToMany<Worker> = []
    }

    @Entity struct Word {
        var text: String
    }

    static func open() async throws -> Coordinator {
        try await Coordinator(for: Worker.self, Project.self, checksEveryCommit: true)
    }

    static let sample = """
        {"entity":"Project","id":9,"values":{"code":1,"lead":5}}
        {"entity":"Worker","id":5,"values":{"email":"ada","name":"Ada","grade":"senior","boss":null}}
        {"entity":"Worker","id":3,"values":{"email":"ben","name":"Ben","boss":5}}
        {"entity":"Worker","id":5,"links":{"projects":[9]}}
        """
}

struct ImportTests {
    /// Why an import fails, line by line.
    private func failures(
        _ sources: [RowSource], into store: Coordinator? = nil, batchSize: Int? = nil,
        onConflict: UniquenessPolicy? = nil
    ) async throws -> [String] {
        var coordinator = store
        if coordinator == nil { coordinator = try await Firm.open() }
        guard let coordinator else { return [] }
        let before = coordinator.snapshot.token
        do {
            try await coordinator.importRows(from: sources, onConflict: onConflict, batchSize: batchSize)
            return []
        } catch GraphError.importFailed(let failures) {
            if batchSize == nil { #expect(coordinator.snapshot.token == before) }
            return failures.map(\.description)
        } catch {
            throw error
        }
    }

    private func failure(_ line: String) async throws -> String {
        try await failures([.jsonLines(Firm.sample + "\n" + line)]).joined(separator: "; ")
    }

    // MARK: What is read

    @Test func `an empty store takes over identifiers, and another one gives new ones`() async throws {
        let store = try await Firm.open()
        let progress = try await store.importRows(from: [.jsonLines(Firm.sample)], author: "import")
        #expect((progress.rowCount, progress.linkCount, store.snapshot.commit.number) == (3, 1, 1))
        let ada = try #require(store.snapshot.first(\Firm.Worker.email, equals: "ada"))
        #expect(ada.name == "Ada" && ada.grade == .senior && ada.boss.id == nil)
        #expect(try store.snapshot.fetchIDs(Firm.Worker.self).map(\.row) == [3, 5])
        #expect(store.snapshot.first(\Firm.Worker.email, equals: "ben")?.boss.id?.row == 5)
        // Numbers go on behind the greatest one.
        try await store.transaction { _ = $0.insert(Firm.Worker(email: "cay", name: "Cay")) }
        #expect(try store.snapshot.fetchIDs(Firm.Worker.self).map(\.row) == [3, 5, 6])

        let other = try await Firm.open()
        let gone = try await other.transaction { $0.insert(Firm.Worker(email: "old", name: "Old")).id }
        try await other.transaction { try $0.object(for: gone).delete() }
        try await other.importRows(from: [.jsonLines(Firm.sample)])
        #expect(try other.snapshot.fetchIDs(Firm.Worker.self).map(\.row) == [2, 3])
        #expect(other.snapshot.first(\Firm.Worker.email, equals: "ben")?.boss.id?.row == 2)
    }

    @Test func `a row that needs a new identifier takes the next one, which a later row then does not keep`()
        async throws
    {
        let great = UInt64(1) << 50
        for (ids, kept): ([UInt64?], [RowNumber]) in [
            ([9, 2, 5], [9, 2, 5]), ([4, nil, 5, 2], [4, 5, 6, 2]), ([great, 2, 1], [1, 2, 3]),
            ([2, 1, great], [2, 1, 3]),
        ] {
            let store = try await Firm.open()
            let lines = ids.enumerated().map { place, id in
                #"{"entity":"Worker",\#(id.map { #""id":\#($0),"# } ?? "")"values":{"email":"\#(place)","name":"N"}}"#
            }
            try await store.importRows(from: [.jsonLines(lines.joined(separator: "\n"))])
            let emails = try store.snapshot.fetchValues(Firm.Worker.self).map(\.email)
            let rows = try zip(emails, store.snapshot.fetchIDs(Firm.Worker.self).map(\.row)).sorted { $0.0 < $1.0 }
            #expect(rows.map(\.1) == kept)
        }
    }

    @Test func `a store still takes over identifiers after an import that failed`() async throws {
        let store = try await Firm.open()
        let failures = try await failures([.jsonLines(Firm.sample + "\n{}")], into: store)
        #expect(failures.count == 1)
        try await store.importRows(from: [.jsonLines(Firm.sample)])
        #expect(try store.snapshot.fetchIDs(Firm.Worker.self).map(\.row) == [3, 5])
        #expect(try store.snapshot.fetchIDs(Firm.Project.self).map(\.row) == [9])
    }

    @Test func `an identifier cannot use up the numbers of an entity, nor one that another context has`() async throws {
        let store = try await Firm.open()
        try await store.importRows(
            from: [.jsonLines(#"{"entity":"Worker","id":4611686018427387904,"values":{"email":"a","name":"A"}}"#)])
        #expect(try store.snapshot.fetchIDs(Firm.Worker.self).map(\.row) == [1])

        let shared = try await Firm.open()
        let context = Context(shared)
        let lines = (2...5).map { #"{"entity":"Worker","id":\#($0),"values":{"email":"e\#($0)","name":"N"}}"# }
        let source = ByteSource(lines.joined(separator: "\n").utf8, pieceBytes: lines[0].utf8.count + 1)
        let isInserted = Mutex(false)
        try await shared.importRows(
            from: [
                .jsonLines(
                    InsertingSource(base: source) {
                        guard
                            !isInserted.withLock({ was in
                                defer { was = true }
                                return was
                            })
                        else { return }
                        let id = await context.perform { $0.insert(Firm.Worker(email: "other", name: "Other")).id }
                        #expect(id.row == 3)
                    })
            ], batchSize: 2)
        try await context.save()
        #expect(shared.snapshot.count(of: Firm.Worker.self) == 5 && shared.snapshot.check() == [])
        #expect(shared.snapshot.first(\Firm.Worker.email, equals: "other")?.name == "Other")
    }

    /// Does something behind its first piece.
    private struct InsertingSource: AsyncSequence, Sendable {
        let base: ByteSource
        let action: @Sendable () async -> Void

        func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator(), action: action) }

        struct Iterator: AsyncIteratorProtocol {
            var base: ByteSource.Iterator
            let action: @Sendable () async -> Void
            var count = 0

            mutating func next() async -> ArraySlice<UInt8>? {
                count += 1
                if count == 2 { await action() }
                return await base.next()
            }
        }
    }

    @Test func `CSV has columns in any order, and defaults for those that it has not`() async throws {
        let store = try await Firm.open()
        let workers =
            "\u{FEFF}name,id,email,address,started\r\n\"Ada, \"\"Countess\"\"\nLovelace\",7,ada,,1815-12-10T00:00:00Z\r\n\r\n,8,ben,"
            + #""{""street"":""S"",""since"":1.5,""key"":""AQI=""}","# + "\n"
        try await store.importRows(from: [
            .csv(of: Firm.Worker.self, workers), .csv(of: Firm.Project.self, "id,code,lead\n1,4,7\n2,5,8"),
            .csv(of: Firm.Worker.self, "id,projects\n7,2\n7,1\n"),
        ])
        let ada = try #require(store.snapshot.first(\Firm.Worker.email, equals: "ada"))
        #expect(ada.name == "Ada, \"Countess\"\nLovelace" && ada.address == nil && ada.grade == .junior)
        #expect(ada.started == DateText.date(of: "1815-12-10T00:00:00Z"))
        let ben = try #require(store.snapshot.first(\Firm.Worker.email, equals: "ben"))
        #expect(ben.name == "" && ben.address?.key == Data([1, 2]) && ben.started == nil)
        #expect(ben.address?.since == Date(timeIntervalSinceReferenceDate: 1.5))
        let id = try #require(try store.snapshot.fetchIDs(Firm.Worker.self).first)
        #expect(try store.snapshot.relatedValues(\Firm.Worker.projects, of: id).map(\.code) == [5, 4])
    }

    @Test(.bug(id: "another order", "links that waited came last"))
    func `links that come after others that wait wait, too`() async throws {
        let store = try await Firm.open()
        let first = #"""
            {"entity":"Worker","id":1,"values":{"email":"a","name":"A"}}
            {"entity":"Project","id":1,"values":{"code":1,"lead":1}}
            {"entity":"Worker","id":1,"links":{"projects":[2]}}
            """#
        let second = #"""
            {"entity":"Worker","id":1,"links":{"projects":[1]}}
            {"entity":"Project","id":2,"values":{"code":2,"lead":1}}
            """#
        try await store.importRows(from: [.jsonLines(first + "\n" + second)])
        #expect(
            try await store.snapshot.exportedLinks(\Firm.Worker.projects).text() == "id,projects\r\n1,2\r\n1,1\r\n")
    }

    @Test func `a query is exported with what belongs to its objects`() async throws {
        let store = try await Firm.open()
        try await store.importRows(from: [.jsonLines(Firm.sample)])
        let query = FetchDescriptor<Firm.Worker>(
            predicate: #Predicate { $0.name > "A" }, sortBy: [.descending(\.name)])
        #expect(
            try await store.snapshot.exportedRows(query).text() == """
                {"entity":"Worker","id":3,"values":{"email":"ben","name":"Ben","grade":"junior","address":null,"started":null,"boss":5}}
                {"entity":"Worker","id":5,"values":{"email":"ada","name":"Ada","grade":"senior","address":null,"started":null,"boss":null}}
                {"entity":"Worker","id":5,"links":{"projects":[9]}}

                """)
        #expect(
            try await store.snapshot.exportedRows(query, as: .csv).text()
                == "id,email,name,grade,address,started,boss\r\n3,ben,Ben,junior,,,5\r\n5,ada,Ada,senior,,,\r\n")
        #expect(try await store.snapshot.exportedLinks(\Firm.Worker.projects).text() == "id,projects\r\n5,9\r\n")
        let lines = try await store.snapshot.exportedRows(query).bytes()
        let failures = try await failures([.jsonLines(ByteSource(lines))])
        #expect(failures == ["lines:3: Worker.projects: no source has a Project with the identifier 9"])
        let other = try await Firm.open()
        try await other.importRows(from: [.jsonLines(ByteSource(lines))], ignoresUnknownTargets: true)
        #expect(other.snapshot.count(of: Firm.Worker.self) == 2)
    }

    @Test func `a file is read, and progress told`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/rows.jsonl"
        try Firm.sample.write(toFile: path, atomically: true, encoding: .utf8)
        let store = try await Firm.open()
        let told = Mutex<[Int]>([])
        try await store.importRows(
            from: [.jsonLines(at: path)], batchSize: 100,
            progress: { progress in told.withLock { $0.append(progress.rowCount) } })
        #expect(told.withLock { $0 }.last == 3 && store.snapshot.count(of: Firm.Project.self) == 1)
        let fractions = Mutex<[Double]>([])
        _ = try await store.snapshot.exportedRows(progress: { progress in
            fractions.withLock { $0.append(progress.fraction) }
        }).bytes()
        #expect(fractions.withLock { $0 }.last == 1)
        for wrong in [path + "x", folder.path, "a\0b"] {
            await #expect(throws: GraphError.self) { try await store.importRows(from: [.jsonLines(at: wrong)]) }
        }
    }

    // MARK: Rows that are there

    @Test func `a row whose unique value is taken does what the import says`() async throws {
        for policy: UniquenessPolicy in [.upsert, .keepExisting, .reject] {
            let store = try await Firm.open()
            let ids = try await store.transaction { context in
                let ben = context.insert(Firm.Worker(email: "ben", name: "Old Ben"))
                context.insert(Firm.Project(code: 7, lead: ToOne(ben.id)))
                return [ben.id]
            }
            if policy == .reject {
                let failures = try await failures([.jsonLines(Firm.sample)], into: store, onConflict: policy)
                #expect(failures == [#"lines:3: Worker.email: "ben" is taken by Worker/p1"#])
                continue
            }
            // A batch for each row: what comes later leads to the row that stays.
            for batchSize in [nil, 2] {
                try await store.importRows(from: [.jsonLines(Firm.sample)], onConflict: policy, batchSize: batchSize)
                let ben = try #require(store.snapshot.value(for: ids[0]))
                #expect(ben.name == (policy == .upsert ? "Ben" : "Old Ben"), "\(policy)")
                #expect((ben.boss.id != nil) == (policy == .upsert))
                #expect(
                    store.snapshot.count(of: Firm.Worker.self) == 2 && store.snapshot.count(of: Firm.Project.self) == 2)
            }
        }
    }

    @Test func `what a batch refers to in an earlier one is the row that stayed`() async throws {
        let store = try await Firm.open()
        let ben = try await store.transaction { $0.insert(Firm.Worker(email: "ben", name: "Old Ben")).id }
        let lines = """
            {"entity":"Worker","id":1,"values":{"email":"ben","name":"Ben","boss":3}}
            {"entity":"Worker","id":2,"values":{"email":"cay","name":"Cay","boss":1}}
            {"entity":"Worker","id":3,"values":{"email":"dan","name":"Dan","boss":1}}
            """
        try await store.importRows(from: [.jsonLines(lines)], onConflict: .upsert, batchSize: 1)
        #expect(store.snapshot.first(\Firm.Worker.email, equals: "cay")?.boss.id == ben)
        let dan = try #require(store.snapshot.value(for: ben)?.boss.id)
        #expect(store.snapshot.value(for: dan)?.name == "Dan" && store.snapshot.value(for: dan)?.boss.id == ben)
    }

    // MARK: What is refused

    @Test func `a failure has line, entity and property`() async throws {
        func worker(_ values: String) -> String {
            #"{"entity":"Worker","id":1,"values":{"email":"x","name":"X","# + values + "}}"
        }
        let expected: [(String, String)] = [
            ("{", "lines:5: not JSON at byte 2: a key in quotation marks is missing"),
            ("[]", "lines:5: a line is to be an object with entity, id and values"),
            (#"{"entity":"Car","values":{}}"#, #"lines:5: the store has no entity "Car""#),
            (#"{"entity":"Worker","id":1}"#, "lines:5: it has neither values nor links"),
            (#"{"entity":"Worker","values":{"email":"x"}}"#, "lines:5: Worker.name: it has no value, and no default"),
            (
                worker(#""boss":"x""#),
                #"lines:5: Worker.boss: "x" is no identifier: identifiers are whole numbers from 1"#
            ),
            (worker(#""boss":77"#), "lines:5: Worker.boss: no source has a Worker with the identifier 77"),
            (worker(#""grade":"chief""#), #"lines:5: Worker.grade: it has no case for "chief""#),
            (worker(#""reports":[]"#), #"lines:5: Worker has no attribute or reference "reports""#),
            (worker(#""email":"y""#), #"lines:5: not JSON at byte 67: the key "email" comes twice"#),
            (
                worker(#""started":"soon""#),
                #"lines:5: Worker.started: "soon" is not a date like 2026-11-25T23:16:58Z, or seconds since the beginning of 2001"#
            ),
            (
                #"{"entity":"Worker","id":5,"values":{"email":"x","name":"X"}}"#,
                "lines:5: Worker: a row with the identifier 5 came before"
            ),
            (#"{"entity":"Worker","values":{"email":"x","name":"nobody"}}"#, "lines:5: Worker.name: must be somebody"),
            (
                #"{"entity":"Worker","values":{"email":"ada","name":"X"}}"#,
                #"lines:2: Worker.email: "ada" is taken by the object of lines:5; lines:5: Worker.email: "ada" is taken by the object of lines:2"#
            ),
            (
                #"{"entity":"Project","values":{"code":4}}"#,
                "lines:5: Project.lead: must not be nil"
            ),
            (
                #"{"entity":"Worker","id":5,"links":{"projects":[4]}}"#,
                "lines:5: Worker.projects: no source has a Project with the identifier 4"
            ),
        ]
        for (line, failure) in expected {
            let found = try await self.failure(line)
            #expect(found == failure)
        }
        let csv = try await failures([.csv(of: Firm.Worker.self, "email,name\r\n\"a\nb\",A\r\nb,B,C")])
        #expect(csv == ["Worker:4: Worker: it has 3 fields, and the first line 2"])
        for (text, failure) in [
            ("email,nam", #"Worker:1: Worker: there is no property "nam""#),
            ("email,email", #"Worker:1: Worker: the column "email" comes twice"#),
            ("email\n\"a", "Worker:2: a quotation mark is never closed"),
            ("email\na\"b\"", "Worker:2: Worker: a quotation mark stands in a field that does not begin with one"),
            ("email\n\"a\"b", "Worker:2: Worker: something follows a closing quotation mark"),
            (
                "id,projects,name",
                "Worker:1: Worker: beside a column of members there is one of identifiers, and no other one"
            ),
        ] {
            let found = try await failures([.csv(of: Firm.Worker.self, text)])
            #expect(found == [failure])
        }
    }

    @Test func `an error of more rows than it lists has the number of all`() async throws {
        let lines = (1...10_050).map { #"{"entity":"Worker","id":\#($0),"values":{"email":"\#($0)","name":"nobody"}}"# }
        let store = try await Coordinator(for: Firm.Worker.self, Firm.Project.self)
        do {
            try await store.importRows(from: [
                .jsonLines(ByteSource(lines.joined(separator: "\n").utf8, pieceBytes: 65_536))
            ]
            )
            Issue.record("nothing was thrown")
        } catch GraphError.importFailed(let failures) {
            #expect(failures.count == 10_000 && failures.totalCount == 10_050)
            #expect(failures.last?.description == "lines:10000: Worker.name: must be somebody")
        } catch {
            Issue.record("\(error)")
        }
    }

    @Test func `batches before a failure stay, and the point leads behind them`() async throws {
        let store = try await Firm.open()
        let last = Mutex<ImportPoint?>(nil)
        let good = (1...5).map { #"{"entity":"Worker","id":\#($0),"values":{"email":"e\#($0)","name":"N"}}"# }
        let bad = good.prefix(3) + ["{}"] + good.suffix(2)
        await #expect(throws: GraphError.self) {
            try await store.importRows(
                from: [.jsonLines(bad.joined(separator: "\n"))], batchSize: 2,
                progress: { progress in last.withLock { $0 = progress.point } })
        }
        #expect(store.snapshot.count(of: Firm.Worker.self) == 2)
        let point = try #require(last.withLock { $0 })
        #expect(point.token == store.snapshot.token)
        let other = try await Firm.open()
        await #expect(throws: GraphError.tokenOfOtherStore(point.token)) {
            try await other.importRows(from: [], resumingAt: point)
        }
        try await store.importRows(from: [.jsonLines(good.joined(separator: "\n"))], batchSize: 2, resumingAt: point)
        #expect(try store.snapshot.fetchIDs(Firm.Worker.self).map(\.row) == [1, 2, 3, 4, 5])
    }

    @Test func `a point behind all sources goes on with further ones, and imports none again`() async throws {
        let store = try await Firm.open()
        let first = RowSource.jsonLines(Firm.sample)
        let point = try #require(try await store.importRows(from: [first]).point)
        let same = try await store.importRows(from: [first], resumingAt: point)
        #expect(store.snapshot.commit.number == 1 && same.rowCount == 3)
        let more = #"{"entity":"Worker","id":8,"values":{"email":"cy","name":"Cy","boss":3}}"#
        try await store.importRows(from: [first, .jsonLines(more)], resumingAt: point)
        let boss = store.snapshot.first(\Firm.Worker.email, equals: "cy")?.boss.id
        #expect(boss.flatMap { store.snapshot.value(for: $0) }?.name == "Ben")
        await #expect(throws: GraphError.historyDiverged(point.token)) {
            try await store.importRows(from: [], resumingAt: point)
        }
        for change in [\ImportPoint.source, \.recordCount, \.rowCount, \.linkCount] {
            for value in [-1, .max] {
                var forged = point
                forged[keyPath: change] = value
                await #expect(throws: GraphError.historyDiverged(point.token)) {
                    try await store.importRows(from: [first], resumingAt: forged)
                }
            }
        }
    }

    @Test func `links of rows that were deleted since they were imported lead nowhere`() async throws {
        for (deletesOwner, ignores) in [(true, false), (false, false), (true, true), (false, true)] {
            let store = try await Firm.open()
            let rows = RowSource.jsonLines(Firm.sample)
            let point = try #require(try await store.importRows(from: [rows]).point)
            try await store.transaction { context in
                if deletesOwner {
                    try context.fetch(Firm.Worker.self).first { $0.name == "Ben" }?.delete()
                } else {
                    try context.fetch(Firm.Project.self).first?.delete()
                }
            }
            let links = RowSource.jsonLines(
                #"{"entity":"Worker","id":\#(deletesOwner ? 3 : 5),"links":{"projects":[9]}}"#)
            do {
                try await store.importRows(from: [rows, links], resumingAt: point, ignoresUnknownTargets: ignores)
                #expect(ignores)
            } catch GraphError.importFailed(let failures) {
                let name = deletesOwner ? "Worker with the identifier 3" : "Project with the identifier 9"
                #expect(failures.map(\.description) == ["lines:1: Worker.projects: the \(name) was deleted"])
                #expect(!ignores)
            } catch {
                Issue.record("\(error)")
            }
            #expect(store.check() == [])
        }
    }

    @Test func `hostile JSON is refused`() {
        func reason(_ json: String) -> String { reason(Array(json.utf8)) }
        func reason(_ json: [UInt8]) -> String {
            do throws(InvalidValue) { return try JSONReader.read(json).description } catch { return error.reason }
        }
        #expect(reason(#"[1,-0.5e+3,"a\u00e9\ud83d\ude00\n",{"":null}]"#) == #"[1,-0.5e+3,"aé😀\n",{"":null}]"#)
        let deep = String(repeating: "[", count: 1_000_000)
        #expect(reason(deep) == "not JSON at byte 129: it is nested more than 128 levels deep")
        #expect(reason(#""\ud800""#).hasSuffix("half of a surrogate pair stands alone"))
        #expect(reason(#""\ud800\u0041""#).hasSuffix("half of a surrogate pair stands alone"))
        #expect(reason(#""\udc00""#).hasSuffix("half of a surrogate pair stands alone"))
        #expect(reason([0x22, 0xFF, 0x22]) == "not JSON at byte 1: the text is not UTF-8")
        for json in [
            "", "01", "1.", "+1", ".5", "1e", "nul", "\"a", "\"\n\"", "[1,]", "[1 2]", "{\"a\"}", "{a:1}", "\"\\x\"",
            "\"\\u+123\"", "1 1", "NaN",
        ] {
            #expect(reason(json).hasPrefix("not JSON at byte "), "\(json)")
        }
    }

    @Test func `a line that is too long is refused before it is read`() throws {
        var buffer = RecordBuffer(isCSV: false, limitBytes: 1 << 20)
        for _ in 0..<16 { buffer.append([UInt8](repeating: 0x20, count: 1 << 16)) }
        #expect(try buffer.next()?.line == nil)
        buffer.append([0x20])
        #expect(throws: InvalidValue.self) { try buffer.next() }
    }
}

extension ImportTests {
    /// Ends as many streams do while a task waits for them: when that is cancelled.
    private struct CancellingSource: AsyncSequence, AsyncIteratorProtocol, Sendable {
        var pieces: [[UInt8]]

        init(_ text: String) { pieces = [Array(text.utf8)] }

        func makeAsyncIterator() -> Self { self }

        mutating func next() async -> [UInt8]? {
            if let piece = pieces.popLast() { return piece }
            withUnsafeCurrentTask { $0?.cancel() }
            return nil
        }
    }

    @Test(arguments: [
        RowSource.jsonLines(CancellingSource(#"{"entity":"Project","id":9,"values":{"code":1,"lead":5}}"#)),
        .jsonLines(CancellingSource("{")), .csv(of: Firm.Worker.self, CancellingSource("")),
        .csv(of: Firm.Worker.self, CancellingSource("email,name\nada,\"Ad")),
    ]) func `an import that is cancelled says so, and not what its source lacks`(source: RowSource) async throws {
        let store = try await Firm.open()
        let task = Task { try await store.importRows(from: [source]) }
        let error = await #expect(throws: GraphError.self) { try await task.value }
        guard case .cancelled = error else { throw try #require(error) }
        #expect(store.snapshot.commit == CommitNumber(0))
    }

    @Test func `an import in batches that is cancelled says that earlier ones are saved`() async throws {
        let store = try await Firm.open()
        let rows = (1...4).map { #"{"entity":"Worker","id":\#($0),"values":{"email":"\#($0)","name":"N"}}"# + "\n" }
        let source = RowSource.jsonLines(CancellingSource(rows.joined()))
        let task = Task { try await store.importRows(from: [source], batchSize: 3) }
        let error = await #expect(throws: GraphError.self) { try await task.value }
        guard case .cancelled = error else { throw try #require(error) }
        #expect(store.snapshot.count(of: Firm.Worker.self) == 3)
        #expect("\(try #require(error))".contains("of an import in batches nothing after the last complete one"))
    }

    @Test func `blank texts in CSV of one column are values`() async throws {
        let store = try await Coordinator(for: Firm.Word.self)
        try await store.importRows(from: [.csv(of: Firm.Word.self, "text\na\n \n\"\"\n\t\n\nb")])
        #expect(try store.snapshot.fetchValues(Firm.Word.self).map(\.text) == ["a", " ", "", "\t", "b"])
        try await store.importRows(from: [.csv(of: Firm.Word.self, " \n\nid,text\n\t\n1,c\n  \n")])
        #expect(store.snapshot.count(of: Firm.Word.self) == 6)
    }
}
