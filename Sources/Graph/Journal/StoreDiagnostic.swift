/// Something that opening a store's file left out, repaired or found odd, without refusing the file.
///
/// With `GRAPH_TRACE=1` in the environment, Graph also prints each one to standard error:
///
/// ```
/// graph: opened photos.graph: byte 81920: an unfinished write of 512 bytes was cut off and kept as photos.graph.torn-31 …
/// ```
public struct StoreDiagnostic: Sendable, Hashable, CustomStringConvertible {
    /// What was found. Later versions may find other things: a `switch` over kinds needs a `default`.
    public enum Kind: Sendable, Hashable {
        /// The bytes of a write that was never confirmed followed the last whole record. Opening cut them off and kept them
        /// beside the file as `….torn-N`. Read-only opening leaves them where they are, and out, as it does with a write of which
        /// nobody knows whether it is durable.
        case unfinishedWrite
        /// One of the two copies of the file's header was damaged, and was rewritten from the other one.
        case repairedHeader
        /// One of the two copies of the file's header is damaged, and rewriting it failed, or the file is only read.
        case damagedHeader
        /// The file was closed with fewer records than the file of this name had before: somebody put back an older copy.
        case olderCopy
        /// The file has the records that the file of this name had before, up to some point, and then others: somebody put back
        /// a copy that was continued separately.
        case divergedCopy
        /// Nobody can know whether the file once had more records: it was not closed, its lock file with the remembered end is
        /// missing, and it does not end as a stopped program leaves it.
        case unknownEnd
        /// Values of a program's own type are read differently than the program that wrote them meant: the type has changed.
        case otherValues
        /// Values of a program's own type, or values that they have replaced since, have parts that this type does not read: a
        /// newer version of the program has written them, or the type has lost a property. They stay in the file until it is
        /// compacted, so it is not compacted by itself. If they are not needed, call ``Coordinator/compact(progress:)``. A file that
        /// was converted to another schema lacks them; the old one beside it has them.
        case unreadValues
        /// The program's schema differs from the file's in a name, a rule, a number or an index, and the file has taken note,
        /// unless it is only read.
        case recordedChange
        /// The program's schema differs from the file's in something else. The file was written anew, and the old one is
        /// beside it as `….schema-N`; read-only opening converts in memory.
        case convertedChange
        /// Others than the file's owner may write it.
        case writableByOthers
    }

    /// What was found.
    public let kind: Kind
    /// The byte of the file where it was found; nil if it concerns the file as a whole.
    public let offset: UInt64?
    /// One sentence about what was found and done, without the file's path; 1,000 bytes at most.
    public let message: String

    init(_ kind: Kind, at offset: UInt64? = nil, _ message: String) {
        self.kind = kind
        self.offset = offset
        self.message = message
    }

    /// - Parameter isConverted: whether the file was converted to another schema.
    static func unreadValues(of property: String, isConverted: Bool = false) -> StoreDiagnostic {
        let what =
            isConverted
            ? "had parts that their type does not read; the conversion has left them out"
            : "have parts that their type does not read; the file is not compacted by itself, and compact() drops them"
        return StoreDiagnostic(.unreadValues, "\(property): some values \(what)")
    }

    /// The byte and the sentence.
    public var description: String { (offset.map { "byte \($0): " } ?? "") + message }
}
