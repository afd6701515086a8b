extension Workload {
    static let linkWorkloads: [Workload] = [
        Workload(
            "insert_links", "people and tags in the store linked, many to many, in transactions of 10,000 links",
            unit: .seconds(per: "link"), targets: [.timesSQLite(3)],
            sqlite: { setting in
                let data = setting.data
                let links = await setting.tags
                return { _ in
                    let peer = try SQLiteTagPeer(tagNames: links.names)
                    try peer.insertPeople(data)
                    let stopwatch = Stopwatch()
                    try peer.linkPeople(links)
                    return Measurement(amount: stopwatch.seconds, count: links.count, answer: try peer.answer())
                }
            },
            native: { setting in
                let data = setting.data
                let links = await setting.tags
                return { _ in
                    let peer = NativeTagPeer(tagNames: links.names)
                    peer.insertPeople(data)
                    let stopwatch = Stopwatch()
                    peer.linkPeople(links)
                    return Measurement(amount: stopwatch.seconds, count: links.count, answer: peer.answer)
                }
            }),
        Workload(
            "insert_with_links", "people inserted with four tags each, in transactions of 10,000 people",
            unit: .seconds(per: "row"), targets: [.timesSQLite(4)],
            sqlite: { setting in
                let data = setting.data
                let links = await setting.tags
                return { _ in
                    let peer = try SQLiteTagPeer(tagNames: links.names)
                    let stopwatch = Stopwatch()
                    try peer.insertPeople(data, links: links)
                    return Measurement(amount: stopwatch.seconds, count: data.rows, answer: try peer.answer())
                }
            },
            native: { setting in
                let data = setting.data
                let links = await setting.tags
                return { _ in
                    let peer = NativeTagPeer(tagNames: links.names)
                    let stopwatch = Stopwatch()
                    peer.insertPeople(data, links: links)
                    return Measurement(amount: stopwatch.seconds, count: data.rows, answer: peer.answer)
                }
            }),
        Workload(
            "traverse_links", "the sum of the ages of the people with random tags, the people as values",
            unit: .seconds(per: "link"), targets: [.timesSQLite(20)], isReading: true, sqlite: sqliteAges,
            native: nativeAges),
        Workload(
            "traverse_links_objects", "the same, the people as managed objects", unit: .seconds(per: "link"),
            targets: [.timesSQLite(3)], isReading: true, sqlite: sqliteAges, native: nativeAges),
    ]

    private static let sqliteAges: Contender = { setting in
        let tags = await setting.tags.visitedTags.map { $0 + 1 }
        let peer = try await setting.sqliteTagStore
        return { _ in try agesTimed { try peer.ages(tags: tags) } }
    }

    private static let nativeAges: Contender = { setting in
        let tags = await setting.tags.visitedTags
        let peer = await setting.nativeTagStore
        return { _ in
            agesTimed {
                tags.map { id in
                    let people = peer.tags[id]?.people ?? []
                    return (people.reduce(0) { $0 + $1.age }, people.count)
                }
            }
        }
    }
}
