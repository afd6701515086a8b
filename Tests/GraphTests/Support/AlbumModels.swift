@testable import Graph

/// A model with one relationship for each delete rule, and a deny behind a cascade.
@Entity struct Album {
    var title: String
    @Unique var code: String?
    @Relationship(.cascade, inverse: \Photo.album) var photos: ToMany<Photo> = []
    @Relationship(inverse: \Note.album) var notes: ToMany<Note> = []
    @Relationship(.deny, inverse: \Loan.album) var loans: ToMany<Loan> = []
}

@Entity struct Photo {
    var caption = ""
    var album: ToOne<Album> = nil
    @Relationship(.deny, inverse: \Frame.photo) var frames: ToMany<Frame> = []
}

@Entity struct Note {
    var text = ""
    var album: ToOne<Album> = nil
}

@Entity struct Loan {
    var borrower = ""
    var album: ToOne<Album> = nil
}

@Entity struct Frame {
    var width = 0
    var photo: ToOne<Photo> = nil
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
