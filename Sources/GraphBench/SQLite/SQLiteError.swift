/// What SQLite refused to do.
struct SQLiteError: Error, CustomStringConvertible {
    let operation: String
    let code: Int32
    let message: String

    var description: String { "SQLite, \(operation): \(message) (\(code))" }
}
