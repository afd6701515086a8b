extension SQLitePackagePeer {
    /// Inserts everything, in the transactions of the data.
    func load(_ index: PackageIndex) throws {
        let writer = try Writer(self)
        try transaction {
            for (number, name) in index.sections.enumerated() {
                try writer.insert(named: name, id: number + 1, by: writer.section)
            }
            for (number, name) in index.tags.enumerated() {
                try writer.insert(named: name, id: number + 1, by: writer.tag)
            }
            for (number, maintainer) in index.maintainers.enumerated() {
                try writer.maintainer.binding(maintainer.email, at: 3) {
                    try writer.insert(named: maintainer.name, id: number + 1, by: writer.maintainer)
                }
            }
        }
        for batch in index.batches {
            try transaction {
                for number in batch { try writer.insert(index.packages[number], id: number + 1) }
            }
        }
    }

    /// The statements of a load, and the identifiers that are next.
    private final class Writer {
        let section: SQLiteStatement
        let tag: SQLiteStatement
        let maintainer: SQLiteStatement
        private let package: SQLiteStatement
        private let file: SQLiteStatement
        private let packageTag: SQLiteStatement
        private let dependency: SQLiteStatement
        private let alternative: SQLiteStatement
        private let constrained: SQLiteStatement
        private var dependencyID = 0
        private var alternativeID = 0

        init(_ peer: SQLitePackagePeer) throws {
            section = try peer.prepare("INSERT INTO section (id, name) VALUES (?, ?)")
            tag = try peer.prepare("INSERT INTO tag (id, name) VALUES (?, ?)")
            maintainer = try peer.prepare("INSERT INTO maintainer (id, name, email) VALUES (?, ?, ?)")
            package = try peer.prepare(
                """
                INSERT INTO package (id, \(SQLitePackagePeer.packageColumns), section_id, maintainer_id)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (name, architecture) DO UPDATE SET
                    version = excluded.version, priority = excluded.priority,
                    installed_size = excluded.installed_size, summary = excluded.summary,
                    section_id = excluded.section_id, maintainer_id = excluded.maintainer_id
                """)
            file = try peer.prepare("INSERT INTO file (id, package_id, path, size, digest) VALUES (?1, ?1, ?2, ?3, ?4)")
            packageTag = try peer.prepare("INSERT INTO package_tag (package_id, tag_id) VALUES (?, ?)")
            dependency = try peer.prepare(
                "INSERT INTO dependency (id, package_id, position, kind) VALUES (?, ?, ?, ?)")
            alternative = try peer.prepare(
                "INSERT INTO alternative (id, dependency_id, position, name) VALUES (?, ?, ?, ?)")
            constrained = try peer.prepare(
                """
                INSERT INTO alternative (id, dependency_id, position, name, relation, version)
                VALUES (?, ?, ?, ?, ?, ?)
                """)
        }

        func insert(named name: String, id: Int, by statement: SQLiteStatement) throws {
            statement.bind(id, at: 1)
            try statement.binding(name, at: 2) { try statement.run() }
        }

        func insert(_ record: PackageRecord, id: Int) throws {
            package.bind(id, at: 1)
            package.bind(record.row.architecture.rawValue, at: 3)
            package.bind(record.row.priority.rawValue, at: 5)
            package.bind(record.row.installedSize, at: 6)
            package.bind(record.section + 1, at: 8)
            package.bind(record.maintainer + 1, at: 9)
            try package.binding(record.row.name, at: 2) {
                try package.binding(record.row.version, at: 4) {
                    try package.binding(record.row.summary, at: 7) { try package.run() }
                }
            }
            file.bind(id, at: 1)
            file.bind(record.file.sizeBytes, at: 3)
            try file.binding(record.file.path, at: 2) {
                try file.binding(record.file.digest, at: 4) { try file.run() }
            }
            for tag in record.tags {
                packageTag.bind(id, at: 1)
                packageTag.bind(tag + 1, at: 2)
                try packageTag.run()
            }
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
}
