/// What a package is built for.
enum Architecture: Int, Codable, Sendable {
    case all, amd64, arm64, i386
}

/// How much a system needs a package.
enum Priority: Int, Codable, CaseIterable, Sendable {
    case required, important, standard, optional, extra
}

/// How much a package needs another one.
enum DependencyKind: Int, Codable, Sendable {
    case depends, recommends, suggests
}

/// Which versions of a package do.
struct VersionConstraint: Codable, Equatable, Sendable {
    enum Relation: Int, Codable, CaseIterable, Sendable {
        case earlier, atMost, exactly, atLeast, later
    }

    var relation: Relation
    var version: String

    /// A sum that depends on both.
    var checksum: UInt64 { Checksum.ranked(Checksum.text(version), UInt64(relation.rawValue)) }
}

/// One package with all that belongs to it, as it stands in an index.
struct PackageRecord: Sendable {
    /// What a package has itself: all of it is "the whole row" that queries return.
    struct Row: Equatable, Sendable {
        var name: String
        var architecture: Architecture
        var version: String
        var priority: Priority
        /// In KiB.
        var installedSize: Int
        var summary: String

        /// A sum that depends on every attribute and is cheap enough to be taken inside what is timed.
        var checksum: UInt64 {
            Checksum.package(
                name: name, architecture: architecture, version: version, priority: priority,
                installedSize: installedSize, summary: summary)
        }
    }

    struct File: Sendable {
        var path: String
        var sizeBytes: Int
        var digest: String

        var checksum: UInt64 { Checksum.file(path: path, sizeBytes: sizeBytes, digest: digest) }
    }

    /// One of the alternatives has to be there.
    struct Dependency: Sendable {
        var kind: DependencyKind
        /// The better one first.
        var alternatives: [Alternative]
    }

    struct Alternative: Sendable {
        var name: String
        var constraint: VersionConstraint?
    }

    var row: Row
    /// Indices of ``PackageIndex``.
    var section: Int
    var maintainer: Int
    var tags: [Int]
    var file: File
    /// In the order in which the package names them.
    var dependencies: [Dependency]

    /// The same with texts that are shared with no other record.
    var afresh: PackageRecord {
        func copy(_ text: String) -> String { String(decoding: Array(text.utf8), as: UTF8.self) }
        var record = self
        record.row.name = copy(row.name)
        record.row.version = copy(row.version)
        record.row.summary = copy(row.summary)
        record.file.path = copy(file.path)
        record.file.digest = copy(file.digest)
        record.dependencies = dependencies.map { dependency in
            let alternatives = dependency.alternatives.map { alternative in
                let constraint = alternative.constraint.map {
                    VersionConstraint(relation: $0.relation, version: copy($0.version))
                }
                return Alternative(name: copy(alternative.name), constraint: constraint)
            }
            return Dependency(kind: dependency.kind, alternatives: alternatives)
        }
        return record
    }

    /// The package, its file, its dependencies and their alternatives.
    var objectCount: Int { 2 + dependencies.reduce(dependencies.count) { $0 + $1.alternatives.count } }
}

extension Checksum {
    @inline(__always)
    static func package(
        name: String, architecture: Architecture, version: String, priority: Priority, installedSize: Int,
        summary: String
    ) -> UInt64 {
        let texts = text(name) &+ text(version) &* 8_191 &+ text(summary) &* 524_287
        let codes = UInt64(architecture.rawValue * Priority.allCases.count + priority.rawValue)
        return texts &+ codes &* 31 &+ UInt64(installedSize) &* 1_000_003
    }

    static func file(path: String, sizeBytes: Int, digest: String) -> UInt64 {
        ranked(ranked(text(path), text(digest)), UInt64(sizeBytes))
    }
}
