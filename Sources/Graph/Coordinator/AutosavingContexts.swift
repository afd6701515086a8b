import Synchronization

/// The contexts that save by themselves, for a coordinator that is about to close.
final class AutosavingContexts: Sendable {
    private struct Entry {
        weak var context: Context?
    }

    private let entries = Mutex<[Entry]>([])

    func add(_ context: Context) {
        entries.withLock { entries in
            entries.removeAll { $0.context == nil || $0.context === context }
            entries.append(Entry(context: context))
        }
    }

    func remove(_ context: Context) {
        entries.withLock { $0.removeAll { $0.context == nil || $0.context === context } }
    }

    var all: [Context] { entries.withLock { $0.compactMap(\.context) } }
}
