import Synchronization

/// What saves its changes by itself, which contexts may do.
protocol AutosavingContext: AnyObject, Sendable {
    /// Saves what there is.
    func autosaveNow() async throws(GraphError)
}

/// The contexts that save by themselves, for a coordinator that is about to close.
final class AutosavingContexts: Sendable {
    private struct Entry {
        weak var context: (any AutosavingContext)?
    }

    private let entries = Mutex<[Entry]>([])

    func add(_ context: any AutosavingContext) {
        entries.withLock { entries in
            entries.removeAll { $0.context == nil || $0.context === context }
            entries.append(Entry(context: context))
        }
    }

    func remove(_ context: any AutosavingContext) {
        entries.withLock { $0.removeAll { $0.context == nil || $0.context === context } }
    }

    var all: [any AutosavingContext] { entries.withLock { $0.compactMap(\.context) } }
}
