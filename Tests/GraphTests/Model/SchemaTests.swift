import Testing

@testable import Graph

/// What a declaration can get wrong, each reported with entity and property when the store opens.
struct SchemaTests {
    /// The problems that keep a store with these entities from opening.
    private static func problems(
        _ types: any Entity.Type...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> [String] {
        func description<E: Entity>(_ type: E.Type) -> EntityDescription { EntityDescription(type) }
        let error = #expect(throws: GraphError.self, sourceLocation: sourceLocation) {
            try Schema(types.map { description($0) })
        }
        guard case .invalidSchema(let problems)? = error else { return [] }
        return problems.map(\.description)
    }

    // MARK: Properties

    struct LeftOut: Entity {
        var name = ""
        var age = 0
        static let schema = EntitySchema<LeftOut>("LeftOut") { $0.attribute("name", \.name) }
    }

    struct Doubled: Entity {
        var name = ""
        var age = 0
        static let schema = EntitySchema<Doubled>("Doubled") {
            $0.attribute("name", \.name)
            $0.attribute("age", \.age)
            $0.attribute("name", \.name)
        }
    }

    struct WrongName: Entity {
        var name = ""
        static let schema = EntitySchema<WrongName>("WrongName") { $0.attribute("title", \.name) }
    }

    struct WrongPath: Entity {
        var first = ""
        var last = ""
        static let schema = EntitySchema<WrongPath>("WrongPath") {
            $0.attribute("first", \.last)
            $0.attribute("last", \.first)
        }
    }

    struct WrongType: Entity {
        var name = ""
        var age = 0
        static let schema = EntitySchema<WrongType>("WrongType") {
            $0.attribute("name", \.age)
            $0.attribute("age", \.age)
        }
    }

    struct Computed: Entity {
        var name = ""
        var shouted: String { name.uppercased() }
        static let schema = EntitySchema<Computed>("Computed") {
            $0.attribute("name", \.name)
            $0.attribute("shouted", \.shouted)
        }
    }

    struct Inner: Entity {
        struct Address: Codable, Equatable { var street = "" }
        var address = Address()
        static let schema = EntitySchema<Inner>("Inner") {
            $0.attribute("address", \.address)
            $0.attribute("street", \.address.street)
        }
    }

    struct Nameless: Entity {
        var name = ""
        static let schema = EntitySchema<Nameless>("") { $0.attribute("name", \.name) }
    }

    struct Namesake: Entity {
        var name = ""
        static let schema = EntitySchema<Namesake>("Team") { $0.attribute("name", \.name) }
    }

    final class Reference: Entity {
        let number = 0
        let name = "a name that lies far behind one word"
        static let schema = EntitySchema<Reference>("Reference") {
            $0.attribute("number", \.number)
            $0.attribute("name", \.name)
        }
    }

    enum Choice: Entity {
        case one, two
        static let schema = EntitySchema<Choice>("Choice") { _ in }
    }

    @Test func `a stored property left out`() {
        #expect(
            Self.problems(LeftOut.self) == [
                "LeftOut.age: the schema leaves out this stored property, which would be lost"
            ]
        )
    }

    @Test func `a property declared twice`() {
        #expect(Self.problems(Doubled.self) == ["Doubled.name: the schema has this name twice"])
    }

    @Test func `a name that no stored property has`() {
        #expect(
            Self.problems(WrongName.self) == [
                "WrongName.title: WrongName has no stored property of this name",
                "WrongName.name: the schema leaves out this stored property, which would be lost",
            ]
        )
        #expect(Self.problems(Computed.self) == ["Computed.shouted: Computed has no stored property of this name"])
        #expect(Self.problems(Inner.self) == ["Inner.street: Inner has no stored property of this name"])
    }

    @Test func `a key path to another property`() {
        #expect(
            Self.problems(WrongPath.self) == [
                "WrongPath.first: the key path leads to another property",
                "WrongPath.last: the key path leads to another property",
            ]
        )
        #expect(
            Self.problems(WrongType.self) == [
                "WrongType.name: declared as Int, stored as String",
                "WrongType.name: the key path leads to another property",
            ]
        )
    }

    @Test func `names of entities: empty, or twice`() {
        #expect(Self.problems(Nameless.self) == [": the name is empty"])
        #expect(
            Self.problems(Team.self, Person.self, Namesake.self) == [
                "Team: two of the store's entities have this name: GraphTests.Team and GraphTests.SchemaTests.Namesake"
            ]
        )
        #expect(
            Self.problems(Person.self, Team.self, Person.self) == [
                "Person: two of the store's entities have this name: one type is given twice"
            ]
        )
    }

    @Test(.bug(id: "class-entity", "rows of a class were written outside their memory"))
    func `a class or an enumeration is no entity`() {
        #expect(Self.problems(Reference.self) == ["Reference: Reference is not a struct"])
        #expect(Self.problems(Choice.self) == ["Choice: Choice is not a struct"])
    }

    // MARK: Original names

    struct Same: Entity {
        var name = ""
        static let schema = EntitySchema<Same>("Same", originalName: "Same") {
            $0.attribute("name", \.name, originalName: "name")
        }
    }

    struct Exchanged: Entity {
        var first = ""
        var last = ""
        static let schema = EntitySchema<Exchanged>("Exchanged") {
            $0.attribute("first", \.first, originalName: "last")
            $0.attribute("last", \.last, originalName: "first")
        }
    }

    struct Shared: Entity {
        var first = 0
        var last: Set<Int> = []
        var link: ToOne<Shared> = nil
        var isOpen = false
        static let schema = EntitySchema<Shared>("Shared", originalName: "Exchanged") {
            $0.attribute("first", \.first, indexed: true, originalName: "name")
            $0.attribute("last", \.last, originalName: "name")
            $0.toOne("link", \.link, originalName: "isOpen")
            $0.transient("isOpen", \.isOpen, default: false)
        }
    }

    @Test func `an original name that is somebody's name, or twice an original name`() {
        #expect(
            Self.problems(Same.self) == [
                "Same: the original name is the same as the name",
                "Same.name: the original name is the same as the name",
            ]
        )
        #expect(
            Self.problems(Exchanged.self, Shared.self) == [
                "Exchanged.first: the original name 'last' is the name of another one",
                "Exchanged.last: the original name 'first' is the name of another one",
                "Shared: the original name 'Exchanged' is the name of another one",
                "Shared.first: the original name 'name' is also that of 'last'",
                "Shared.last: the original name 'name' is also that of 'first'",
                "Shared.link: the original name 'isOpen' is the name of another one",
            ]
        )
    }

    struct Holder: Entity {
        struct Part: Codable, Equatable, Entity {
            var name = ""
            static let schema = EntitySchema<Part>("Part") { $0.attribute("name", \.name) }
        }
        var part: [String: [Part?]] = [:]
        static let schema = EntitySchema<Holder>("Holder") { $0.attribute("part", \.part) }
    }

    @Test(.bug(id: "entity-as-json", "an entity that is Codable was stored in another as JSON"))
    func `an entity in another`() {
        let reason = "an entity cannot be stored in another one: declare a ToOne or ToMany"
        #expect(Self.problems(Holder.self, Holder.Part.self) == ["Holder.part: \(reason)"])
    }

    // MARK: Relationships

    struct Parent: Entity {
        var children: ToMany<Child> = []
        var others: ToMany<Child> = []
        static let schema = EntitySchema<Parent>("Parent") {
            $0.toMany("children", \.children, inverse: \Child.parent)
            $0.toMany("others", \.others, inverse: \Child.parent)
        }
    }

    struct Child: Entity {
        var parent: ToOne<Parent> = nil
        static let schema = EntitySchema<Child>("Child") { $0.toOne("parent", \.parent) }
    }

    struct Lonely: Entity {
        var members: ToMany<Member> = []
        static let schema = EntitySchema<Lonely>("Lonely") { $0.toMany("members", \.members) }
    }

    struct Member: Entity {
        var group: ToOne<Lonely> = nil
        static let schema = EntitySchema<Member>("Member") { $0.toOne("group", \.group) }
    }

    struct Hub: Entity {
        var spokes: ToMany<Spoke> = []
        static let schema = EntitySchema<Hub>("Hub") { $0.toMany("spokes", \.spokes) }
    }

    struct Spoke: Entity {
        var inner: ToOne<Hub> = nil
        var outer: ToOne<Hub> = nil
        static let schema = EntitySchema<Spoke>("Spoke") {
            $0.toOne("inner", \.inner, inverse: \Hub.spokes)
            $0.toOne("outer", \.outer, inverse: \Hub.spokes)
        }
    }

    struct Claimer: Entity {
        var hub: ToOne<Keeper> = nil
        static let schema = EntitySchema<Claimer>("Claimer") { $0.toOne("hub", \.hub, inverse: \Keeper.phantom) }
    }

    struct Keeper: Entity {
        var name = ""
        var phantom: ToMany<Claimer> {
            get { [] }
            set {}
        }
        static let schema = EntitySchema<Keeper>("Keeper") { $0.attribute("name", \.name) }
    }

    @Test func `a relationship to an entity that the store does not have`() {
        #expect(Self.problems(Team.self) == ["Team.members: leads to Person, which is not among the store's entities"])
        #expect(
            Self.problems(Person.self) == ["Person.team: leads to Team, which is not among the store's entities"]
        )
    }

    @Test func `a to-many relationship without an inverse`() {
        #expect(
            Self.problems(Lonely.self, Member.self) == [
                "Lonely.members: no relationship of Member is its inverse: declare it with inverse: \\Member.group"
            ]
        )
    }

    @Test func `an inverse that is no declared property`() {
        #expect(
            Self.problems(Claimer.self, Keeper.self) == [
                "Claimer.hub: the inverse that it names is not a declared property of Keeper"
            ]
        )
    }

    @Test func `two claims to one inverse, from either side`() {
        #expect(
            Self.problems(Parent.self, Child.self) == [
                "Child.parent: several relationships of Parent claim to be its inverse: children, others"
            ]
        )
        #expect(
            Self.problems(Hub.self, Spoke.self).first
                == "Hub.spokes: several relationships of Spoke claim to be its inverse: inner, outer"
        )
    }

    @Test func `a relationship to at least three objects and at most two`() {
        struct Band: Entity {
            var members: ToMany<Band> = [], bands: ToMany<Band> = []
            static let schema = EntitySchema<Band>("Band") {
                $0.toMany("members", \.members, inverse: \Band.bands, minimum: 3, maximum: 2)
                $0.toMany("bands", \.bands)
            }
        }
        #expect(
            Self.problems(Band.self) == [
                "Band.members: it cannot lead to at least 3 and at most 2 objects"
            ])
    }

    @Test func `all problems are reported at once`() {
        #expect(
            Set(Self.problems(LeftOut.self, Doubled.self, WrongName.self, Nameless.self)) == [
                ": the name is empty",
                "Doubled.name: the schema has this name twice",
                "LeftOut.age: the schema leaves out this stored property, which would be lost",
                "WrongName.title: WrongName has no stored property of this name",
                "WrongName.name: the schema leaves out this stored property, which would be lost",
            ]
        )
        #expect(
            Set(Self.problems(Parent.self, Child.self, Lonely.self, Member.self)) == [
                "Child.parent: several relationships of Parent claim to be its inverse: children, others",
                "Lonely.members: no relationship of Member is its inverse: declare it with inverse: \\Member.group",
            ]
        )
    }

    @Test func `a coordinator does not open with a wrong schema, nor touch the file`() async throws {
        let folder = try TemporaryFolder()
        let error = await #expect(throws: GraphError.self) {
            try await Coordinator(for: LeftOut.self, at: folder.file())
        }
        guard case .invalidSchema(let problems)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(problems.map(\.entity) == ["LeftOut"] && problems.map(\.property) == ["age"])
        _ = try await Coordinator(for: Team.self, Person.self, at: folder.file())
    }
}
