/// The statements of a load and of an upsert, and the identifiers that are next.
final class SQLitePackageWriter {
    let section: SQLiteStatement
    let tag: SQLiteStatement
    let maintainer: SQLiteStatement
    private let package: SQLiteStatement
    private let newFile: SQLiteStatement
    private let packageTag: SQLiteStatement
    private let dependency: SQLiteStatement
    private let alternative: SQLiteStatement
    private let constrained: SQLiteStatement
    private let changedFile: SQLiteStatement
    private let deleteAlternatives: SQLiteStatement
    private let deleteDependencies: SQLiteStatement
    private var dependencyID: Int
    private var alternativeID: Int

    init(_ peer: SQLitePackagePeer) throws {
        section = try peer.prepare("INSERT INTO section (id, name) VALUES (?, ?)")
        tag = try peer.prepare("INSERT INTO tag (id, name) VALUES (?, ?)")
        maintainer = try peer.prepare("INSERT INTO maintainer (id, name, email) VALUES (?, ?, ?)")
        package = try peer.prepare(
            """
            INSERT INTO package (\(SQLitePackagePeer.packageColumns), section_id, maintainer_id)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (name, architecture) DO UPDATE SET
                version = excluded.version, priority = excluded.priority,
                installed_size = excluded.installed_size, summary = excluded.summary,
                section_id = excluded.section_id, maintainer_id = excluded.maintainer_id
            """)
        newFile = try peer.prepare(
            "INSERT INTO file (id, package_id, path, size, digest) VALUES (?1, ?1, ?2, ?3, ?4)")
        changedFile = try peer.prepare("UPDATE file SET path = ?2, size = ?3, digest = ?4 WHERE package_id = ?1")
        packageTag = try peer.prepare("INSERT OR IGNORE INTO package_tag (package_id, tag_id) VALUES (?, ?)")
        deleteAlternatives = try peer.prepare(
            "DELETE FROM alternative WHERE dependency_id IN (SELECT id FROM dependency WHERE package_id = ?)")
        deleteDependencies = try peer.prepare("DELETE FROM dependency WHERE package_id = ?")
        dependency = try peer.prepare(
            "INSERT INTO dependency (id, package_id, position, kind) VALUES (?, ?, ?, ?)")
        alternative = try peer.prepare(
            "INSERT INTO alternative (id, dependency_id, position, name) VALUES (?, ?, ?, ?)")
        constrained = try peer.prepare(
            """
            INSERT INTO alternative (id, dependency_id, position, name, relation, version)
            VALUES (?, ?, ?, ?, ?, ?)
            """)
        dependencyID = try peer.number("SELECT max(id) FROM dependency")
        alternativeID = try peer.number("SELECT max(id) FROM alternative")
    }

    func insert(named name: String, id: Int, by statement: SQLiteStatement) throws {
        statement.bind(id, at: 1)
        try statement.binding(name, at: 2) { try statement.run() }
    }

    /// Inserts a package with all that belongs to it, behind all others.
    func insert(_ record: PackageRecord, id: Int) throws {
        try upsertPackage(record, id: id)
        try write(record.file, of: id, by: newFile)
        try insertDependencies(of: record, id: id)
    }

    /// Brings a package up to date that is there, and what belongs to it if its release has changed.
    func upsert(_ record: PackageRecord, id: Int, isChanged: Bool) throws {
        try upsertPackage(record, id: id)
        guard isChanged else { return }
        try write(record.file, of: id, by: changedFile)
        deleteAlternatives.bind(id, at: 1)
        try deleteAlternatives.run()
        deleteDependencies.bind(id, at: 1)
        try deleteDependencies.run()
        try insertDependencies(of: record, id: id)
    }

    private func upsertPackage(_ record: PackageRecord, id: Int) throws {
        package.bind(record.row.architecture.rawValue, at: 2)
        package.bind(record.row.priority.rawValue, at: 4)
        package.bind(record.row.installedSize, at: 5)
        package.bind(record.section + 1, at: 7)
        package.bind(record.maintainer + 1, at: 8)
        try package.binding(record.row.name, at: 1) {
            try package.binding(record.row.version, at: 3) {
                try package.binding(record.row.summary, at: 6) { try package.run() }
            }
        }
        for tag in record.tags {
            packageTag.bind(id, at: 1)
            packageTag.bind(tag + 1, at: 2)
            try packageTag.run()
        }
    }

    private func write(_ entry: PackageRecord.File, of id: Int, by file: SQLiteStatement) throws {
        file.bind(id, at: 1)
        file.bind(entry.sizeBytes, at: 3)
        try file.binding(entry.path, at: 2) {
            try file.binding(entry.digest, at: 4) { try file.run() }
        }
    }

    private func insertDependencies(of record: PackageRecord, id: Int) throws {
        for (position, entry) in record.dependencies.enumerated() {
            dependencyID += 1
            dependency.bind(dependencyID, at: 1)
            dependency.bind(id, at: 2)
            dependency.bind(position, at: 3)
            dependency.bind(entry.kind.rawValue, at: 4)
            try dependency.run()
            for (position, entry) in entry.alternatives.enumerated() { try insert(entry, at: position) }
        }
    }

    private func insert(_ entry: PackageRecord.Alternative, at position: Int) throws {
        alternativeID += 1
        let statement = entry.constraint == nil ? alternative : constrained
        statement.bind(alternativeID, at: 1)
        statement.bind(dependencyID, at: 2)
        statement.bind(position, at: 3)
        try statement.binding(entry.name, at: 4) {
            guard let constraint = entry.constraint else { return try statement.run() }
            statement.bind(constraint.relation.rawValue, at: 5)
            try statement.binding(constraint.version, at: 6) { try statement.run() }
        }
    }
}
