import Graph

/// A part of the distribution, which stays as long as it has packages.
@Entity struct PackageSection {
    @Unique var name: String
    @Relationship(.deny, inverse: \Package.section) var packages: ToMany<Package> = []
}

/// Who looks after packages.
@Entity struct PackageMaintainer {
    var name: String
    @Unique var email: String
    @Relationship(inverse: \Package.maintainer) var packages: ToMany<Package> = []
}

/// A word that packages are found by.
@Entity struct PackageTag {
    @Unique var name: String
    var packages: ToMany<Package> = []
}

/// A package of ``PackageIndex``, as a program declares it: an index that comes again updates what is there.
@Entity(unique: [["name", "architecture"]], onConflict: .upsert)
struct Package {
    var name: String
    var architecture: Architecture
    var release: String
    var priority: Priority
    var installedSize: Int
    var summary: String
    var section: ToOne<PackageSection> = nil
    var maintainer: ToOne<PackageMaintainer> = nil
    @Relationship(inverse: \PackageTag.packages) var tags: ToMany<PackageTag> = []
    @Relationship(.cascade, inverse: \PackageFile.package) var file: ToOne<PackageFile> = nil
    @Relationship(.cascade, inverse: \Dependency.package, ordered: true) var dependencies: ToMany<Dependency> = []
    @Relationship(inverse: \Alternative.target) var uses: ToMany<Alternative> = []
}

/// The file that a package is installed from, one to one.
@Entity struct PackageFile {
    var path: String
    var sizeBytes: Int
    var digest: String
    var package: ToOne<Package> = nil
}

/// What a package needs: one of the alternatives, the first one if possible.
@Entity struct Dependency {
    var kind: DependencyKind
    var package: ToOne<Package> = nil
    @Relationship(.cascade, inverse: \Alternative.dependency, ordered: true) var alternatives: ToMany<Alternative> = []
}

/// A name, and the package of that name if there is one.
@Entity struct Alternative {
    var name: String
    var constraint: VersionConstraint?
    var dependency: ToOne<Dependency> = nil
    var target: ToOne<Package> = nil
}

extension Package {
    /// The same sum as ``PackageRecord/Row/checksum``.
    var checksum: UInt64 {
        Checksum.package(
            name: name, architecture: architecture, version: release, priority: priority,
            installedSize: installedSize, summary: summary)
    }
}
