/// Who works in the place of the native side.
enum Baseline: String, Sendable {
    /// Plain Swift objects: the limit of the language.
    case native
    /// Graph itself without those who contend or read beside it: no peer, for it shares every weakness.
    case alone
    /// Graph itself with the same values in attributes of their own: no peer either.
    case flat

    /// What a figure of this side is called, if it is not native Swift's.
    var name: String? {
        switch self {
        case .native: nil
        case .alone: "Graph alone"
        case .flat: "Graph, flat"
        }
    }
}
