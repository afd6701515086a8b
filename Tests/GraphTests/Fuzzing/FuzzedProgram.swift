import Foundation

@testable import Graph

/// An entity with a property of each kind, so that each decoder is reached.
@Entity(unique: [["text", "small"]]) struct Everything {
    struct Place: Codable, Equatable, Sendable {
        var name: String
        var numbers: [Int]
        var remark: Double?
    }

    enum Color: String { case red, green, blue }

    @Indexed var text: String
    var small: Int8
    @Indexed var large: UInt64?
    var huge: Int128
    var isOn: Bool
    @Indexed var single: Float
    var double: Double?
    @Indexed var date: Date
    var price: Decimal
    @Indexed var token: UUID
    var link: URL?
    var data: Data
    var names: Set<String>
    var counts: [String: [Int16]]
    var marks: [Double?]
    var color: Color
    var place: Place
    var other: ToOne<Everything> = nil
    @Relationship(inverse: \Self.other, ordered: true, maximum: 4) var others: ToMany<Everything> = []
    @Relationship(.cascade) var team: ToOne<Team> = nil
    @Relationship(ordered: true) var friends: ToMany<Everything> = []
    @Relationship(inverse: \Self.friends) var admirers: ToMany<Everything> = []
}

/// The programs that open a fuzzer's files.
enum FuzzedProgram {
    static func schema(_ number: Int) -> (Schema, MigrationPlan?)? {
        let number = number & 0x7F
        if number % 2 == 1 { return everything.map { ($0, nil) } }
        let version = number / 2 % Evolving.versions.count
        return versions[version].map { ($0, Evolving.versions[version].plan) }
    }

    static let everything = try? Schema([
        EntityDescription(Team.self), EntityDescription(Person.self), EntityDescription(Everything.self),
    ])
    private static let versions = Evolving.versions.map { try? $0.schema() }
    static let dropped = ["Author", "Book", "Team", "Person", "Shelf", "Book.pages", "Person.email", "Everything"]
}
