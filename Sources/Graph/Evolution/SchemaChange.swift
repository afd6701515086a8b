/// A difference between the schema of a file and that of the program which opens it.
public struct SchemaChange: Sendable, Hashable {
    /// What opening the file makes of a difference.
    public enum Handling: Sendable, Hashable {
        /// The file takes note of it and stays: names, rules, counts and indexes.
        case recorded
        /// The file is written anew, and the old one is kept beside it.
        case converted
        /// The file is not opened.
        case refused
    }

    /// The entity's name in the program; in the file, if only the file has it.
    public let entity: String
    /// The property's name, in the same way; nil if the difference concerns the entity.
    public let property: String?
    /// A few words: `added`, `int32 becomes int64`.
    public let summary: String
    /// What opening the file makes of it.
    public let handling: Handling
    /// What to do about a change that is refused; nil otherwise.
    public let advice: String?
    /// Whether nothing that the file says is lost with it: a name that the program knows, an order, or an index.
    var isNeutral = false
    /// Whether something that the file has is nothing in the program.
    var isRemoval = false
    /// Whether the file has several names of it, of which `dropping:` has to say which ones go.
    var isUncertain = false
}

extension SchemaChange: CustomStringConvertible {
    /// Entity and property, what has changed, and what to do about it.
    public var description: String {
        "\(entity.shortened())\(property.map { "." + $0.shortened() } ?? ""): \(summary)\(advice.map { ": " + $0 } ?? "")"
    }
}

extension SchemaChange {
    static let olderProgram =
        "a newer version of this program has opened the file, and this one would undo what that changed"
    static let needsPlan = "this needs a migration plan"

    /// The same change where it is handled in another way.
    func handled(_ handling: Handling, advice: String? = nil) -> SchemaChange {
        SchemaChange(
            entity: entity, property: property, summary: summary, handling: handling, advice: advice,
            isNeutral: isNeutral, isRemoval: isRemoval, isUncertain: isUncertain)
    }

    /// Why a program may not open a file that a newer version of it has opened.
    static func refusals(ofOlderProgram changes: [SchemaChange]) -> ErrorList<String> {
        ErrorList([olderProgram] + changes.map(\.description))
    }
}

extension Collection<SchemaChange> {
    /// The changes as a table: what opening the file makes of each, where, and what.
    var table: String {
        map { change in
            let handling =
                switch change.handling {
                case .recorded: "recorded "
                case .converted: "converted"
                case .refused: "refused  "
                }
            return "\(handling)  \(change)"
        }.joined(separator: "\n")
    }
}
