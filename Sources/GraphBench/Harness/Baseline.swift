/// Who works in the place of the native side.
enum Baseline: String, Sendable {
    /// Plain Swift objects: the limit of the language.
    case native
    /// Graph itself without those who contend or read beside it: no peer, for it shares every weakness.
    case alone
}
