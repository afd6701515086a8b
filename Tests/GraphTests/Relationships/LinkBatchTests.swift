import Testing

@testable import Graph

/// R12, R14: links of rows that are inserted together.
struct LinkBatchTests {
    struct Fan: Entity {
        var name: String
        var idols: ToMany<Fan> = []
        var fans: ToMany<Fan> = []
        var clubs: ToMany<Club> = []

        static let schema = EntitySchema<Fan>("Fan") {
            $0.attribute("name", \.name)
            $0.toMany("idols", \.idols, inverse: \Fan.fans)
            $0.toMany("fans", \.fans)
            $0.toMany("clubs", \.clubs, inverse: \Club.members)
        }
    }

    struct Club: Entity {
        var title: String
        var members: ToMany<Fan> = []

        static let schema = EntitySchema<Club>("Club") {
            $0.attribute("title", \.title)
            $0.toMany("members", \.members)
        }
    }

    /// What a value says, by row numbers.
    private struct Members {
        let idols: [RowNumber]
        let fans: [RowNumber]
        let clubs: [RowNumber]

        var fan: Fan {
            func ids<E>(_ rows: [RowNumber]) -> ToMany<E> { ToMany(rows.map { PersistentID<E>(row: $0) }) }
            return Fan(name: "new", idols: ids(idols), fans: ids(fans), clubs: ids(clubs))
        }
    }

    /// What the store is to have, and what to say.
    private struct Model {
        var idols: Set<[RowNumber]> = [[3, 1], [3, 2]]
        var clubs: Set<[RowNumber]> = [[1, 2]]
        var missing: [String] = []

        /// Takes over what a value says, one property after another.
        mutating func insert(_ members: Members, at row: RowNumber, fans: Set<RowNumber>) {
            func names(_ property: String, _ list: [RowNumber], _ known: Set<RowNumber>, _ entity: String)
                -> [RowNumber]
            {
                let unknown = Set(list).subtracting(known).sorted()
                missing += unknown.map { "Fan/p\(row).\(property) refers to \(entity)/p\($0), which does not exist" }
                return list.filter(known.contains)
            }
            if !members.idols.isEmpty {
                let new = names("idols", members.idols, fans, "Fan")
                idols = idols.filter { $0[0] != row }.union(new.map { [row, $0] })
            }
            if !members.fans.isEmpty {
                let new = names("fans", members.fans, fans, "Fan")
                idols = idols.filter { $0[1] != row }.union(new.map { [$0, row] })
            }
            clubs.formUnion(names("clubs", members.clubs, [1, 2, 3], "Club").map { [row, $0] })
        }
    }

    /// Four fans and three clubs, of which some have links; one of each is gone.
    private static func start(_ coordinator: Coordinator) async throws {
        try await Context(coordinator).transaction { context in
            let clubs = (0..<4).map { context.insert(Club(title: "\($0)")) }
            let fans = (0..<5).map { context.insert(Fan(name: "\($0)")) }
            fans[0].clubs = [clubs[1]]
            fans[2].idols = [fans[0], fans[1]]
            try context.object(for: clubs[3].id).delete()
            try context.object(for: fans[3].id).delete()
        }
    }

    @Test(arguments: 0..<400)
    func `R12 rows inserted together have the links that their values say one after another`(seed: UInt64) async throws
    {
        var random = SeededGenerator(seed: seed)
        /// Every fourth program may name rows that are not there.
        func some(_ rows: ClosedRange<RowNumber>) -> [RowNumber] {
            let count = Int.random(in: 0...4, using: &random)
            let drawn = (0..<count).map { _ in RowNumber.random(in: rows, using: &random) }
            return drawn.filter { seed % 4 == 0 || $0 != 4 }
        }
        let members = (0..<8).map { _ in
            Members(idols: some(1...13), fans: seed % 3 == 0 ? some(1...13) : [], clubs: some(1...4))
        }
        let coordinator = try await Coordinator(for: Fan.self, Club.self, checksEveryCommit: true)
        try await Self.start(coordinator)
        var model = Model()
        for (number, members) in members.enumerated() {
            model.insert(members, at: 6 + RowNumber(number), fans: Set(1...13).subtracting([4]))
        }
        let context = Context(coordinator)
        let ids = await context.perform { $0.insert(contentsOf: members.map(\.fan)) }
        #expect(ids.map(\.row) == Array(6...13))
        // By each side.
        let (idols, clubs) = try await context.perform { context in
            let (fans, clubs) = (try context.fetch(Fan.self), try context.fetch(Club.self))
            return (
                [
                    fans.flatMap { fan in fan.idols.map { [fan.id.row, $0.id.row] } },
                    fans.flatMap { fan in fan.fans.map { [$0.id.row, fan.id.row] } },
                ],
                [
                    fans.flatMap { fan in fan.clubs.map { [fan.id.row, $0.id.row] } },
                    clubs.flatMap { club in club.members.map { [$0.id.row, club.id.row] } },
                ]
            )
        }
        for links in idols { #expect(Set(links) == model.idols && links.count == model.idols.count) }
        for links in clubs { #expect(Set(links) == model.clubs && links.count == model.clubs.count) }
        do {
            try await context.save()
            #expect(model.missing == [])
        } catch GraphError.danglingReferences(let dangling) {
            #expect(Set(dangling.map(\.description)) == Set(model.missing))
        } catch {
            throw error
        }
        #expect(coordinator.check() == [])
    }

    /// Children in an order, and one seat at most.
    struct Parent: Entity {
        var children: ToMany<Child> = []

        static let schema = EntitySchema<Parent>("Parent") {
            $0.toMany("children", \.children, inverse: \Child.parent, deleteRule: .cascade, ordered: true)
        }
    }

    struct Child: Entity {
        var number = 0
        var parent: ToOne<Parent> = nil
        var seat: ToOne<Seat> = nil

        static let schema = EntitySchema<Child>("Child") {
            $0.attribute("number", \.number)
            $0.toOne("parent", \.parent)
            $0.toOne("seat", \.seat)
        }
    }

    struct Seat: Entity {
        var child: ToOne<Child> = nil

        static let schema = EntitySchema<Seat>("Seat") { $0.toOne("child", \.child, inverse: \Child.seat) }
    }

    @Test func `R12 rows inserted together come last in their owners' orders, and the last one for a seat has it`()
        async throws
    {
        let coordinator = try await Coordinator(for: Parent.self, Child.self, Seat.self, checksEveryCommit: true)
        let context = Context(coordinator)
        let (parents, seats) = await context.perform { context in
            let (parents, seats) = (
                (0..<2).map { _ in context.insert(Parent()).id }, (0..<2).map { _ in context.insert(Seat()).id }
            )
            for (number, parent) in parents.enumerated() {
                context.insert(Child(number: -number, parent: ToOne(parent), seat: ToOne(seats[number])))
            }
            return (parents, seats)
        }
        try await context.save()
        let ids = await context.perform { context in
            context.insert(
                contentsOf: (1...20).map { number in
                    Child(
                        number: number, parent: number % 5 == 0 ? nil : ToOne(parents[number % 2]),
                        seat: number % 3 == 0 ? ToOne(seats[0]) : nil)
                })
        }
        try await context.save()
        let snapshot = coordinator.snapshot
        for (place, parent) in parents.enumerated() {
            let numbers = try snapshot.related(\.children, of: parent).compactMap { snapshot.value(for: $0)?.number }
            #expect(numbers == [-place] + (1...20).filter { $0 % 5 != 0 && $0 % 2 == place })
        }
        #expect(snapshot.value(for: seats[0])?.child.id == ids[17])
        #expect(ids.filter { snapshot.value(for: $0)?.seat.id != nil } == [ids[17]])
        // Nine of the children go with their parent.
        try await context.transaction { $0[parents[0]]?.delete() }
        #expect(coordinator.snapshot.count(of: Child.self) == 13)
        #expect(coordinator.check() == [])
    }
}
