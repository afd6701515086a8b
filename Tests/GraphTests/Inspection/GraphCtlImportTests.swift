import Foundation
import Testing

@testable import Graph
@testable import graphctl

private enum Fleet {
    enum Kind: String, Sendable {
        case bus
        case tram
    }

    struct Plate: Codable, Equatable, Sendable {
        var text: String
    }

    @Entity struct Vehicle {
        @Unique var number: Int
        var kind: Kind = .bus
        var plate: Plate?
        var depot: ToOne<Depot> = nil

        func validate() throws {
            if number < 0 { throw ValidationError(\Self.number, "must be positive") }
        }
    }

    @Entity struct Depot {
        var name: String
        @Relationship(inverse: \Vehicle.depot, ordered: true, maximum: 3) var vehicles: ToMany<Vehicle> = []
    }

    static func open(_ path: String) async throws -> Coordinator {
        try await Coordinator(for: Vehicle.self, Depot.self, at: path)
    }

    static let rows = """
        {"entity":"Depot","id":4,"values":{"name":"North"}}
        {"entity":"Vehicle","id":7,"values":{"number":1,"kind":"tram","plate":null,"depot":4}}
        {"entity":"Vehicle","id":6,"values":{"number":2,"kind":"bus","plate":{"text":"W 2"},"depot":4}}
        {"entity":"Depot","id":4,"links":{"vehicles":[6,7]}}
        """
}

/// What the tool imports without the program's types.
@MainActor struct GraphCtlImportTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func write(_ text: String, to name: String = "rows") throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file(name)))
        return folder.file(name)
    }

    /// A file with these vehicles, and without any if they are none.
    private func makeStore(_ numbers: [Int] = []) async throws {
        let store = try await Fleet.open(folder.file())
        if !numbers.isEmpty {
            try await store.transaction { context in
                let depot = context.insert(Fleet.Depot(name: "South"))
                for number in numbers { context.insert(Fleet.Vehicle(number: number, depot: ToOne(depot.id))) }
            }
        }
        try await store.setMetadata("blue", for: "color")
        try await store.close()
    }

    private func importRows(_ arguments: String...) async -> GraphCtlOutcome {
        await graphctl(["import", folder.file(), "--output", folder.file("new")] + arguments)
    }

    private func numbers(_ snapshot: Snapshot) throws -> [Int] {
        try snapshot.fetchValues(Fleet.Vehicle.self).map(\.number)
    }

    @Test(arguments: GoldenStore.allCases) func `what export prints, import puts into a file of that schema`(
        store: GoldenStore
    ) async throws {
        let old = try store.copy()
        let original = try await store.open(old.file())
        try await (try await store.open(folder.file())).close()
        let rows = try write(await graphctl("export", old.file()).output)
        let outcome = await importRows(rows)
        #expect(outcome.code == 0 && outcome.errors == "")
        #expect(outcome.output.hasPrefix("\(folder.file("new")): written, "))
        #expect(await graphctl("verify", folder.file("new")).code == 0)
        let new = try await store.open(folder.file("new"))
        #expect(try new.snapshot.exchanged() == original.snapshot.exchanged())
        // With their identifiers, unless other programs than the file's own have made some of them.
        for entity in original.snapshot.schema.entities.indices where store != .libraryShared {
            #expect(new.snapshot.entities[entity].rows.rowNumbers == original.snapshot.entities[entity].rows.rowNumbers)
        }
        #expect(new.diagnostics == [])
        try await new.close()
        try await original.close()
    }

    @Test func `objects come to those that are there, in a new file; the old one stays as it is`() async throws {
        try await makeStore([3])
        let before = try #require(FileManager.default.contents(atPath: folder.file()))
        let outcome = await importRows(try write(Fleet.rows))
        let counts = "after reading 3 objects and 2 links; it has 5 objects, and \(folder.file()) has 2"
        #expect(outcome.output == "\(folder.file("new")): written, at commit 2, \(counts)\n")
        #expect(outcome.code == 0 && outcome.errors == "")
        #expect(FileManager.default.contents(atPath: folder.file()) == before)
        let old = try await Fleet.open(folder.file())
        let new = try await Fleet.open(folder.file("new"))
        #expect(old.snapshot.token.store == new.snapshot.token.store && new.check() == [])
        #expect(await new.metadata == ["color": "blue"])
        #expect(try numbers(old.snapshot) == [3] && numbers(new.snapshot) == [3, 1, 2])
        let north = try #require(try new.snapshot.fetchIDs(Fleet.Depot.self).last)
        #expect(try new.snapshot.related(\.vehicles, of: north).map(\.row) == [3, 2])
        let tram = try #require(new.snapshot.first(\Fleet.Vehicle.number, equals: 1))
        let bus = try #require(new.snapshot.first(\Fleet.Vehicle.number, equals: 2))
        #expect(tram.kind == .tram && tram.plate == nil && bus.plate == Fleet.Plate(text: "W 2"))
        // Numbers go on behind those of the import.
        let next = try await new.transaction { $0.insert(Fleet.Vehicle(number: 9)).id }
        #expect(next.row == 4)
        try await new.close()
        try await old.close()
    }

    @Test func `a unique value that is taken is refused, or does as the command line says`() async throws {
        try await makeStore([1])
        let rows = try write(Fleet.rows)
        let refused = await importRows(rows)
        #expect(refused.code == 1 && refused.errors.contains("1 is taken by Vehicle/p1\n"))
        #expect(refused.errors.contains("--on-conflict says"))
        for (policy, kinds) in [("keepExisting", [Fleet.Kind.bus, .bus]), ("upsert", [.tram, .bus])] {
            #expect(await importRows("--on-conflict", policy, rows).code == 0)
            let new = try await Fleet.open(folder.file("new"))
            #expect(try new.snapshot.fetchValues(Fleet.Vehicle.self).map(\.kind) == kinds)
            try await new.close()
            try FileManager.default.removeItem(atPath: folder.file("new"))
        }
    }

    @Test func `CSV has objects of an entity or their links, and refers to what other files have`() async throws {
        try await makeStore()
        let depots = try write("id,name\r\n8,East\r\n9,West\r\n", to: "depots.csv")
        let vehicles = try write(
            "id,number,kind,plate,depot\r\n1,5,tram,null,8\r\n2,6,bus,null,8\r\n", to: "vehicles.csv")
        let links = try write("id,vehicles\r\n8,2\r\n8,1\r\n", to: "links.csv")
        let more = try write(#"{"entity":"Depot","id":20,"values":{"name":"North"}}"#)
        let outcome = await importRows(
            "--csv", "Depot=\(depots)", "--csv=Vehicle=\(vehicles)", "--csv", "Depot=\(links)", more)
        #expect(outcome.code == 0 && outcome.errors == "")
        let new = try await Fleet.open(folder.file("new"))
        #expect(try new.snapshot.fetchIDs(Fleet.Depot.self).map(\.row) == [8, 9, 20])
        let east = try #require(try new.snapshot.fetchIDs(Fleet.Depot.self).first)
        #expect(try new.snapshot.related(\.vehicles, of: east).map(\.row) == [2, 1])
        try await new.close()
        let unknown = await graphctl(
            "import", folder.file(), "--csv", "Ship=\(depots)", "--output", folder.file("other"))
        #expect(unknown.code == 2 && unknown.errors == "graphctl: the file has no entity 'Ship', but Vehicle, Depot\n")
    }

    @Test func `who reads history learns that the new file has another one`() async throws {
        let store = try await Fleet.open(folder.file())
        try await store.transaction { _ = $0.insert(Fleet.Depot(name: "South")) }
        let consumer = try await store.consumer(named: "index")
        try await store.transaction { _ = $0.insert(Fleet.Depot(name: "West")) }
        let (old, known) = (store.snapshot.token, consumer.token)
        try await store.close()
        var tokens: [HistoryToken] = []
        for name in ["North", "East"] {
            let rows = try write(#"{"entity":"Depot","id":1,"values":{"name":"\#(name)"}}"#)
            #expect(await importRows(rows).code == 0)
            let new = try await Fleet.open(folder.file("new"))
            tokens.append(new.snapshot.token)
            #expect(new.snapshot.token.commit.number == old.commit.number + 1)
            for token in tokens.dropLast() + [old, known] {
                let error = await #expect(throws: GraphError.self) {
                    for try await _ in new.history(since: token) {}
                }
                switch error {
                case .historyDiverged(token)?: #expect(tokens.dropLast().contains(token))
                case .historyExpired(let oldest)?:
                    #expect(oldest == new.snapshot.token && [old, known].contains(token))
                default: Issue.record("\(String(describing: error))")
                }
            }
            let kept = try await new.consumer(named: "index").token
            #expect(kept == known)
            try await new.close()
            try FileManager.default.removeItem(atPath: folder.file("new"))
        }
    }

    @Test func `a store that several programs have written through a log is refused`() async throws {
        let store = try await Fleet.open(folder.file())
        await store.counters.raise(to: store.counters.all.map { _ in 1 << RowCounters.countingBits + 1 })
        try await store.transaction { _ = $0.insert(Fleet.Depot(name: "South")) }
        try await store.close()
        let outcome = await importRows(try write(Fleet.rows))
        #expect(outcome.code == 1 && outcome.errors.contains("through a log"))
        #expect(!FileManager.default.fileExists(atPath: folder.file("new")))
    }

    @Test func `values of the program's own types may be nested as deep as a file has them`() async throws {
        try await makeStore()
        func rows(_ depth: Int) -> String {
            let plate = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            return #"{"entity":"Vehicle","id":1,"values":{"number":4,"kind":"bus","plate":"# + plate + "}}"
        }
        let tooDeep = await importRows(try write(rows(33)))
        #expect(tooDeep.code == 1 && tooDeep.errors.contains("plate: it is nested more than 32 levels deep"))
        #expect(await importRows(try write(rows(32))).code == 0)
        let dump = await graphctl("dump", folder.file("new"))
        #expect(dump.output.contains("plate: " + String(repeating: "[", count: 32) + "]"))
    }

    @Test func `what cannot be imported leaves no new file`() async throws {
        try await makeStore([3])
        let before = try #require(FileManager.default.contents(atPath: folder.file()))
        let depot = #"{"entity":"Depot","id":1,"values":{"name":"North"}}"#
        func vehicle(_ number: Int) -> String {
            #"{"entity":"Vehicle","id":\#(number),"values":{"number":\#(number),"kind":"bus","plate":null,"depot":1}}"#
        }
        for (number, (text, reason)) in [
            ("{", "/rows0:1: not JSON"), (#"{"entity":"Ship","id":1,"values":{}}"#, "Ship"),
            (#"{"entity":"Vehicle","id":1,"values":{"number":"one"}}"#, "number"),
            // Defaults are the program's.
            (#"{"entity":"Vehicle","id":1,"values":{"number":4,"plate":null}}"#, "kind: it has no value"),
            // Whether this type of the program's own has a value for nil is not known.
            (#"{"entity":"Vehicle","id":1,"values":{"number":4,"kind":"bus"}}"#, "plate: it has no value"),
            (
                #"{"entity":"Vehicle","id":1,"values":{"number":4,"kind":"bus","plate":null,"depot":5}}"#,
                "the identifier 5"
            ),
            (
                ([depot] + (10..<14).map(vehicle)).joined(separator: "\n"), "at most 3"
            ),
        ].enumerated() {
            let outcome = await importRows(try write(text, to: "rows\(number)"))
            #expect(outcome.code == 1 && outcome.output == "" && outcome.errors.contains(reason), "\(outcome.errors)")
            #expect(!FileManager.default.fileExists(atPath: folder.file("new")))
        }
        let ignoring = await importRows("--ignore-unknown", folder.file("rows5"))
        #expect(ignoring.code == 0)
        let taken = await importRows("--ignore-unknown", folder.file("rows5"))
        #expect(taken.code == 1 && taken.errors.contains(folder.file("new")))
        // Before anything else is looked at.
        let both = await graphctl("import", folder.file("missing"), "rows", "--output", folder.file("new"))
        #expect(both.code == 1 && both.errors == taken.errors)
        #expect(await importRows(folder.file("missing")).code == 1)
        #expect(FileManager.default.contents(atPath: folder.file()) == before)
    }

    @Test func `what only the program can refuse it refuses when it opens the new file, and has the old one`()
        async throws
    {
        try await makeStore([3])
        let rows = try write(#"{"entity":"Vehicle","id":1,"values":{"number":4,"kind":"boat","plate":null}}"#)
        #expect(await importRows(rows).code == 0)
        let error = await #expect(throws: GraphError.self) { try await Fleet.open(folder.file("new")) }
        guard case .valueNotReadable(_, _, let property, _, _)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(property == "kind")
        let old = try await Fleet.open(folder.file())
        #expect(try numbers(old.snapshot) == [3])
        try await old.close()
    }
}
