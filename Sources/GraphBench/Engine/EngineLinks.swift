import Graph

/// The engine's side of ``Workload/linkWorkloads``.
enum EngineLinks {
    static let contenders: [String: Workload.Contender] = [
        "insert_links": { setting in
            let data = setting.data
            let links = await setting.tags
            return { _ in
                var store = try await EngineTagStore(tagNames: links.names)
                try await store.insertPeople(data)
                let seconds = try await store.context.link(store.people, with: store.tags, links)
                return Measurement(amount: seconds, count: links.count, answer: try store.answer())
            }
        },
        "insert_with_links": { setting in
            let data = setting.data
            let links = await setting.tags
            return { _ in
                var store = try await EngineTagStore(tagNames: links.names)
                let stopwatch = Stopwatch()
                try await store.insertPeople(data, links: links)
                return Measurement(amount: stopwatch.seconds, count: data.rows, answer: try store.answer())
            }
        },
        "traverse_links": { setting in
            let store = try await setting.engineTagStore
            let ids = await setting.tags.visitedTags.map { store.tags[$0] }
            return { _ in await store.context.agesOfValues(with: ids) }
        },
        "traverse_links_objects": { setting in
            let store = try await setting.engineTagStore
            let ids = await setting.tags.visitedTags.map { store.tags[$0] }
            return { _ in await store.context.agesOfObjects(with: ids) }
        },
    ]
}

extension Context {
    /// Links people with their tags. Each transaction looks up every tag at its beginning, and each person once.
    func link(_ people: [TaggedPerson.ID], with tags: [Tag.ID], _ links: TagData) async throws -> Double {
        let stopwatch = Stopwatch()
        for batch in links.batches {
            try await transaction { context in
                let tags = try tags.map { try context.object(for: $0) }
                for index in batch {
                    let person = try context.object(for: people[index])
                    for tag in links.tags(of: index) { person.tags.insert(tags[tag]) }
                }
            }
        }
        return stopwatch.seconds
    }

    /// Adds up the ages of the people who have tags, who become objects of this context.
    func agesOfObjects(with ids: [Tag.ID]) -> Measurement {
        Workload.agesTimed {
            ids.map { id in
                var (sum, count) = (0, 0)
                guard let tag = self[id] else { return (sum, count) }
                for person in tag.people {
                    count += 1
                    sum += person.age
                }
                return (sum, count)
            }
        }
    }

    /// Adds up the ages of the people who have tags, of whom no objects are made.
    func agesOfValues(with ids: [Tag.ID]) -> Measurement {
        Workload.agesTimed {
            ids.map { id in
                var (sum, count) = (0, 0)
                self[id]?.people.forEachValue {
                    count += 1
                    sum += $0.age
                }
                return (sum, count)
            }
        }
    }
}
