import Foundation

/// A person with tags, as a program without any engine would have it.
final class NativeTaggedPerson {
    let id: Int
    var name: String
    var email: String
    var age: Int
    var balance: Double
    var joined: Date
    var tags: [NativeTag] = []

    init(_ row: PersonRow, id: Int) {
        self.id = id
        name = row.name
        email = row.email
        age = row.age
        balance = row.balance
        joined = row.joined
    }

    /// Links both, unless they are already. Among a handful of tags a search of the array is the fastest.
    @inline(__always)
    func insert(_ tag: NativeTag) {
        if tags.contains(where: { $0 === tag }) { return }
        tags.append(tag)
        tag.people.append(self)
    }
}

/// A tag and the people who have it, which refer to each other: ``NativeTagPeer`` unties them.
final class NativeTag {
    let id: Int
    var name: String
    var people: [NativeTaggedPerson] = []

    init(id: Int, name: String) {
        self.id = id
        self.name = name
    }
}
