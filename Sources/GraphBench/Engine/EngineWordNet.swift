import Graph

/// WordNet through the engine: into a file, and every known figure out of the file again.
enum EngineWordNet {
    static let check: EngineSuite.WordNetCheck = { files, path, progress in
        let loading = Stopwatch()
        let written = try await open(path)
        try await Context(written).load(files, progress)
        try await written.close()
        let loadSeconds = loading.seconds

        progress.show("reopening")
        let reopening = Stopwatch()
        let reopened = try await open(path)
        let reopenSeconds = reopening.seconds

        progress.show("asking")
        let hyponyms = WordNetPair.hyponyms(of: files)
        let asking = Stopwatch()
        let figures = try await Context(reopened).wordNetFigures(hyponyms: hyponyms)
        let querySeconds = asking.seconds
        try await reopened.close()
        return WordNetStoreReport(
            figures: figures, loadSeconds: loadSeconds, reopenSeconds: reopenSeconds, querySeconds: querySeconds)
    }

    private static func open(_ path: String) async throws -> Coordinator {
        try await Coordinator(for: Synset.self, Word.self, Sense.self, Pointer.self, at: path)
    }
}

extension Context {
    /// Inserts everything in transactions of about ten thousand rows.
    func load(_ files: WordNetFiles, _ progress: ProgressLine) async throws {
        let counts = [files.synsets.count, files.lemmas.count, files.senses.count, files.pointers.count]
        let total = counts.reduce(0, +)

        func report(after entities: Int) -> (Int) -> Void {
            let before = counts.prefix(entities).reduce(0, +)
            return { progress.show("loading WordNet", done: before + $0, of: total) }
        }

        let synsets = try await insertAll(files.synsets, report(after: 0)) {
            Synset(
                key: $0.key, partOfSpeech: $0.partOfSpeech.letter, offset: $0.offset, isSatellite: $0.isSatellite,
                lexicographerFile: $0.lexicographerFile, gloss: $0.gloss)
        }
        let words = try await insertAll(files.lemmas, report(after: 1)) { Word(lemma: $0) }
        _ = try await insertAll(files.senses, report(after: 2)) {
            Sense(
                text: $0.word, number: $0.number, lexicalID: $0.lexicalID, word: ToOne(words[$0.lemma]),
                synset: ToOne(synsets[$0.synset]))
        }
        _ = try await insertAll(files.pointers, report(after: 3)) {
            Pointer(
                kind: $0.symbol, sourceNumber: $0.sourceNumber, targetNumber: $0.targetNumber,
                source: ToOne(synsets[$0.source]), target: ToOne(synsets[$0.target]))
        }
    }

    /// Inserts rows of one entity; every transaction moves the progress on.
    private func insertAll<Record, Kind: Entity>(
        _ records: [Record], _ report: (Int) -> Void, _ make: (Record) -> Kind
    ) async throws -> [PersistentID<Kind>] {
        var ids: [PersistentID<Kind>] = []
        ids.reserveCapacity(records.count)
        for start in stride(from: 0, to: records.count, by: 10_000) {
            let batch = records[start..<min(start + 10_000, records.count)]
            ids += insert(contentsOf: batch.map(make))
            try await save()
            report(ids.count)
        }
        return ids
    }

    /// Finds every figure in the store: by fetches where rows are counted, else by following relationships.
    ///
    /// - Parameter hyponyms: what the files say, to compare the hypernyms' inverse with.
    func wordNetFigures(hyponyms: Set<WordNetPair>) throws -> WordNetFigures {
        let synsets = try fetch(Synset.self)
        var pointers = 0
        var danglingPointers = 0
        var backwards: Set<WordNetPair> = []
        for synset in synsets {
            pointers += synset.pointers.count
            for pointer in synset.incoming where pointer.kind == WordNetFigures.hypernym {
                guard let source = pointer.source else { continue }
                backwards.insert(WordNetPair(from: synset.key, to: source.key))
            }
        }
        for pointer in try fetch(Pointer.self) {
            guard
                let source = pointer.source, let target = pointer.target,
                pointer.sourceNumber <= source.senses.count, pointer.targetNumber <= target.senses.count
            else {
                danglingPointers += 1
                continue
            }
        }
        let above = try synsetsReached(from: WordNetFigures.dog) { synset in
            synset.pointers.filter { WordNetFigures.upward.contains($0.kind) }.compactMap { $0.target }
        }
        let below = try synsetsReached(from: WordNetFigures.entity) { synset in
            synset.incoming.filter { WordNetFigures.upward.contains($0.kind) }.compactMap { $0.source }
        }
        return WordNetFigures(
            synsets: try fetchCount(Synset.self),
            senses: try fetch(Word.self).reduce(0) { $0 + $1.senses.count },
            lemmas: try fetchCount(Word.self), pointers: pointers,
            lexicalPointers: try fetchCount(
                Pointer.self, where: { $0.sourceNumber != 0 || $0.targetNumber != 0 }),
            danglingPointers: danglingPointers,
            hypernymPointers: try fetchCount(Pointer.self, where: { $0.kind == WordNetFigures.hypernym }),
            inverseDifferences: backwards.symmetricDifference(hyponyms).count, dogAncestors: above,
            belowEntity: below)
    }

    private func synsetsReached(
        from key: String, _ next: (ManagedObject<Synset>) -> [ManagedObject<Synset>]
    ) throws -> Int {
        guard let start = try fetch(Synset.self, where: { $0.key == key }).first else { return 0 }
        return WordNetFigures.reached(from: start, next).count
    }
}
