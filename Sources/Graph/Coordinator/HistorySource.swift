/// Where a coordinator finds the commits before.
enum HistorySource: Sendable {
    /// In memory, with the published states.
    case memory
    case journal(Journal)
    /// In a file that is only read. It stays open: after a migration the path leads to one whose records are of another schema.
    case file(JournalFile)
    /// Nowhere: the file is of another schema than the program, which only reads it.
    case nothing

    init(_ opened: OpenedStore) {
        if let journal = opened.source.journal {
            self = .journal(journal)
        } else if let file = opened.source.readFile {
            self = opened.isConverted ? .nothing : .file(file)
        } else {
            self = .memory
        }
    }
}

extension Coordinator {
    /// Opens the history that a request asks for.
    func historyReader(_ request: HistoryRequest) async throws(GraphError) -> HistoryReader? {
        if isClosed { throw .closed(path: path) }
        if let token = request.token {
            guard token.store == storeID else { throw .tokenOfOtherStore(token) }
            guard token.commit <= published.value.commit else { throw .historyDiverged(token) }
        }
        // What is not durable yet may still be lost.
        let (newest, durable) = (written.snapshot, syncedCommit)
        switch historySource {
        case .memory:
            guard let kept = published.kept else { return nil }
            return HistoryReader(try kept.commits(since: request.token), request)
        case .nothing:
            if let token = request.token, token != newest.token { throw .historyExpired(oldest: newest.token) }
            return nil
        case .journal(let journal):
            guard try request.isBehind(newest) else { return nil }
            let file = try await journal.openToRead()
            return HistoryReader(file, newest, through: durable, request)
        case .file(let file):
            guard try request.isBehind(newest) else { return nil }
            return HistoryReader(file, newest, through: durable, request)
        }
    }
}
