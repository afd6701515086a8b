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

    var summary: String {
        let words =
            switch reason {
            case .missing: ": the file does not exist"
            case .permission: ": permission denied"
            case .diskFull: ": no space left"
            case .noProgress: ": no byte was transferred"
            default: ""
            }
        return "\(operation.rawValue) failed with errno \(code)\(words)"
    }
}
