@testable import Graph

/// A model before it is renamed.
enum Before {
    @Entity struct Author {
        var name: String
        @Unique var email: String?
        @Relationship(.cascade, inverse: \Book.author) var books: ToMany<Book> = []
    }

    @Entity struct Book {
        var title: String
        var author: ToOne<Author> = nil
    }

    static func schema() throws(GraphError) -> Schema {
        try Schema([EntityDescription(Author.self), EntityDescription(Book.self)])
    }
}

/// The model with another name for one entity and most properties, as a program has it that knows the old names.
enum Renamed {
    @Entity(originalName: "Author") struct Writer {
        @Attribute(originalName: "name") var fullName: String
        @Unique var email: String?
        @Relationship(.cascade, inverse: \Book.writer, originalName: "books") var works: ToMany<Book> = []
    }

    @Entity struct Book {
        var title: String
        @Relationship(originalName: "author") var writer: ToOne<Writer> = nil
    }

    static func schema() throws(GraphError) -> Schema {
        try Schema([EntityDescription(Writer.self), EntityDescription(Book.self)])
    }
}

/// The model once the old names are forgotten.
enum After {
    @Entity struct Writer {
        var fullName: String
        @Unique var email: String?
        @Relationship(.cascade, inverse: \Book.writer) var works: ToMany<Book> = []
    }

    @Entity struct Book {
        var title: String
        var writer: ToOne<Writer> = nil
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
