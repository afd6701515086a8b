import Foundation
import Testing

@testable import Graph

/// Kinds of stored properties that are right, from the insert to the reopened file.
struct StoredPropertyTests {
    /// One property of each kind that a struct may store.
    struct Gadget: Entity {
        let serial: String
        var name: String { didSet { renamed += 1 } }
        var renamed = 0
        var size: Int8 = 3 { willSet { renamed += 100 } }
        let made = Date(timeIntervalSinceReferenceDate: 1)
        var isOn: Bool?
        var day = Weekday.friday
        var place: Place?
        private(set) var hidden: [String: [Int?]] = ["a": [nil, 0, 1]]
        var big: UInt128 = .max
        var parent: ToOne<Gadget> = nil
        var parts: ToMany<Gadget> = []

        init(serial: String, name: String) {
            self.serial = serial
            self.name = name
        }

        static let schema = EntitySchema<Gadget>("Gadget") {
            $0.toMany("parts", \.parts, inverse: \Gadget.parent)
            $0.attribute("day", \.day, indexed: true)
            $0.attribute("serial", \.serial, unique: true)
            $0.attribute("name", \.name, indexed: true)
            $0.attribute("renamed", \.renamed)
            $0.attribute("size", \.size)
            $0.attribute("made", \.made)
            $0.attribute("isOn", \.isOn)
            $0.attribute("place", \.place)
            $0.attribute("hidden", \.hidden)
            $0.attribute("big", \.big)
            $0.toOne("parent", \.parent)
        }
    }

    @Test func `properties with observers, constants and defaults live from insert to reopening`() async throws {
        let folder = try TemporaryFolder()
        let first = try await Coordinator(for: Gadget.self, at: folder.file())
        let context = Context(first)
        let (id, partID) = try await context.transaction { context in
            let gadget = context.insert(Gadget(serial: "s1", name: "one"))
            let part = context.insert(Gadget(serial: "s2", name: "two"))
            part.parent = gadget
            return (gadget.id, part.id)
        }
        try await context.transaction { context in
            let gadget = try context.object(for: id)
            gadget.name = "renamed"
            gadget.size = -128
            gadget.isOn = false
            gadget.day = .none
            gadget.place = AttributeValues.places[1]
            #expect(gadget.renamed == 101)
            #expect(gadget.parts.map(\.serial) == ["s2"])
        }
        try await first.close()

        let second = try await Coordinator(for: Gadget.self, at: folder.file())
        let gadget = try #require(second.snapshot.value(for: id))
        #expect(gadget.serial == "s1" && gadget.name == "renamed" && gadget.renamed == 101 && gadget.size == -128)
        #expect(gadget.made == Date(timeIntervalSinceReferenceDate: 1) && gadget.isOn == false && gadget.day == .none)
        #expect(gadget.place == AttributeValues.places[1] && gadget.big == .max)
        #expect(gadget.hidden == ["a": [nil, 0, 1]])
        let part = try #require(second.snapshot.value(for: partID))
        #expect(part.parent == ToOne(id) && part.isOn == nil && part.place == nil && part.renamed == 0)
        #expect(
            second.snapshot.version(of: id) == RowVersion(2) && second.snapshot.version(of: partID) == RowVersion(1))
        #expect(try second.snapshot.related(\Gadget.parts, of: id) == [partID])
        #expect(second.snapshot.check() == [])
        try await second.close()
    }

    @Test func `an inverse named on the to-one side works as well`() async throws {
        struct Group: Entity {
            var name = ""
            var members: ToMany<Fellow> = []
            static let schema = EntitySchema<Group>("Group") {
                $0.attribute("name", \.name)
                $0.toMany("members", \.members)
            }
        }
        struct Fellow: Entity {
            var group: ToOne<Group> = nil
            static let schema = EntitySchema<Fellow>("Fellow") { $0.toOne("group", \.group, inverse: \Group.members) }
        }
        let context = Context(try await Coordinator(for: Group.self, Fellow.self))
        await context.perform { context in
            let group = context.insert(Group())
            group.members.append(context.insert(Fellow()))
            #expect(group.members.first?.group === group)
        }
    }
}
