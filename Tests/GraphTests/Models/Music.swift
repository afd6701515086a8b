@testable import Graph

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What `ListProgram` shows: many songs, and few albums.
enum Music {
    @Entity struct Album {
        var name: String
        var isLoved = false
        @Relationship(inverse: \Song.album) var songs: ToMany<Song> = []
    }

    @Entity(indexed: [["year", "title"]]) struct Song {
        @Indexed var title: String
        @Indexed var year: Int
        var plays = 0
        var album: ToOne<Album> = nil
    }

    static let albums = 40
    private static let years = 1970..<2030
    private static let words = ["Amber", "Birch", "Cloud", "Dune", "Ember", "Fjord", "Grove", "Haze", "Iris", "Jade"]

    fileprivate static func title(_ random: inout SeededGenerator) -> String {
        "\(words.randomElement(using: &random)!) \(Int.random(in: 0..<100_000, using: &random))"
    }

    fileprivate static func year(_ random: inout SeededGenerator) -> Int { Int.random(in: years, using: &random) }
}

extension Context {
    func insertMusic(_ count: Int, _ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let albums = (0..<Music.albums).map {
            insert(Music.Album(name: "Album \($0)", isLoved: $0.isMultiple(of: 10))).id
        }
        for _ in 0..<count {
            insert(
                Music.Song(
                    title: Music.title(&random), year: Music.year(&random),
                    plays: Int.random(in: 0..<100, using: &random),
                    album: ToOne(albums.randomElement(using: &random))))
        }
    }

    /// Random changes, half of them of songs that are shown or of such that come next to them. The number of songs stays about the
    /// same.
    func changeMusic(_ seed: UInt64, changes: Int, shown: [Music.Song.ID], about count: Int) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<changes {
            let songs = try fetchCount(Music.Song.self)
            let near = shown.randomElement(using: &random).flatMap { self[$0] }
            let song = random.chance(2) ? near : try songByChance(of: songs, &random)
            guard let song else { continue }
            switch Int.random(in: 0..<14, using: &random) {
            case 0..<3 where songs < count + count / 50:
                let next = near ?? song
                insert(
                    Music.Song(
                        title: random.chance(2) ? next.title : Music.title(&random),
                        year: random.chance(2) ? next.year : Music.year(&random),
                        plays: Int.random(in: 0..<100, using: &random), album: ToOne(song.album?.id)))
            case 0..<6: if songs > count - count / 50 { song.delete() }
            case 6: song.title = near?.title ?? Music.title(&random)
            case 7: song.title = Music.title(&random)
            case 8: song.year = Music.year(&random)
            case 9, 10: song.plays = Int.random(in: 0..<100, using: &random)
            case 11: song.album = try fetch(Music.Album.self).randomElement(using: &random)
            case 12: song.album?.name = "Album \(Int.random(in: 0..<1_000, using: &random))"
            default: if random.chance(4) { song.album?.isLoved.toggle() }
            }
        }
    }

    /// Finds it by its rank in an index.
    private func songByChance(of count: Int, _ random: inout SeededGenerator) throws -> Music.Song.Object? {
        guard count > 0 else { return nil }
        let rank = Int.random(in: 0..<count, using: &random)
        return try fetch(Music.Song.self, sortedBy: [.ascending(\.title)], offset: rank, limit: 1).first
    }
}
