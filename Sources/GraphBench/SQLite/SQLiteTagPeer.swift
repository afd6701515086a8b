import Foundation

/// The people and their tags in SQLite, many to many as somebody who knows it well would keep it: a table of pairs that
/// is its own index, and an index for the other way. Row identifiers are the indices of the data plus one.
final class SQLiteTagPeer {
    private let connection: SQLiteConnection
    private let begin: SQLiteStatement
    private let beginReading: SQLiteStatement
    private let commit: SQLiteStatement
    private let insertTag: SQLiteStatement
    private let insertPerson: SQLiteStatement
    private let insertLink: SQLiteStatement
    private let agesByTag: SQLiteStatement
    private let linksByPerson: SQLiteStatement
    private let linksByTag: SQLiteStatement
    private let totals: SQLiteStatement

    /// Makes a database in memory with the tags.
    init(tagNames: [String]) throws {
        guard let library = SQLiteLibrary.shared else {
            throw SQLiteError(operation: "load", code: 0, message: SQLitePeer.absence)
        }
        connection = try SQLiteConnection(library, at: .memory)
        try connection.execute(
            """
            CREATE TABLE tag (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
            CREATE TABLE person (
                id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, age INTEGER NOT NULL,
                balance REAL NOT NULL, joined REAL NOT NULL);
            CREATE TABLE person_tag (
                person_id INTEGER NOT NULL REFERENCES person (id), tag_id INTEGER NOT NULL REFERENCES tag (id),
                PRIMARY KEY (person_id, tag_id)) WITHOUT ROWID;
            CREATE INDEX person_tag_by_tag ON person_tag (tag_id, person_id);
            """)
        begin = try connection.prepare("BEGIN IMMEDIATE")
        beginReading = try connection.prepare("BEGIN")
        commit = try connection.prepare("COMMIT")
        insertTag = try connection.prepare("INSERT INTO tag (id, name) VALUES (?, ?)")
        insertPerson = try connection.prepare(
            "INSERT INTO person (id, name, email, age, balance, joined) VALUES (?, ?, ?, ?, ?, ?)")
        insertLink = try connection.prepare("INSERT OR IGNORE INTO person_tag (person_id, tag_id) VALUES (?, ?)")
        agesByTag = try connection.prepare(
            """
            SELECT sum(person.age), count(*) FROM person_tag JOIN person ON person.id = person_tag.person_id
            WHERE person_tag.tag_id = ?
            """)
        // Each order is that of one of the two trees, which is read then.
        linksByPerson = try connection.prepare("SELECT person_id, tag_id FROM person_tag ORDER BY person_id")
        linksByTag = try connection.prepare("SELECT person_id, tag_id FROM person_tag ORDER BY tag_id")
        totals = try connection.prepare("SELECT count(*), total(age) FROM person")
        try transaction {
            for (index, name) in tagNames.enumerated() {
                var name = name
                try name.withUTF8 { name in
                    insertTag.bind(index + 1, at: 1)
                    insertTag.bind(name, at: 2)
                    try insertTag.run()
                }
            }
        }
    }

    /// Inserts all people, with their links if there are any, in transactions of ``PeopleData/batch`` people.
    func insertPeople(_ data: PeopleData, links: TagData? = nil) throws {
        for batch in data.batches {
            try transaction {
                for person in batch {
                    try insert(data.people[person], id: person + 1)
                    if let links { try link(person, links) }
                }
            }
        }
    }

    /// Links people who are there already, in the transactions of the data.
    func linkPeople(_ links: TagData) throws {
        for batch in links.batches {
            try transaction {
                for person in batch { try link(person, links) }
            }
        }
    }

    /// The sum of the ages of the people who have each tag, and their number, all of one state.
    func ages(tags ids: [Int]) throws -> [(sum: Int, count: Int)] {
        try beginReading.run()
        let ages = try ids.map(ages(tag:))
        try commit.run()
        return ages
    }

    private func ages(tag id: Int) throws -> (sum: Int, count: Int) {
        agesByTag.bind(id, at: 1)
        defer { agesByTag.reset() }
        return try agesByTag.step() ? (agesByTag.int(0), agesByTag.int(1)) : (0, 0)
    }

    /// The people and all links.
    func answer() throws -> UInt64 {
        defer { totals.reset() }
        _ = try totals.step()
        let people = Checksum.people(count: totals.int(0), ages: Int(totals.double(1)))
        return Checksum.tagged(people: people, byPerson: try sum(of: linksByPerson), byTag: try sum(of: linksByTag))
    }

    @inline(__always)
    private func transaction(_ body: () throws -> Void) throws {
        try begin.run()
        try body()
        try commit.run()
    }

    @inline(__always)
    private func insert(_ row: PersonRow, id: Int) throws {
        var name = row.name
        var email = row.email
        try name.withUTF8 { name in
            try email.withUTF8 { email in
                insertPerson.bind(id, at: 1)
                insertPerson.bind(name, at: 2)
                insertPerson.bind(email, at: 3)
                insertPerson.bind(row.age, at: 4)
                insertPerson.bind(row.balance, at: 5)
                insertPerson.bind(row.joined.timeIntervalSinceReferenceDate, at: 6)
                try insertPerson.run()
            }
        }
    }

    @inline(__always)
    private func link(_ person: Int, _ links: TagData) throws {
        insertLink.bind(person + 1, at: 1)
        for tag in links.tags(of: person) {
            insertLink.bind(tag + 1, at: 2)
            try insertLink.run()
        }
    }

    private func sum(of links: SQLiteStatement) throws -> UInt64 {
        defer { links.reset() }
        var sum: UInt64 = 0
        while try links.step() {
            sum &+= Checksum.link(person: links.int(0) - 1, tag: links.int(1) - 1)
        }
        return sum
    }
}
