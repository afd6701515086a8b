/// The people in SQLite, as somebody who knows it well would keep them: row identifiers are the indices of the data
/// plus one, every statement is prepared once, references are deleted by statements instead of being checked.
final class SQLitePeer {
    private let connection: SQLiteConnection
    let begin: SQLiteStatement
    let beginReading: SQLiteStatement
    let commit: SQLiteStatement
    let insertTeam: SQLiteStatement
    let insertPerson: SQLiteStatement
    let updateBalance: SQLiteStatement
    let updateBalances: SQLiteStatement
    let deleteAges: SQLiteStatement
    let groupByAge: SQLiteStatement
    let groupByTeam: SQLiteStatement
    let deleteMembers: SQLiteStatement
    let deleteTeam: SQLiteStatement
    let personByID: SQLiteStatement
    let personByEmail: SQLiteStatement
    let countMatches: SQLiteStatement
    let selectMatches: SQLiteStatement
    let selectRange: SQLiteStatement
    let selectTop: SQLiteStatement
    let teamNameByPerson: SQLiteStatement
    let teamNameByID: SQLiteStatement
    let agesByTeam: SQLiteStatement
    let allPeople: SQLiteStatement
    let allTeams: SQLiteStatement

    /// The reason that the report gives where the peer cannot run.
    static let absence = "no libsqlite3"

    static let personColumns = "name, email, age, balance, joined, team_id"

    /// Opens or makes a database.
    ///
    /// - Parameter indexed: columns of people that have an index beside those that all databases have.
    init(at location: SQLiteConnection.Location, indexed: [String] = []) throws {
        guard let library = SQLiteLibrary.shared else {
            throw SQLiteError(operation: "load", code: 0, message: Self.absence)
        }
        connection = try SQLiteConnection(library, at: location)
        try connection.execute(
            """
            CREATE TABLE IF NOT EXISTS team (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
            CREATE TABLE IF NOT EXISTS person (
                id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, age INTEGER NOT NULL,
                balance REAL NOT NULL, joined REAL NOT NULL, team_id INTEGER REFERENCES team (id));
            CREATE UNIQUE INDEX IF NOT EXISTS person_email ON person (email);
            CREATE INDEX IF NOT EXISTS person_team ON person (team_id);
            """)
        for column in indexed {
            try connection.execute("CREATE INDEX IF NOT EXISTS person_\(column) ON person (\(column))")
        }
        begin = try connection.prepare("BEGIN IMMEDIATE")
        beginReading = try connection.prepare("BEGIN")
        commit = try connection.prepare("COMMIT")
        insertTeam = try connection.prepare("INSERT INTO team (id, name) VALUES (?, ?)")
        insertPerson = try connection.prepare(
            "INSERT INTO person (id, \(Self.personColumns)) VALUES (?, ?, ?, ?, ?, ?, ?)")
        updateBalance = try connection.prepare("UPDATE person SET balance = ? WHERE id = ?")
        updateBalances = try connection.prepare("UPDATE person SET balance = ? WHERE age >= ? AND age < ?")
        deleteAges = try connection.prepare("DELETE FROM person WHERE age >= ? AND age < ?")
        groupByAge = try connection.prepare(
            "SELECT age, count(*), min(balance), max(balance) FROM person GROUP BY age ORDER BY age")
        groupByTeam = try connection.prepare(
            "SELECT team_id, count(*), sum(age) FROM person GROUP BY team_id ORDER BY team_id")
        deleteMembers = try connection.prepare("DELETE FROM person WHERE team_id = ?")
        deleteTeam = try connection.prepare("DELETE FROM team WHERE id = ?")
        personByID = try connection.prepare("SELECT \(Self.personColumns) FROM person WHERE id = ?")
        personByEmail = try connection.prepare("SELECT \(Self.personColumns) FROM person WHERE email = ?")
        countMatches = try connection.prepare("SELECT count(*) FROM person WHERE age > ? AND balance < ?")
        selectMatches = try connection.prepare(
            "SELECT \(Self.personColumns) FROM person WHERE age > ? AND balance < ?")
        selectRange = try connection.prepare(
            "SELECT \(Self.personColumns) FROM person WHERE balance >= ? AND balance < ?")
        selectTop = try connection.prepare(
            "SELECT \(Self.personColumns) FROM person WHERE age > ? ORDER BY balance DESC LIMIT 100")
        teamNameByPerson = try connection.prepare(
            "SELECT team.name FROM person JOIN team ON team.id = person.team_id WHERE person.id = ?")
        teamNameByID = try connection.prepare("SELECT name FROM team WHERE id = ?")
        agesByTeam = try connection.prepare("SELECT sum(age), count(*) FROM person WHERE team_id = ?")
        allPeople = try connection.prepare("SELECT \(Self.personColumns) FROM person")
        allTeams = try connection.prepare("SELECT id, name FROM team")
    }

    /// Prepares a statement for a workload of its own.
    func prepare(_ sql: String) throws -> SQLiteStatement { try connection.prepare(sql) }

    /// Counts the rows of each index, so that SQLite knows which one serves a query best.
    func analyze() throws { try connection.execute("ANALYZE") }

    /// Writes the file anew without what it does not need.
    func vacuum() throws { try connection.execute("VACUUM") }

    /// Adds a property to all people. SQLite writes nothing to their rows.
    func addNickname() throws { try connection.execute("ALTER TABLE person ADD COLUMN nickname TEXT") }

    /// A database with all rows of `data`.
    convenience init(at location: SQLiteConnection.Location, loaded data: PeopleData) throws {
        try self.init(at: location)
        try load(data)
    }

    /// Does `body` in one transaction; the connection is given up when it throws.
    @inline(__always)
    func transaction(_ body: () throws -> Void) throws {
        try begin.run()
        try body()
        try commit.run()
    }

    /// Does many reads in one transaction, as who wants one state of the rows does: else each would begin and end one.
    @inline(__always)
    func reading<Result>(_ body: () throws -> Result) throws -> Result {
        try beginReading.run()
        let result = try body()
        try commit.run()
        return result
    }
}
