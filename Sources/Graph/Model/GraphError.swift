#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The errors of Graph. Each case says what happened to which object or file. `description` does so in some 2,000 characters
/// and a path, however many objects there are and however long their values, and adds what to do where a few words can.
public enum GraphError: Error, Sendable {
    // MARK: The model

    /// The declarations of entities do not fit their structs or each other. Lists all problems found.
    case invalidSchema([SchemaProblem])
    /// The store was opened without this entity.
    case unknownEntity(String)
    /// The key path does not lead to a stored property with an order, so nothing can be sorted or looked up by it. The text names
    /// the entity and the property. Swift does not know the name of a computed property; the text then says where the program
    /// names it.
    case notOrdered(String)

    /// The page token belongs to a fetch with another sort. The text names the entity.
    case pageTokenMismatch(String)

    /// An update of many objects assigned the members of a to-many relationship, which only objects can do. The text names the
    /// entity and the relationship. Nothing was changed.
    case toManyNotUpdatable(String)

    /// The sum of a property's values is a number that its type does not have. The text names the entity and the property.
    case sumOverflow(String)

    /// Graph cannot evaluate the predicate. Says what it does not support, and what to write instead. Nothing was read.
    case predicateNotSupported(String)
    /// An operation of a predicate has no result for this object: a division by zero, an overflow, nil that is unwrapped, an index
    /// or a range out of bounds, a cast that fails. Names the object and the operation. Nothing was changed.
    case predicateFailed(AnyPersistentID, operation: String)

    // MARK: Objects

    /// The object does not exist: it was deleted, or never saved.
    case objectNotFound(AnyPersistentID)
    /// Others changed or deleted the same objects since this context read them. Nothing was saved, and the changes are
    /// pending: refresh the context and save again, discard them, or roll back.
    case conflicts(ErrorList<MergeConflict>)
    /// The task was cancelled before the save was handed over, or before the copy was complete. Nothing was saved, and the
    /// changes are pending; there is no copy. Of an import in batches nothing was saved after the last complete one: go on from
    /// the last ``ImportProgress/point``.
    case cancelled
    /// Each attempt met conflicts; the list has those of the last one. Nothing was saved.
    case retriesExhausted(attempts: Int, ErrorList<MergeConflict>)
    /// The transaction that this context belongs to has ended. Nothing was saved: make the change in the transaction's
    /// closure, before it returns, or on another context.
    case transactionEnded
    /// Other objects already have these values of unique properties. Nothing was saved. For each entity, constraints with
    /// ``UniquenessPolicy/reject`` come first, since they are why an object could not give way under another constraint.
    ///
    /// On opening: Swift considers two texts equal, one composed and the other not, but the version of Graph that wrote the
    /// file did not. The file was not touched; change one of the objects with that version.
    case notUnique(ErrorList<UniquenessViolation>)
    /// References lead to objects that no longer exist. Nothing was saved.
    case danglingReferences(ErrorList<DanglingReference>)
    /// Objects may not be deleted, or replaced, while others refer to them; one entry for each object and relationship.
    /// Nothing was saved.
    case deleteDenied(ErrorList<DeniedDelete>)
    /// Rows fail their entity's `validate()`, or relationships lead to fewer or more objects than they may. Nothing was saved.
    case validationFailed(ErrorList<ValidationFailure>)
    /// A value could not be encoded, as its type's `encode(to:)` reports. Nothing was saved.
    case notEncodable(entity: String, reason: String)
    /// Lines of a source cannot be imported: they are no JSON lines or CSV, do not fit the schema, refer to what is not there, or
    /// their rows break a rule that a save checks. Nothing was saved, or nothing since the last batch: correct the lines, and import
    /// again, from the last ``ImportProgress/point`` if there were batches.
    case importFailed(ErrorList<ImportFailure>)

    // MARK: The store

    /// The store is closed.
    case closed(path: String)
    /// The store was opened read-only, or a ``LogReceiver`` has it. Nothing was saved; open the file for writing, or promote it.
    case readOnly(path: String)
    // MARK: History

    /// The token is of another store. Use tokens with the store that they come from, or with its copies.
    case tokenOfOtherStore(HistoryToken)
    /// The store has another commit of the token's number, or none: a backup was restored, or the commit did not wait for the disk
    /// and was lost. What happened since the token cannot be told; read the store anew.
    case historyDiverged(HistoryToken)
    /// The commits since the token are not kept any more. `oldest` is the first token since which they are; read the store anew.
    case historyExpired(oldest: HistoryToken)
    /// Somebody has removed the ``HistoryConsumer`` of that name. Make it again, and begin with the newest state.
    case consumerMissing(name: String)
    /// What a ``LogReceiver`` was given is not what a ``LogSender`` sends, or a part of it is missing, damaged, or came twice. The
    /// commits before that part are kept: begin a new log at the receiver's token.
    case invalidLog(reason: String)
    /// The ``CommitLog`` did not answer, or refused the save for the reason that is given, or others were first a thousand times in a
    /// row. Nothing was saved; try again when that is over.
    case logUnavailable(reason: String)
    /// The save was sent to the ``CommitLog``, and it is unknown whether the log has it. It may still arrive there. Once
    /// ``Coordinator/catchUp()`` has returned, ``Coordinator/history(since:by:during:)`` since this token tells: it throws
    /// `.historyDiverged`, if the commit is not there and never will be.
    case commitInDoubt(HistoryToken, reason: String)
    /// The commit cannot be reverted as a whole: these objects and properties have been changed since, or others depend on them by
    /// now. Nothing was saved; change what is left by hand.
    case revertConflicts(ErrorList<UndoConflict>)

    // MARK: The file

    /// The transaction's record is larger than a file may hold. Nothing was saved; save in smaller steps.
    case transactionTooLarge(lengthBytes: Int, limitBytes: Int)
    /// All texts that the program keeps with the store would together be longer than they may be. The text for this key was not
    /// stored, and the key has what it had before: store a shorter text, or remove keys that are no longer needed.
    case metadataTooLarge(key: String, lengthBytes: Int, limitBytes: Int)
    /// The store has given out all row numbers of this entity, so that no more objects of it can be inserted. Nothing was saved.
    /// Insert the objects into a new store: this one, when opened again, saves only changes that insert none of these.
    case rowNumbersUsedUp(entity: String)
    /// The file exists but is not a store: it is empty, too short, or of another kind. It was not touched.
    case notAStore(path: String, reason: String)
    /// A newer version of Graph wrote the file. It was not touched.
    case unsupportedVersion(path: String, found: String, supported: String)
    /// The file's schema has other entities than the program's, or other names for them and their properties; one line for
    /// each difference. The file was not touched.
    case schemaMismatch(path: String, differences: ErrorList<String>)
    /// Bytes that a save had confirmed are damaged. The file was not touched: restore a copy, or write what can still be read into
    /// a new file with `graphctl salvage`.
    case corrupt(path: String, offset: UInt64, sequence: UInt64, reason: String)
    /// A record with valid checksums has invalid contents. The file was not touched: restore a copy, or write what can still be
    /// read into a new file with `graphctl salvage`.
    case invalidRecord(path: String, offset: UInt64, sequence: UInt64, reason: String)
    /// A type cannot read a value in the file, because the type was different when the value was written. Names the object,
    /// its property, the Swift type, and the type's reason. The file was not touched; make the type read what earlier versions
    /// of the program wrote.
    case valueNotReadable(path: String, object: AnyPersistentID, property: String, type: String, reason: String)
    /// The file is already open for writing, in this process or another one: which one and since when, as far as known.
    case alreadyOpen(path: String, processID: Int32?, since: Date? = nil)
    /// The folder of the file does not exist; the path is the folder's.
    case directoryMissing(path: String)
    /// The system does not let this process do that with the file or its folder.
    case permissionDenied(path: String, operation: String)
    /// The path does not lead to a file that can be a store: it leads to a folder, a device, a pipe, or a file with several
    /// names.
    case unusableFile(path: String, reason: String)
    /// Any other failure of the system, with its `errno`, which is 0 if a transfer made no progress. `description` has the system's
    /// words for it.
    case inputOutput(path: String, operation: String, code: Int32)
    /// The disk or a quota is full. Nothing was saved, or the store was not opened and its file is unchanged. Try again when
    /// there is room.
    case diskFull(path: String)
    /// The store's objects do not fit the program's schema: values have no counterpart in their new type, are not unique, or
    /// relationships lead to fewer or more objects than they may. A hundred objects at most. The file was not touched: change
    /// the objects with the program that wrote it, or write a ``MigrationPlan``.
    case migrationFailed(path: String, failures: ErrorList<ValidationFailure>)
    /// A step of the program's ``MigrationPlan`` threw an error. The file was not touched.
    case migrationStepFailed(path: String, from: String, to: String, reason: String)
    /// A write failed, and it is unknown whether the save is in the file; reopening the store tells, by the commit's number.
    /// The store can still be read, and takes no more saves. Without a commit the write was one that opening makes in a file
    /// with original names.
    case outcomeUnknown(path: String, commit: CommitNumber? = nil, reason: String)
    /// The save would have broken the store's own rules, which is a bug in Graph; one line for each rule that is broken. Only
    /// coordinators that check every commit find this. Nothing was saved.
    case inconsistent(ErrorList<String>)
    /// The store takes no more saves: the disk failed earlier, or the file or its lock file was moved, removed, replaced or
    /// changed. Nothing was saved; reopen the store.
    case storeFailed(path: String, reason: String)

    /// The object does not exist: it was deleted, or never saved.
    ///
    /// Complexity: O(1).
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

    /// The error that all later saves report after this one has ended writing to the file.
    func asEarlierFailure(path: String) -> GraphError {
        switch self {
        case .storeFailed: self
        case .outcomeUnknown(_, _, let reason): .storeFailed(path: path, reason: reason)
        case .permissionDenied(_, let operation):
            .storeFailed(path: path, reason: "no permission to \(Self.deed(operation))")
        case .inputOutput(_, let operation, let code):
            .storeFailed(path: path, reason: Self.failure(of: operation, code))
        default: .storeFailed(path: path, reason: description)
        }
    }
}

/// One problem of a schema.
public struct SchemaProblem: Sendable, Hashable, CustomStringConvertible {
    /// The entity's name.
    public let entity: String
    /// The property's name; nil if the problem concerns the entity as a whole.
    public let property: String?
    /// What is wrong.
    public let reason: String

    /// `Person.name: …`
    public var description: String { "\(entity)\(property.map { "." + $0 } ?? ""): \(reason)" }
}

/// Two objects with the same value of a unique property.
public struct UniquenessViolation: Sendable, Hashable, CustomStringConvertible {
    /// The object to save.
    public let id: AnyPersistentID
    /// The object that has the value already.
    public let existing: AnyPersistentID
    /// The property's name; for several, their names with commas between them.
    public let property: String
    /// The value as text, cut if it is long.
    public let value: String

    /// The two objects, the property and the value.
    public var description: String { "\(id).\(property) = \(value) is taken by \(existing)" }
}

/// An object that breaks a rule and so cannot be saved.
public struct ValidationFailure: Sendable, Hashable, CustomStringConvertible {
    /// The object.
    public let id: AnyPersistentID
    /// The property's name; nil if the failure concerns the object as a whole.
    public let property: String?
    /// What is wrong.
    public let reason: String

    /// The object, the property and the reason.
    public var description: String { "\(id)\(property.map { "." + $0 } ?? ""): \(reason.shortened(to: 400))" }
}

/// The error that `validate()` throws to say which property is wrong, and why.
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
    ///
    /// Complexity: O(1).
    public init(_ property: any AnyKeyPath & Sendable, _ reason: String) {
        parts = [Part(keyPath: property, reason: reason)]
    }

    /// The row as a whole is wrong.
    ///
    /// Complexity: O(1).
    public init(_ reason: String) {
        parts = [Part(keyPath: nil, reason: reason)]
    }

    /// All of these are wrong.
    ///
    /// Complexity: O(*k*) for *k* errors.
    public init(_ errors: [ValidationError]) {
        parts = errors.flatMap(\.parts)
    }
}

/// A reference to an object that does not exist.
public struct DanglingReference: Sendable, Hashable, CustomStringConvertible {
    /// The object that refers.
    public let id: AnyPersistentID
    /// The relationship's name.
    public let property: String
    /// The object that does not exist.
    public let target: AnyPersistentID

    /// The object, the relationship and what it refers to.
    public var description: String { "\(id).\(property) refers to \(target), which does not exist" }
}

/// A delete, or a replacement, that a relationship forbids.
public struct DeniedDelete: Sendable, Hashable, CustomStringConvertible {
    /// The object to delete.
    public let id: AnyPersistentID
    /// The relationship that forbids it, with its entity.
    public let relationship: String
    /// The objects left at the relationship's other end: the first ten at most, in the order of insertion.
    public let remaining: [AnyPersistentID]
    /// The number of objects left there.
    public let remainingCount: Int
    /// Whether the object would stay, and take over the contents of a new one with the same unique value, which would separate
    /// it from the remaining object; see `UniquenessPolicy`.
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
