import Graph

extension PackageStore {
    /// Everything that is there but for the resolved names.
    func answer() throws -> UInt64 {
        let snapshot = coordinator.snapshot
        return try snapshot.fetchIDs(Package.self).reduce(0) { sum, id in
            guard let package = snapshot.value(for: id) else { return sum }
            var fingerprint = PackageFingerprint(
                row: PackageRecord.Row(package),
                section: package.section.id.flatMap { snapshot.value(for: $0)?.name } ?? "",
                maintainer: package.maintainer.id.flatMap { snapshot.value(for: $0)?.email } ?? "")
            if let file = package.file.id.flatMap({ snapshot.value(for: $0) }) {
                fingerprint.add(
                    file: PackageRecord.File(path: file.path, sizeBytes: file.sizeBytes, digest: file.digest))
            }
            try snapshot.forEachRelatedValue(\Package.tags, of: id) { fingerprint.add(tag: $0.name) }
            for dependency in try snapshot.related(\Package.dependencies, of: id) {
                fingerprint.add(dependency: snapshot.value(for: dependency)?.kind ?? .suggests)
                try snapshot.forEachRelatedValue(\Dependency.alternatives, of: dependency) {
                    fingerprint.add(alternative: $0.name, $0.constraint)
                }
            }
            return sum &+ fingerprint.value
        }
    }

    /// The same with the resolved names.
    func answerWithEdges() throws -> UInt64 {
        Checksum.ranked(try answer(), try edges())
    }

    /// Which names lead to which packages.
    func edges() throws -> UInt64 {
        let snapshot = coordinator.snapshot
        return try snapshot.fetchValues(Alternative.self).reduce(0) { sum, alternative in
            guard let package = alternative.target.id.flatMap({ snapshot.value(for: $0) }) else { return sum }
            return sum
                &+ PackageFingerprint.edge(
                    name: package.name, architecture: package.architecture, from: alternative.name)
        }
    }
}

extension PackageRecord.Row {
    fileprivate init(_ package: Package) {
        self.init(
            name: package.name, architecture: package.architecture, version: package.release,
            priority: package.priority, installedSize: package.installedSize, summary: package.summary)
    }
}
