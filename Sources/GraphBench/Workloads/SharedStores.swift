extension Setting {
    /// SQLite in memory with all rows, for workloads that only read.
    var sqliteStore: SQLitePeer {
        get async throws {
            try await shared("SQLite in memory") { try SQLitePeer(at: .memory, loaded: data) }
        }
    }

    /// Objects of all rows, for workloads that only read.
    var nativeStore: NativePeer {
        get async {
            await shared("native objects") { NativePeer(loaded: data) }
        }
    }

    /// The path of a closed SQLite file with all rows.
    var sqliteFile: String {
        get async throws {
            try await shared("SQLite file") {
                let path = freshPath("people.sqlite")
                _ = try SQLitePeer(at: .file(path), loaded: data)
                return path
            }
        }
    }

    /// The path of a native journal with all rows.
    var nativeFile: String {
        get async throws {
            try await shared("native file") {
                let path = freshPath("people.native")
                try NativeJournal(creating: path).load(data, into: NativePeer())
                return path
            }
        }
    }
}
