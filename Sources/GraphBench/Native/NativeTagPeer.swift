/// The people and their tags in plain classes, dictionaries and arrays.
final class NativeTagPeer {
    private(set) var tags: [Int: NativeTag] = [:]
    private(set) var people: [Int: NativeTaggedPerson] = [:]

    /// The tags without anybody.
    init(tagNames: [String]) {
        for (id, name) in tagNames.enumerated() {
            tags[id] = NativeTag(id: id, name: name)
        }
    }

    deinit {
        for tag in tags.values { tag.people = [] }
    }

    /// Inserts all people, with their links if there are any.
    func insertPeople(_ data: PeopleData, links: TagData? = nil) {
        let tags = allTags
        for (id, row) in data.people.enumerated() {
            let person = NativeTaggedPerson(row, id: id)
            people[id] = person
            guard let links else { continue }
            for tag in links.tags(of: id) { person.insert(tags[tag]) }
        }
    }

    /// Links people who are there already, batch by batch as the others do.
    func linkPeople(_ links: TagData) {
        for batch in links.batches {
            let tags = allTags
            for id in batch {
                guard let person = people[id] else { continue }
                for tag in links.tags(of: id) { person.insert(tags[tag]) }
            }
        }
    }

    /// The people and all links.
    var answer: UInt64 {
        let ages = people.values.reduce(0) { $0 + $1.age }
        let byPerson: UInt64 = people.values.reduce(0) { sum, person in
            person.tags.reduce(sum) { $0 &+ Checksum.link(person: person.id, tag: $1.id) }
        }
        let byTag: UInt64 = tags.values.reduce(0) { sum, tag in
            tag.people.reduce(sum) { $0 &+ Checksum.link(person: $1.id, tag: tag.id) }
        }
        return Checksum.tagged(
            people: Checksum.people(count: people.count, ages: ages), byPerson: byPerson, byTag: byTag)
    }

    private var allTags: [NativeTag] { (0..<tags.count).compactMap { tags[$0] } }
}
