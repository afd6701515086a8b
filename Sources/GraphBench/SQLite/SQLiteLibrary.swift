import Foundation

/// The functions of libsqlite3 that the peer calls, looked up at run time: nothing links against the library.
final class SQLiteLibrary: Sendable {
    typealias Destructor = @convention(c) (UnsafeMutableRawPointer?) -> Void
    typealias Text = UnsafePointer<CChar>

    let openV2: @Sendable @convention(c) (Text?, UnsafeMutablePointer<OpaquePointer?>?, Int32, Text?) -> Int32
    let close: @Sendable @convention(c) (OpaquePointer?) -> Int32
    let errorMessage: @Sendable @convention(c) (OpaquePointer?) -> Text?
    let execute:
        @Sendable @convention(c) (
            OpaquePointer?, Text?, UnsafeRawPointer?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?
        ) -> Int32
    let prepareV3:
        @Sendable @convention(c) (
            OpaquePointer?, Text?, Int32, UInt32, UnsafeMutablePointer<OpaquePointer?>?, UnsafeMutableRawPointer?
        ) -> Int32
    let finalize: @Sendable @convention(c) (OpaquePointer?) -> Int32
    let step: @Sendable @convention(c) (OpaquePointer?) -> Int32
    let reset: @Sendable @convention(c) (OpaquePointer?) -> Int32
    let bindInt64: @Sendable @convention(c) (OpaquePointer?, Int32, Int64) -> Int32
    let bindDouble: @Sendable @convention(c) (OpaquePointer?, Int32, Double) -> Int32
    let bindText: @Sendable @convention(c) (OpaquePointer?, Int32, UnsafeRawPointer?, Int32, Destructor?) -> Int32
    let columnInt64: @Sendable @convention(c) (OpaquePointer?, Int32) -> Int64
    let columnDouble: @Sendable @convention(c) (OpaquePointer?, Int32) -> Double
    let columnText: @Sendable @convention(c) (OpaquePointer?, Int32) -> UnsafePointer<UInt8>?
    let columnBytes: @Sendable @convention(c) (OpaquePointer?, Int32) -> Int32
    let version: String

    /// The library, or nil where there is none; it stays loaded.
    static let shared: SQLiteLibrary? = Platform.sqliteNames.lazy.compactMap { try? SQLiteLibrary(name: $0) }.first

    private struct Absent: Error {}

    private init(name: String) throws {
        guard let handle = dlopen(name, RTLD_NOW) else { throw Absent() }
        openV2 = try Self.function("sqlite3_open_v2", in: handle)
        close = try Self.function("sqlite3_close", in: handle)
        errorMessage = try Self.function("sqlite3_errmsg", in: handle)
        execute = try Self.function("sqlite3_exec", in: handle)
        prepareV3 = try Self.function("sqlite3_prepare_v3", in: handle)
        finalize = try Self.function("sqlite3_finalize", in: handle)
        step = try Self.function("sqlite3_step", in: handle)
        reset = try Self.function("sqlite3_reset", in: handle)
        bindInt64 = try Self.function("sqlite3_bind_int64", in: handle)
        bindDouble = try Self.function("sqlite3_bind_double", in: handle)
        bindText = try Self.function("sqlite3_bind_text", in: handle)
        columnInt64 = try Self.function("sqlite3_column_int64", in: handle)
        columnDouble = try Self.function("sqlite3_column_double", in: handle)
        columnText = try Self.function("sqlite3_column_text", in: handle)
        columnBytes = try Self.function("sqlite3_column_bytes", in: handle)
        let version: @convention(c) () -> Text? = try Self.function("sqlite3_libversion", in: handle)
        self.version = version().map { String(cString: $0) } ?? ""
    }

    /// The cast is right as long as the caller's type is the C declaration of sqlite3.h, none of which ever changed.
    private static func function<Function>(_ name: String, in handle: UnsafeMutableRawPointer) throws -> Function {
        guard let address = dlsym(handle, name) else { throw Absent() }
        return unsafeBitCast(address, to: Function.self)
    }
}
