import Foundation
import Testing

@testable import Graph
@testable import graphctl

/// The tool for files of stores.
@MainActor struct GraphCtlTests {
    private func contents(of folder: TemporaryFolder) throws -> [String: Data?] {
        var files: [String: Data?] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            files[name] = FileManager.default.contents(atPath: folder.file(name))
        }
        return files
    }

    @Test(arguments: GoldenStore.allCases) func `files of any age can be looked into, and stay as they are`(
        store: GoldenStore
    ) async throws {
        let folder = try store.copy()
        let before = try contents(of: folder)
        let state = try await store.plainState()
        let verification = await graphctl("verify", folder.file())
        #expect(verification.code == 0 && verification.errors == "")
        #expect(verification.output.contains(": sound, with \(state.rows.count) objects at commit "))
        #expect(
            await graphctl("schema", folder.file()).output == String(decoding: try store.record.bytes, as: UTF8.self))
        let dump = await graphctl("dump", "--format", "jsonl", folder.file())
        #expect(dump.code == 0 && dump.lines.count == state.rows.count)
        for line in dump.lines {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            let (entity, row) = (object?["entity"] as? String, object?["row"] as? Int)
            let values = object?["values"] as? [String: Any]
            let expected = try #require(state.rows["\(entity ?? "")/\(row ?? 0)"])
            #expect(Set(expected.keys).isSubset(of: values?.keys.map { $0 } ?? []))
            #expect(object?["version"] as? UInt64 == state.versions["\(entity ?? "")/\(row ?? 0)"])
        }
        let statistics = await graphctl("stat", folder.file())
        for entity in Set(state.rows.keys.map { $0.prefix { $0 != "/" } }) {
            let count = state.rows.keys.count { $0.hasPrefix("\(entity)/") }
            #expect(statistics.lines.contains("objects of \(entity): \(count)"))
        }
        #expect(try contents(of: folder) == before)
    }

    @Test(arguments: GoldenStore.allCases) func `what export prints, an import reads`(store: GoldenStore) async throws {
        let folder = try store.copy()
        let export = await graphctl("export", folder.file())
        #expect(export.code == 0)
        let original = try await store.open(folder.file())
        let copy = try await store.open(folder.file("copy"))
        try await copy.importRows(from: [.jsonLines(export.output)])
        #expect(try copy.snapshot.exchanged() == original.snapshot.exchanged())
        #expect(try await original.snapshot.exportedRows().text().split(separator: "\n").count == export.lines.count)
        for (entity, description) in original.snapshot.schema.entities.enumerated() {
            let rows = await graphctl("export", "--format=csv", "--entity", description.name, folder.file())
            #expect(rows.output.hasPrefix("id,") && rows.code == 0)
            #expect(rows.output.utf8.count > original.snapshot.entities[entity].rows.count)
            for toMany in description.toManys {
                let name = description.properties[toMany.property].name
                let links = await graphctl(
                    "export", "--format=csv", "--entity", description.name, "--links", name, folder.file())
                #expect(links.output.hasPrefix("id,\(name)\r\n"))
            }
        }
        #expect(await graphctl("export", "--entity", "Nothing", folder.file()).code == 2)
        try await original.close()
        try await copy.close()
    }

    // MARK: Values

    fileprivate struct Card: Codable, Equatable {
        var text = "a\"b\\\u{1}"
        var numbers = [1.5, -2]
        var inner: [String: Int?] = ["x": nil]
        var large = UInt64.max
        var data = Data([1, 2, 3])
    }

    @Entity fileprivate struct Sample {
        var flag = true
        var small: Int8 = -5
        var wide = Int128.min
        var ratio = 0.1
        var odd = Double.nan
        var text = "Żar 😀\n\u{7F}"
        var nothing: String?
        var something: Int? = 7
        var moment = Date(timeIntervalSinceReferenceDate: 0.25)
        var token = UUID(uuidString: "00000000-0000-0000-0000-00000000000A")!
        var data = Data([0xFF, 0])
        var place = URL(string: "https://example.org/a")!
        var price = Decimal(string: "12.50")!
        var list: [[Int]] = [[1], []]
        var set: Set<String> = ["b", "a"]
        var table: [Int: Bool] = [2: true, 1: false]
        var card = Card()
        var owner: ToOne<Sample> = nil
        @Relationship(inverse: \Sample.owner) var parts: ToMany<Sample> = []
    }

    @Test func `values of each kind are shown as they are`() async throws {
        let folder = try TemporaryFolder()
        let store = try await Coordinator(for: Sample.self, at: folder.file())
        try await store.transaction { context in
            let owner = context.insert(Sample())
            context.insert(Sample(owner: ToOne(owner.id)))
        }
        // The store is open.
        let dump = await graphctl("dump", "--format", "jsonl", folder.file())
        let expected = """
            {"entity":"Sample","row":1,"version":1,"values":{"flag":true,"small":-5,\
            "wide":-170141183460469231731687303715884105728,"ratio":0.1,"odd":"nan","text":"Żar 😀\\n\\u007f",\
            "nothing":null,"something":7,"moment":0.25,"token":"00000000-0000-0000-0000-00000000000A","data":"/wA=",\
            "place":"https://example.org/a","price":12.5,"list":[[1],[]],"set":["a","b"],\
            "table":{"1":false,"2":true},"card":{"data":"AQID","text":"a\\"b\\\\\\u0001","inner":{"x":null},\
            "large":18446744073709551615,"numbers":[1.5,-2.0]},"owner":null,"parts":[2]}}
            """
        #expect(dump.lines.first.map(String.init) == expected)
        #expect(try JSONSerialization.jsonObject(with: Data(expected.utf8)) is [String: Any])
        let text = await graphctl("dump", "--entity", "Sample", folder.file())
        #expect(text.lines.prefix(4) == ["Sample 1, version 1", "    flag: true", "    small: -5", text.lines[3]])
        #expect(text.lines.contains("    owner: 1") && text.lines.count == 2 * 20)
        let other = await graphctl("dump", "--entity", "Other", folder.file())
        #expect(other.code == 2 && other.errors == "graphctl: the file has no entity 'Other', but Sample\n")
        try await store.close()
    }

    // MARK: Two files

    @Test func `what differs between two files is listed`() async throws {
        let folder = try TemporaryFolder()
        let store = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        let ids = try await store.transaction { context in
            ["a", "b", "c"].map { context.insert(Team(name: $0)).id }
        }
        try await store.copy(to: folder.file("copy"))
        #expect(await graphctl("diff", folder.file("copy"), folder.file()) == GraphCtlOutcome())
        try await store.transaction { context in
            context[ids[0]]?.name = "A"
            context[ids[1]]?.delete()
            context.insert(Person(name: "Ada", team: ToOne(ids[2])))
        }
        let (there, back) = (
            await graphctl("diff", folder.file("copy"), folder.file()),
            await graphctl("diff", folder.file(), folder.file("copy"))
        )
        #expect(there.code == 3 && back.code == 3)
        #expect(
            there.lines.contains("  Team 1 name: \"a\" → \"A\"") && back.lines.contains("  Team 1 name: \"A\" → \"a\""))
        #expect(
            there.lines.contains { $0.hasPrefix("- Team 2 {") } && back.lines.contains { $0.hasPrefix("+ Team 2 {") })
        #expect(there.lines.contains { $0.hasPrefix("+ Person 1 {") && $0.contains("\"name\":\"Ada\"") })
        #expect(there.lines.contains("  Team 3 members: [] → [1]"))
        #expect(there.lines.count == 4 && back.lines.count == 4)
        try await store.close()
    }

    @Test func `what has other bytes differs, also if it looks alike`() async throws {
        let folder = try TemporaryFolder()
        let store = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        let id = try await store.transaction { $0.insert(Team(name: "\u{E9}")).id }
        try await store.copy(to: folder.file("copy"))
        try await store.transaction { $0[id]?.name = "e\u{301}" }
        let difference = await graphctl("diff", folder.file("copy"), folder.file())
        #expect(difference.code == 3 && difference.lines.count == 1)
        let log = await graphctl("log", "--changes", folder.file())
        #expect(log.lines.last == "    ~ Team 1 name: \"\u{E9}\" → \"e\u{301}\"")
        try await store.close()
    }

    @Test func `schemas and stores that differ are told`() async throws {
        let (old, new) = (try GoldenStore.library.copy(), try GoldenStore.library.copy())
        try await LibraryV2.open(new.file()).close()
        let difference = await graphctl("diff", old.file(), new.file())
        #expect(difference.code == 3 && difference.errors == "")
        #expect(difference.lines.contains("schema: Prize: added"), "\(difference.lines.prefix(20))")
        #expect(
            difference.lines.contains { $0.hasPrefix("schema: Book.pages: int32 becomes int") },
            "\(difference.lines.prefix(20))")
        #expect(!difference.lines.contains { $0.hasSuffix("null → null") })
        let other = try await Coordinator(for: Team.self, Person.self, at: old.file("other"))
        try await other.close()
        #expect(await graphctl("diff", old.file(), old.file("other")).errors.contains("belong to different stores"))
    }

    @Test func `the log has each commit that the file has`() async throws {
        let folder = try TemporaryFolder()
        let store = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        let start = Date()
        let ids = try await store.transaction(author: "Ada \"L\"") { context in
            ["a", "b", "c"].map { context.insert(Team(name: $0)).id }
        }
        try await store.transaction { context in
            context[ids[0]]?.name = "A"
            context[ids[1]]?.delete()
            context.insert(Person(name: "Ada", team: ToOne(ids[2])))
        }
        let text = await graphctl("log", folder.file())
        #expect(text.code == 0 && text.lines.count == 2)
        #expect(text.lines[0].hasPrefix("commit 1, 20") && text.lines[0].contains(", by \"Ada \\\"L\\\"\", Team +3, "))
        #expect(text.lines[1].hasPrefix("commit 2, 20") && text.lines[1].contains("Z, Team ~1 -1, Person +1, "))
        let json = await graphctl("log", "--format", "jsonl", folder.file())
        let last = try JSONSerialization.jsonObject(with: Data(json.lines[1].utf8)) as? [String: Any]
        let changes = last?["changes"] as? [String: [String: Int]]
        #expect(changes?["Team"] == ["inserted": 0, "updated": 1, "deleted": 1])
        #expect(last?["token"] as? String == "\(store.snapshot.token)")
        let time = ((last?["time"] as? NSNumber)?.doubleValue ?? 0) / 1e9 - start.timeIntervalSince1970
        #expect((-1...600).contains(time))
        try await store.compact()
        #expect(await graphctl("log", folder.file()).lines == text.lines)
        let figures = await graphctl("stat", folder.file()).lines
        #expect(figures.contains { $0.hasPrefix("bytes of commits that it has retained: ") && !$0.hasSuffix(" 0") })
        try await store.deleteHistory(before: store.snapshot.token)
        try await store.transaction { $0[ids[0]]?.name = "B" }
        let rest = await graphctl("log", folder.file())
        #expect(rest.lines.count == 2 && rest.lines[0] == "commits up to 2 are not in the file any more")
        #expect(rest.lines[1].contains("commit 3, "))
        let lines = await graphctl("log", "--format=jsonl", folder.file()).lines
        #expect(lines.count == 2 && lines[0] == "{\"compacted\":2}" && lines[1].hasPrefix("{\"commit\":3,"))
        try await store.close()
        for golden in GoldenStore.allCases {
            let folder = try golden.copy()
            #expect(await graphctl("log", folder.file()).code == 0)
        }
    }

    @Test func `the log has what each commit changed, if it is asked for`() async throws {
        let folder = try TemporaryFolder()
        let store = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        let ids = try await store.transaction { context in
            ["a", "b"].map { context.insert(Team(name: $0)).id }
        }
        try await store.transaction { context in
            context[ids[0]]?.name = "A"
            context[ids[1]]?.delete()
            context.insert(Person(name: "Ada", team: ToOne(ids[0])))
        }
        // The store is open.
        let text = await graphctl("log", "--changes", folder.file())
        #expect(text.code == 0 && text.errors == "", "\(text)")
        #expect(text.lines.count == 7, "\(text)")
        #expect(text.lines[0].hasPrefix("commit 1, ") && text.lines[3].hasPrefix("commit 2, "))
        #expect(text.lines[1] == "    + Team 1 {\"name\":\"a\"}" && text.lines[2] == "    + Team 2 {\"name\":\"b\"}")
        #expect(text.lines[4] == "    ~ Team 1 name: \"a\" → \"A\"")
        #expect(text.lines[5] == "    - Team 2 {\"name\":\"b\"}")
        #expect(text.lines[6].hasPrefix("    + Person 1 {\"name\":\"Ada\","), "\(text.lines[6])")
        #expect(text.lines[6].contains("\"team\":1"))
        let json = await graphctl("log", "--format", "jsonl", "--changes", folder.file())
        let last = try JSONSerialization.jsonObject(with: Data(json.lines[1].utf8)) as? [String: Any]
        let objects = try #require(last?["objects"] as? [[String: Any]])
        #expect(objects.compactMap { $0["change"] as? String } == ["updated", "deleted", "inserted"])
        #expect(objects[0]["before"] as? [String: String] == ["name": "a"])
        #expect(objects[0]["values"] as? [String: String] == ["name": "A"])
        try await store.transaction { $0[ids[0]]?.name = "B" }
        #expect(await graphctl("log", "--changes", folder.file()).lines.last == "    ~ Team 1 name: \"A\" → \"B\"")
        #expect(!(await graphctl("log", "--format", "jsonl", folder.file()).output.contains("objects")))
        try await store.close()
        for golden in GoldenStore.allCases {
            let folder = try golden.copy()
            let before = try contents(of: folder)
            #expect(await graphctl("log", "--changes", folder.file()).code == 0)
            #expect(try contents(of: folder) == before)
        }
    }

    @Entity fileprivate struct Lesson {
        var title: String
        @Relationship(inverse: \Pupil.lessons) var pupils: ToMany<Pupil> = []
    }

    @Entity fileprivate struct Pupil {
        var name: String
        var lessons: ToMany<Lesson> = []
    }

    @Test func `the log has the links that a commit made and ended`() async throws {
        let folder = try TemporaryFolder()
        let store = try await Coordinator(for: Lesson.self, Pupil.self, at: folder.file())
        let (lesson, pupil) = try await store.transaction { context in
            let (lesson, pupil) = (context.insert(Lesson(title: "a")), context.insert(Pupil(name: "b")))
            lesson.pupils.append(pupil)
            return (lesson.id, pupil.id)
        }
        try await store.transaction { context in
            if let pupil = context[pupil] { context[lesson]?.pupils.remove(pupil) }
        }
        let lines = await graphctl("log", "--changes", folder.file()).lines
        #expect(lines.count { $0.hasPrefix("    + link ") && $0.hasSuffix(": 1 to 1") } == 1, "\(lines)")
        #expect(lines.last?.hasPrefix("    - link ") == true, "\(lines)")
        try await store.close()
    }

    // MARK: Compacting

    fileprivate enum Newer {
        struct Card: Codable, Equatable {
            var text = ""
            var color: Int?
        }

        @Entity struct Item {
            var card: Card
            var count = 0
        }
    }

    @Test func `compacting keeps what is encoded, the versions and the earlier schemas`() async throws {
        let folder = try TemporaryFolder()
        let store = try await Coordinator(for: Newer.Item.self, at: folder.file())
        let card = Newer.Card(text: "a", color: 7)
        let id = try await store.transaction { $0.insert(Newer.Item(card: card)).id }
        for number in 1...50 { try await store.transaction { $0[id]?.count = number } }
        let refusal = await graphctl("compact", folder.file())
        #expect(refusal.code == 1 && refusal.errors.contains("already open"))
        try await store.close()
        #expect(await graphctl("compact", folder.file()).code == 0)
        #expect(await graphctl("log", folder.file()).lines.count == 51)
        let compaction = await graphctl("compact", "--without-history", folder.file())
        #expect(compaction.code == 0)
        #expect(await graphctl("log", folder.file()).lines == ["commits up to 51 are not in the file any more"])
        let lengths = compaction.output.split(separator: " ").compactMap { Int($0) }
        try #require(lengths.count == 2)
        #expect(lengths[1] < lengths[0])
        #expect(await graphctl("stat", folder.file()).lines.contains("generation: 3"))
        let again = try await Coordinator(for: Newer.Item.self, at: folder.file())
        #expect(again.snapshot.value(for: id)?.card == card && again.snapshot.value(for: id)?.count == 50)
        #expect(again.storeID == store.storeID && again.snapshot.commit == store.snapshot.commit)
        try await again.close()

        let library = try GoldenStore.library.copy()
        try await LibraryV2.open(library.file()).close()
        #expect(await graphctl("compact", library.file()).code == 0)
        await #expect(throws: GraphError.self) { try await LibraryV1.open(library.file()) }
        try await LibraryV2.open(library.file()).close()
    }

    // MARK: Salvaging

    @Test(arguments: GoldenStore.allCases) func `a sound file is salvaged whole`(store: GoldenStore) async throws {
        let folder = try store.copy()
        let before = try contents(of: folder)
        let salvage = await graphctl("salvage", folder.file(), "--output", folder.file("new"))
        #expect(salvage.code == 0 && salvage.output.hasSuffix("; nothing was dropped\n"), "\(salvage)")
        #expect(await graphctl("diff", folder.file(), folder.file("new")).code == 0)
        #expect(await graphctl("verify", folder.file("new")).code == 0)
        let statistics = (await graphctl("stat", folder.file()).lines, await graphctl("stat", folder.file("new")).lines)
        #expect(statistics.0.first { $0.hasPrefix("store: ") } == statistics.1.first { $0.hasPrefix("store: ") })
        #expect(statistics.0.first { $0.hasPrefix("commit: ") } == statistics.1.first { $0.hasPrefix("commit: ") })
        var after = try contents(of: folder)
        let new = try #require(after.removeValue(forKey: "new") ?? nil)
        #expect(after == before && new[48..<64] != before["store.graph"]??[48..<64])
        let again = await graphctl("salvage", "--output=\(folder.file("new"))", folder.file())
        #expect(again.code == 1 && again.errors.contains("something has this name already"))
        try await store.open(folder.file("new")).close()
    }

    @Test func `a damaged file is salvaged in part, and the list says what is missing`() async throws {
        let folder = try GoldenStore.library.copy()
        try damage(folder.file(), at: 20_000)
        let before = try contents(of: folder)
        let salvage = await graphctl("salvage", folder.file(), "--output", folder.file("new"))
        #expect(salvage.code == 4 && salvage.lines.contains { $0.contains(" cannot be read: record ") }, "\(salvage)")
        #expect(
            salvage.output.contains(": objects of Author: ") && salvage.output.contains("what is listed above is not"))
        #expect(await graphctl("verify", folder.file("new")).code == 0)
        try await LibraryV1.open(folder.file("new"), readOnly: true).close()
        var after = try contents(of: folder)
        after.removeValue(forKey: "new")
        #expect(after == before)
        let header = try GoldenStore.library.copy()
        try damage(header.file(), at: 4_100)
        let whole = await graphctl("salvage", header.file(), "--output", header.file("new"))
        #expect(whole.code == 0 && whole.errors.hasSuffix("the header's second copy is damaged\n"))
        #expect(await graphctl("salvage", header.file("missing"), "--output", header.file("other")).code == 1)
        // Without a schema.
        var bytes = try #require(FileManager.default.contents(atPath: header.file()))
        for place in JournalFormat.recordsOffset..<UInt64(bytes.count) { bytes[Int(place)] = 0 }
        try bytes.write(to: URL(fileURLWithPath: header.file()))
        let nothing = await graphctl("salvage", header.file(), "--output", header.file("other"))
        #expect(nothing.code == 1 && nothing.errors.contains(": nothing can be salvaged: "), "\(nothing)")
        #expect(!nothing.errors.contains("graphctl salvage"), "\(nothing)")
    }

    // MARK: Following

    @Test(arguments: ["text", "jsonl"])
    func `commits are printed as they become durable, until the command is interrupted or has nothing to follow`(
        format: String
    ) async throws {
        let folder = try TemporaryFolder()
        let writer = try await Coordinator(for: Team.self, Person.self, at: folder.file(), compaction: .manual)
        try await writer.transaction { _ = $0.insert(Team(name: "a")) }
        for isInterrupted in [true, false] {
            let (lines, continuation) = AsyncStream.makeStream(of: String.self)
            let program = GraphCtl(output: { continuation.yield($0) }, errors: { continuation.yield($0) })
            let task = Task { await program.run(["follow", "--format", format, folder.file()]) }
            var iterator = lines.makeAsyncIterator()
            // When it has begun is not told, so commits are made until one was printed.
            let saving = Task {
                while !Task.isCancelled { try await writer.transaction { _ = $0.insert(Team(name: "b")) } }
            }
            let first = try #require(await iterator.next())
            #expect(first.contains(format == "text" ? ", Team +1, " : "\"Team\":{\"inserted\":1"), "\(first)")
            saving.cancel()
            _ = await saving.result
            if isInterrupted {
                task.cancel()
                #expect(await task.value == 0)
            } else {
                try await writer.close()
                try FileManager.default.removeItem(atPath: folder.file())
                #expect(await task.value == 1)
                continuation.finish()
                var last = ""
                while let line = await iterator.next() { last = line }
                #expect(last.contains("removed or moved"))
            }
        }
    }
}
