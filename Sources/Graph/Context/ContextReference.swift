import Synchronization

/// Leads from objects to their context, which they must not keep.
final class ContextReference: Sendable {
    private struct Value {
        weak var context: Context?
    }

    private let value = Mutex(Value())

    var context: Context? {
        get { value.withLock { $0.context } }
        set { value.withLock { $0.context = newValue } }
    }
}
