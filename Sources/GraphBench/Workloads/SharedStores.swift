extension Setting {
    /// Who has which tags.
    var tags: TagData {
        get async {
            await shared("tags") { TagData(rows: data.rows, seed: seed) }
        }
    }

    /// SQLite in memory with all rows, for workloads that only read.
    var sqliteStore: SQLitePeer {
        get async throws {
            try await shared("SQLite in memory") { try SQLitePeer(at: .memory, loaded: data) }
        }
    }

    /// The same with an index on the balance.
    var sqliteRanking: SQLitePeer {
        get async throws {
            try await shared("SQLite with balances indexed") {
                let peer = try SQLitePeer(at: .memory, indexed: ["balance"])
                try peer.load(data)
                return peer
            }
        }
    }

    /// The same with indexes on the age and on the balance, and what SQLite plans by.
    var sqliteIndexed: SQLitePeer {
        get async throws {
            try await shared("SQLite with ages and balances indexed") {
                let peer = try SQLitePeer(at: .memory, indexed: ["age", "balance"])
                try peer.load(data)
                try peer.analyze()
                return peer
            }
        }
    }

    /// Objects of all rows, for workloads that only read.
    var nativeStore: NativePeer {
        get async {
            await shared("native objects") { NativePeer(loaded: data) }
        }
    }

    /// SQLite in memory with all people and their tags.
    var sqliteTagStore: SQLiteTagPeer {
        get async throws {
            let tags = await tags
            return try await shared("SQLite with tags") {
                let peer = try SQLiteTagPeer(tagNames: tags.names)
                try peer.insertPeople(data, links: tags)
                return peer
            }
        }
    }

    /// Objects of all people and their tags.
    var nativeTagStore: NativeTagPeer {
        get async {
            let tags = await tags
            return await shared("native objects with tags") {
                let peer = NativeTagPeer(tagNames: tags.names)
                peer.insertPeople(data, links: tags)
                return peer
            }
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
