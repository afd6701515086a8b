extension OpenedStore {
    /// A store without a file.
    ///
    /// - Parameter record: what copies say of the schema.
    init(inMemory initial: (snapshot: Snapshot, counters: [RowNumber]), _ storeID: StoreID, _ record: SchemaRecord) {
        self.init(
            source: StoreSource(inMemory: storeID), snapshot: initial.snapshot, counters: initial.counters,
            record: record, diagnostics: [])
    }
}

extension StoreSource {
    fileprivate init(inMemory storeID: StoreID) {
        (path, diagnostics, journal, readFile) = ("memory", [], nil, nil)
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
