/// What a store's file has, read without its lock and without the program's types: for tools.
package struct StoreInspection: Sendable {
    /// Absolute and without symbolic links.
    package let path: String
    /// How often the file was compacted, and one more.
    package let generation: UInt64
    /// What is odd about the file, a line each.
    package let diagnostics: [String]
    /// What is wrong with the file although all of it can be read, a line each.
    package let damages: [String]
    /// The length of all records, with the header.
    package let lengthBytes: UInt64
    /// Where the records after the checkpoint begin; 0 without one.
    package let checkpointBytes: UInt64
    /// When that was written, in nanoseconds since 1970.
    package let compactionTime: UInt64
    /// How much of the checkpoint is commits before it.
    package let historyBytes: UInt64
    let id: StoreID
    let snapshot: Snapshot
    let counters: [RowNumber]
    let consumerTokens: [String: HistoryToken]
    let record: SchemaRecord

    /// Reads a file, checks all of it, and changes nothing; a program may have it open.
    ///
    /// - Parameter progress: is told how far the reading is, at most a hundred times; from any task.
    /// - Throws: what read-only opening throws.
    package init(
        reading path: String, progress: (@Sendable (StoreProgress) -> Void)? = nil
    ) async throws(GraphError) {
        let meter = ProgressMeter(progress)
        let (contents, replay) = try await Journal.read(
            at: path, fileSystem: PosixFileSystem(), options: JournalOptions(),
            into: try StoreReplay(path: path, keepsIndexes: false),
            replay: meter.measured { (replay: inout StoreReplay, entry) throws(GraphError) in try replay.apply(entry) },
            finish: meter.measured { (replay: inout StoreReplay) throws(GraphError) in _ = try replay.finish() })
        self.path = contents.path
        id = contents.storeID
        generation = contents.generation
        let isDamage = { (diagnostic: StoreDiagnostic) in diagnostic.kind == .damagedHeader }
        diagnostics = contents.diagnostics.filter { !isDamage($0) }.map(\.description)
        damages = contents.diagnostics.filter(isDamage).map(\.description) + [contents.lockRefusal].compactMap { $0 }
        lengthBytes = contents.lengthBytes
        checkpointBytes = replay.checkpointBytes
        compactionTime = replay.compactionTime
        historyBytes = replay.checkpointFigures.historyBytes
        consumerTokens = replay.consumers
        (snapshot, counters, record) = (replay.snapshot, replay.counters, replay.fileRecord)
    }

    /// What compacting a file has done.
    package struct Compaction: Sendable {
        package let path: String
        /// The lengths of all records.
        package let bytesBefore: UInt64
        package let bytesAfterwards: UInt64
        /// What opening the file has repaired or found odd, a line each.
        package let diagnostics: [String]
    }

    /// Compacts a file, without the program's types: values of these stay as they are encoded.
    ///
    /// - Parameters:
    ///   - retention: how much history is left.
    ///   - progress: is told how far it is: of reading the file, which it does twice, and of writing the new one.
    /// - Throws: what opening and compacting throw.
    package static func compact(
        _ path: String, retention: HistoryRetention = HistoryRetention(),
        progress: (@Sendable (StoreProgress) -> Void)? = nil
    ) async throws(GraphError) -> Compaction {
        let schema = try Schema(try await StoreInspection(reading: path, progress: progress).record)
        // A commit without changes would make a copy of a log's store one of another history.
        let coordinator = try await Coordinator(
            schema, path: path, fileSystem: PosixFileSystem(), options: JournalOptions(), compaction: .manual,
            retention: retention, progress: progress, insertsObjects: false)
        let bytesBefore = await coordinator.journal?.lengthBytes ?? 0
        do throws(GraphError) {
            try await coordinator.compact(progress: progress)
        } catch {
            try? await coordinator.close()
            throw error
        }
        try await coordinator.close()
        return Compaction(
            path: coordinator.path, bytesBefore: bytesBefore,
            bytesAfterwards: await coordinator.journal?.lengthBytes ?? 0,
            diagnostics: coordinator.diagnostics.map(\.description))
    }

    package var storeID: String { id.description }

    /// Who reads the file's history, and the last commit that each has read; in the order of their names.
    package var consumers: [(name: String, commit: UInt64)] {
        consumerTokens.sorted { $0.key < $1.key }.map { (name: $0.key, commit: $0.value.commit.number) }
    }

    /// The newest commit.
    package var commit: UInt64 { snapshot.commit.number }

    /// The schema as the file has it, in lines.
    package var schemaText: String { String(decoding: record.bytes, as: UTF8.self) }

    /// The texts that a program keeps with the file, in the order of their keys.
    package var metadata: [(key: String, text: String)] {
        record.metadata.sorted { $0.key < $1.key }.map { (key: $0.key, text: $0.value) }
    }

    /// How the schema of another file differs from this one's, a line for each difference.
    package func schemaChanges(to other: StoreInspection) -> [String] {
        let (old, new) = (snapshot.schema, other.snapshot.schema)
        // As if there were no objects, so that nothing is in the way.
        return SchemaComparison(from: old, to: new, rowCounts: old.entities.map { _ in 0 }).changes.map { change in
            change.handled(.recorded).description
        }
    }

    /// By entity, in the schema's order.
    package var objectCounts: [(entity: String, count: Int)] {
        zip(snapshot.schema.entities, snapshot.entities).map { ($0.name, $1.rows.count) }
    }

    /// Of many-to-many relationships and ordered ones, whose links files record; in the schema's order.
    package var linkCounts: [(relationship: String, count: Int)] {
        snapshot.schema.recordedLinkTables.map { number in
            let table = snapshot.schema.linkTables[number]
            return (snapshot.schema.name(of: table), snapshot.linkTables[number].members.count)
        }
    }

    /// Checks every index, inverse, reference, unique value and count; a line for each error.
    package func check() -> [String] { snapshot.check() }

    /// An object as the file has it.
    package struct Object: Sendable {
        package let entity: String
        package let row: UInt64
        package let version: UInt64
        /// By property, in the schema's order.
        package let values: [(property: String, value: StoredValue)]

        private var map: StoredValue {
            .map(values.map { StoredValue.Entry(key: .text($0.property), value: $0.value) })
        }

        /// The values as a JSON object in one line.
        package var valuesJSON: String { map.description }

        /// All of it as a JSON object in one line.
        package var json: String {
            StoredValue.map([
                .init(key: .text("entity"), value: .text(entity)),
                .init(key: .text("row"), value: .number("\(row)")),
                .init(key: .text("version"), value: .number("\(version)")),
                .init(key: .text("values"), value: map),
            ]).description
        }
    }

    /// Calls the body with each object: in the order of the schema's entities, and of their rows. Relationships are row numbers
    /// of the entity that they lead to, in their order if they have one.
    ///
    /// - Parameter entity: the name of the only entity that is wanted; nil for all.
    package func forEachObject(of entity: String? = nil, _ body: (Object) -> Void) {
        for (number, description) in snapshot.schema.entities.enumerated()
        where entity == nil || entity == description.name {
            snapshot.entities[number].rows.forEachRow { row, version, address in
                let values = description.properties.indices.map { property in
                    (
                        property: description.properties[property].name,
                        value: snapshot.storedValue(of: property, RowID(entity: number, row: row), at: address)
                    )
                }
                body(Object(entity: description.name, row: row, version: version.number, values: values))
            }
        }
    }
}

extension StoreInspection {
    /// A name that the file does not have, in words.
    package struct UnknownName: Error {
        package let reason: String
    }

    /// An entity's number in the schema.
    @discardableResult
    package func entity(named name: String) throws(UnknownName) -> Int {
        if let number = snapshot.schema.index(named: name) { return number }
        let names = snapshot.schema.entities.map(\.name).joined(separator: ", ")
        throw UnknownName(reason: "the file has no entity '\(name)', but \(names)")
    }

    /// Objects and links as text that an import reads.
    ///
    /// - Parameters:
    ///   - entity: the name of the only entity that is wanted; nil for all, as JSON lines.
    ///   - relationship: the name of a relationship of that entity, whose links are wanted instead, as CSV.
    package func exportedRows(
        of entity: String?, links relationship: String?, _ format: RowFormat
    ) throws(UnknownName) -> ExportedRows {
        guard let entity else { return snapshot.exportedRows() }
        let number = try self.entity(named: entity)
        guard let relationship else { return snapshot.exportedRows(of: number, nil, format, nil) }
        let description = snapshot.schema.entities[number]
        let toMany = description.toManys.first { description.properties[$0.property].name == relationship }
        guard let toMany else {
            throw UnknownName(reason: "\(entity) has no to-many relationship '\(relationship)'")
        }
        return ExportedRows(snapshot: snapshot, isCSV: true, parts: [.links(toMany, nil, [])], progress: nil)
    }
}

extension Snapshot {
    /// The value of a property of a row, or the row numbers of its members.
    ///
    /// - Parameter number: of the property.
    func storedValue(of number: Int, _ id: RowID, at address: UnsafeRawPointer) -> StoredValue {
        let entity = schema.entities[id.entity]
        if let toMany = entity.toManys.first(where: { $0.property == number }) {
            return .list(members(of: id.row, through: toMany).map { .number("\($0)") })
        }
        return entity.storedValue(of: number, at: address)
    }
}

extension EntityDescription {
    /// The value of a property that is in the row itself.
    ///
    /// - Parameter number: of the property.
    func storedValue(of number: Int, at address: UnsafeRawPointer) -> StoredValue {
        if let toOne = toOnes.first(where: { $0.property == number }) {
            let target = toOne.target(ofRowAt: address)
            return target == 0 ? .null : .number("\(target)")
        }
        let property = properties[number]
        func load<Value>(_ type: Value.Type) -> StoredValue {
            StoredValue((address + property.offset).assumingMemoryBound(to: Value.self).pointee)
        }
        return load(property.valueType)
    }
}
