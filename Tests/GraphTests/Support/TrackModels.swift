@testable import Graph

/// Belongs to a disc and to any number of mixes, each with an order; imported again, it takes the place of the one before.
struct Track: Entity {
    var code: String
    var title = ""
    var disc: ToOne<Disc> = nil
    var mixes: ToMany<Mix> = []

    static let schema = EntitySchema<Track>("Track") {
        $0.attribute("code", \.code, unique: true, onConflict: .upsert)
        $0.attribute("title", \.title)
        $0.toOne("disc", \.disc)
        $0.toMany("mixes", \.mixes)
    }
}

struct Disc: Entity {
    var name: String
    var tracks: ToMany<Track> = []

    static let schema = EntitySchema<Disc>("Disc") {
        $0.attribute("name", \.name)
        $0.toMany("tracks", \.tracks, inverse: \Track.disc, ordered: true)
    }
}

struct Mix: Entity {
    var name: String
    var tracks: ToMany<Track> = []

    static let schema = EntitySchema<Mix>("Mix") {
        $0.attribute("name", \.name)
        $0.toMany("tracks", \.tracks, inverse: \Track.mixes, ordered: true)
    }
}

/// Unique in its tree.
struct Twig: Entity {
    var name: String
    var leaves = 0
    var tree: ToOne<Tree> = nil

    static let schema = EntitySchema<Twig>("Twig") {
        $0.attribute("name", \.name)
        $0.attribute("leaves", \.leaves)
        $0.toOne("tree", \.tree)
        $0.unique("tree", "name", onConflict: .upsert)
    }
}

struct Tree: Entity {
    var name: String
    var twigs: ToMany<Twig> = []

    static let schema = EntitySchema<Tree>("Tree") {
        $0.attribute("name", \.name, unique: true, onConflict: .upsert)
        $0.toMany("twigs", \.twigs, inverse: \Twig.tree)
    }
}

/// Gives way to the desk of its number that was there.
struct Desk: Entity {
    var number: Int
    var office: ToOne<Office> = nil

    static let schema = EntitySchema<Desk>("Desk") {
        $0.attribute("number", \.number, unique: true, onConflict: .keepExisting)
        $0.toOne("office", \.office)
    }
}

/// Cannot be deleted while desks stand in it.
struct Office: Entity {
    var name: String
    var desks: ToMany<Desk> = []

    static let schema = EntitySchema<Office>("Office") {
        $0.attribute("name", \.name)
        $0.toMany("desks", \.desks, inverse: \Desk.office, deleteRule: .deny)
    }
}
