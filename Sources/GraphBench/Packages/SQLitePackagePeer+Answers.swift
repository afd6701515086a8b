extension SQLitePackagePeer {
    /// Everything that is there but for the resolved names.
    func answer() throws -> UInt64 {
        var fingerprints = try packageFingerprints()
        let tags = try prepare("SELECT package_id, name FROM package_tag JOIN tag ON tag.id = tag_id")
        while try tags.step() { fingerprints[tags.int(0)]?.add(tag: tags.string(1)) }
        let alternatives = try prepare(
            """
            SELECT package_id, dependency_id, kind, name, relation, version
            FROM dependency JOIN alternative ON dependency_id = dependency.id
            ORDER BY package_id, dependency.position, alternative.position
            """)
        var dependency = 0
        while try alternatives.step() {
            let package = alternatives.int(0)
            if alternatives.int(1) != dependency {
                dependency = alternatives.int(1)
                fingerprints[package]?.add(dependency: DependencyKind(rawValue: alternatives.int(2)) ?? .suggests)
            }
            let version = alternatives.string(5)
            let relation = VersionConstraint.Relation(rawValue: alternatives.int(4)) ?? .exactly
            fingerprints[package]?.add(
                alternative: alternatives.string(3),
                version.isEmpty ? nil : VersionConstraint(relation: relation, version: version))
        }
        return fingerprints.values.reduce(0) { $0 &+ $1.value }
    }

    /// The same with the resolved names.
    func answerWithEdges() throws -> UInt64 {
        Checksum.ranked(try answer(), try edges())
    }

    /// By the identifier of the package: the package and its file.
    private func packageFingerprints() throws -> [Int: PackageFingerprint] {
        let packages = try prepare(
            """
            SELECT package.name, architecture, package.version, priority, installed_size, summary,
                package.id, section.name, email, path, size, digest
            FROM package JOIN section ON section.id = section_id JOIN maintainer ON maintainer.id = maintainer_id
                JOIN file ON file.package_id = package.id
            """)
        var fingerprints: [Int: PackageFingerprint] = [:]
        while try packages.step() {
            var fingerprint = PackageFingerprint(
                row: row(of: packages), section: packages.string(7), maintainer: packages.string(8))
            fingerprint.add(
                file: PackageRecord.File(
                    path: packages.string(9), sizeBytes: packages.int(10), digest: packages.string(11)))
            fingerprints[packages.int(6)] = fingerprint
        }
        return fingerprints
    }

    /// Which names lead to which packages.
    func edges() throws -> UInt64 {
        let edges = try prepare(
            """
            SELECT package.name, architecture, alternative.name
            FROM alternative JOIN package ON package.id = target_id
            """)
        var answer: UInt64 = 0
        while try edges.step() {
            answer &+= PackageFingerprint.edge(
                name: edges.string(0), architecture: Architecture(rawValue: edges.int(1)) ?? .all,
                from: edges.string(2))
        }
        return answer
    }

    /// The packages that a statement with ``packageColumns`` finds.
    func rows(of statement: SQLiteStatement) throws -> [PackageRecord.Row] {
        defer { statement.reset() }
        var rows: [PackageRecord.Row] = []
        while try statement.step() { rows.append(row(of: statement)) }
        return rows
    }

    @inline(__always)
    private func row(of statement: SQLiteStatement) -> PackageRecord.Row {
        PackageRecord.Row(
            name: statement.string(0), architecture: Architecture(rawValue: statement.int(1)) ?? .all,
            version: statement.string(2), priority: Priority(rawValue: statement.int(3)) ?? .extra,
            installedSize: statement.int(4), summary: statement.string(5))
    }
}
