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

struct Desk: Entity {
    var number: Int
    var office: ToOne<Office> = nil

    static let schema = EntitySchema<Desk>("Desk") {
        $0.attribute("number", \.number, unique: true, onConflict: .keepExisting)
        $0.toOne("office", \.office)
    }
}

struct Office: Entity {
    var name: String
    var desks: ToMany<Desk> = []

    static let schema = EntitySchema<Office>("Office") {
        $0.attribute("name", \.name)
        $0.toMany("desks", \.desks, inverse: \Desk.office, deleteRule: .deny)
    }
}

/// Every kind of relationship with itself.
struct Node: Entity {
    var key: Int? = nil
    var other: Int? = nil
    var next: ToOne<Node> = nil
    var previous: ToOne<Node> = nil
    var spouse: ToOne<Node> = nil
    var parent: ToOne<Node> = nil
    var children: ToMany<Node> = []
    var follows: ToMany<Node> = []
    var followers: ToMany<Node> = []
    var friends: ToMany<Node> = []

    static let schema = EntitySchema<Node>("Node") {
        $0.attribute("key", \.key, unique: true, onConflict: .upsert)
        $0.attribute("other", \.other, unique: true, onConflict: .keepExisting)
        $0.toOne("next", \.next)
        $0.toOne("previous", \.previous, inverse: \Node.next)
        $0.toOne("spouse", \.spouse, inverse: \Node.spouse)
        $0.toOne("parent", \.parent)
        $0.toMany("children", \.children, inverse: \Node.parent, ordered: true)
        $0.toMany("follows", \.follows, inverse: \Node.followers, ordered: true)
        $0.toMany("followers", \.followers, ordered: true)
        $0.toMany("friends", \.friends, inverse: \Node.friends, ordered: true)
    }
}

struct Flagged: Entity {
    var name: String
    var isSelected = false

    static let schema = EntitySchema<Flagged>("Flagged") {
        $0.attribute("name", \.name)
        $0.ephemeral("isSelected", \.isSelected, default: false)
    }
}

extension Student {
    /// A program's own way to say it.
    var lockerID: Locker.ID? {
        get { locker.id }
        set { locker = ToOne(newValue) }
    }

    var friends: ToMany<Student> {
        get { buddies }
        set { buddies = newValue }
    }
}
