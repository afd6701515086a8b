import Testing

@testable import Graph

struct ReviewMoreTests {
    @Test func `R20 a link to what a failed transaction inserted does not stand in the way of later saves`() async throws {
        let disk = GatedDisk()
        let schema = try Schema([
            EntityDescription(Track.self), EntityDescription(Disc.self), EntityDescription(Mix.self),
        ])
        let coordinator = try await Coordinator(
            schema, path: JournalFixture.path, fileSystem: disk, options: JournalFixture.options(seed: 1))
        let context = Context(coordinator)
        let mix = try await context.transaction { $0.insert(Mix(name: "mix")).id }
        disk.hold()
        let transaction = Task { try await context.transaction { _ = $0.insert(Track(code: "a")) } }
        await disk.waitForArrival()
        try await context.perform { context in
            let mix = try context.object(for: mix)
            mix.name = "changed"
            mix.tracks.append(try #require(try context.first(Track.self)))
        }
        disk.fill()
        disk.release()
        await #expect(throws: GraphError.self) { try await transaction.value }
        await context.perform { #expect($0[mix]?.tracks.isEmpty == true) }
        try await context.save()
    }

    @Test func `a file with long keys is refused, or can be worked with`() async {
        await #expect(processExitsWith: .success) {
            let schema = try Schema([
                EntityDescription(Track.self), EntityDescription(Disc.self), EntityDescription(Mix.self),
            ])
            var store = RecordedStore(schema: schema)
            try store.commit { work in
                work.insert(1, Disc(name: "disc"))
                for row in RowNumber(1)...3 { work.insert(row, Track(code: "\(row)", disc: ToOne(.init(row: 1)))) }
                let long = [UInt8](repeating: 128, count: 200_000)
                let list = work.schema.adjacencies.firstIndex { $0.toOne != nil }!
                work.snapshot.adjacencies[list].insert(1, of: 1, key: OrderKey(bytes: long))
                work.snapshot.adjacencies[list].insert(2, of: 1, key: OrderKey(bytes: long.dropLast() + [129]))
            }
            guard let snapshot = try? store.replay().snapshot else { return }
            precondition(snapshot.check() == [])
            var work = WorkingState(base: snapshot)
            work.place(3, of: 1, through: work.schema.toMany(\Disc.tracks, of: 1), at: 1)
        }
    }
}
