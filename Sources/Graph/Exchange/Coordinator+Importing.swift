extension Coordinator {
    /// Makes objects and links of the rows of all sources, which refer to each other by identifier. They go through a save like
    /// any other: rules, hooks and uniqueness hold, and what a save would refuse is refused here.
    ///
    /// ```swift
    /// try await coordinator.importRows(from: [.jsonLines(at: "people.jsonl")])
    /// ```
    ///
    /// A store that has never had an object takes over the identifiers: all of them, in any order, if every row has one and none
    /// is greater than 2^44 - 2. A row without one, or with a greater one, as other programs of a shared store give out, takes
    /// the number behind the greatest one so far, and a later row whose identifier that is then takes a new one as well. In every
    /// other store all objects get new ones, in the order in which they come. References and links follow the rows in any case.
    ///
    /// The sources may have their rows and links in any order. The members on a line of links come behind those that the owner
    /// has.
    ///
    /// - Parameters:
    ///   - onConflict: what an imported row does if another one has its value of a unique property; nil for what the schema says.
    ///   - batchSize: how many rows and links are saved together; nil saves all of them in one commit, or none. References may
    ///     then not be required from row to row in a circle, as a batch has to keep the rules by itself.
    ///   - point: of an earlier import of the same sources, which this one goes on with. More sources may come behind them.
    ///   - ignoresUnknownTargets: whether references and links that lead to rows which no source has become nil, or are left out.
    ///     Otherwise they are failures.
    ///   - author: who makes the changes: a name for conflicts, observers and the journal.
    ///   - progress: is told after each batch, and every now and then between.
    /// - Returns: how much was read. Its point is behind all sources: pass it on with the same sources and further ones behind
    ///   them, to import these, which may refer to rows of before.
    /// - Throws: `GraphError.importFailed` with source, line, entity and property; what a source throws, and what
    ///   ``Context/save(mergePolicy:durability:fileID:line:)`` throws. `.tokenOfOtherStore` if the point is of another store.
    ///
    /// Complexity: O(length of the sources), and O(log *n*) for each row and link among *n*, besides one save for each batch.
    @discardableResult
    public nonisolated func importRows(
        from sources: [RowSource],
        onConflict: UniquenessPolicy? = nil,
        batchSize: Int? = nil,
        resumingAt point: ImportPoint? = nil,
        ignoresUnknownTargets: Bool = false,
        author: String? = nil,
        progress: (@Sendable (ImportProgress) -> Void)? = nil,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) async throws -> ImportProgress {
        let request = ImportRequest(
            sources: sources, uniqueness: onConflict, batchSize: batchSize.map { max($0, 1) },
            ignoresUnknownTargets: ignoresUnknownTargets,
            origin: ChangeOrigin(author: author, callSite: CallSite(fileID, line)), progress: progress)
        let schema = snapshot.schema
        for source in sources { _ = try source.entity(in: schema) }
        if let point {
            guard point.token.store == snapshot.token.store else { throw GraphError.tokenOfOtherStore(point.token) }
            guard point.fits(schema, counters.all, sourceCount: sources.count) else {
                throw GraphError.historyDiverged(point.token)
            }
        }
        let start = point ?? ImportPoint(schema, keepsIdentifiers: counters.areUnused)
        let context = Context(self, mergePolicy: .mergeByPropertyObjectTrump, author: author)
        return try await context.importRows(request, from: start, isResumed: point != nil)
    }
}

extension Context {
    fileprivate func importRows(
        _ request: ImportRequest, from start: ImportPoint, isResumed: Bool
    ) async throws -> ImportProgress {
        var importer = Importer(
            state.schema, counters: coordinator.counters, sources: request.sources, at: start)
        var progress = ImportProgress()
        if isResumed { progress.point = start }
        do {
            try await importRows(request, from: start, &importer, &progress)
            return progress
        } catch {
            importer.giveBackNumbers(since: progress.point ?? start)
            throw error
        }
    }

    private func importRows(
        _ request: ImportRequest, from start: ImportPoint, _ importer: inout Importer, _ progress: inout ImportProgress
    ) async throws {
        for (number, source) in request.sources.enumerated().dropFirst(start.source) {
            let isFirst = number == start.source
            try await importRows(
                of: source, number, skipping: isFirst ? start.recordCount : 0, request, &importer, &progress)
        }
        let failures = importer.finish(ignoringUnknown: request.ignoresUnknownTargets, &state.working)
        guard failures.isEmpty else { throw GraphError.importFailed(failures) }
        try await save(&importer, request, source: request.sources.count, recordCount: 0, &progress)
    }

    private func importRows(
        of source: RowSource, _ number: Int, skipping skipped: Int, _ request: ImportRequest,
        _ importer: inout Importer,
        _ progress: inout ImportProgress
    ) async throws {
        var stream = try await source.open()
        var buffer = RecordBuffer(isCSV: source.csv != nil)
        var reader = try importer.reader(of: source)
        var recordCount = 0
        var isEnd = false
        while !isEnd {
            if Task.isCancelled { throw GraphError.cancelled }
            let piece = try await stream.next()
            // Many streams end when their reader is cancelled, and that is not the end of what they read.
            if piece == nil, Task.isCancelled { throw GraphError.cancelled }
            if let piece {
                buffer.append(piece)
            } else {
                buffer.end()
                isEnd = true
            }
            while let record = try next(&buffer, source) {
                recordCount += 1
                let isDone = recordCount <= skipped
                // The first line of CSV is read in any case.
                guard !isDone || (source.csv != nil && recordCount == 1) else { continue }
                do throws(InvalidRecord) {
                    let line = SourceLine(source: number, line: record.line)
                    for part in try reader.read(record.bytes) { try importer.apply(part, on: line, to: &state.working) }
                    buffer.hasBlankRecords = reader.hasOneColumn
                } catch {
                    throw GraphError.importFailed([error.failure(in: source, line: record.line)])
                }
                guard let batchSize = request.batchSize, importer.pendingCount >= batchSize else { continue }
                try await save(&importer, request, source: number, recordCount: recordCount, &progress)
            }
            report(importer, request, &progress)
        }
        guard source.csv == nil || recordCount > 0 else {
            let failure = InvalidRecord(reason: "no line has the names of columns").failure(in: source, line: nil)
            throw GraphError.importFailed([failure])
        }
    }

    private func next(_ buffer: inout RecordBuffer, _ source: RowSource) throws(GraphError) -> RecordBuffer.Record? {
        do throws(InvalidValue) {
            return try buffer.next()
        } catch {
            let failure = InvalidRecord(reason: error.reason).failure(in: source, line: buffer.nextLine)
            throw .importFailed([failure])
        }
    }

    private func save(
        _ importer: inout Importer, _ request: ImportRequest, source: Int, recordCount: Int,
        _ progress: inout ImportProgress
    ) async throws(GraphError) {
        let outcome: Outcome?
        do throws(GraphError) {
            outcome = try await commitImport(request)
        } catch {
            throw importer.error(of: error)
        }
        importer.didSave(outcome, state.base.token, source: source, recordCount: recordCount)
        progress.point = importer.point
        report(importer, request, &progress)
    }

    private func commitImport(_ request: ImportRequest) async throws(GraphError) -> Outcome? {
        await beginSave()
        defer { endSave() }
        return try await commitChanges(nil, request.origin, uniqueness: request.uniqueness)
    }

    private func report(_ importer: Importer, _ request: ImportRequest, _ progress: inout ImportProgress) {
        (progress.rowCount, progress.linkCount) = (importer.point.rowCount, importer.point.linkCount)
        request.progress?(progress)
    }
}
