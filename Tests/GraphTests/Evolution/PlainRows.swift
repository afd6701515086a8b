import Graph

/// The rows of a snapshot as lines of JSON: the commit, and then one line for each row, by entity and number.
///
///     {"commit":3}
///     {"entity":"Book","row":1,"version":2,"attributes":{"title":"Emma"},"links":{"author":1,"tags":[1,3]}}
///
/// Properties are in the order of their names, members of ordered relationships in theirs and others in that of their numbers.
struct PlainRows {
    private(set) var lines: [String]

    init(_ snapshot: Snapshot) {
        lines = [PlainText.object([("commit", snapshot.commit.number)])]
    }

    mutating func append<E: Entity>(
        _ type: E.Type, of snapshot: Snapshot, _ members: [any PlainMembers<E>] = []
    ) throws {
        try snapshot.forEachValue(E.self) { id, value in
            var attributes: [(String, any PlainValue)] = []
            var links: [(String, any PlainValue)] = []
            for case (let name?, let property as any PlainValue) in Mirror(reflecting: value).children {
                if property is any PlainLink {
                    links.append((name, property))
                } else {
                    attributes.append((name, property))
                }
            }
            for members in members { links.append((members.name, try members.rows(of: id, in: snapshot))) }
            let version = snapshot.version(of: id)?.number ?? 0
            lines.append(
                "{\"entity\":\(E.schema.name.plain),\"row\":\(PlainText.row(id)),\"version\":\(version),"
                    + "\"attributes\":\(PlainText.object(attributes)),\"links\":\(PlainText.object(links))}")
        }
    }

    var text: String { lines.joined(separator: "\n") + "\n" }
}

private protocol PlainLink {}

extension ToOne: PlainLink {}

/// A to-many relationship of an entity.
protocol PlainMembers<Owner> {
    associatedtype Owner: Entity

    var name: String { get }
    func rows(of owner: PersistentID<Owner>, in snapshot: Snapshot) throws -> [UInt64]
}

struct Members<Owner: Entity, Target: Entity>: PlainMembers {
    let name: String
    let keyPath: any KeyPath<Owner, ToMany<Target>> & Sendable
    let isOrdered: Bool

    init(_ name: String, _ keyPath: any KeyPath<Owner, ToMany<Target>> & Sendable, isOrdered: Bool = false) {
        (self.name, self.keyPath, self.isOrdered) = (name, keyPath, isOrdered)
    }

    func rows(of owner: PersistentID<Owner>, in snapshot: Snapshot) throws -> [UInt64] {
        let rows = try snapshot.related(keyPath, of: owner).map { PlainText.row($0) }
        return isOrdered ? rows : rows.sorted()
    }
}

extension LibraryV1 {
    static func rows(of snapshot: Snapshot) throws -> [String] {
        var rows = PlainRows(snapshot)
        try rows.append(
            Author.self, of: snapshot,
            [
                Members("books", \Author.books), Members("translations", \Author.translations),
                Members("edited", \Author.edited),
                Members("students", \Author.students), Members("drafts", \Author.drafts),
            ])
        try rows.append(
            Book.self, of: snapshot,
            [
                Members("editors", \Book.editors, isOrdered: true),
                Members("chapters", \Book.chapters, isOrdered: true),
                Members("tags", \Book.tags), Members("wishedBy", \Book.wishedBy, isOrdered: true),
            ])
        try rows.append(Card.self, of: snapshot)
        try rows.append(Chapter.self, of: snapshot)
        try rows.append(Draft.self, of: snapshot)
        try rows.append(
            Publisher.self, of: snapshot,
            [Members("books", \Publisher.books, isOrdered: true), Members("imprints", \Publisher.imprints)]
        )
        try rows.append(Reader.self, of: snapshot, [Members("wishes", \Reader.wishes, isOrdered: true)])
        try rows.append(Shelf.self, of: snapshot, [Members("books", \Shelf.books)])
        try rows.append(
            Tag.self, of: snapshot,
            [Members("books", \Tag.books), Members("related", \Tag.related)])
        return rows.lines
    }

    static func wideRows(of snapshot: Snapshot) throws -> [String] {
        var rows = PlainRows(snapshot)
        try rows.append(Wide.self, of: snapshot)
        return rows.lines
    }
}
