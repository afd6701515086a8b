#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Everything that Graph reports. Each case says what happened to which object or file; `description` says so in some 2,000
/// characters whatever the number of objects and the length of their values, and adds what to do where a few words can.
public enum GraphError: Error, Sendable {
    // MARK: The model

    /// Declarations of entities that do not fit their structs or each other, all that were found.
    case invalidSchema([SchemaProblem])
    /// The store was opened without this entity.
    case unknownEntity(String)
    /// The key path does not lead to a stored, ordered property, so nothing can be sorted or looked up by it. Of a computed one
    /// Swift does not know the name; where the program names it is said instead.
    case notOrdered(String)

    // MARK: Objects

    /// There is no such object: it was deleted, or never saved.
    case objectNotFound(AnyPersistentID)
    /// Others changed or deleted the same objects since this context read them. Nothing was saved; the context still has
    /// its changes: refresh it and save again, discard them, or roll back.
    case conflicts(ErrorList<MergeConflict>)
    /// The task was cancelled before the save was handed over. Nothing was saved; the changes are pending.
    case cancelled
    /// A transaction met conflicts in each of its attempts; these are the last one's. Nothing was saved.
    case retriesExhausted(attempts: Int, ErrorList<MergeConflict>)
    /// The transaction whose context this is has ended. Nothing was saved: make the change in the transaction's closure, before it
    /// returns, or on a context of its own.
    case transactionEnded
    /// Values of unique properties that other objects have already. Nothing was saved. Of each entity, those of
    /// constraints that refuse (``UniquenessPolicy/reject``) come first: they are why an object could not give way by another one.
    ///
    /// On opening: texts that Swift takes for equal, and the version of Graph that wrote the file did not, because one is composed
    /// and the other is not. The file was not touched; change one of the objects with that version.
    case notUnique(ErrorList<UniquenessViolation>)
    /// References to objects that do not exist any more. Nothing was saved.
    case danglingReferences(ErrorList<DanglingReference>)
    /// Objects that may not be deleted, or replaced, while others refer to them; one for each object and relationship. Nothing
    /// was saved.
    case deleteDenied(ErrorList<DeniedDelete>)
    /// Rows that their entity's `validate()` refuses, or relationships that lead to fewer or more objects than they may.
    /// Nothing was saved.
    case validationFailed(ErrorList<ValidationFailure>)
    /// A value that could not be encoded, as its type's `encode(to:)` reports. Nothing was saved.
    case notEncodable(entity: String, reason: String)

    // MARK: The store

    /// The store was closed.
    case closed(path: String)
    /// One transaction's record would be larger than a file may hold. Nothing was saved; save in smaller steps.
    case transactionTooLarge(lengthBytes: Int, limitBytes: Int)
    /// The file exists and is no journal: empty, too short, or of another kind. It was not touched.
    case notAStore(path: String, reason: String)
    /// The file was written by a newer version. It was not touched.
    case unsupportedVersion(path: String, found: String, supported: String)
    /// The file was written by a program with other entities, or with other names for them and their properties; one line
    /// per difference. It was not touched.
    case schemaMismatch(path: String, differences: ErrorList<String>)
    /// Bytes that a save had confirmed are damaged. The file was not touched.
    case corrupt(path: String, offset: UInt64, sequence: UInt64, reason: String)
    /// A record whose checksums hold makes no sense. The file was not touched.
    case invalidRecord(path: String, offset: UInt64, sequence: UInt64, reason: String)
    /// A value in the file that its type does not take: the type was another one when the value was written. Names the object,
    /// its property, the Swift type, and what the type says. The file was not touched; have the type read what earlier versions
    /// of the program wrote.
    case valueNotReadable(path: String, object: AnyPersistentID, property: String, type: String, reason: String)
    /// The file is open for writing already, in this process or in another: as far as is known, which, and since when.
    case alreadyOpen(path: String, processID: Int32?, since: Date? = nil)
    /// The folder in which the file should be does not exist; the path is the folder's.
    case directoryMissing(path: String)
    /// The system does not let this process do that with the file or its folder.
    case permissionDenied(path: String, operation: String)
    /// A folder, a device, a pipe, or a file with several names.
    case unusableFile(path: String, reason: String)
    /// Any other failure of the system, with its `errno`.
    case inputOutput(path: String, operation: String, code: Int32)
    /// The disk or a quota is full. Nothing was saved, or the store was not opened and its file is as it was; it may be tried
    /// again.
    case diskFull(path: String)
    /// Writing failed in a way that leaves open whether the save is in the file; reopening tells, by the commit's number.
    /// The store reads on, and takes no more saves. Without a commit: what opening writes into a file with original names.
    case outcomeUnknown(path: String, commit: CommitNumber? = nil, reason: String)
    /// A save that would have left the store in a state that breaks its own rules, which is an error in Graph; one line for
    /// each thing that does not hold. Only coordinators that check every commit find it. Nothing was saved.
    case inconsistent(ErrorList<String>)
    /// The store takes no more saves: an earlier failure of the disk ended writing, or the file or its lock file was moved,
    /// removed, replaced or changed. Nothing was saved; reopen the store.
    case storeFailed(path: String, reason: String)

    /// There is no such object: it was deleted, or never saved.
    public static func objectNotFound<E>(_ id: PersistentID<E>) -> GraphError {
        .objectNotFound(AnyPersistentID(id))
    }
}

extension GraphError {
    /// The same error, naming the commit whose outcome is unknown.
    func about(_ commit: CommitNumber?) -> GraphError {
        guard case .outcomeUnknown(let path, nil, let reason) = self else { return self }
        return .outcomeUnknown(path: path, commit: commit, reason: reason)
    }

    /// The action of a system call, for messages.
    private static func deed(_ operation: String) -> String {
        switch IOError.Operation(rawValue: operation) {
        case .resolve: "look the path up"
        case .open: "open it for reading and writing"
        case .create: "make files in its folder"
        case .status: "look into its folder"
        case .rename: "rename files in its folder"
        case .unlink: "remove files from its folder"
        case .list: "list its folder"
        case .syncDirectory: "open its folder"
        case .lock, .read, .write, .truncate, .sync: "\(operation) it"
        case nil: operation
        }
    }

    /// The error that all later saves report after this one has ended writing to the file.
    func asEarlierFailure(path: String) -> GraphError {
        switch self {
        case .storeFailed: self
        case .outcomeUnknown(_, _, let reason): .storeFailed(path: path, reason: reason)
        case .permissionDenied(_, let operation):
            .storeFailed(path: path, reason: "no permission to \(Self.deed(operation))")
        case .inputOutput(_, let operation, let code):
            .storeFailed(path: path, reason: "\(operation) failed with errno \(code)")
        default: .storeFailed(path: path, reason: description)
        }
    }
}

/// One thing that a schema gets wrong.
public struct SchemaProblem: Sendable, Hashable, CustomStringConvertible {
    /// The entity's name.
    public let entity: String
    /// The property's name; nil where the entity as a whole is meant.
    public let property: String?
    /// What is wrong.
    public let reason: String

    /// `Person.name: …`
    public var description: String { "\(entity)\(property.map { "." + $0 } ?? ""): \(reason)" }
}

/// Two objects with the same value of a unique property.
public struct UniquenessViolation: Sendable, Hashable, CustomStringConvertible {
    /// The object that was to be saved.
    public let id: AnyPersistentID
    /// The object that has the value already.
    public let existing: AnyPersistentID
    /// The property's name; of several, their names with commas between them.
    public let property: String
    /// The value, printed, and cut if it is long.
    public let value: String

    /// The two objects, the property and the value.
    public var description: String { "\(id).\(property) = \(value) is taken by \(existing)" }
}

/// An object that may not be saved as it is.
public struct ValidationFailure: Sendable, Hashable, CustomStringConvertible {
    /// The object.
    public let id: AnyPersistentID
    /// The property's name; nil where the object as a whole is meant.
    public let property: String?
    /// What is wrong.
    public let reason: String

    /// The object, the property and the reason.
    public var description: String { "\(id)\(property.map { "." + $0 } ?? ""): \(reason.shortened(to: 400))" }
}

/// What `validate()` throws to say which property is wrong, and why.
///
/// ```swift
/// func validate() throws {
///     if age < 0 { throw ValidationError(\Self.age, "must not be negative") }
/// }
/// ```
public struct ValidationError: Error {
    struct Part: Sendable {
        let keyPath: (any AnyKeyPath & Sendable)?
        let reason: String
    }

    let parts: [Part]

    /// One property is wrong.
    public init(_ property: any AnyKeyPath & Sendable, _ reason: String) {
        parts = [Part(keyPath: property, reason: reason)]
    }

    /// The row as a whole is wrong.
    public init(_ reason: String) {
        parts = [Part(keyPath: nil, reason: reason)]
    }

    /// All of these are wrong.
    public init(_ errors: [ValidationError]) {
        parts = errors.flatMap(\.parts)
    }
}

/// A reference that leads nowhere.
public struct DanglingReference: Sendable, Hashable, CustomStringConvertible {
    /// The object that refers.
    public let id: AnyPersistentID
    /// The relationship's name.
    public let property: String
    /// The object that is gone.
    public let target: AnyPersistentID

    /// The object, the relationship and what it refers to.
    public var description: String { "\(id).\(property) refers to \(target), which does not exist" }
}

/// A delete that a relationship forbids.
public struct DeniedDelete: Sendable, Hashable, CustomStringConvertible {
    /// The object that was to be deleted.
    public let id: AnyPersistentID
    /// The relationship, with its entity, that forbids it.
    public let relationship: String
    /// The first of the objects that are left at its other end, at most ten, in the order of their insertion.
    public let remaining: [AnyPersistentID]
    /// How many objects are left there.
    public let remainingCount: Int
    /// Whether the object was to stay, and a new one with the same unique value to take over its contents, which would part it
    /// from the remaining one; see `UniquenessPolicy`.
    public let isReplaced: Bool

    static var remainingLimit: Int { 10 }

    /// - Parameter remaining: the first of them.
    init(
        id: AnyPersistentID,
        relationship: String,
        remaining: [AnyPersistentID],
        remainingCount: Int,
        isReplaced: Bool = false
    ) {
        self.id = id
        self.relationship = relationship
        self.remaining = Array(remaining.prefix(Self.remainingLimit))
        self.remainingCount = remainingCount
        self.isReplaced = isReplaced
    }

    /// The object, the relationship and the objects in the way.
    public var description: String {
        let rest = remainingCount > remaining.count ? " and \(remainingCount - remaining.count) more" : ""
        let others = remaining.map(\.description).joined(separator: ", ") + rest
        return "\(id) may not be \(isReplaced ? "replaced" : "deleted") while \(relationship) leads to \(others)"
    }
}

extension GraphError: LocalizedError {
    /// The description, which is in English.
    public var errorDescription: String? { description }
}

extension GraphError: CustomStringConvertible {
    /// What happened, and what can be done.
    public var description: String {
        switch self {
        case .invalidSchema(let problems): ErrorList(problems).description("the schema is wrong", "problem")
        case .unknownEntity(let name): "the store was opened without the entity \(name): name it in Coordinator(for:)"
        case .notOrdered(let property):
            "\(property) is no stored property with an order; nothing else can be sorted and looked up by"
        case .objectNotFound(let id): "there is no object \(id): it was deleted or never saved"
        case .conflicts(let conflicts): conflicts.description("could not merge changes", "conflict", indent: "")
        case .cancelled: "the task was cancelled before the save began; nothing was saved, and the changes are pending"
        case .transactionEnded:
            "the transaction that this context belongs to has ended, so nothing was saved; make the change in the "
                + "transaction's closure, before it returns, or on another context"
        case .retriesExhausted(let attempts, let conflicts):
            conflicts.description("could not merge changes in \(attempts) attempts", "conflict", indent: "")
        case .notUnique(let violations): violations.description("values are not unique", "violation")
        case .danglingReferences(let references):
            references.description("objects referred to do not exist", "reference")
        case .deleteDenied(let denied): denied.description("objects may not be deleted", "delete")
        case .validationFailed(let failures): failures.description("objects may not be saved as they are", "failure")
        case .notEncodable(let entity, let reason):
            "a value of \(entity) could not be encoded: \(reason.shortened(to: 400))"
        case .closed(let path): "\(path): the store is closed; open it with a new coordinator"
        case .transactionTooLarge(let length, let limit):
            "the transaction takes \(length) bytes, more than the limit of \(limit); save in smaller steps"
        case .notAStore(let path, let reason): "\(path): not a Graph store: \(reason)"
        case .unsupportedVersion(let path, let found, let supported):
            "\(path): written by a newer version (\(found); this one reads \(supported)); open it with that one"
        case .schemaMismatch(let path, let differences):
            "\(path): written with another schema\n" + differences.lines(indent: "  ").joined(separator: "\n")
                + "\n  What was renamed says so with originalName; other changes of a schema cannot be migrated yet."
        case .corrupt(let path, let offset, let sequence, let reason):
            "\(path): damaged at byte \(offset)\(sequence == 0 ? "" : ", record \(sequence)"): "
                + "\(reason.shortened(to: 400)); the file was left as it is: keep it, and restore a copy"
        case .invalidRecord(let path, let offset, let sequence, let reason):
            "\(path): record \(sequence) at byte \(offset) makes no sense: \(reason.shortened(to: 400)); "
                + "the file was left as it is: keep it, and restore a copy"
        case .valueNotReadable(let path, let object, let property, let type, let reason):
            "\(path): \(object).\(property) cannot be read as \(type): \(reason.shortened(to: 400)); "
                + "the file was left as it is. The type must read what earlier versions of the program wrote."
        case .alreadyOpen(let path, let process, let since):
            "\(path): open for writing already" + Self.place(ofProcess: process)
                + (since.map { " since \($0)" } ?? "") + "; close it there first"
        case .directoryMissing(let path): "\(path): there is no such folder; make it first"
        case .permissionDenied(let path, let operation): "\(path): no permission to \(Self.deed(operation))"
        case .unusableFile(let path, let reason): path.isEmpty ? reason : "\(path): \(reason)"
        case .inputOutput(let path, let operation, let code): "\(path): \(operation) failed with errno \(code)"
        case .diskFull(let path):
            "\(path): the disk is full; nothing was changed, and it may be tried again when there is room"
        case .outcomeUnknown(let path, let commit, let reason):
            "\(path): \(reason); whether \(commit.map { "commit \($0)" } ?? "what was written") is in the file "
                + "shows when the store is reopened"
        case .inconsistent(let findings): findings.description("the save would break the store", "finding")
        case .storeFailed(let path, let reason):
            "\(path): the store takes no more saves: \(reason.shortened(to: 400)); open it again"
        }
    }

    private static func place(ofProcess process: Int32?) -> String {
        guard let process else { return "" }
        return process == ProcessInfo.processInfo.processIdentifier ? " in this process" : " in process \(process)"
    }
}
