@testable import Graph

/// A model with one relationship for each delete rule, and a deny behind a cascade.
struct Album: Entity {
    var title: String
    var code: String?
    var photos: ToMany<Photo> = []
    var notes: ToMany<Note> = []
    var loans: ToMany<Loan> = []

    static let schema = EntitySchema<Album>("Album") {
        $0.attribute("title", \.title)
        $0.attribute("code", \.code, unique: true)
        $0.toMany("photos", \.photos, inverse: \Photo.album, deleteRule: .cascade)
        $0.toMany("notes", \.notes, inverse: \Note.album)
        $0.toMany("loans", \.loans, inverse: \Loan.album, deleteRule: .deny)
    }
}

struct Photo: Entity {
    var caption = ""
    var album: ToOne<Album> = nil
    var frames: ToMany<Frame> = []

    static let schema = EntitySchema<Photo>("Photo") {
        $0.attribute("caption", \.caption)
        $0.toOne("album", \.album)
        $0.toMany("frames", \.frames, inverse: \Frame.photo, deleteRule: .deny)
    }
}

struct Note: Entity {
    var text = ""
    var album: ToOne<Album> = nil

    static let schema = EntitySchema<Note>("Note") {
        $0.attribute("text", \.text)
        $0.toOne("album", \.album)
    }
}

struct Loan: Entity {
    var borrower = ""
    var album: ToOne<Album> = nil

    static let schema = EntitySchema<Loan>("Loan") {
        $0.attribute("borrower", \.borrower)
        $0.toOne("album", \.album)
    }
}

struct Frame: Entity {
    var width = 0
    var photo: ToOne<Photo> = nil

    static let schema = EntitySchema<Frame>("Frame") {
        $0.attribute("width", \.width)
        $0.toOne("photo", \.photo)
    }
}

extension Schema {
    /// Photos come before the albums that they cascade from.
    static func albums() throws(GraphError) -> Schema {
        try Schema([
            EntityDescription(Photo.self), EntityDescription(Album.self), EntityDescription(Note.self),
            EntityDescription(Loan.self), EntityDescription(Frame.self),
        ])
    }
}
