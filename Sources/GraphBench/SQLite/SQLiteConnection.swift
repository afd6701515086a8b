/// One database connection without locks of its own: its owner uses it from one task at a time.
final class SQLiteConnection {
    enum Location {
        case memory
        /// A file, whose commits are on the medium when they return.
        case file(String)
    }

    let library: SQLiteLibrary
    private let handle: OpaquePointer

    init(_ library: SQLiteLibrary, at location: Location) throws {
        self.library = library
        let readWrite: Int32 = 0x2
        let create: Int32 = 0x4
        let noMutex: Int32 = 0x8000
        let path =
            switch location {
            case .memory: ":memory:"
            case .file(let path): path
            }
        var opened: OpaquePointer?
        let code = library.openV2(path, &opened, readWrite | create | noMutex, nil)
        guard code == 0, let opened else {
            _ = library.close(opened)
            throw SQLiteError(operation: "open", code: code, message: path)
        }
        handle = opened
        try execute("PRAGMA secure_delete=OFF")
        if case .file = location {
            // Another connection that opens or closes the file may hold it for a moment.
            try execute("PRAGMA busy_timeout=10000")
            try execute("PRAGMA journal_mode=WAL")
            try execute("PRAGMA synchronous=FULL")
            // Where fsync does not reach the medium (Darwin), ask for the call that does.
            try execute("PRAGMA fullfsync=ON")
            // The cache is void after another connection's commit; mapped pages are read where they lie instead of copied.
            try execute("PRAGMA mmap_size=1073741824")
        }
        try execute("PRAGMA cache_size=-262144")
    }

    deinit {
        _ = library.close(handle)
    }

    func execute(_ sql: String) throws {
        let code = library.execute(handle, sql, nil, nil, nil)
        if code != 0 { throw error(sql, code) }
    }

    func prepare(_ sql: String) throws -> SQLiteStatement {
        let persistent: UInt32 = 0x1
        var statement: OpaquePointer?
        let code = library.prepareV3(handle, sql, -1, persistent, &statement, nil)
        guard code == 0, let statement else { throw error(sql, code) }
        return SQLiteStatement(statement, of: self)
    }

    func error(_ operation: String, _ code: Int32) -> SQLiteError {
        let message = library.errorMessage(handle).map { String(cString: $0) } ?? "unknown error"
        return SQLiteError(operation: operation, code: code, message: message)
    }
}
