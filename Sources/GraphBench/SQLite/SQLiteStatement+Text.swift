extension SQLiteStatement {
    /// Does `body` while a text is bound; the statement is ready for its next use afterwards.
    @inline(__always)
    func binding<Result>(_ text: String, at index: Int32, _ body: () throws -> Result) rethrows -> Result {
        var text = text
        return try text.withUTF8 { text in
            bind(text, at: index)
            defer { reset() }
            return try body()
        }
    }
}
