import Foundation
import Testing

@testable import Graph

/// What `@Entity` writes is what one would write by hand.
struct EntityMacroTests {
    /// Everything that a schema says, as far as it can be compared.
    private func statements<E: Entity>(_ schema: EntitySchema<E>) -> [String] {
        let layout = "\(schema.layout.stride) \(schema.layout.alignment)"
        return ["\(schema.name) \(schema.originalNames.first ?? "-") \(layout)"]
            + schema.properties.map { property in
                let role =
                    switch property.role {
                    case .attribute(let uniqueness, let isIndexed):
                        "attribute \(uniqueness?.rawValue ?? "-")\(isIndexed ? " indexed" : "")"
                    case .toOne(let relationship):
                        "to-one \(relationship)"
                    case .toMany(let relationship):
                        "to-many \(relationship)"
                    case .transient:
                        "transient"
                    }
                let original = property.originalNames.first ?? "-"
                let names = "\(property.name) \(original) \(property.keyPath)"
                return "\(names) \(property.valueType) \(property.operations.kind) \(role)"
            }
            + schema.compounds.map { compound in
                "\(compound.uniqueness?.rawValue ?? "index") \(compound.properties)"
            }
    }

    @Test func `the macro and the hand write equal schemas`() throws {
        let byHand = EntitySchema<Camera>("Camera", originalName: "Device") {
            $0.attribute("serial", \.serial, unique: true)
            $0.attribute("made", \.made, indexed: true)
            $0.attribute("weight", \.weight, originalName: "mass")
            $0.attribute("mount", \.mount)
            $0.attribute("tags", \.tags)
            $0.transient("isSelected", \.isSelected, default: true)
            $0.transient("preview", \.preview, default: nil)
            $0.toOne("body", \.body, deleteRule: .deny, originalName: "owner")
            $0.toMany("parts", \.parts, inverse: \Camera.body, deleteRule: .cascade)
        }
        #expect(statements(Camera.schema) == statements(byHand))
        #expect(statements(Camera.schema).count == 10)

        let record = try SchemaRecord(Schema([EntityDescription(Camera.self)]))
        #expect(
            String(decoding: record.bytes, as: UTF8.self) == """
                graph schema 1
                entity 1 "Camera"
                property 1 "serial" string unique
                property 2 "made" optional(date) indexed
                property 3 "weight" double
                property 4 "mount" string
                property 5 "tags" array(string)
                property 6 "body" to-one 1 deny
                property 7 "parts" to-many 1 6 cascade

                """)
    }

    @Test func `constraints and relationships of every kind are those by hand`() {
        let byHand = EntitySchema<Member>("Member") {
            $0.attribute("number", \.number, unique: true, onConflict: .upsert)
            $0.attribute("code", \.code, unique: true, onConflict: .keepExisting, indexed: true)
            $0.attribute("first", \.first)
            $0.attribute("last", \.last)
            $0.toMany("follows", \.follows, inverse: \Member.followers, deleteRule: .deny, ordered: true, maximum: 2)
            $0.toMany("followers", \.followers, ordered: true, minimum: 0, originalName: "fans")
            $0.toOne("mentor", \.mentor, minimum: 0)
            $0.toMany("pupils", \.pupils, inverse: \Member.mentor, deleteRule: .cascade)
            $0.toOne("buddy", \.buddy, inverse: \Member.buddyOf)
            $0.toOne("buddyOf", \.buddyOf)
            $0.unique("first", "last", onConflict: .keepExisting)
            $0.unique("mentor", "first", onConflict: .keepExisting)
            $0.index("last", "mentor")
        }
        #expect(statements(Member.schema) == statements(byHand))
        #expect(statements(Member.schema).count == 14)
    }

    @Test func `relationships between objects of one entity find their inverses`() async throws {
        let coordinator = try await Coordinator(for: Member.self, Friend.self)
        try await Context(coordinator).transaction { context in
            let names = ["Ada", "Bob", "Eve"]
            let members = names.enumerated().map { context.insert(Member(number: $0, code: $1, first: $1)) }
            let (ada, bob, eve) = (members[0], members[1], members[2])
            ada.follows = [eve, bob]
            eve.follows.append(bob)
            #expect(bob.followers.map(\.first) == ["Ada", "Eve"])
            #expect(ada.followers.isEmpty && eve.followers.map(\.first) == ["Ada"])
            #expect(ada.follows.map(\.first) == ["Eve", "Bob"])

            bob.mentor = ada
            ada.pupils.append(eve)
            #expect(ada.pupils.map(\.first) == ["Bob", "Eve"] && eve.mentor == ada && ada.mentor == nil)

            ada.buddy = bob
            #expect(bob.buddyOf == ada && ada.buddyOf == nil && bob.buddy == nil)

            let (zoe, max) = (context.insert(Friend()), context.insert(Friend()))
            zoe.friends.append(max)
            #expect(max.friends.map(\.id) == [zoe.id] && zoe.friends.map(\.id) == [max.id])
        }
        let members = try coordinator.snapshot.fetchValues(Member.self)
        #expect(members.map { $0.mentor.id != nil } == [false, true, true])
        #expect(members.map { $0.buddyOf.id != nil } == [false, true, false])
    }

    @Test func `a list's constraint has its policy`() async throws {
        let context = Context(try await Coordinator(for: Member.self))
        for number in 1...2 {
            try await context.transaction { context in
                _ = context.insert(Member(number: number, code: "\(number)", first: "Ada", last: "L"))
            }
        }
        let numbers = try context.coordinator.snapshot.fetchValues(Member.self).map(\.number)
        #expect(numbers == [1])
    }

    @Test(.bug(id: "collections-as-json", "collections, URL and Decimal were stored as JSON"))
    func `each attribute is stored as what its type is`() {
        let kinds = Assorted.schema.properties.map { "\($0.name): \($0.operations.kind)" }
        #expect(
            kinds == [
                "array: array(string)", "nested: array(array(optional(int16)))", "bytes: bytes", "set: set(uuid)",
                "map: dictionary(int, string)", "url: optional(url)", "price: decimal", "raw: string",
                "rawOptional: optional(string)",
                "rawArray: codable", "own: codable", "ownOptional: codable", "data: data", "flag: bool",
            ]
        )
    }

    @Test func `the default that a schema has for a transient property is its initial value`() async throws {
        let context = Context(try await Coordinator(for: Camera.self))
        let id = try await context.transaction { context in
            let camera = context.insert(Camera(serial: "s", isSelected: false, preview: [1]))
            #expect(camera.isSelected == false && camera.preview == [1])
            return camera.id
        }
        let value = try #require(context.coordinator.snapshot.value(for: id))
        #expect(value.isSelected && value.preview == nil)
    }
}

@Entity(originalName: "Device") private struct Camera {
    @Unique var serial: String
    @Indexed var made: Date?
    @Attribute(originalName: "mass") var weight = 1.5
    var mount = Mount.round { didSet { weight += 1 } }
    private(set) var tags: [String] = []
    @Transient var isSelected = true
    @Transient var preview: [Int]?
    @Relationship(.deny, originalName: "owner") var body: ToOne<Camera> = nil
    @Relationship(.cascade, inverse: \Camera.body) var parts: ToMany<Camera> = []

    var isHeavy: Bool { weight > 2 }
    static let makers = ["A", "B"]
}

@Entity(unique: [["first", "last"], ["mentor", "first"]], indexed: [["last", "mentor"]], onConflict: .keepExisting)
private struct Member {
    @Unique(onConflict: .upsert) var number: Int
    @Unique(onConflict: .keepExisting) @Indexed var code: String
    var first: String
    var last: String?
    @Relationship(.deny, inverse: \Member.followers, ordered: true, maximum: 2) var follows: ToMany<Member> = []
    @Relationship(ordered: true, minimum: 0, originalName: "fans") var followers: ToMany<Member> = []
    @Relationship(minimum: 0) var mentor: ToOne<Member> = nil
    @Relationship(.cascade, inverse: \Member.mentor) var pupils: ToMany<Member> = []
    @Relationship(inverse: \Member.buddyOf) var buddy: ToOne<Member> = nil
    var buddyOf: ToOne<Member> = nil
}

/// The macro cannot write this one.
private struct Friend: Entity {
    var friends: ToMany<Friend> = []

    static let schema = EntitySchema<Friend>("Friend") {
        $0.toMany("friends", \.friends, inverse: \Friend.friends)
    }
}

private enum Mount: String, Codable {
    case round, square
}

private struct Lens: Codable, Equatable {
    var millimetres = 50
}

@Entity private struct Assorted {
    var array: [String] = []
    var nested: [[Int16?]] = []
    var bytes: [UInt8] = []
    var set: Set<UUID> = []
    var map: [Int: String] = [:]
    var url: URL?
    var price: Decimal = 1
    var raw = Mount.round
    var rawOptional: Mount?
    var rawArray = [Mount.round]
    var own = Lens()
    var ownOptional: Lens?
    var data = Data()
    var flag = true
}
