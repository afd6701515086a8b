import Foundation

@testable import Graph

/// Programs and their next versions, for histories that go on or end.
enum HistoryVersions {
    /// Another version of the annals, with other names and wider types, less and more.
    enum Second {
        static let entities: [any Entity.Type] = [Author.self, Volume.self, Topic.self, Shelf.self]
        static let dropping = ["Desk", "Volume.title", "Writer.desk"]

        @Entity(originalName: "Writer") struct Author {
            var age = 7
            @Attribute(originalName: "name") var called = ""
            var email: String?
            @Relationship(.cascade, inverse: \Volume.author, ordered: true) var volumes: ToMany<Volume> = []
        }

        @Entity struct Volume {
            var note: String?
            @Relationship(originalName: "writer") var author: ToOne<Author> = nil
            @Relationship(inverse: \Topic.volumes, ordered: true) var topics: ToMany<Topic> = []
            @Unique var shelfmark: UUID?
            var pages: Int128 = 0
            var shelf: ToOne<Shelf> = nil
        }

        @Entity struct Topic {
            var volumes: ToMany<Volume> = []
            @Relationship(inverse: \Topic.parent) var children: ToMany<Topic> = []
            var name: String? = ""
            var parent: ToOne<Topic> = nil
        }

        @Entity struct Shelf {
            var number = 0
            @Relationship(inverse: \Volume.shelf, ordered: true) var volumes: ToMany<Volume> = []
        }
    }

    /// A program, and its next versions.
    enum First {
        static let entities: [any Entity.Type] = [Team.self, Person.self]

        @Entity struct Team {
            var name: String
            @Relationship(inverse: \Person.team, ordered: true) var members: ToMany<Person> = []
        }

        @Entity struct Person {
            var name: String
            var age: Int32 = 0
            var nickname: String?
            var team: ToOne<Team> = nil
        }
    }

    enum Next {
        static let entities: [any Entity.Type] = [Person.self, Badge.self, Team.self]

        @Entity struct Person {
            /// Another one for each person.
            @Unique var code = UUID()
            @Attribute(originalName: "name") var called: String
            var age = 0
            @Relationship(originalName: "team") var group: ToOne<Team> = nil
            var badges: ToMany<Badge> = []
        }

        @Entity struct Badge {
            var text = ""
            @Relationship(inverse: \Person.badges) var holders: ToMany<Person> = []
        }

        @Entity struct Team {
            var name: String
            @Relationship(inverse: \Person.group, ordered: true) var members: ToMany<Person> = []
        }
    }

    enum Last {
        static let entities: [any Entity.Type] = [Team.self, Person.self]

        @Entity struct Team {
            var name: String
            var founded = 1900
            @Relationship(inverse: \Person.group, ordered: true) var members: ToMany<Person> = []
        }

        @Entity struct Person {
            @Attribute(originalName: "called") var name: String
            @Unique var code = UUID()
            var age: Int128 = 0
            var group: ToOne<Team> = nil
        }
    }

    /// What had another meaning or another place in the past, and the next versions of a program that end history there.
    enum Border {
        static let old: [any Entity.Type] = [Person.self, Club.self, Visitor.self]
        /// Each with the oldest state that it can show.
        static let versions: [(String, [any Entity.Type], UInt64)] = [
            ("nil becomes a default", [Required.Person.self, Required.Club.self, Visitor.self], 2),
            ("numbers become inexact", [Inexact.Person.self, Inexact.Club.self, Visitor.self], 3),
            ("an own type reads less", [Fewer.Person.self, Fewer.Club.self, Visitor.self], 4),
            ("one becomes many", [Several.Person.self, Several.Club.self, Visitor.self], 7),
            ("members get an order", [Ordered.Person.self, Ordered.Club.self, Visitor.self], 7),
            ("a reference gets members with an order", [Mentored.Person.self, Mentored.Club.self, Visitor.self], 7),
            (
                "an empty entity has a property renamed without a word",
                [Person.self, Club.self, Renamed.Visitor.self], 7
            ),
            ("an empty entity goes", [Person.self, Club.self], 0),
        ]

        enum Mood: String { case good, bad }

        @Entity struct Person {
            var email: String?
            var age = 0
            var mood = Mood.good
            var club: ToOne<Club> = nil
            var mentor: ToOne<Person> = nil
        }

        @Entity struct Club {
            var name = ""
            @Relationship(inverse: \Person.club) var members: ToMany<Person> = []
        }

        @Entity struct Visitor {
            var name = ""
        }

        enum Required {
            @Entity struct Person {
                var email = "none"
                var age = 0
                var mood = Mood.good
                var club: ToOne<Club> = nil
                var mentor: ToOne<Person> = nil
            }

            @Entity struct Club {
                var name = ""
                @Relationship(inverse: \Person.club) var members: ToMany<Person> = []
            }
        }

        enum Inexact {
            @Entity struct Person {
                var email: String?
                var age = 0.0
                var mood = Mood.good
                var club: ToOne<Club> = nil
                var mentor: ToOne<Person> = nil
            }

            @Entity struct Club {
                var name = ""
                @Relationship(inverse: \Person.club) var members: ToMany<Person> = []
            }
        }

        enum Fewer {
            enum Mood: String { case good }

            @Entity struct Person {
                var email: String?
                var age = 0
                var mood = Mood.good
                var club: ToOne<Club> = nil
                var mentor: ToOne<Person> = nil
                var note: String?
            }

            @Entity struct Club {
                var name = ""
                @Relationship(inverse: \Person.club) var members: ToMany<Person> = []
            }
        }

        enum Several {
            @Entity struct Person {
                var email: String?
                var age = 0
                var mood = Mood.good
                var club: ToMany<Club> = []
                var mentor: ToOne<Person> = nil
            }

            @Entity struct Club {
                var name = ""
                @Relationship(inverse: \Person.club) var members: ToMany<Person> = []
            }
        }

        enum Ordered {
            @Entity struct Person {
                var email: String?
                var age = 0
                var mood = Mood.good
                var club: ToOne<Club> = nil
                var mentor: ToOne<Person> = nil
            }

            @Entity struct Club {
                var name = ""
                @Relationship(inverse: \Person.club, ordered: true) var members: ToMany<Person> = []
            }
        }

        enum Mentored {
            @Entity struct Person {
                var email: String?
                var age = 0
                var mood = Mood.good
                var club: ToOne<Club> = nil
                var mentor: ToOne<Person> = nil
                @Relationship(inverse: \Person.mentor, ordered: true) var pupils: ToMany<Person> = []
            }

            @Entity struct Club {
                var name = ""
                @Relationship(inverse: \Person.club) var members: ToMany<Person> = []
            }
        }

        enum Renamed {
            @Entity struct Visitor {
                var title = ""
            }
        }
    }

    /// A value of which only every second one can be encoded.
    struct Fussy: Codable, Equatable {
        struct Refusal: Error {}

        static let made = Counter()
        var number = Fussy.made.next()

        func encode(to encoder: any Encoder) throws {
            guard number % 2 == 1 else { throw Refusal() }
            var container = encoder.singleValueContainer()
            try container.encode(number)
        }

        init() {}

        init(from decoder: any Decoder) throws {
            number = try decoder.singleValueContainer().decode(Int.self)
        }
    }

    /// A default that is the same for two objects, and then another one.
    enum Pairs {
        static let made = Counter()

        @Entity struct Team {
            var name: String
            var pair = (Pairs.made.next() + 1) / 2
            @Relationship(inverse: \Person.team, ordered: true) var members: ToMany<Person> = []
        }

        @Entity struct Person {
            var name: String
            var age: Int32 = 0
            var nickname: String?
            var team: ToOne<Team> = nil
        }
    }

    enum Refusing {
        @Entity struct Team {
            var name: String
            var fussy = Fussy()
            @Relationship(inverse: \Person.team, ordered: true) var members: ToMany<Person> = []
        }

        @Entity struct Person {
            var name: String
            var age: Int32 = 0
            var nickname: String?
            var team: ToOne<Team> = nil
        }
    }
}
