import Testing

@testable import Graph

@Suite(.serialized) struct ReviewCostTests {
    @Test(arguments: [5_000, 20_000]) func `what large collections cost`(count: Int) async throws {
        let coordinator = try await Coordinator(for: Track.self, Disc.self, Mix.self)
        for isMix in [false, true] {
            let context = Context(coordinator)
            try await context.transaction { context in
                func measure(_ what: String, _ body: () -> Void) {
                    print("REVIEW cost \(isMix ? "mix" : "disc") \(count) \(what): \(ContinuousClock().measure(body))")
                }
                let tracks = (0..<count).map { context.insert(Track(code: "\(isMix)\($0)")) }
                let disc = context.insert(Disc(name: "disc"))
                let mix = context.insert(Mix(name: "mix"))
                let list = isMix ? mix.tracks : disc.tracks
                func assign(_ all: [Track.Object]) {
                    if isMix { mix.tracks = RelatedObjects(all) } else { disc.tracks = RelatedObjects(all) }
                }
                measure("append") { for track in tracks { list.append(track) } }
                measure("iterate") { for track in list { _ = track.code } }
                measure("map") { _ = list.map(\.code) }
                measure("assign again") { assign(tracks) }
                var random = SeededGenerator(seed: 1)
                let shuffled = tracks.shuffled(using: &random)
                measure("assign shuffled") { assign(shuffled) }
                measure("removeAll") { list.removeAll() }
                measure("insert at 0") { for track in tracks { list.insert(track, at: 0) } }
                measure("insert at random") {
                    for (offset, track) in tracks.enumerated() { list.insert(track, at: (offset * 7919) % count) }
                }
                measure("delete half") { for track in tracks.prefix(count / 2) { track.delete() } }
                measure("delete owner") { if isMix { mix.delete() } else { disc.delete() } }
                measure("hasChanges") { _ = context.hasChanges }
            }
        }
    }

    @Test func `R17 objects that an asynchronous operation held are released when it is over`() async throws {
        let coordinator = try await Coordinator(for: Flagged.self, Track.self, Disc.self, Mix.self)
        let context = Context(coordinator)
        try await context.transaction { context in
            _ = context.insert(contentsOf: (0..<1_000).map { Track(code: "\($0)") })
        }
        try await context.fetchAndSave()
        for _ in 0..<200 { await context.perform { _ = $0.hasChanges } }
        let count = await context.registeredCount()
        #expect(count < 100)
    }
}

extension Context {
    fileprivate func fetchAndSave() async throws {
        let tracks = try fetch(Track.self)
        insert(Disc(name: "x"))
        try await save()
        #expect(tracks.map(\.code).count == 1_000)
    }

    fileprivate func registeredCount() -> Int {
        guard let registry = state.registry else { return -1 }
        let count = Mirror(reflecting: registry).children.first { $0.label == "count" }?.value
        return count as? Int ?? -1
    }
}
