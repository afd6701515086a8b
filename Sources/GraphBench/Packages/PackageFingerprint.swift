/// Everything about one package, as a number: sums over packages differ if two have changed places in anything, if a list has
/// another order or if a member is missing. Takes too long to be timed.
struct PackageFingerprint {
    private var entry: UInt64
    /// Tags have no order.
    private var tags: UInt64 = 0

    init(row: PackageRecord.Row, section: String, maintainer: String) {
        let texts = [row.name, row.version, row.summary, section, maintainer]
        let codes = row.architecture.rawValue * Priority.allCases.count + row.priority.rawValue
        entry = texts.reduce(UInt64(codes)) { Checksum.ranked($0, Checksum.bytes($1.utf8)) }
        add(UInt64(row.installedSize))
    }

    mutating func add(file: PackageRecord.File) {
        add(Checksum.bytes(file.path.utf8))
        add(Checksum.bytes(file.digest.utf8))
        add(UInt64(file.sizeBytes))
    }

    mutating func add(tag: String) {
        tags &+= Checksum.mixed(Checksum.bytes(tag.utf8))
    }

    /// What follows are its alternatives.
    mutating func add(dependency kind: DependencyKind) {
        add(UInt64(kind.rawValue) + 1)
    }

    mutating func add(alternative name: String, _ constraint: VersionConstraint?) {
        add(Checksum.bytes(name.utf8))
        guard let constraint else { return }
        add(Checksum.bytes(constraint.version.utf8))
        add(UInt64(constraint.relation.rawValue) + 1)
    }

    private mutating func add(_ number: UInt64) {
        entry = Checksum.ranked(entry, number)
    }

    var value: UInt64 { Checksum.mixed(Checksum.ranked(entry, tags)) }

    /// A name that was resolved, and the package that it leads to.
    static func edge(name: String, architecture: Architecture, from alternative: String) -> UInt64 {
        Checksum.mixed(
            Checksum.ranked(
                Checksum.ranked(Checksum.bytes(name.utf8), UInt64(architecture.rawValue)),
                Checksum.bytes(alternative.utf8)))
    }
}

extension PackageIndex {
    /// What is in every store that has loaded this index.
    var answer: UInt64 {
        packages.reduce(0) { sum, package in
            var fingerprint = PackageFingerprint(
                row: package.row, section: sections[package.section], maintainer: maintainers[package.maintainer].email)
            fingerprint.add(file: package.file)
            for tag in package.tags { fingerprint.add(tag: tags[tag]) }
            for dependency in package.dependencies {
                fingerprint.add(dependency: dependency.kind)
                for alternative in dependency.alternatives {
                    fingerprint.add(alternative: alternative.name, alternative.constraint)
                }
            }
            return sum &+ fingerprint.value
        }
    }
}
