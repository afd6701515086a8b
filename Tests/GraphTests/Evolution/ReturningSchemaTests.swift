import Testing

@testable import Graph

private enum V1: SchemaVersion {
    static let entities: [any Entity.Type] = [Song.self]
    @Entity struct Song { var length: Int }
}

private enum V2: SchemaVersion {
    static let entities: [any Entity.Type] = [Song.self]
    @Entity struct Song { var length: String }
}

/// Has the first version's schema.
private enum V3: SchemaVersion {
    static let entities: [any Entity.Type] = [Song.self]
    @Entity struct Song { var length: Int }
}

/// What a release without a plan made of a file and of which the next one thought better.
private enum Extended: SchemaVersion {
    static let entities: [any Entity.Type] = [Song.self]
    @Entity struct Song {
        var length: Int
        var note: String?
    }
}

private enum Other: SchemaVersion {
    static let entities: [any Entity.Type] = [Extended.Song.self]
}

private enum RenamedSong {
    @Entity(originalName: "Song") struct Track { var length: Int }
    @Entity(originalName: ["Song", "Track"]) struct Piece { var length: Int }
}

/// What a file knows from a version before the last one.
struct ReturningSchemaTests {
    private static let toText: MigrationStep = .custom(from: V1.self, to: V2.self) { old, new in
        for id in try old.fetchIDs(V1.Song.self) {
            new[id.migrated(to: V2.Song.self)]?.length = "\(old.value(for: id)?.length ?? 0)"
        }
    }
    private static let toSeconds: MigrationStep = .custom(from: V2.self, to: V3.self) { old, new in
        for id in try old.fetchIDs(V2.Song.self) {
            new[id.migrated(to: V3.Song.self)]?.length = 60 * (Int(old.value(for: id)?.length ?? "") ?? 0)
        }
    }

    @Test(arguments: [false, true])
    func `a plan may lead back to a schema that the file had before`(skipsAVersion: Bool) async throws {
        let folder = try TemporaryFolder()
        let first = try await Coordinator(for: V1.Song.self, at: folder.file())
        try await first.transaction { _ = $0.insert(V1.Song(length: 4)) }
        try await first.close()
        if !skipsAVersion {
            let second = try await Coordinator(
                for: V2.Song.self, at: folder.file(), migration: MigrationPlan(Self.toText))
            try await second.close()
        }
        for _ in 0..<2 {
            let third = try await Coordinator(
                for: V3.Song.self, at: folder.file(), migration: MigrationPlan(Self.toText, Self.toSeconds))
            #expect(try third.snapshot.fetchValues(V3.Song.self).map(\.length) == [240])
            try await third.close()
        }
        // Both versions before are older now, although one has the schema that the file has.
        await #expect(throws: GraphError.self) {
            try await Coordinator(for: V2.Song.self, at: folder.file(), migration: MigrationPlan(Self.toText))
        }
    }

    @Test func `a plan takes back what a program without one has added`() async throws {
        let folder = try TemporaryFolder()
        let first = try await Coordinator(for: V1.Song.self, at: folder.file())
        try await first.transaction { _ = $0.insert(V1.Song(length: 4)) }
        try await first.close()
        let second = try await Coordinator(for: Extended.Song.self, at: folder.file())
        try await second.transaction { context in
            for song in try context.fetch(Extended.Song.self) { song.note = "12" }
        }
        try await second.close()
        // Without a plan nobody knows which one is older.
        await #expect(throws: GraphError.self) { try await Coordinator(for: V1.Song.self, at: folder.file()) }
        let back: MigrationStep = .custom(from: Extended.self, to: V1.self) { old, new in
            for id in try old.fetchIDs(Extended.Song.self) {
                new[id.migrated(to: V1.Song.self)]?.length = Int(old.value(for: id)?.note ?? "") ?? 0
            }
        }
        for isReadOnly in [true, false, false] {
            let third = try await Coordinator(
                for: V1.Song.self, at: folder.file(), readOnly: isReadOnly, migration: MigrationPlan(back))
            #expect(try third.snapshot.fetchValues(V1.Song.self).map(\.length) == [12])
            if isReadOnly { try await third.copy(to: folder.file("copy.graph")) }
            try await third.close()
        }
        let copy = try await Coordinator(for: V1.Song.self, at: folder.file("copy.graph"))
        #expect(try copy.snapshot.fetchValues(V1.Song.self).map(\.length) == [12])
        try await copy.close()
        await #expect(throws: GraphError.self) { try await Coordinator(for: Extended.Song.self, at: folder.file()) }
    }

    @Test func `of a version that the plan lacks, what is read is not all that there is to copy`() async throws {
        let folder = try TemporaryFolder()
        let newer = try await Coordinator(
            for: Extended.Song.self, at: folder.file(),
            migration: MigrationPlan(.custom(from: V1.self, to: Extended.self) { _, _ in }))
        try await newer.transaction { _ = $0.insert(Extended.Song(length: 4)) }
        try await newer.close()
        let older = try await Coordinator(
            for: V3.Song.self, at: folder.file(), readOnly: true,
            migration: MigrationPlan(Self.toText, Self.toSeconds))
        #expect(try older.snapshot.fetchValues(V3.Song.self).map(\.length) == [4])
        await #expect(throws: GraphError.self) { try await older.copy(to: folder.file("copy.graph")) }
        try await older.close()
        // Nor is it the program's version if the schema is the same.
        let same = try await Coordinator(
            for: Extended.Song.self, at: folder.file(), readOnly: true,
            migration: MigrationPlan(.custom(from: V2.self, to: Other.self) { _, _ in }))
        await #expect(throws: GraphError.self) { try await same.copy(to: folder.file("copy.graph")) }
        try await same.close()
    }

    @Test func `URIs find the objects of an entity that has another name now`() async throws {
        let folder = try TemporaryFolder()
        let first = try await Coordinator(for: V1.Song.self, at: folder.file())
        let id = try await first.transaction { $0.insert(V1.Song(length: 4)).id }
        let uri = first.uri(for: id)
        try await first.close()
        let second = try await Coordinator(for: RenamedSong.Track.self, at: folder.file())
        let found = try #require(second.id(forURI: uri))
        #expect(second.snapshot.value(for: try #require(found.typed(as: RenamedSong.Track.self)))?.length == 4)
        let later = second.uri(for: found)
        #expect(later != uri && later.hasSuffix("/Track/p1"))
        try await second.close()
        let third = try await Coordinator(for: RenamedSong.Piece.self, at: folder.file())
        let ids = [uri, later, third.uri(for: found)].map { third.id(forURI: $0)?.entityName }
        #expect(ids == ["Piece", "Piece", "Piece"])
        #expect(third.id(forURI: uri.replacing("Song", with: "Singer")) == nil)
        try await third.close()
    }
}
