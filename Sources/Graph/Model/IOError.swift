/// A failed system call: its name, its `errno`, and what that means for the journal.
struct IOError: Error, Sendable, Equatable {
    enum Operation: String, Sendable {
        case resolve
        case open
        case create
        case status
        case rename
        case link
        case unlink
        case list
        case syncDirectory
        case lock
        case read
        case write
        case truncate
        case sync
    }

    enum Reason: Sendable {
        case missing
        case exists
        case permission
        /// No space, no quota, or the largest size of a file.
        case diskFull
        case interrupted
        case symbolicLink
        case notDirectory
        /// A transfer of zero bytes where there should have been some, with the code 0, or one interruption after another.
        case noProgress
        case other
    }

    let operation: Operation
    let reason: Reason
    let code: Int32

    /// The error that a caller of the engine gets.
    func graphError(path: String) -> GraphError {
        switch reason {
        case .permission: .permissionDenied(path: path, operation: operation.rawValue)
        case .diskFull: .diskFull(path: path)
        default: .inputOutput(path: path, operation: operation.rawValue, code: code)
        }
    }

    /// What the call was to do, and why it failed.
    var summary: String {
        reason == .noProgress
            ? "could not \(operation.deed): no byte was transferred" : GraphError.failure(of: operation.rawValue, code)
    }
}

extension IOError.Operation {
    /// What the call was to do, for messages that begin with the file's path.
    var deed: String {
        switch self {
        case .resolve: "look the path up"
        case .open: "open it"
        case .create: "make files in its folder"
        case .status: "look into its folder"
        case .rename: "rename files in its folder"
        case .link: "give it another name in its folder"
        case .unlink: "remove files from its folder"
        case .list: "list its folder"
        case .syncDirectory: "open and sync its folder"
        case .lock, .read, .write, .truncate, .sync: "\(rawValue) it"
        }
    }
}
