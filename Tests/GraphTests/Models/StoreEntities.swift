@testable import Graph

/// The entities of the random programs: every kind of relationship, at both ends every rule that makes sense there, and
/// every policy of uniqueness. `StoreShape` says the same for the model.
enum Library {
    struct Author: StoreEntity {
        var name = ""
        var email: String?
        var mentor: ToOne<Author> = nil
        var rival: ToOne<Author> = nil
        var pupils: ToMany<Author> = []
        var books: ToMany<Book> = []
        var friends: ToMany<Author> = []

        static let schema = EntitySchema<Author>("Author") {
            $0.attribute("name", \.name)
            $0.attribute("email", \.email, unique: true, onConflict: .upsert)
            $0.toOne("mentor", \.mentor)
            $0.toOne("rival", \.rival)
            $0.toMany("pupils", \.pupils, inverse: \Author.mentor)
            $0.toMany("books", \.books, inverse: \Book.author, deleteRule: .cascade)
            $0.toMany("friends", \.friends, inverse: \Author.friends)
            $0.unique("name", "rival", onConflict: .keepExisting)
        }

        func validate() throws {
            if name == "0" { throw ValidationError(\Self.name, "must not be 0") }
        }
    }

    /// Calls values equal that are stored differently.
    struct Grade: Codable, Equatable {
        var level = 0
        var shade = 0

        init(_ number: Int) { (level, shade) = (number / 2, number % 2) }
        var number: Int { 2 * level + shade }
        static func == (lhs: Grade, rhs: Grade) -> Bool { lhs.level == rhs.level }
    }

    struct Book: StoreEntity {
        var title = ""
        var isbn: Int?
        var grade = Grade(0)
        var author: ToOne<Author> = nil
        var cover: ToOne<Cover> = nil
        var chapters: ToMany<Chapter> = []
        var tags: ToMany<Tag> = []
        var shelves: ToMany<Shelf> = []

        static let schema = EntitySchema<Book>("Book") {
            $0.attribute("title", \.title)
            $0.attribute("isbn", \.isbn, unique: true, onConflict: .replace)
            $0.attribute("grade", \.grade)
            $0.toOne("author", \.author)
            $0.toOne("cover", \.cover, inverse: \Cover.book, deleteRule: .cascade)
            $0.toMany("chapters", \.chapters, inverse: \Chapter.book, deleteRule: .cascade, ordered: true, maximum: 4)
            $0.toMany("tags", \.tags, inverse: \Tag.books, ordered: true)
            $0.toMany("shelves", \.shelves, inverse: \Shelf.items, ordered: true)
            $0.unique("title", "author", onConflict: .keepExisting)
        }

        mutating func willSave() {
            if title == "1" { title = "2" }
        }
    }

    struct Chapter: StoreEntity {
        var title = ""
        var mark: Int?
        var book: ToOne<Book> = nil

        static let schema = EntitySchema<Chapter>("Chapter") {
            $0.attribute("title", \.title)
            $0.attribute("mark", \.mark, unique: true)
            $0.toOne("book", \.book, minimum: 1)
            $0.index("book", "title")
        }
    }

    struct Cover: StoreEntity {
        var color = 0
        var code: Int?
        var book: ToOne<Book> = nil

        static let schema = EntitySchema<Cover>("Cover") {
            $0.attribute("color", \.color, indexed: true)
            $0.attribute("code", \.code, unique: true, onConflict: .upsert)
            $0.toOne("book", \.book, deleteRule: .deny)
        }

        struct IsBlank: Error {}

        func validate() throws {
            if color == 5, book.id == nil { throw IsBlank() }
        }
    }

    struct Tag: StoreEntity {
        var label = 0
        var parent: ToOne<Tag> = nil
        var books: ToMany<Book> = []
        var children: ToMany<Tag> = []
        var implies: ToMany<Tag> = []
        var impliedBy: ToMany<Tag> = []

        static let schema = EntitySchema<Tag>("Tag") {
            $0.attribute("label", \.label, unique: true, onConflict: .keepExisting)
            $0.toOne("parent", \.parent)
            $0.toMany("books", \.books, deleteRule: .deny, maximum: 3)
            $0.toMany("children", \.children, inverse: \Tag.parent, deleteRule: .deny, ordered: true)
            $0.toMany("implies", \.implies, inverse: \Tag.impliedBy, ordered: true)
            $0.toMany("impliedBy", \.impliedBy, deleteRule: .cascade)
        }

        mutating func willSave() {
            label &= ~1
        }
    }

    struct Shelf: StoreEntity {
        var name = ""
        var code: Int?
        var owner: ToOne<Author> = nil
        var pinned: ToOne<Book> = nil
        var cover: ToOne<Cover> = nil
        var left: ToOne<Shelf> = nil
        var right: ToOne<Shelf> = nil
        var room: ToOne<Room> = nil
        var items: ToMany<Book> = []
        var near: ToMany<Shelf> = []

        static let schema = EntitySchema<Shelf>("Shelf") {
            $0.attribute("name", \.name)
            $0.attribute("code", \.code, unique: true, onConflict: .replace)
            $0.toOne("owner", \.owner, minimum: 1)
            $0.toOne("pinned", \.pinned, deleteRule: .deny)
            $0.toOne("cover", \.cover, deleteRule: .cascade)
            $0.toOne("left", \.left, inverse: \Shelf.right)
            $0.toOne("right", \.right)
            $0.toOne("room", \.room)
            $0.toMany("items", \.items, deleteRule: .cascade, ordered: true, minimum: 1)
            $0.toMany("near", \.near, inverse: \Shelf.near, ordered: true)
        }

        mutating func willSave() {
            if name == "2", pinned.id == nil { name = "3" }
        }
    }

    struct Room: StoreEntity {
        var number = 0
        var shelves: ToMany<Shelf> = []

        static let schema = EntitySchema<Room>("Room") {
            $0.attribute("number", \.number)
            $0.toMany("shelves", \.shelves, inverse: \Shelf.room, minimum: 1)
        }
    }
}

/// An entity as the programs write and read it: attributes as small numbers, of which 0 stands for nil where there is
/// one, and relationships by their place in `StoreShape`.
protocol StoreEntity: Entity {
    init()
    static var attributes: [AttributeAccess<Self>] { get }
    static var references: [ReferenceAccess<Self>] { get }
    static var collections: [CollectionAccess<Self>] { get }
    /// All attributes, in order.
    var numbers: [Int] { get }
    /// All references to one object, in order.
    var targets: [RowNumber] { get }
}

extension Library.Author {
    static let attributes: [AttributeAccess<Self>] = [
        AttributeAccess(\.name) { String($0) }, AttributeAccess(\.email) { $0 == 0 ? nil : String($0) },
    ]
    static let references = [ReferenceAccess(\Self.mentor), ReferenceAccess(\Self.rival)]
    static let collections = [
        CollectionAccess(\Self.pupils), CollectionAccess(\Self.books), CollectionAccess(\Self.friends),
    ]
    var numbers: [Int] { [Int(name) ?? -1, email.map { Int($0) ?? -1 } ?? 0] }
    var targets: [RowNumber] { [mentor.row, rival.row] }
}

extension Library.Book {
    static let attributes: [AttributeAccess<Self>] = [
        AttributeAccess(\.title) { String($0) }, AttributeAccess(\.isbn) { $0 == 0 ? nil : $0 },
        AttributeAccess(\.grade) { Library.Grade($0) },
    ]
    static let references = [ReferenceAccess(\Self.author), ReferenceAccess(\Self.cover)]
    static let collections = [
        CollectionAccess(\Self.chapters), CollectionAccess(\Self.tags), CollectionAccess(\Self.shelves),
    ]
    var numbers: [Int] { [Int(title) ?? -1, isbn ?? 0, grade.number] }
    var targets: [RowNumber] { [author.row, cover.row] }
}

extension Library.Chapter {
    static let attributes: [AttributeAccess<Self>] = [
        AttributeAccess(\.title) { String($0) }, AttributeAccess(\.mark) { $0 == 0 ? nil : $0 },
    ]
    static let references = [ReferenceAccess(\Self.book)]
    static let collections: [CollectionAccess<Self>] = []
    var numbers: [Int] { [Int(title) ?? -1, mark ?? 0] }
    var targets: [RowNumber] { [book.row] }
}

extension Library.Cover {
    static let attributes: [AttributeAccess<Self>] = [
        AttributeAccess(\.color) { $0 }, AttributeAccess(\.code) { $0 == 0 ? nil : $0 },
    ]
    static let references = [ReferenceAccess(\Self.book)]
    static let collections: [CollectionAccess<Self>] = []
    var numbers: [Int] { [color, code ?? 0] }
    var targets: [RowNumber] { [book.row] }
}

extension Library.Tag {
    static let attributes: [AttributeAccess<Self>] = [AttributeAccess(\.label) { $0 }]
    static let references = [ReferenceAccess(\Self.parent)]
    static let collections = [
        CollectionAccess(\Self.books), CollectionAccess(\Self.children), CollectionAccess(\Self.implies),
        CollectionAccess(\Self.impliedBy),
    ]
    var numbers: [Int] { [label] }
    var targets: [RowNumber] { [parent.row] }
}

extension Library.Shelf {
    static let attributes: [AttributeAccess<Self>] = [
        AttributeAccess(\.name) { String($0) }, AttributeAccess(\.code) { $0 == 0 ? nil : $0 },
    ]
    static let references = [
        ReferenceAccess(\Self.owner), ReferenceAccess(\Self.pinned), ReferenceAccess(\Self.cover),
        ReferenceAccess(\Self.left), ReferenceAccess(\Self.right), ReferenceAccess(\Self.room),
    ]
    static let collections = [CollectionAccess(\Self.items), CollectionAccess(\Self.near)]
    var numbers: [Int] { [Int(name) ?? -1, code ?? 0] }
    var targets: [RowNumber] { [owner.row, pinned.row, cover.row, left.row, right.row, room.row] }
}

extension Library.Room {
    static let attributes: [AttributeAccess<Self>] = [AttributeAccess(\.number) { $0 }]
    static let references: [ReferenceAccess<Self>] = []
    static let collections = [CollectionAccess(\Self.shelves)]
    var numbers: [Int] { [number] }
    var targets: [RowNumber] { [] }
}
