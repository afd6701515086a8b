extension Coordinator {
    /// For tests: throws if this program would refuse files of a schema that it has shipped with.
    ///
    /// ```swift
    /// @Test func filesOfVersion3Open() throws {
    ///     try Coordinator.expectSchema(for: Photo.self, Album.self, isCompatibleWith: "Schemas/version3.schema")
    /// }
    /// ```
    ///
    /// If there is no such file, it is written with the present schema, and the call throws all the same: keep the file with the
    /// sources of the version that ships, and do not change it later. `graphctl schema` writes the same text of a store.
    ///
    /// What opening makes of objects is taken as if each entity had some, but values are not looked at: a property that becomes
    /// unique or required may still find objects that do not fit. The steps of a plan do not run.
    ///
    /// - Parameters:
    ///   - types: all entities of the store.
    ///   - path: the text of a schema; relative to the working folder unless it begins with `/`.
    ///   - migration: as for opening the store.
    ///   - dropping: as for opening the store.
    /// - Returns: the differences, with what opening a file makes of them.
    /// - Throws: `.schemaMismatch` with the differences for which opening refuses the file; `.unusableFile` if there was no file, or
    ///   if its text is no schema; `.invalidSchema`, and what reading or writing the file throws.
    ///
    /// Complexity: O(*p*²) for *p* properties.
    @discardableResult
    public static func expectSchema<each E: Entity>(
        for types: repeat (each E).Type,
        isCompatibleWith path: String,
        migration: MigrationPlan? = nil,
        dropping: [String] = []
    ) throws(GraphError) -> [SchemaChange] {
        var entities: [EntityDescription] = []
        repeat entities.append(EntityDescription((each E).self))
        let opening = StoreOpening(
            path: path, schema: try Schema(entities), fileSystem: PosixFileSystem(), options: JournalOptions(),
            dropping: dropping, plan: migration)
        return try opening.changes(from: try opening.readSchema())
    }
}

extension StoreOpening {
    /// Reads the text of a schema; writes the program's if there is no file.
    fileprivate func readSchema() throws(GraphError) -> SchemaRecord {
        let bytes: [UInt8]
        do throws(IOError) {
            bytes = try read(StorePath(path))
        } catch {
            guard error.reason == .missing else { throw error.graphError(path: path) }
            try write(programRecord.bytes)
            throw .unusableFile(
                path: path,
                reason: "there was no file, so the program's schema was written to it: keep it with the sources of the "
                    + "version that ships")
        }
        do {
            return try bytes.withUnsafeBytes { try SchemaRecord(reading: $0) }
        } catch {
            let reason = (error as? SchemaRecord.Malformed)?.reason ?? "\(error)"
            throw .unusableFile(path: path, reason: reason.shortened(to: 400))
        }
    }

    private func read(_ path: StorePath) throws(IOError) -> [UInt8] {
        let file = try fileSystem.openForReading(path)
        defer { file.close() }
        // A longer text than this is no schema, which its reader says.
        let length = min(try file.status().lengthBytes, UInt64(SchemaRecord.lengthLimit) + 1)
        var bytes = [UInt8](repeating: 0, count: Int(length))
        try bytes.withUnsafeMutableBufferPointer { buffer throws(IOError) in
            try file.readFully(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
        }
        return bytes
    }

    private func write(_ bytes: [UInt8]) throws(GraphError) {
        do throws(IOError) {
            let file = try fileSystem.create(StorePath(path))
            defer { file.close() }
            try file.writeFully(bytes, at: 0)
        } catch {
            throw error.graphError(path: path)
        }
    }
}
