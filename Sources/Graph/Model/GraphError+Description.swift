#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension GraphError: LocalizedError {
    /// The description, which is in English.
    public var errorDescription: String? { description }
}

extension GraphError: CustomStringConvertible {
    /// What happened, and what to do about it.
    public var description: String {
        switch self {
        case .invalidSchema(let problems): ErrorList(problems).description("the schema is invalid", "problem")
        case .unknownEntity(let name):
            "the store was opened without the entity \(name.shortened()): add it to Coordinator(for:)"
        case .notOrdered(let property):
            "\(property.shortened(to: 400)) is not a stored property with an order; sort by one that is"
        case .pageTokenMismatch(let entity):
            "the page token belongs to another sort, or to another entity than \(entity.shortened()): fetch the first page anew"
        case .toManyNotUpdatable(let property):
            "update(_:where:_:) cannot assign the members of \(property.shortened(to: 400)): set the references of the members, "
                + "or assign them to an object; nothing was changed"
        case .sumOverflow(let property):
            "the sum of \(property.shortened(to: 400)) is too large, or too small, for its type: add up parts, or take the average"
        case .predicateNotSupported(let reason): "the predicate cannot be evaluated: \(reason.shortened(to: 600))"
        case .predicateFailed(let id, let operation):
            "the predicate cannot be evaluated for \(id): \(operation.shortened(to: 400))"
        case .objectNotFound(let id): "there is no object \(id): it was deleted or never saved"
        case .conflicts(let conflicts): conflicts.description("could not merge changes", "conflict", indent: "")
        case .cancelled:
            "the task was cancelled; nothing was saved or copied, or of an import in batches nothing after the last "
                + "complete one, and changes are pending"
        case .transactionEnded:
            "the transaction that this context belongs to has ended, so nothing was saved; make the change in the "
                + "transaction's closure, before it returns, or on another context"
        case .retriesExhausted(let attempts, let conflicts):
            conflicts.description("could not merge changes in \(attempts) attempts", "conflict", indent: "")
                + "\n  Nothing was saved: allow more attempts, or read and change less in one transaction."
        case .notUnique(let violations):
            violations.description("values are not unique", "violation")
                + "\n  Nothing was changed: correct the values, or say with @Unique(onConflict:) which object gives way."
        case .danglingReferences(let references):
            references.description("the save refers to objects that do not exist", "reference")
                + "\n  Nothing was saved: remove these references, or set them to objects that exist."
        case .deleteDenied(let denied):
            denied.description("objects may not be deleted", "delete")
                + "\n  Nothing was saved: delete or move the related objects first, or discard these deletes."
        case .validationFailed(let failures):
            failures.description("objects may not be saved as they are", "failure")
                + "\n  Nothing was saved: correct the objects and save again."
        case .notEncodable(let entity, let reason):
            "a value of \(entity.shortened()) could not be encoded: \(reason.shortened(to: 400)); "
                + "nothing was written: correct the value, or its encode(to:)"
        case .importFailed(let failures):
            failures.description("lines cannot be imported", "failure")
                + "\n  Nothing was saved, or in batches nothing after the last complete one: correct these lines and import again."
        case .tokenOfOtherStore(let token):
            "the token \(token) is of another store: use it with that store, or with a copy of it"
        case .historyDiverged(let token):
            "the store has no such commit as that of the token \(token): its file is an earlier copy that went on differently, "
                + "or the commit was lost before it was durable; read the store anew"
        case .historyExpired(let oldest):
            "the commits since the token are not kept any more, but only those after commit \(oldest.commit): read the store anew"
        case .consumerMissing(let name):
            "the store has no consumer \(name.shortened().debugDescription) any more: make it again, and begin with the newest state"
        case .invalidLog(let reason):
            "the log cannot be received: \(reason.shortened(to: 400)); begin a new one at the receiver's token"
        case .logUnavailable(let reason):
            "the log of commits cannot be reached: \(reason.shortened(to: 400)); nothing was saved, try again later"
        case .commitInDoubt(let token, let reason):
            "it is unknown whether the log has commit \(token.commit): \(reason.shortened(to: 400)); catch up, and look for the commit"
        case .revertConflicts(let conflicts):
            conflicts.description("the commit cannot be reverted, since others have changed what it did", "conflict")
                + "\n  Nothing was saved: change these objects by hand."
        case .transactionTooLarge(let length, let limit):
            "the transaction takes \(length) bytes, more than the limit of \(limit); save in smaller steps"
        case .metadataTooLarge(let key, let length, let limit):
            "with this text for \(key.shortened().debugDescription), metadata would take \(length) bytes, more than the limit of \(limit); "
                + "nothing was stored: store a shorter text, or remove keys that are no longer needed"
        case .rowNumbersUsedUp(let entity):
            "all row numbers of \(entity.shortened()) are used up, so nothing was saved; insert the objects into a new store, "
                + "because this one, when opened again, saves only changes that insert none of these"
        case .inconsistent(let findings):
            findings.description(
                "the save would have broken the store's rules, which is a bug in Graph; nothing was saved", "finding")
        case .closed(let path): Self.at(path, "the store is closed; open it with a new coordinator")
        case .readOnly(let path):
            Self.at(path, "the store was opened read-only, so nothing was saved or compacted; open it for writing")
        case .notAStore(let path, let reason):
            Self.at(path, "not a Graph store: \(reason.shortened(to: 400)); the file was not changed: check the path")
        case .unsupportedVersion(let path, let found, let supported):
            Self.at(
                path,
                "a newer version of Graph wrote this file (\(found.shortened()); this one reads \(supported)); "
                    + "open it with that version")
        case .schemaMismatch(let path, let differences):
            Self.at(
                path,
                "the file has another schema than the program\n"
                    + differences.lines(indent: "  ").joined(separator: "\n")
                    + "\n  The file was not changed.")
        case .migrationStepFailed(let path, let source, let target, let reason):
            Self.at(
                path,
                "the migration step from \(source.shortened()) to \(target.shortened()) failed: "
                    + "\(reason.shortened(to: 400)); the file was not changed")
        case .migrationFailed(let path, let failures):
            Self.at(path, failures.description("objects do not fit the program's schema", "failure"))
                + "\n  The file was not changed."
        case .corrupt(let path, let offset, let sequence, let reason):
            Self.at(
                path,
                "damaged at byte \(offset)\(sequence == 0 ? "" : ", record \(sequence)"): "
                    + reason.shortened(to: 400) + Self.adviceAboutDamage)
        case .invalidRecord(let path, let offset, let sequence, let reason):
            Self.at(
                path,
                "record \(sequence) at byte \(offset) is invalid: \(reason.shortened(to: 400))" + Self.adviceAboutDamage
            )
        case .valueNotReadable(let path, let object, let property, let type, let reason):
            Self.at(
                path,
                "\(object).\(property.shortened()) cannot be read as \(type.shortened()): \(reason.shortened(to: 400)); "
                    + "the file was not changed; make the type read what earlier versions of the program wrote")
        case .alreadyOpen(let path, let process, let since):
            Self.at(
                path,
                "already open for writing" + Self.place(ofProcess: process)
                    + (since.map { " since \($0)" } ?? "") + "; close it there first")
        case .directoryMissing(let path): Self.at(path, "this folder does not exist; create it first")
        case .permissionDenied(let path, let operation): Self.at(path, "no permission to \(Self.deed(operation))")
        case .unusableFile(let path, let reason):
            path.isEmpty ? reason.shortened(to: 400) : Self.at(path, reason.shortened(to: 400))
        case .inputOutput(let path, let operation, let code): Self.at(path, Self.failure(of: operation, code))
        case .diskFull(let path):
            Self.at(
                path,
                "the disk is full, or a quota or the largest size of a file is reached; nothing was changed: make room, "
                    + "and try again")
        case .outcomeUnknown(let path, let commit, let reason):
            Self.at(
                path,
                "\(reason.shortened(to: 400)); reopen the store to learn whether "
                    + "\(commit.map { "commit \($0)" } ?? "what was written") is in the file")
        case .storeFailed(let path, let reason):
            Self.at(path, "the store takes no more saves: \(reason.shortened(to: 400)); open it again")
        }
    }

    /// A file's path before what happened to it. No system opens a longer path than that.
    private static func at(_ path: String, _ text: String) -> String { "\(path.shortened(to: 4_096)): \(text)" }

    private static let adviceAboutDamage =
        "; the file was not changed: keep it, and restore a copy, or write what can still be read into a new file "
        + "with graphctl salvage"

    /// What a system call was to do, for messages.
    static func deed(_ operation: String) -> String {
        IOError.Operation(rawValue: operation)?.deed ?? operation
    }

    /// What a failed system call was to do, and why it failed.
    static func failure(of operation: String, _ code: Int32) -> String {
        "could not \(deed(operation)): \(code == 0 ? "no byte was transferred" : IOError.words(for: code))"
    }

    private static func place(ofProcess process: Int32?) -> String {
        guard let process else { return "" }
        return process == ProcessInfo.processInfo.processIdentifier ? " in this process" : " in process \(process)"
    }
}
