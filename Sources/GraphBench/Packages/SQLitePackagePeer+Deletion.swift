/// Maintainers deleted with all that is theirs, and brought back.
extension SQLitePackagePeer {
    /// What goes with a maintainer's packages, the rows that refer to others first.
    private static let parts = [
        (
            "alternative",
            """
            dependency_id IN (SELECT id FROM dependency WHERE package_id IN
                (SELECT id FROM package WHERE maintainer_id = ?1))
            """
        ),
        ("dependency", "package_id IN (SELECT id FROM package WHERE maintainer_id = ?1)"),
        ("file", "package_id IN (SELECT id FROM package WHERE maintainer_id = ?1)"),
        ("package_tag", "package_id IN (SELECT id FROM package WHERE maintainer_id = ?1)"),
        ("package", "maintainer_id = ?1"),
        ("maintainer", "id = ?1"),
    ]

    private static let uses = "target_id IN (SELECT id FROM package WHERE maintainer_id = ?1)"

    /// Deletes a maintainer with all packages in one transaction.
    func deletions() throws -> (_ maintainer: Int) throws -> Void {
        let nullify = "UPDATE alternative SET target_id = NULL WHERE \(Self.uses)"
        // References are cleared once the packages' own are gone, which need no clearing.
        var statements = Self.parts.map { "DELETE FROM \($0) WHERE \($1)" }
        statements.insert(nullify, at: 1)
        return try transaction(of: statements)
    }

    /// Copies what a deletion is going to take.
    func copies() throws -> (_ maintainer: Int) throws -> Void {
        let uses = "SELECT id, target_id FROM alternative"
        try execute("PRAGMA temp_store=MEMORY")
        try execute("CREATE TEMP TABLE kept_use AS \(uses) WHERE false")
        for (table, _) in Self.parts {
            try execute("CREATE TEMP TABLE kept_\(table) AS SELECT * FROM \(table) WHERE false")
        }
        let statements =
            [
                "DELETE FROM kept_use",
                "INSERT INTO kept_use \(uses) WHERE \(Self.uses) AND NOT (\(Self.parts[0].1))",
            ]
            + Self.parts.flatMap { table, condition in
                ["DELETE FROM kept_\(table)", "INSERT INTO kept_\(table) SELECT * FROM \(table) WHERE \(condition)"]
            }
        return try transaction(of: statements)
    }

    /// Brings back what was copied and deleted since, in one transaction.
    func restorations() throws -> () throws -> Void {
        let statements =
            Self.parts.reversed().map { "INSERT INTO \($0.0) SELECT * FROM kept_\($0.0)" } + [
                """
                UPDATE alternative SET target_id = (SELECT target_id FROM kept_use WHERE kept_use.id = alternative.id)
                WHERE id IN (SELECT id FROM kept_use)
                """
            ]
        try execute("CREATE UNIQUE INDEX temp.kept_use_id ON kept_use (id)")
        let prepared = try statements.map(prepare)
        return { try self.transaction { for statement in prepared { try statement.run() } } }
    }

    /// Statements about one maintainer.
    private func transaction(of statements: [String]) throws -> (_ maintainer: Int) throws -> Void {
        let prepared = try statements.map(prepare)
        return { maintainer in
            try self.transaction {
                for statement in prepared {
                    // A statement without a parameter binds none.
                    statement.bind(maintainer, at: 1)
                    try statement.run()
                }
            }
        }
    }
}
