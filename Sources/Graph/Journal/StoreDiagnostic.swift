/// One thing that opening a store's file left out, repaired or found odd, without a reason to refuse the file.
///
/// With `GRAPH_TRACE=1` in the environment each one is also printed to standard error:
///
/// ```
/// graph: opened photos.graph: byte 81920: the bytes of an unfinished write were cut off and kept as photos.graph.torn-31 …
/// ```
public struct StoreDiagnostic: Sendable, Hashable, CustomStringConvertible {
    /// What kind of thing it is. Later versions may find other kinds: a `switch` over them needs a `default`.
    public enum Kind: Sendable, Hashable {
        /// Behind the last whole record lay bytes of a write that was never confirmed. They were cut off and lie beside
        /// the file as `….torn-N`.
        case unfinishedWrite
        /// One of the two copies of the file's header was damaged and has been written again from the other one.
        case repairedHeader
        /// One of the two copies of the file's header is damaged, and writing it again failed.
        case damagedHeader
        /// The file is a closed one with fewer records than were written under this name before: an older copy that
        /// somebody put back.
        case olderCopy
        /// The file is the one that was written under this name before up to some record, and then goes on differently: a
        /// copy that went its own way.
        case divergedCopy
        /// Whether the file once had more records cannot be known: it was not closed, the lock file that would remember
        /// its end is not there, and it does not end as the file of a program that was stopped does.
        case unknownEnd
        /// Values of a program's own type are read otherwise than by the program that wrote them: the type has changed.
        case otherValues
        /// Others than the file's owner may write it.
        case writableByOthers
    }

    /// What was found.
    public let kind: Kind
    /// The byte of the file at which it was found; nil where the file as a whole is meant.
    public let offset: UInt64?
    /// One sentence about what was found and what was done, without the file's path; nowhere longer than 1,000 bytes.
    public let message: String

    init(_ kind: Kind, at offset: UInt64? = nil, _ message: String) {
        self.kind = kind
        self.offset = offset
        self.message = message
    }

    /// The place and the sentence.
    public var description: String { (offset.map { "byte \($0): " } ?? "") + message }
}
