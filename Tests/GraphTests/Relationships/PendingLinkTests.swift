import Testing

@testable import Graph

@Entity private struct Picture {
    var caption = ""
    var tags: ToMany<Keyword> = []
}

@Entity private struct Keyword {
    var count = 0
    @Relationship(inverse: \Picture.tags) var pictures: ToMany<Picture> = []
}

@Entity private struct Playlist {
    var title = ""
    @Relationship(inverse: \Song.playlists, ordered: true) var songs: ToMany<Song> = []
}

@Entity private struct Song {
    var playlists: ToMany<Playlist> = []
}

/// R3, R14 and R35: a link that was made here is there as soon as both of its ends are, and an error as long as they are not.
struct PendingLinkTests {
    private static func store() async throws -> (Coordinator, Picture.ID, Keyword.ID) {
        let coordinator = try await Coordinator(for: Picture.self, Keyword.self, checksEveryCommit: true)
        let (picture, tag) = try await coordinator.transaction { context in
            (context.insert(Picture()).id, context.insert(Keyword()).id)
        }
        return (coordinator, picture, tag)
    }

    private static func link(_ context: isolated Context, _ picture: Picture.ID, _ tag: Keyword.ID) {
        if let tag = context[tag] { context[picture]?.tags.insert(tag) }
    }

    @Test func `R3 a link to an object that the same save brings back is saved`() async throws {
        let (coordinator, picture, tag) = try await Self.store()
        let context = Context(coordinator, mergePolicy: .overwrite)
        await context.perform { context in
            Self.link(context, picture, tag)
            context[tag]?.count = 1
        }
        try await coordinator.transaction { $0[tag]?.delete() }
        try await context.save()
        #expect(coordinator.snapshot.value(for: tag)?.count == 1)
        #expect(try coordinator.snapshot.related(\Picture.tags, of: picture) == [tag])
        #expect(await context.perform { $0[picture]?.tags.ids } == [tag])
    }

    @Test func `R3 a link whose end was deleted elsewhere and came back is shown and saved`() async throws {
        let (coordinator, picture, tag) = try await Self.store()
        let (context, other) = (Context(coordinator), Context(coordinator, mergePolicy: .overwrite))
        await context.perform { Self.link($0, picture, tag) }
        await other.perform { $0[tag]?.count = 5 }
        try await coordinator.transaction { $0[tag]?.delete() }
        await context.refresh()
        #expect(await context.perform { $0[picture]?.tags.count } == 0)
        #expect(await context.hasChanges)
        try await other.save()
        await context.refresh()
        #expect(await context.perform { $0[picture]?.tags.ids } == [tag])
        try await context.save()
        #expect(try coordinator.snapshot.related(\Picture.tags, of: picture) == [tag])
    }

    @Test(arguments: [true, false])
    func `R14 a link that has lost both ends is one error`(isRefreshed: Bool) async throws {
        let (coordinator, picture, tag) = try await Self.store()
        let context = Context(coordinator)
        await context.perform { Self.link($0, picture, tag) }
        try await coordinator.transaction { context in
            context[tag]?.delete()
            context[picture]?.delete()
        }
        if isRefreshed { await context.refresh() }
        do {
            try await context.save()
            Issue.record("a link was dropped without a word")
        } catch {
            guard case .danglingReferences(let references) = error else { throw error }
            #expect(references.count == 1)
            #expect(references.allSatisfy { [AnyPersistentID(picture), AnyPersistentID(tag)].contains($0.id) })
        }
        #expect(await context.hasChanges)
        // Either end will do.
        await context.perform { $0.discard([AnyPersistentID(tag)]) }
        #expect(await context.hasChanges == false)
        try await context.save()
    }

    @Test func `R14 a policy that resolves conflicts gives up links that lead nowhere`() async throws {
        let (coordinator, picture, tag) = try await Self.store()
        let context = Context(coordinator, mergePolicy: .mergeByPropertyObjectTrump)
        await context.perform { context in
            Self.link(context, picture, tag)
            context[picture]?.caption = "ours"
        }
        try await coordinator.transaction { $0[tag]?.delete() }
        try await context.save()
        #expect(coordinator.snapshot.value(for: picture)?.caption == "ours")
        #expect(await context.hasChanges == false)
    }

    @Test(arguments: [true, false])
    func `R35 a link that has waited for an end comes last in an order, one that has not keeps its place`(
        waits: Bool
    ) async throws {
        let coordinator = try await Coordinator(for: Playlist.self, Song.self, checksEveryCommit: true)
        let (playlist, songs) = try await coordinator.transaction { context in
            let (playlist, songs) = (context.insert(Playlist()), (0..<3).map { _ in context.insert(Song()) })
            playlist.songs.append(songs[0])
            return (playlist.id, songs.map(\.id))
        }
        func append(_ song: Int, in context: Context) async {
            await context.perform { context in
                if let song = context[songs[song]] { context[playlist]?.songs.append(song) }
            }
        }
        let (context, other) = (Context(coordinator), Context(coordinator))
        func catchUp() async {
            while await context.perform({ $0.state.base.commit }) < coordinator.snapshot.commit { await Task.yield() }
        }
        let returning = Context(coordinator, mergePolicy: .overwrite)
        // Both come behind the first song, with equal keys.
        await append(2, in: context)
        await append(1, in: other)
        await returning.perform { $0[playlist]?.title = "back" }
        await context.perform { $0.automaticallyMergesChanges = true }
        if !waits { await context.beginSave() }
        try await coordinator.transaction { $0[playlist]?.delete() }
        if waits { await catchUp() }
        try await returning.save()
        if !waits { await context.endSave() }
        await catchUp()
        #expect(await context.perform { $0[playlist]?.songs.ids } == [songs[2]])
        try await other.save()
        await catchUp()
        let expected = waits ? [songs[2], songs[1]] : [songs[1], songs[2]]
        #expect(await context.perform { $0[playlist]?.songs.ids } == expected)
        try await context.save()
        #expect(try coordinator.snapshot.related(\Playlist.songs, of: playlist) == expected)
    }

    @Test func `R22 an undone link leads nowhere no more`() async throws {
        let (coordinator, picture, tag) = try await Self.store()
        let context = Context(coordinator)
        await context.perform { $0.undoLimit = 5 }
        await context.perform { Self.link($0, picture, tag) }
        try await coordinator.transaction { $0[tag]?.delete() }
        await context.refresh()
        await context.undo()
        #expect(await context.hasChanges == false)
        try await context.save()
    }
}
