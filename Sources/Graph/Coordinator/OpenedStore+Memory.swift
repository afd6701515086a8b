extension OpenedStore {
    /// A store without a file.
    ///
    /// - Parameter version: of the program's migration plan, which copies name.
    init(inMemory initial: (snapshot: Snapshot, counters: [RowNumber]), _ storeID: StoreID, version: String?) {
        self.init(
            source: StoreSource(inMemory: storeID), snapshot: initial.snapshot, counters: initial.counters,
            record: SchemaRecord(initial.snapshot.schema, version: version), diagnostics: [])
    }
}

extension StoreSource {
    fileprivate init(inMemory storeID: StoreID) {
        (path, diagnostics, journal) = ("memory", [], nil)
        self.storeID = storeID
    }
}

extension CoordinatorState.Storage {
    init(_ source: StoreSource, isInMemory: Bool, isReceived: Bool, _ options: JournalOptions) {
        if isInMemory {
            self = .memory
        } else if source.journal == nil {
            self = .readOnly(path: source.path)
        } else if isReceived {
            self = .received(path: source.path, transactionBytes: options.transactionLimitBytes)
        } else {
            self = .file(path: source.path, transactionBytes: options.transactionLimitBytes)
        }
    }
}
