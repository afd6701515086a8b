import Foundation
import Testing

@testable import Graph

/// Entities and properties that were renamed more than once, and names that are used again.
struct SeveralNamesTests {
    fileprivate enum V1 {
        @Entity struct Song {
            var label: String
            var seconds: Int
        }
    }

    fileprivate enum V2 {
        @Entity(originalName: "Song") struct Track {
            @Attribute(originalName: "label") var name: String
            var seconds: Int
        }
    }

    fileprivate enum V3 {
        @Entity(originalName: ["Track", "Song"]) struct Title {
            @Attribute(originalName: ["name", "label"]) var title: String
            @Attribute(originalName: ["seconds"]) var length: Int
        }
    }

    /// Has dropped the length, and has one again.
    fileprivate enum V4 {
        @Entity(originalName: ["Track", "Song"]) struct Title {
            @Attribute(originalName: ["name", "label"]) var title: String
            var length: Int?
        }
    }

    /// Both names of the entity at once.
    fileprivate enum Both {
        @Entity struct Song {
            var label: String
        }

        @Entity struct Track {
            var label: String
        }
    }

    fileprivate enum One {
        @Entity(originalName: "Song") struct Track {
            var label: String
        }
    }

    private let folder: TemporaryFolder
    private var path: String { folder.file() }

    init() throws {
        folder = try TemporaryFolder()
    }

    private func makeFirst() async throws {
        let store = try await Coordinator(for: V1.Song.self, at: path)
        try await store.transaction { context in
            for number in 1...3 { context.insert(V1.Song(label: "\(number)", seconds: number)) }
        }
        try await store.close()
    }

    @Test(arguments: [false, true]) func `a file opens one renaming later, and two`(inSteps: Bool) async throws {
        try await makeFirst()
        if inSteps { try await Coordinator(for: V2.Track.self, at: path).close() }
        for round in 0..<2 {
            let store = try await Coordinator(for: V3.Title.self, at: path)
            let titles = try store.snapshot.fetchValues(V3.Title.self)
            #expect(titles.map(\.title) == ["1", "2", "3"] && titles.map(\.length) == [1, 2, 3])
            #expect(Set(store.diagnostics.map(\.kind)) == (round == 0 ? [.recordedChange] : []))
            try await store.close()
        }
        #expect(!FileManager.default.fileExists(atPath: path + ".schema-1"))
    }

    /// The list may stay, and names may come back.
    @Test func `what an earlier version dropped is not dropped again`() async throws {
        try await makeFirst()
        for value in [nil, 7] as [Int?] {
            let store = try await Coordinator(
                for: V4.Title.self, at: path, dropping: ["Title.seconds", "Title.length", "Title"])
            let titles = try store.snapshot.fetchValues(V4.Title.self)
            #expect(titles.map(\.title) == ["1", "2", "3"] && titles.map(\.length) == [value, value, value])
            try await store.transaction { context in
                for title in try context.fetch(V4.Title.self) { title.length = 7 }
            }
            try await store.close()
        }
    }

    @Test func `an entity that may be two of the file's is refused until one of them goes`() async throws {
        let both = try await Coordinator(for: Both.Song.self, Both.Track.self, at: path)
        try await both.transaction { context in
            context.insert(Both.Song(label: "song"))
            context.insert(Both.Track(label: "track"))
        }
        try await both.close()
        let error = await #expect(throws: GraphError.self) { try await Coordinator(for: One.Track.self, at: path) }
        guard case .schemaMismatch(_, let differences)? = error else { throw try #require(error) }
        #expect(differences.contains { $0.contains("either may be it") }, "\(differences)")
        for (dropped, label) in [("Song", "track"), ("Track", "song")] {
            let copy = folder.file(dropped)
            try FileManager.default.copyItem(atPath: path, toPath: copy)
            for _ in 0..<2 {
                let store = try await Coordinator(for: One.Track.self, at: copy, dropping: [dropped])
                #expect(try store.snapshot.fetchValues(One.Track.self).map(\.label) == [label])
                try await store.close()
            }
        }
    }

    fileprivate enum Sung {
        @Entity struct Singer {
            var name: String
            @Relationship(inverse: \Song.singer) var songs: ToMany<Song> = []
        }

        @Entity struct Song {
            var artist: String
            var singer: ToOne<Singer> = nil
        }
    }

    fileprivate enum Renamed {
        @Entity struct Singer {
            var name: String
            @Relationship(inverse: \Song.artist) var songs: ToMany<Song> = []
        }

        @Entity struct Song {
            @Relationship(originalName: "singer") var artist: ToOne<Singer> = nil
        }
    }

    @Test func `a relationship takes the name of an attribute that goes, and keeps its inverse`() async throws {
        let first = try await Coordinator(for: Sung.Singer.self, Sung.Song.self, at: path)
        try await first.transaction { context in
            context.insert(Sung.Singer(name: "a")).songs.insert(context.insert(Sung.Song(artist: "x")))
        }
        try await first.close()
        await #expect(throws: GraphError.self) {
            try await Coordinator(for: Renamed.Singer.self, Renamed.Song.self, at: path)
        }
        let store = try await Coordinator(
            for: Renamed.Singer.self, Renamed.Song.self, at: path, dropping: ["Song.artist"])
        let name = await Context(store).perform { context in
            (try? context.fetch(Renamed.Song.self))?.first?.artist?.name
        }
        #expect(name == "a")
        try await store.close()
    }

    // MARK: Schemas

    fileprivate struct Doubled: Entity {
        var first: String
        var last: String
        static let schema = EntitySchema<Doubled>("Doubled") {
            $0.attribute("first", \.first, originalName: ["a", "b", "a"])
            $0.attribute("last", \.last, originalName: ["c", "b"])
        }
    }

    @Test func `a name that two things have is refused`() async throws {
        let error = await #expect(throws: GraphError.self) { try await Coordinator(for: Doubled.self) }
        let text = "\(try #require(error))"
        #expect(text.contains("an original name is there twice"))
        #expect(text.contains("the original name 'b' is also that of 'first'"))
    }
}
