@testable import Graph

/// Seven versions of one program, of which each can do a change of the model in its own words.
enum Evolving {
    enum V1: SchemaVersion {
        static let entities: [any Entity.Type] = [Author.self, Book.self]
        @Entity struct Author {
            var name: String
            var age: Int8
            @Relationship(inverse: \Book.author) var books: ToMany<Book> = []
        }

        @Entity struct Book {
            var title: String
            var isbn: Int32
            var author: ToOne<Author> = nil
        }
    }

    /// A property with a default, and an index.
    enum V2: SchemaVersion {
        static let entities: [any Entity.Type] = [Author.self, Book.self]
        @Entity struct Author {
            var name: String
            var age: Int8
            @Relationship(inverse: \Book.author) var books: ToMany<Book> = []
        }

        @Entity struct Book {
            @Indexed var title: String
            var isbn: Int32
            var pages = 100
            var author: ToOne<Author> = nil
        }
    }

    /// Other names, another index and another rule.
    enum V3: SchemaVersion {
        static let entities: [any Entity.Type] = [Writer.self, Book.self]
        @Entity(originalName: "Author") struct Writer {
            @Indexed @Attribute(originalName: "name") var fullName: String
            var age: Int8
            @Relationship(.cascade, inverse: \Book.writer) var books: ToMany<Book> = []
        }

        @Entity(indexed: [["title", "pages"]]) struct Book {
            var title: String
            var isbn: Int32
            var pages = 100
            @Relationship(originalName: "author") var writer: ToOne<Writer> = nil
        }
    }

    /// Unique values.
    enum V4: SchemaVersion {
        static let entities: [any Entity.Type] = [Writer.self, Book.self]
        @Entity(originalName: "Author") struct Writer {
            @Indexed @Attribute(originalName: "name") var fullName: String
            var age: Int8
            @Relationship(.cascade, inverse: \Book.writer) var books: ToMany<Book> = []
        }

        @Entity(unique: [["title", "isbn"]]) struct Book {
            var title: String
            @Unique var isbn: Int32
            var pages = 100
            @Relationship(originalName: "author") var writer: ToOne<Writer> = nil
        }
    }

    /// A number that is a text, an order, and another order of everything: by a step of a plan.
    enum V5: SchemaVersion {
        static let entities: [any Entity.Type] = [Book.self, Writer.self]
        @Entity(originalName: "Author") struct Writer {
            @Relationship(.cascade, inverse: \Book.writer, ordered: true) var books: ToMany<Book> = []
            @Indexed @Attribute(originalName: "name") var fullName: String
            var age: Int
        }

        @Entity(unique: [["title", "isbn"]]) struct Book {
            @Relationship(originalName: "author") var writer: ToOne<Writer> = nil
            @Unique var isbn: Int64
            var title: String
            var length: String
        }
    }

    /// An entity more, a property less.
    enum V6: SchemaVersion {
        static let entities: [any Entity.Type] = [Shelf.self, Book.self, Writer.self]
        @Entity struct Shelf {
            var name: String
            @Relationship(inverse: \Book.shelves) var books: ToMany<Book> = []
        }

        @Entity(originalName: "Author") struct Writer {
            @Relationship(.cascade, inverse: \Book.writer, ordered: true) var books: ToMany<Book> = []
            @Attribute(originalName: "name") var fullName: String
        }

        @Entity struct Book {
            @Relationship(originalName: "author") var writer: ToOne<Writer> = nil
            @Unique var isbn: Int64
            @Attribute(originalName: "title") var heading: String
            var length: String
            @Relationship(ordered: true) var shelves: ToMany<Shelf> = []
        }
    }

    /// The same schema: only a step tells the two apart.
    enum V7: SchemaVersion {
        static let entities = V6.entities
    }

    static let versions: [EvolvingVersion] = [
        EvolvingVersion(
            V1.self, author: \V1.Book.author, books: \V1.Author.books, name: \V1.Author.name, title: \V1.Book.title,
            newAuthor: { V1.Author(name: $0, age: 1) }, newBook: { V1.Book(title: $0, isbn: Int32($1)) },
            isbn: { Int($0.isbn) }),
        EvolvingVersion(
            V2.self, author: \V2.Book.author, books: \V2.Author.books, name: \V2.Author.name, title: \V2.Book.title,
            newAuthor: { V2.Author(name: $0, age: 1) }, newBook: { V2.Book(title: $0, isbn: Int32($1)) },
            isbn: { Int($0.isbn) }, pages: { "\($0.pages)" }),
        EvolvingVersion(
            V3.self, author: \V3.Book.writer, books: \V3.Writer.books, name: \V3.Writer.fullName,
            title: \V3.Book.title, newAuthor: { V3.Writer(fullName: $0, age: 1) },
            newBook: { V3.Book(title: $0, isbn: Int32($1)) }, isbn: { Int($0.isbn) }, pages: { "\($0.pages)" },
            cascades: true),
        EvolvingVersion(
            V4.self, author: \V4.Book.writer, books: \V4.Writer.books, name: \V4.Writer.fullName,
            title: \V4.Book.title, newAuthor: { V4.Writer(fullName: $0, age: 1) },
            newBook: { V4.Book(title: $0, isbn: Int32($1)) }, isbn: { Int($0.isbn) }, pages: { "\($0.pages)" },
            cascades: true),
        EvolvingVersion(
            V5.self, author: \V5.Book.writer, books: \V5.Writer.books, name: \V5.Writer.fullName,
            title: \V5.Book.title, newAuthor: { V5.Writer(fullName: $0, age: 1) },
            newBook: { V5.Book(isbn: Int64($1), title: $0, length: "100") }, isbn: { Int($0.isbn) },
            pages: { $0.length }, cascades: true, isOrdered: true, steps: [toV5]),
        sixth(V6.self, steps: [toV5, toV6]),
        sixth(V7.self, steps: [toV5, toV6, toV7]),
    ]

    private static func sixth(_ type: any SchemaVersion.Type, steps: [MigrationStep]) -> EvolvingVersion {
        EvolvingVersion(
            type, author: \V6.Book.writer, books: \V6.Writer.books, name: \V6.Writer.fullName,
            title: \V6.Book.heading, newAuthor: { V6.Writer(fullName: $0) },
            newBook: { V6.Book(isbn: Int64($1), heading: $0, length: "100") }, isbn: { Int($0.isbn) },
            pages: { $0.length }, cascades: true, isOrdered: true, steps: steps)
    }

    private static let toV5 = MigrationStep.custom(from: V4.self, to: V5.self) { old, new in
        for id in try old.fetchIDs(V4.Book.self) {
            guard let pages = old.value(for: id)?.pages else { continue }
            new[id.migrated(to: V5.Book.self)]?.length = "\(pages)"
        }
    }

    /// What follows from the two schemas is enough, but for a name that is another one.
    private static let toV6 = MigrationStep.custom(from: V5.self, to: V6.self) { _, _ in }

    /// Shows if it runs twice, or not at all.
    private static let toV7 = MigrationStep.custom(from: V6.self, to: V7.self) { _, new in
        for book in try new.fetch(V6.Book.self) { book.length += " p." }
    }
}

/// One change of the model.
enum EvolvingChange: Sendable {
    case insertAuthor(name: String)
    case insertBook(title: String, isbn: Int, author: Int?)
    case rename(author: Int, name: String)
    case retitle(book: Int, title: String)
    case move(book: Int, author: Int?)
    /// To the first place, where there is an order.
    case promote(book: Int)
    case deleteAuthor(Int)
    case deleteBook(Int)
}

/// What a version of the program does and sees.
struct EvolvingVersion: Sendable {
    let type: any SchemaVersion.Type
    let steps: [MigrationStep]
    /// Whether an author's books go with it.
    let cascades: Bool
    let isOrdered: Bool
    let hasPages: Bool
    let perform: @Sendable (isolated Context, EvolvingChange, EvolvingState) throws -> Void
    let read: @Sendable (Snapshot) throws -> EvolvingState

    init<Author: Entity, Book: Entity>(
        _ type: any SchemaVersion.Type,
        author: any WritableKeyPath<Book, ToOne<Author>> & Sendable,
        books: any WritableKeyPath<Author, ToMany<Book>> & Sendable,
        name: any WritableKeyPath<Author, String> & Sendable,
        title: any WritableKeyPath<Book, String> & Sendable,
        newAuthor: @escaping @Sendable (String) -> Author,
        newBook: @escaping @Sendable (String, Int) -> Book,
        isbn: @escaping @Sendable (Book) -> Int,
        pages: (@Sendable (Book) -> String)? = nil,
        cascades: Bool = false,
        isOrdered: Bool = false,
        steps: [MigrationStep] = []
    ) {
        (self.type, self.steps, self.cascades, self.isOrdered) = (type, steps, cascades, isOrdered)
        hasPages = pages != nil
        let authorPath = author
        perform = { context, change, state in
            func author(_ number: Int) -> PersistentID<Author> { PersistentID(row: state.authors.at(number) ?? 0) }
            func book(_ number: Int) -> PersistentID<Book> { PersistentID(row: state.books.at(number) ?? 0) }
            switch change {
            case .insertAuthor(let text):
                context.insert(newAuthor(text))
            case .insertBook(let text, let isbn, let number):
                let book = context.insert(newBook(text, isbn))
                if let number { book[dynamicMember: authorPath] = context[author(number)] }
            case .rename(let number, let text):
                context[author(number)]?[dynamicMember: name] = text
            case .retitle(let number, let text):
                context[book(number)]?[dynamicMember: title] = text
            case .move(let number, let target):
                context[book(number)]?[dynamicMember: authorPath] = target.flatMap { context[author($0)] }
            case .promote(let number):
                guard isOrdered, let book = context[book(number)], let author = book[dynamicMember: authorPath] else {
                    return
                }
                author[dynamicMember: books].insert(book, at: 0)
            case .deleteAuthor(let number):
                context[author(number)]?.delete()
            case .deleteBook(let number):
                context[book(number)]?.delete()
            }
        }
        read = { snapshot in
            var state = EvolvingState()
            state.commit = snapshot.commit.number
            try snapshot.forEachValue(Author.self) { id, value in
                state.authors[id.row] = EvolvingState.Author(name: value[keyPath: name])
                state.versions["a\(id.row)"] = snapshot.version(of: id)?.number
                let members = try snapshot.related(books, of: id).map(\.row)
                if !members.isEmpty { state.members[id.row] = isOrdered ? members : members.sorted() }
            }
            try snapshot.forEachValue(Book.self) { id, value in
                state.books[id.row] = EvolvingState.Book(
                    title: value[keyPath: title], isbn: isbn(value), pages: pages?(value),
                    author: value[keyPath: authorPath].id?.row)
                state.versions["b\(id.row)"] = snapshot.version(of: id)?.number
            }
            return state
        }
    }

    func schema() throws(GraphError) -> Schema {
        var entities: [EntityDescription] = []
        for type in type.entities { entities.append(Self.description(of: type)) }
        return try Schema(entities)
    }

    private static func description<E: Entity>(of type: E.Type) -> EntityDescription { EntityDescription(type) }

    var plan: MigrationPlan? {
        switch steps.count {
        case 0: nil
        case 1: MigrationPlan(steps[0])
        case 2: MigrationPlan(steps[0], steps[1])
        default: MigrationPlan(steps[0], steps[1], steps[2])
        }
    }
}

/// What is in a store of any of the versions.
struct EvolvingState: Equatable, Sendable {
    struct Author: Equatable, Sendable {
        var name: String
    }

    struct Book: Equatable, Sendable {
        var title: String
        var isbn: Int
        /// nil before the program had them.
        var pages: String?
        var author: RowNumber?
    }

    var commit: UInt64 = 0
    var authors: [RowNumber: Author] = [:]
    var books: [RowNumber: Book] = [:]
    /// By author with books; in their order if there is one, and otherwise by number.
    var members: [RowNumber: [RowNumber]] = [:]
    /// Only of what was read.
    var versions: [String: UInt64] = [:]
    var nextAuthor: RowNumber = 1
    var nextBook: RowNumber = 1

    /// What the model of a commit has to do with what was read: all but numbers that count.
    func hasSameContents(as other: EvolvingState) -> Bool {
        authors == other.authors && books == other.books && members == other.members
    }

    mutating func apply(_ change: EvolvingChange, _ version: EvolvingVersion, choosingFrom start: EvolvingState) {
        func author(_ number: Int) -> RowNumber? {
            start.authors.at(number).flatMap { authors[$0] == nil ? nil : $0 }
        }
        func book(_ number: Int) -> RowNumber? { start.books.at(number).flatMap { books[$0] == nil ? nil : $0 } }
        switch change {
        case .insertAuthor(let name):
            authors[nextAuthor] = Author(name: name)
            nextAuthor += 1
        case .insertBook(let title, let isbn, let number):
            books[nextBook] = Book(title: title, isbn: isbn, pages: version.hasPages ? "100" : nil, author: nil)
            move(nextBook, to: number.flatMap(author), version)
            nextBook += 1
        case .rename(let number, let name):
            if let row = author(number) { authors[row]?.name = name }
        case .retitle(let number, let title):
            if let row = book(number) { books[row]?.title = title }
        case .move(let number, let target):
            if let row = book(number) { move(row, to: target.flatMap(author), version) }
        case .promote(let number):
            guard version.isOrdered, let row = book(number), let author = books[row]?.author else { return }
            members[author] = [row] + (members[author] ?? []).filter { $0 != row }
        case .deleteAuthor(let number):
            guard let row = author(number) else { return }
            for book in members[row] ?? [] {
                if version.cascades { books[book] = nil } else { books[book]?.author = nil }
            }
            (authors[row], members[row]) = (nil, nil)
        case .deleteBook(let number):
            guard let row = book(number) else { return }
            move(row, to: nil, version)
            books[row] = nil
        }
    }

    private mutating func move(_ book: RowNumber, to author: RowNumber?, _ version: EvolvingVersion) {
        guard books[book]?.author != author else { return }
        if let old = books[book]?.author {
            members[old]?.removeAll { $0 == book }
            if members[old]?.isEmpty == true { members[old] = nil }
        }
        books[book]?.author = author
        guard let author else { return }
        members[author, default: []].append(book)
        if !version.isOrdered { members[author]?.sort() }
    }

    /// What another version makes of it.
    mutating func evolve(from old: Int, to new: Int) {
        let steps = Evolving.versions[old].steps.count..<Evolving.versions[new].steps.count
        // The first step and the last one change books.
        let (changesFirst, changesLast) = (steps.contains(0), steps.contains(2))
        if changesFirst || changesLast { versions = [:] }
        for row in books.keys {
            if books[row]?.pages == nil, Evolving.versions[new].hasPages { books[row]?.pages = "100" }
            if changesLast { books[row]?.pages? += " p." }
        }
    }
}

extension Dictionary where Key == RowNumber {
    /// One of the keys, whichever number it is.
    fileprivate func at(_ number: Int) -> RowNumber? {
        isEmpty ? nil : keys.sorted()[number % count]
    }
}
