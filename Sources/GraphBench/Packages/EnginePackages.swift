import Graph

/// The engine's side of ``Workload/packageWorkloads``.
enum EnginePackages {
    static let contenders: [String: Workload.Contender] = [
        "packages_load": { setting in
            let index = await setting.packages
            return { _ in
                let path = setting.freshPath("packages.graph")
                defer { setting.remove(path) }
                let coordinator = try await PackageStore.coordinator(at: path)
                let stopwatch = Stopwatch()
                let store = try await PackageStore(coordinator, loading: index)
                let seconds = stopwatch.seconds
                let answer = try store.answer()
                try await coordinator.close()
                return Measurement(amount: seconds, count: index.objectCount, answer: answer)
            }
        },
        "packages_resolve": { setting in
            let index = await setting.packages
            let store = try await PackageStore.inMemory(index)
            let context = store.context
            return { run in
                if run > 0 { try await context.forgetTargets() }
                let stopwatch = Stopwatch()
                try await context.resolveNames()
                return Measurement(
                    amount: stopwatch.seconds, count: index.alternativeCount, answer: try store.edges())
            }
        },
        "packages_closure": { setting in
            let (index, store) = (await setting.packages, try await setting.enginePackages)
            let snapshot = store.coordinator.snapshot
            return { run in
                let ids = index.applications(run: run).map { store.packages[$0] }
                return try Workload.totals { try ids.map { try snapshot.closure(of: $0) } }
            }
        },
        "packages_dependents": { setting in
            let (index, store) = (await setting.packages, try await setting.enginePackages)
            let snapshot = store.coordinator.snapshot
            return { _ in try Workload.totals { [try snapshot.dependents(on: store.packages[index.mostUsed])] } }
        },
        "packages_unused": { setting in
            let snapshot = try await setting.enginePackages.coordinator.snapshot
            return { _ in try rows { [try snapshot.unusedPackages()] } }
        },
        "packages_facets": { setting in
            let (index, store) = (await setting.packages, try await setting.enginePackages)
            let snapshot = store.coordinator.snapshot
            return { run in
                let pairs = index.tagPairs(run: run).map { (index.tags[$0.first], index.tags[$0.second]) }
                return try rows(isOrdered: false) { try pairs.map { try snapshot.packages(taggedBoth: $0, $1) } }
            }
        },
        "packages_by_maintainer": { setting in
            let (index, store) = (await setting.packages, try await setting.enginePackages)
            let snapshot = store.coordinator.snapshot
            let numbers = Dictionary(uniqueKeysWithValues: store.maintainers.enumerated().map { ($1, $0 + 1) })
            return Workload.timed(count: index.packages.count) {
                try snapshot.grouped(Package.self, by: \.maintainer) { ($0.count, $0.sum(\.installedSize)) }
                    .reduce(0) { sum, group in
                        let number = group.key.flatMap { numbers[$0] } ?? 0
                        return sum &+ Workload.groupChecksum(number, group.result.0, group.result.1)
                    }
            }
        },
        "packages_page_1": page(1),
        "packages_page_600": page(600),
        "packages_prefix": { setting in
            let index = await setting.packages
            let snapshot = try await setting.enginePackages.coordinator.snapshot
            return { run in
                let prefixes = index.prefixes(run: run)
                return try rows(per: prefixes.count) { try prefixes.map { try snapshot.packages(startingWith: $0) } }
            }
        },
    ]

    private static func page(_ page: Int) -> Workload.Contender {
        { setting in
            let offset = await setting.packages.offset(page: page)
            let snapshot = try await setting.enginePackages.coordinator.snapshot
            return { _ in try rows(per: 1) { [try snapshot.packagesBySize(offset: offset)] } }
        }
    }

    private static func rows(
        per count: Int? = nil, isOrdered: Bool = true, _ body: () throws -> [[Package]]
    ) rethrows -> Measurement {
        try Workload.packageRows(per: count, isOrdered: isOrdered, \.checksum, body)
    }
}
