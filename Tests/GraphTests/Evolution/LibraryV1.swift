import Foundation
import Graph

/// The model of the store files in `Golden`, which `Golden/README.md` describes. It never changes: models of later versions
/// of a program stand beside it.
enum LibraryV1 {
    enum Role: String, CaseIterable, PlainRaw {
        case novelist
        case poet = "Poet"
        case translator = "übersetzer"
    }

    enum Rank: Int, CaseIterable, PlainRaw {
        case forgotten = -1
        case unknown
        case known
        case famous = 100
    }

    struct Address: Codable, Equatable, Sendable {
        var street: String
        var number: Int
        var position: [Double]
        var remark: String?
    }

    enum Contact: Codable, Equatable, Sendable {
        case none
        case email(String)
        case phone(country: Int, number: String)
    }

    @Entity(indexed: [["country", "name"]])
    struct Author {
        @Indexed var name: String
        var surname: String?
        var language: String?
        var email: String
        var country: String
        var born: Int16
        var awards: Int8
        var followers: UInt8
        var rating: Float
        var score: Int32
        var role: Role
        var rank: Rank
        var formerRank: Rank?
        var roleName: String
        var rankNumber: Int
        var motto: String
        var address: Address
        var secondAddress: Address?
        var contact: Contact
        var contacts: [Contact]?
        @Relationship(inverse: \Book.author) var books: ToMany<Book> = []
        @Relationship(inverse: \Book.translator) var translations: ToMany<Book> = []
        @Relationship(inverse: \Book.editors) var edited: ToMany<Book> = []
        var mentor: ToOne<Author> = nil
        @Relationship(inverse: \Self.mentor, maximum: 10) var students: ToMany<Author> = []
        @Relationship(.cascade, inverse: \Draft.author) var drafts: ToMany<Draft> = []
    }

    @Entity struct Book {
        @Unique var isbn: String
        var title: String
        var subtitle: String?
        var pages: Int32
        var stock: Int8
        var copies: UInt16
        var sold: UInt32?
        var weight: Float?
        var price: Decimal
        var discount: Decimal?
        var added: Date
        var published: Date?
        var cover: Data?
        var token: UUID
        var home: URL
        var link: URL?
        var keywords: [String]
        var marks: [Double?]
        var counts: [String: Int]
        var genres: Set<String>
        var isLent: Bool
        var isRare: Bool?
        var publisherName: String
        var author: ToOne<Author> = nil
        var translator: ToOne<Author> = nil
        @Relationship(ordered: true) var editors: ToMany<Author> = []
        @Relationship(.cascade, inverse: \Chapter.book, ordered: true) var chapters: ToMany<Chapter> = []
        @Relationship(inverse: \Tag.books, maximum: 5) var tags: ToMany<Tag> = []
        var publisher: ToOne<Publisher> = nil
        var sequel: ToOne<Book> = nil
        @Relationship(inverse: \Self.sequel) var prequel: ToOne<Book> = nil
        var shelf: ToOne<Shelf> = nil
        var draft: ToOne<Draft> = nil
        @Relationship(inverse: \Reader.wishes, ordered: true) var wishedBy: ToMany<Reader> = []
    }

    @Entity(unique: [["book", "number"]])
    struct Chapter {
        var number: Int
        var words: Int64
        var title: String
        var text: String?
        @Relationship(minimum: 1) var book: ToOne<Book> = nil
    }

    /// With a schema by hand, since `related` is its own inverse.
    struct Tag: Entity {
        var name: String
        var weight: Double
        var books: ToMany<Book> = []
        var related: ToMany<Tag> = []

        static let schema = EntitySchema<Tag>("Tag") {
            $0.attribute("name", \.name, unique: true, onConflict: .upsert)
            $0.attribute("weight", \.weight)
            $0.toMany("books", \.books)
            $0.toMany("related", \.related, inverse: \Tag.related)
        }
    }

    @Entity struct Publisher {
        var name: String
        var revenue: Double
        @Relationship(inverse: \Book.publisher, ordered: true) var books: ToMany<Book> = []
        var owner: ToOne<Publisher> = nil
        @Relationship(inverse: \Self.owner) var imprints: ToMany<Publisher> = []
    }

    @Entity struct Reader {
        var name: String
        var nickname: String?
        var age: UInt8
        @Relationship(ordered: true) var wishes: ToMany<Book> = []
        @Relationship(.cascade, inverse: \Card.reader) var card: ToOne<Card> = nil
    }

    @Entity struct Card {
        @Unique var number: Int64
        var expires: Date?
        @Relationship(minimum: 1) var reader: ToOne<Reader> = nil
    }

    @Entity struct Shelf {
        var code: String
        var room: String
        @Relationship(.deny, inverse: \Book.shelf) var books: ToMany<Book> = []
    }

    /// No file has any.
    @Entity struct Draft {
        var text: String
        var author: ToOne<Author> = nil
    }
}
