/// The packages in SQLite, as somebody who knows it well would keep them: row identifiers are the indices of the data plus
/// one, what Graph has an index or a link for has one here, lists have the positions of their members in the index, enumerations
/// are numbers, and a version constraint is two columns.
final class SQLitePackagePeer {
    private let connection: SQLiteConnection
    private let begin: SQLiteStatement
    private let beginReading: SQLiteStatement
    private let commit: SQLiteStatement

    static let packageColumns = "name, architecture, version, priority, installed_size, summary"

    private static let schema = """
        CREATE TABLE section (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE maintainer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL UNIQUE);
        CREATE TABLE tag (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE package (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL, architecture INTEGER NOT NULL, version TEXT NOT NULL,
            priority INTEGER NOT NULL, installed_size INTEGER NOT NULL, summary TEXT NOT NULL,
            section_id INTEGER REFERENCES section (id), maintainer_id INTEGER REFERENCES maintainer (id));
        CREATE UNIQUE INDEX package_name ON package (name, architecture);
        CREATE INDEX package_section ON package (section_id);
        CREATE INDEX package_maintainer ON package (maintainer_id);
        CREATE TABLE file (
            id INTEGER PRIMARY KEY, package_id INTEGER UNIQUE REFERENCES package (id), path TEXT NOT NULL,
            size INTEGER NOT NULL, digest TEXT NOT NULL);
        CREATE TABLE package_tag (
            package_id INTEGER NOT NULL REFERENCES package (id), tag_id INTEGER NOT NULL REFERENCES tag (id),
            PRIMARY KEY (package_id, tag_id)) WITHOUT ROWID;
        CREATE INDEX package_tag_by_tag ON package_tag (tag_id, package_id);
        CREATE TABLE dependency (
            id INTEGER PRIMARY KEY, package_id INTEGER REFERENCES package (id), position INTEGER NOT NULL,
            kind INTEGER NOT NULL);
        CREATE INDEX dependency_package ON dependency (package_id, position);
        CREATE TABLE alternative (
            id INTEGER PRIMARY KEY, dependency_id INTEGER REFERENCES dependency (id), position INTEGER NOT NULL,
            name TEXT NOT NULL, relation INTEGER, version TEXT, target_id INTEGER REFERENCES package (id));
        CREATE INDEX alternative_dependency ON alternative (dependency_id, position);
        CREATE INDEX alternative_target ON alternative (target_id);
        """

    /// Makes a database.
    convenience init(at location: SQLiteConnection.Location) throws {
        try self.init(opening: location)
        try execute(Self.schema)
    }

    /// Opens a database that has all tables, or will have them.
    init(opening location: SQLiteConnection.Location) throws {
        guard let library = SQLiteLibrary.shared else {
            throw SQLiteError(operation: "load", code: 0, message: SQLitePeer.absence)
        }
        connection = try SQLiteConnection(library, at: location)
        begin = try connection.prepare("BEGIN IMMEDIATE")
        beginReading = try connection.prepare("BEGIN")
        commit = try connection.prepare("COMMIT")
    }

    /// A database in memory with everything, whose names are resolved. SQLite counts no rows of indexes (`ANALYZE`): what it
    /// learns makes it read whole tables for filters before each closure.
    convenience init(resolved index: PackageIndex) throws {
        try self.init(at: .memory)
        try load(index)
        try resolveNames()
    }

    func prepare(_ sql: String) throws -> SQLiteStatement { try connection.prepare(sql) }

    func execute(_ sql: String) throws { try connection.execute(sql) }

    /// What a query for one number comes to; 0 for NULL.
    func number(_ sql: String) throws -> Int {
        let statement = try prepare(sql)
        return try statement.step() ? statement.int(0) : 0
    }

    /// Does `body` in one transaction; the connection is given up when it throws.
    func transaction(_ body: () throws -> Void) throws {
        try begin.run()
        try body()
        try commit.run()
    }

    /// Does many reads in one transaction.
    func reading<Result>(_ body: () throws -> Result) throws -> Result {
        try beginReading.run()
        let result = try body()
        try commit.run()
        return result
    }

    /// Has each alternative refer to the first package of its name, in one transaction.
    func resolveNames() throws {
        try transaction {
            try connection.execute(
                """
                UPDATE alternative SET target_id = (SELECT min(id) FROM package WHERE package.name = alternative.name)
                WHERE target_id IS NULL
                """)
        }
    }

    /// Sets the size of packages, each in a transaction of its own, of which none waits for the medium.
    func commit(_ resizes: [(package: Int, size: Int)]) throws {
        try execute("PRAGMA synchronous=OFF")
        let statement = try prepare("UPDATE package SET installed_size = ? WHERE id = ?")
        for resize in resizes {
            statement.bind(resize.size, at: 1)
            statement.bind(resize.package + 1, at: 2)
            try statement.run()
        }
    }

    func checksum(ofPackage id: Int) throws -> UInt64 {
        let statement = try prepare("SELECT \(Self.packageColumns) FROM package WHERE id = ?")
        statement.bind(id, at: 1)
        return try rows(of: statement).reduce(0) { $0 &+ $1.checksum }
    }

    func forgetTargets() throws {
        try transaction {
            try connection.execute("UPDATE alternative SET target_id = NULL WHERE target_id IS NOT NULL")
        }
    }
}

extension Setting {
    /// SQLite in memory with all packages, whose names are resolved, for workloads that only read.
    var sqlitePackages: SQLitePackagePeer {
        get async throws {
            let index = await packages
            return try await shared("SQLite with packages") { try SQLitePackagePeer(resolved: index) }
        }
    }

    /// The path of a closed SQLite file with all packages.
    var sqlitePackageFile: String {
        get async throws {
            let index = await packages
            return try await shared("SQLite file with packages") {
                let path = freshPath("packages.sqlite")
                try SQLitePackagePeer(at: .file(path)).load(index)
                return path
            }
        }
    }
}
