/// The queries, each a statement that is prepared once.
extension SQLitePackagePeer {
    /// A package with all that it needs, and all that those need.
    func closures() throws -> (_ package: Int) throws -> PackageTotal {
        totals(
            try prepare(
                """
                WITH RECURSIVE closure (id) AS (
                    VALUES (?)
                    UNION
                    SELECT alternative.target_id FROM closure
                        JOIN dependency ON dependency.package_id = closure.id AND dependency.kind = 0
                        JOIN alternative ON alternative.dependency_id = dependency.id
                    WHERE alternative.target_id IS NOT NULL)
                SELECT count(*), sum(installed_size) FROM closure JOIN package USING (id)
                """))
    }

    /// All packages that name one.
    func dependents() throws -> (_ package: Int) throws -> PackageTotal {
        totals(
            try prepare(
                """
                SELECT count(*), total(installed_size) FROM package WHERE id IN (
                    SELECT package_id FROM alternative JOIN dependency ON dependency.id = dependency_id
                    WHERE target_id = ?)
                """))
    }

    /// All packages that none names.
    func unusedPackages() throws -> () throws -> [PackageRecord.Row] {
        let statement = try prepare(
            """
            SELECT \(Self.packageColumns) FROM package
            WHERE NOT EXISTS (SELECT 1 FROM alternative WHERE target_id = package.id)
            """)
        return { try self.rows(of: statement) }
    }

    /// The packages that have both tags.
    func packagesTaggedBoth() throws -> (_ first: Int, _ second: Int) throws -> [PackageRecord.Row] {
        let statement = try prepare(
            """
            SELECT \(Self.packageColumns) FROM package_tag AS one
                JOIN package_tag AS other ON other.package_id = one.package_id AND other.tag_id = ?2
                JOIN package ON package.id = one.package_id
            WHERE one.tag_id = ?1
            """)
        return { first, second in
            statement.bind(first, at: 1)
            statement.bind(second, at: 2)
            return try self.rows(of: statement)
        }
    }

    /// How many packages each maintainer has, and their installed size: the plus sign keeps SQLite from walking the index of
    /// maintainers, which would visit the packages in random order.
    func sizesByMaintainer() throws -> () throws -> UInt64 {
        let statement = try prepare(
            "SELECT maintainer_id, count(*), sum(installed_size) FROM package GROUP BY +maintainer_id")
        return {
            defer { statement.reset() }
            var answer: UInt64 = 0
            while try statement.step() {
                answer &+= Workload.groupChecksum(statement.int(0), statement.int(1), statement.int(2))
            }
            return answer
        }
    }

    /// The largest packages, those of one size by name, from `offset` on: behind the first page, what the page does not show is
    /// sorted without being copied.
    func packagesBySize(offset: Int) throws -> () throws -> [PackageRecord.Row] {
        let order = "ORDER BY installed_size DESC, name"
        let page = "\(order) LIMIT \(PackageIndex.pageSize) OFFSET \(offset)"
        let statement = try prepare(
            offset == 0
                ? "SELECT \(Self.packageColumns) FROM package \(page)"
                : "SELECT \(Self.packageColumns) FROM (SELECT id FROM package \(page)) JOIN package USING (id) \(order)"
        )
        return { try self.rows(of: statement) }
    }

    /// The first twenty packages whose names begin with a text.
    func packagesStarting() throws -> (_ prefix: String) throws -> [PackageRecord.Row] {
        let statement = try prepare(
            """
            SELECT \(Self.packageColumns) FROM package WHERE name >= ? AND name < ?
            ORDER BY name, architecture LIMIT 20
            """)
        return { prefix in
            try statement.binding(prefix, at: 1) {
                try statement.binding(prefix + "\u{7F}", at: 2) { try self.rows(of: statement) }
            }
        }
    }

    private func totals(_ statement: SQLiteStatement) -> (_ package: Int) throws -> PackageTotal {
        return { package in
            statement.bind(package, at: 1)
            defer { statement.reset() }
            return try statement.step()
                ? PackageTotal(count: statement.int(0), installedSize: statement.int(1)) : PackageTotal()
        }
    }
}
