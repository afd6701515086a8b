/// A prepared statement.
///
/// Parameters count from 1 and columns from 0, as in SQLite.
final class SQLiteStatement {
    private let handle: OpaquePointer
    private let connection: SQLiteConnection
    private let library: SQLiteLibrary

    init(_ handle: OpaquePointer, of connection: SQLiteConnection) {
        self.handle = handle
        self.connection = connection
        library = connection.library
    }

    deinit {
        _ = library.finalize(handle)
    }

    @inline(__always)
    func bind(_ value: Int, at index: Int32) {
        _ = library.bindInt64(handle, index, Int64(value))
    }

    @inline(__always)
    func bind(_ value: Double, at index: Int32) {
        _ = library.bindDouble(handle, index, value)
    }

    /// Binds bytes without copying them: the statement is stepped and reset while the buffer is valid.
    @inline(__always)
    func bind(_ utf8: UnsafeBufferPointer<UInt8>, at index: Int32) {
        // No destructor is SQLITE_STATIC. An empty buffer may have no address, which would bind NULL.
        if let base = utf8.baseAddress {
            _ = library.bindText(handle, index, base, Int32(utf8.count), nil)
        } else {
            _ = library.bindText(handle, index, "", 0, nil)
        }
    }

    /// Returns whether there is a row.
    @inline(__always)
    func step() throws -> Bool {
        let code = library.step(handle)
        if code == 100 { return true }
        if code == 101 { return false }
        throw connection.error("step", code)
    }

    @inline(__always)
    func reset() {
        _ = library.reset(handle)
    }

    /// Steps a statement that returns no rows and makes it ready for the next use.
    @inline(__always)
    func run() throws {
        defer { reset() }
        _ = try step()
    }

    @inline(__always)
    func int(_ column: Int32) -> Int {
        Int(library.columnInt64(handle, column))
    }

    @inline(__always)
    func double(_ column: Int32) -> Double {
        library.columnDouble(handle, column)
    }

    @inline(__always)
    func string(_ column: Int32) -> String {
        String(decoding: utf8(column), as: UTF8.self)
    }

    /// The text of a column where SQLite keeps it: valid until the next step or reset.
    @inline(__always)
    func utf8(_ column: Int32) -> UnsafeBufferPointer<UInt8> {
        let base = library.columnText(handle, column)
        return UnsafeBufferPointer(start: base, count: Int(library.columnBytes(handle, column)))
    }
}
