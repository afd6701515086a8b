/// Who works in the place of the native side.
enum Baseline: String, CaseIterable, Sendable {
    /// Plain Swift objects: the limit of the language.
    case native
    /// Graph itself without those who contend or read beside it: no peer, for it shares every weakness.
    case alone
    /// Graph itself with the same values in attributes of their own: no peer either.
    case flat
    /// Graph itself with a closure in place of the predicate.
    case closure
    /// Graph itself with a look-up by key path in place of the predicate.
    case keyPath
    /// Graph itself with the better one of two conditions.
    case singleIndex
    /// Graph itself, opening the file.
    case opening
    /// What comes with Foundation, in a loop of the program's own.
    case foundation
    /// Nothing but the syncs: the limit of the medium.
    case sync

    /// What a figure of this side is called, if it is not native Swift's.
    var name: String? {
        switch self {
        case .native: nil
        case .foundation, .sync: word
        case .alone: "Graph alone"
        default: "Graph, \(word)"
        }
    }

    /// What targets call this side.
    var word: String {
        switch self {
        case .native, .alone, .flat, .closure, .opening: rawValue
        case .keyPath: "key path"
        case .singleIndex: "one index"
        case .foundation: "Foundation"
        case .sync: "bare sync"
        }
    }
}
