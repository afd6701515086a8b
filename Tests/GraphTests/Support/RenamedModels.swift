@testable import Graph

/// A model before it is renamed.
enum Before {
    struct Author: Entity {
        var name: String
        var email: String?
        var books: ToMany<Book> = []

        static let schema = EntitySchema<Author>("Author") {
            $0.attribute("name", \.name)
            $0.attribute("email", \.email, unique: true)
            $0.toMany("books", \.books, inverse: \Book.author, deleteRule: .cascade)
        }
    }

    struct Book: Entity {
        var title: String
        var author: ToOne<Author> = nil

        static let schema = EntitySchema<Book>("Book") {
            $0.attribute("title", \.title)
            $0.toOne("author", \.author)
        }
    }

    static func schema() throws(GraphError) -> Schema {
        try Schema([EntityDescription(Author.self), EntityDescription(Book.self)])
    }
}

/// The model with another name for one entity and most properties, as a program has it that knows the old names.
enum Renamed {
    struct Writer: Entity {
        var fullName: String
        var email: String?
        var works: ToMany<Book> = []

        static let schema = EntitySchema<Writer>("Writer", originalName: "Author") {
            $0.attribute("fullName", \.fullName, originalName: "name")
            $0.attribute("email", \.email, unique: true)
            $0.toMany("works", \.works, inverse: \Book.writer, deleteRule: .cascade, originalName: "books")
        }
    }

    struct Book: Entity {
        var title: String
        var writer: ToOne<Writer> = nil

        static let schema = EntitySchema<Book>("Book") {
            $0.attribute("title", \.title)
            $0.toOne("writer", \.writer, originalName: "author")
        }
    }

    static func schema() throws(GraphError) -> Schema {
        try Schema([EntityDescription(Writer.self), EntityDescription(Book.self)])
    }
}

/// The model once the old names are forgotten.
enum After {
    struct Writer: Entity {
        var fullName: String
        var email: String?
        var works: ToMany<Book> = []

        static let schema = EntitySchema<Writer>("Writer") {
            $0.attribute("fullName", \.fullName)
            $0.attribute("email", \.email, unique: true)
            $0.toMany("works", \.works, inverse: \Book.writer, deleteRule: .cascade)
        }
    }

    struct Book: Entity {
        var title: String
        var writer: ToOne<Writer> = nil

        static let schema = EntitySchema<Book>("Book") {
            $0.attribute("title", \.title)
            $0.toOne("writer", \.writer)
        }
    }

    static func schema() throws(GraphError) -> Schema {
        try Schema([EntityDescription(Writer.self), EntityDescription(Book.self)])
    }
}

extension Coordinator {
    static func open(_ schema: Schema, on disk: any StoreFileSystem) async throws(GraphError) -> Coordinator {
        try await Coordinator(schema, path: JournalFixture.path, fileSystem: disk, options: JournalFixture.options())
    }
}
