import Testing

@testable import Graph

/// A store's file as it was before it was damaged, what it meant after each record, and what must be had of damaged copies.
struct SalvagedFile {
    static let (path, newPath) = ("/data/damaged.graph", "/data/new.graph")

    let bytes: [UInt8]
    let records: [DamagedFile.Record]
    /// The state after each record.
    let states: [Snapshot]
    /// By record, the rows that it is about.
    private let rows: [Set<RowID>]
    /// By row, how it has been.
    private let history: [RowID: [Snapshot]]

    var last: Snapshot { states[states.count - 1] }

    init(_ bytes: [UInt8]) throws {
        self.bytes = bytes
        let disk = SimulatedDisk()
        disk.setContents(bytes, at: Self.path)
        let start = (replay: try StoreReplay(path: Self.path), states: [Snapshot](), rows: [Set<RowID>]())
        let opening = JournalOpening(fileSystem: disk, options: JournalFixture.options())
        let (_, result) = try opening.read(at: Self.path, into: start) { state, entry throws(GraphError) in
            let before = state.replay.snapshot
            try state.replay.apply(entry)
            state.states.append(state.replay.snapshot)
            state.rows.append(entry.kind == .schema ? [] : Self.changes(from: before, to: state.replay.snapshot))
        }
        records = DamagedFile.records(in: bytes)
        (states, rows) = (result.states, result.rows)
        var history: [RowID: [Snapshot]] = [:]
        for (state, rows) in zip(states, rows) { for id in rows { history[id, default: []].append(state) } }
        self.history = history
        #expect(states.count == records.count && last.check() == [])
    }

    private static func changes(from old: Snapshot, to new: Snapshot) -> Set<RowID> {
        var rows: Set<RowID> = []
        for entity in new.schema.entities.indices {
            new.difference(from: old).forEachRow(of: entity) { id, _, _ in rows.insert(id) }
        }
        return rows
    }

    // MARK: Salvaging

    struct Outcome {
        let snapshot: Snapshot
        let salvage: StoreSalvage
        let storeID: StoreID
    }

    /// Salvages a file, and reads the new one as any program does; throws what the salvage throws.
    static func salvage(_ damaged: [UInt8], lock: [UInt8]? = nil) async throws -> Outcome {
        let disk = SimulatedDisk()
        disk.setContents(damaged, at: path)
        if let lock { disk.setContents(lock, at: path + ".lock") }
        let names = disk.names
        do {
            let salvage = try await StoreSalvage(of: path, to: newPath, disk, JournalFixture.options(seed: 77))
            try #require(disk.names == (names + [newPath]).sorted() && disk.contents(path) == damaged)
            let opening = JournalOpening(fileSystem: disk, options: JournalFixture.options())
            var (contents, replay) = try opening.read(at: newPath, into: try StoreReplay(path: newPath)) {
                (replay: inout StoreReplay, entry) throws(GraphError) in try replay.apply(entry)
            }
            _ = try replay.finish()
            try #require(replay.snapshot.check() == [] && contents.diagnostics == [])
            return Outcome(snapshot: replay.snapshot, salvage: salvage, storeID: contents.storeID)
        } catch {
            try #require(disk.names == names && disk.contents(path) == damaged, "\(error)")
            throw error
        }
    }

    // MARK: Checking

    /// What is wrong with what was had of a damaged copy.
    ///
    /// - Parameter place: where the copy differs; records are damaged there, or all from there on if nothing else is given.
    func mistakes(in outcome: Outcome, damagedAt place: Range<Int>) -> [String] {
        var touched: Set<RowID> = []
        for (record, rows) in zip(records, rows) where record.range.overlaps(place) { touched.formUnion(rows) }
        var mistakes: [String] = []
        forEachRow(of: outcome.snapshot) { id in
            if let mistake = invention(in: outcome.snapshot, of: id) { mistakes.append(mistake) }
            if !last.contains(id), !touched.contains(id) { mistakes.append("\(last.schema.name(of: id)) came back") }
        }
        forEachRow(of: last) { id in
            guard !touched.contains(id) else { return }
            if let mistake = difference(in: outcome, of: id, touched) { mistakes.append(mistake) }
        }
        return mistakes
    }

    private func forEachRow(of snapshot: Snapshot, _ body: (RowID) -> Void) {
        for entity in snapshot.schema.entities.indices {
            snapshot.entities[entity].rows.forEachRow { row, _, _ in body(RowID(entity: entity, row: row)) }
        }
    }

    /// A row must have attributes that it once had together, except for unique values that another row has, and references that
    /// it once had, or none.
    private func invention(in snapshot: Snapshot, of id: RowID) -> String? {
        let (entity, name) = (last.schema.entities[id.entity], last.schema.name(of: id))
        guard let address = snapshot.address(of: id) else { return nil }
        let olds = (history[id] ?? []).compactMap { $0.address(of: id) }
        let attributes = entity.properties.filter { $0.isStored && $0.relationship == nil }
        let uniques = Set(entity.indexes.filter { $0.uniqueness != nil }.flatMap { $0.parts.map(\.property) })
        let isKnown = olds.contains { old in
            attributes.allSatisfy { attribute in
                if attribute.isIdentical(in: old, address) { return true }
                guard attribute.operations.describe(address + attribute.offset) == "nil" else { return false }
                return uniques.contains { entity.properties[$0] === attribute }
            }
        }
        guard isKnown else {
            return "\(name) never was \(entity.describe(address)): \(olds.map { entity.describe($0) })"
        }
        for toOne in entity.toOnes {
            let target = toOne.target(ofRowAt: address)
            guard target == 0 || olds.contains(where: { toOne.target(ofRowAt: $0) == target }) else {
                return "\(name) never referred to \(target)"
            }
        }
        return nil
    }

    /// A row of which all records can be read must be as it was at the end, or the report says what has become of it.
    private func difference(in outcome: Outcome, of id: RowID, _ touched: Set<RowID>) -> String? {
        let (entity, name) = (last.schema.entities[id.entity], last.schema.name(of: id))
        guard let address = last.address(of: id) else { return nil }
        guard let found = outcome.snapshot.address(of: id) else {
            return outcome.salvage.losses.contains { $0.hasPrefix("\(name) is dropped") } ? nil : "\(name) is missing"
        }
        for property in entity.properties where property.isStored && !property.isIdentical(in: address, found) {
            let isSaid = outcome.salvage.losses.contains { $0.hasPrefix("\(name).\(property.name) is ") }
            guard isSaid else { return "\(name).\(property.name) differs" }
            if let toOne = entity.toOnes.first(where: { entity.properties[$0.property] === property }) {
                let target = RowID(entity: toOne.target, row: toOne.target(ofRowAt: address))
                let isRelated = touched.contains(target) || !outcome.snapshot.contains(target) || target.row == 0
                guard isRelated || toOne.inverse != nil else { return "\(name).\(property.name) was cleared" }
            }
        }
        return nil
    }
}

extension SalvagedFile {
    /// What a random program leaves, which compacts sometimes: every kind of relationship, of rule and of uniqueness.
    static func random(seed: UInt64, length: Int) async throws -> SalvagedFile {
        let program = StoreProgram(length: length, seed: seed)
        let disk = GatedDisk()
        var run = try await StoreProgramRun(path: nil, program.durability, disk, undoes: program.hasUndo)
        try await run.perform(program)
        try await run.coordinator.close()
        return try SalvagedFile(try #require(disk.disk.contents(JournalFixture.path)))
    }

    /// What a program leaves that closes its store.
    static func make(
        _ types: [any Entity.Type] = [Team.self, Person.self], _ body: (Coordinator) async throws -> Void
    ) async throws -> SalvagedFile {
        let disk = SimulatedDisk()
        let coordinator = try await Coordinator(
            try Schema(types.map { EntityDescription($0) }), path: JournalFixture.path, fileSystem: disk,
            options: JournalFixture.options())
        try await body(coordinator)
        try await coordinator.close()
        return try SalvagedFile(try #require(disk.contents(JournalFixture.path)))
    }

    /// The bytes with one bit changed in the payload of a commit.
    func damaged(commit number: UInt64) throws -> [UInt8] {
        let index = try #require(states.firstIndex { $0.commit.number == number })
        var bytes = bytes
        bytes[records[index].range.lowerBound + 41] ^= 4
        return bytes
    }

    /// The rows of an entity, each as a text.
    static func rows<E: Entity>(of type: E.Type, in snapshot: Snapshot) -> [String] {
        guard let number = snapshot.schema.index(named: E.schema.name) else { return [] }
        var rows: [String] = []
        snapshot.entities[number].rows.forEachRow { row, _, address in
            rows.append("\(row) \(snapshot.schema.entities[number].describe(address))")
        }
        return rows
    }
}
