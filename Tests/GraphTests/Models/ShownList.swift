import Observation

@testable import Graph

/// What a view shows of a live result: some lines of it, drawn when they come into view and again when observation tells of a
/// change. It holds the objects of the lines that it shows, and no others.
@MainActor final class ShownList {
    struct Line: Equatable {
        let id: Music.Song.ID
        let title: String
        let year: Int
        let plays: Int
        let album: String?
    }

    let results: FetchedResults<Music.Song>
    private let context: Context
    private let height: Int
    private let registrar = ObservationRegistrar()

    /// The index of the first line.
    private(set) var first = 0
    private(set) var lines: [Line] = []
    private(set) var objects: [Music.Song.Object] = []
    private(set) var count = 0
    private var sections: [Int] = []
    /// Which drawing the lines are of.
    private var drawing = 0
    /// Whether observation has told of a change since then.
    private(set) var isTold = true
    /// How often it has.
    private(set) var tellings = 0

    init(_ results: FetchedResults<Music.Song>, _ context: Context, height: Int) {
        (self.results, self.context, self.height) = (results, context, height)
    }

    /// Moves to other lines.
    func scroll(to line: Int) {
        first = line
        draw()
    }

    func draw() {
        // Ends the observation of what was drawn before, as a model that a view reads does when it changes.
        drawing += 1
        registrar.withMutation(of: self, keyPath: \.drawing) {}
        isTold = false
        let drawing = drawing
        withObservationTracking {
            registrar.access(self, keyPath: \.drawing)
            read()
        } onChange: { [weak self] in
            MainActor.assumeIsolated { self?.didTell(drawing) }
        }
    }

    private func didTell(_ drawing: Int) {
        guard drawing == self.drawing, !isTold else { return }
        isTold = true
        tellings += 1
    }

    private func read() {
        let all = results.objects
        count = all.count
        sections = results.sections.map(\.count)
        first = max(0, min(first, count - height))
        objects = Array(all[first..<min(first + height, count)])
        lines = objects.map {
            Line(id: $0.id, title: $0.title, year: $0.year, plays: $0.plays, album: $0.album?.name)
        }
    }

    /// Compares the lines with those of a fresh fetch, and draws them first if observation says that they are old.
    ///
    /// - Throws: if they differ.
    func check() throws {
        let wasTold = isTold
        if wasTold { draw() }
        var fetch = results.definition.fetch
        let (offset, limit) = (fetch.fetchOffset, fetch.fetchLimit)
        let total = try context.sync { [fetch] in try $0.fetchCount(fetch) }
        fetch.fetchOffset = offset + first
        fetch.fetchLimit = min(height, max((limit ?? .max) - first, 0))
        let fresh = try context.sync { [fetch] in try $0.lines(fetch) }
        guard total == count, fresh == lines else {
            let difference = zip(lines, fresh).first { $0 != $1 }
            throw StoreProgramRun.Mismatch(
                description: """
                    \(wasTold ? "drawn anew" : "stale"): \(lines.count) lines from \(first) of \(count), not \(fresh.count) of \
                    \(total), for \(results.descriptor): \(difference.map { "\($0.0), not \($0.1)" } ?? "")
                    """)
        }
    }

    /// The same for all that it could show.
    func checkAll() throws {
        let fetch = results.definition.fetch
        let rows = try context.sync { try $0.fetchIdentifiedValues(fetch) }
        try demand(results.objects.ids == rows.map(\.id)) { "other objects than a fetch for \(fetch)" }
        guard results.definition.section != nil else { return try demand(sections.isEmpty) { "sections" } }
        var (counts, year): ([Int], Int?) = ([], nil)
        for row in rows {
            if row.value.year == year { counts[counts.count - 1] += 1 } else { counts.append(1) }
            year = row.value.year
        }
        try demand(sections == counts) { "sections of \(sections) rows, not \(counts)" }
    }

    /// Releases what it shows.
    func clear() {
        drawing += 1
        registrar.withMutation(of: self, keyPath: \.drawing) {}
        (objects, lines) = ([], [])
    }
}

extension ShownList: Observable {}

extension Context {
    /// What a fetch shows, without making objects.
    fileprivate func lines(_ fetch: FetchDescriptor<Music.Song>) throws -> [ShownList.Line] {
        let snapshot = state.flushed
        return try snapshot.fetchIdentifiedValues(fetch).map { song in
            ShownList.Line(
                id: song.id, title: song.value.title, year: song.value.year, plays: song.value.plays,
                album: song.value.album.id.flatMap { snapshot.value(for: $0)?.name })
        }
    }
}
