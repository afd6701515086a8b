extension Workload {
    /// The index of a distribution: what a program that manages packages asks.
    static let packageWorkloads: [Workload] = packageLoad + packageQueries + packageChanges + packageFiles

    private static let packageLoad: [Workload] = [
        Workload(
            FootprintProcess.packages, "resident memory that the loaded packages add, with their indexes",
            note: "each store in a process of its own", unit: .bytes(per: "object"), targets: [.timesSQLite(1)],
            sqlite: FootprintProcess.contender(.sqlite, FootprintProcess.packages), native: nil),
        Workload(
            "packages_load",
            "a distribution's index of about as many objects as people loaded, on the medium every 10,000 objects",
            unit: .seconds(per: "object"), targets: [.timesSQLite(2)],
            sqlite: { setting in
                let index = await setting.packages
                return { _ in
                    let path = setting.freshPath("packages.sqlite")
                    defer { setting.remove(path) }
                    let peer = try SQLitePackagePeer(at: .file(path))
                    let stopwatch = Stopwatch()
                    try peer.load(index)
                    return Measurement(amount: stopwatch.seconds, count: index.objectCount, answer: try peer.answer())
                }
            },
            native: nil),
        Workload(
            "packages_resolve", "the names in its dependencies resolved to references, in one commit",
            unit: .seconds(per: "name"), targets: [],
            sqlite: { setting in
                let index = await setting.packages
                let peer = try SQLitePackagePeer(at: .memory)
                try peer.load(index)
                return { run in
                    if run > 0 { try peer.forgetTargets() }
                    let stopwatch = Stopwatch()
                    try peer.resolveNames()
                    return Measurement(
                        amount: stopwatch.seconds, count: index.alternativeCount, answer: try peer.edges())
                }
            },
            native: nil),
    ]

    private static let packageQueries: [Workload] = [
        Workload(
            "packages_closure",
            "a package with everything that it needs directly or indirectly, of 20 with many dependencies",
            unit: .seconds(per: "package found"), targets: [.timesSQLite(3)], isReading: true,
            sqlite: { setting in
                let (index, peer) = (await setting.packages, try await setting.sqlitePackages)
                let closure = try peer.closures()
                return { run in
                    let packages = index.applications(run: run)
                    return try totals { try peer.reading { try packages.map { try closure($0 + 1) } } }
                }
            },
            native: nil),
        Workload(
            "packages_dependents", "all packages that name the one that most name",
            unit: .seconds(per: "package found"), targets: [.timesSQLite(3)], isReading: true,
            sqlite: { setting in
                let (index, peer) = (await setting.packages, try await setting.sqlitePackages)
                let dependents = try peer.dependents()
                return { _ in try totals { [try dependents(index.mostUsed + 1)] } }
            },
            native: nil),
        Workload(
            "packages_unused", "the packages that none names, as values", unit: .seconds(per: "row returned"),
            targets: [], isReading: true,
            sqlite: { setting in
                let unused = try await setting.sqlitePackages.unusedPackages()
                return { _ in try packageRows(\.checksum) { [try unused()] } }
            },
            native: nil),
        Workload(
            "packages_facets", "the packages that have two tags, as values, of 20 pairs of common tags",
            unit: .seconds(per: "row returned"), targets: [.timesSQLite(10)], isReading: true,
            sqlite: { setting in
                let (index, peer) = (await setting.packages, try await setting.sqlitePackages)
                let tagged = try peer.packagesTaggedBoth()
                return { run in
                    let pairs = index.tagPairs(run: run)
                    return try packageRows(isOrdered: false, \.checksum) {
                        try peer.reading { try pairs.map { try tagged($0.first + 1, $0.second + 1) } }
                    }
                }
            },
            native: nil),
        Workload(
            "packages_by_maintainer", "packages by maintainer: how many, and their installed size",
            unit: .seconds(per: "row scanned"), targets: [.timesSQLite(10)], isReading: true,
            sqlite: { setting in
                let index = await setting.packages
                let sizes = try await setting.sqlitePackages.sizesByMaintainer()
                return timed(count: index.packages.count) { try sizes() }
            },
            native: nil),
        Workload(
            "packages_page_1", "the 50 largest packages, those of one size by name", unit: .seconds(per: "query"),
            targets: [.timesSQLite(6)], isReading: true, sqlite: sqlitePage(1), native: nil),
        Workload(
            "packages_page_600", "the same, page 600, or the last one", unit: .seconds(per: "query"), targets: [],
            isReading: true, sqlite: sqlitePage(600), native: nil),
        Workload(
            "packages_prefix", "the first 20 packages by name whose names begin with a text",
            unit: .seconds(per: "query"), targets: [.timesSQLite(3)], isReading: true,
            sqlite: { setting in
                let (index, peer) = (await setting.packages, try await setting.sqlitePackages)
                let starting = try peer.packagesStarting()
                return { run in
                    let prefixes = index.prefixes(run: run)
                    return try packageRows(per: prefixes.count, \.checksum) {
                        try peer.reading { try prefixes.map(starting) }
                    }
                }
            },
            native: nil),
    ]

    private static func sqlitePage(_ page: Int) -> Contender {
        { setting in
            let offset = await setting.packages.offset(page: page)
            let bySize = try await setting.sqlitePackages.packagesBySize(offset: offset)
            return { _ in try packageRows(per: 1, \.checksum) { [try bySize()] } }
        }
    }

    /// Times queries that come to totals; the unit is a package that was found.
    static func totals(_ body: () throws -> [PackageTotal]) rethrows -> Measurement {
        let stopwatch = Stopwatch()
        let totals = try body()
        let seconds = stopwatch.seconds
        return Measurement(
            amount: seconds, count: totals.reduce(0) { $0 + $1.count },
            answer: totals.reduce(0) { Checksum.ranked($0, $1.checksum) })
    }

    /// Times queries that return packages; the unit is a row unless the number of units is given.
    static func packageRows<Row>(
        per count: Int? = nil, isOrdered: Bool = true, _ checksum: (Row) -> UInt64, _ body: () throws -> [[Row]]
    ) rethrows -> Measurement {
        let stopwatch = Stopwatch()
        let found = try body()
        let seconds = stopwatch.seconds
        let rows = found.joined()
        let answer = rows.reduce(0) { isOrdered ? Checksum.ranked($0, checksum($1)) : $0 &+ checksum($1) }
        return Measurement(amount: seconds, count: count ?? rows.count, answer: answer)
    }
}
