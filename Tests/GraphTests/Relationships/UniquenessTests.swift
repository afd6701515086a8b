import Testing

@testable import Graph

private struct Author: Entity {
    var name = ""
    var email = ""
    var rival: ToOne<Author> = nil

    static let schema = EntitySchema<Author>("Author") {
        $0.attribute("name", \.name)
        $0.attribute("email", \.email, unique: true, onConflict: .upsert)
        $0.toOne("rival", \.rival)
        $0.unique("name", "rival", onConflict: .keepExisting)
    }
}

private struct Member: Entity {
    var email = ""
    var number = 0
    var weight: Double? = nil

    static let schema = EntitySchema<Member>("Member") {
        $0.attribute("email", \.email, unique: true, onConflict: .upsert)
        $0.attribute("number", \.number, unique: true)
        $0.attribute("weight", \.weight, unique: true)
    }
}

/// R10: what a save does with values that may occur only once.
struct UniquenessTests {
    let coordinator: Coordinator
    let context: Context

    init() async throws {
        coordinator = try await .school()
        context = Context(coordinator)
    }

    private func violations(_ body: @Sendable (isolated Context) throws -> Void) async throws -> [String] {
        try await context.perform(body)
        do {
            try await context.save()
            return []
        } catch {
            guard case .notUnique(let violations) = error else { throw error }
            return violations.map(\.description)
        }
    }

    @Test func `R10 a compound constraint, in which nil equals nothing`() async throws {
        try await context.transaction { context in
            context.insert(contentsOf: [
                Hall(house: "A", number: 1), Hall(house: "A", number: 2), Hall(house: "B", number: 1),
            ])
            context.insert(contentsOf: [Hall(house: nil, number: 1), Hall(house: nil, number: 1)])
        }
        let found = try await violations { context in
            context.insert(Hall(house: "A", number: 2))
            for hall in try context.fetch(Hall.self, where: { $0.house == "B" }) { hall.house = "A" }
        }
        #expect(
            found == [
                "Hall/p3.house, number = \"A\", 1 is taken by Hall/p1",
                "Hall/p6.house, number = \"A\", 2 is taken by Hall/p2",
            ])
        #expect(try coordinator.snapshot.fetchCount(Hall.self) == 5)
    }

    @Test func `R10 values may be exchanged in one save`() async throws {
        let ids = try await context.transaction { context in
            context.insert(contentsOf: [Hall(house: "A", number: 1), Hall(house: "A", number: 2)])
        }
        try await context.transaction { context in
            try context.object(for: ids[0]).number = 2
            try context.object(for: ids[1]).number = 1
        }
        #expect(coordinator.snapshot.value(for: ids[0])?.number == 2)
    }

    @Test func `R10 upsert: the object that was there takes everything over`() async throws {
        let (ada, logic, sets, mentor) = try await context.transaction { context in
            let mentor = context.insert(Student(name: "Mentor"))
            let ada = context.insert(Student(name: "Ada", email: "ada@x", points: 5, mentor: ToOne(mentor.id)))
            let logic = context.insert(Course(title: "Logic", students: [ada.id]))
            return (ada.id, logic.id, context.insert(Course(title: "Sets")).id, mentor.id)
        }
        let other = Context(coordinator)
        let (new, pupil, locker) = try await other.perform { context in
            let new = context.insert(Student(name: "Ada L.", email: "ada@x", points: 7))
            try context.object(for: sets).students.append(new)
            let pupil = context.insert(Student(name: "Pupil", mentor: ToOne(new.id)))
            new.locker = context.insert(Locker(number: 1))
            return (new.id, pupil.id, new.locker?.id)
        }
        let held = try await other.perform { try Held($0.object(for: new)) }
        try await other.save()
        try await other.perform { context in
            let survivor = try context.object(for: ada)
            #expect(held.object.isDeleted && held.object.replacedBy == ada && held.object.name == "Ada L.")
            #expect(context[new] == nil)
            #expect(survivor.name == "Ada L." && survivor.points == 7 && survivor.mentor?.id == mentor)
            #expect(survivor.courses.ids == [logic, sets] && survivor.pupils.ids == [pupil])
            #expect(
                survivor.locker?.id == locker && survivor.locker?.student == survivor
                    && survivor.version == RowVersion(2))
            #expect(context.hasChanges == false)
        }
        #expect(try coordinator.snapshot.fetchCount(Student.self) == 3 && coordinator.check() == [])
        #expect(coordinator.snapshot.value(for: new) == nil)
    }

    /// Holds an object across turns of its context.
    private struct Held<E: Entity>: @unchecked Sendable {
        // Used in the context's isolation alone.
        let object: ManagedObject<E>

        init(_ object: ManagedObject<E>) { self.object = object }
    }

    @Test func `R10 upsert among new objects, and into one changed in the same save`() async throws {
        let ids = try await context.transaction { context in
            context.insert(contentsOf: [
                Student(name: "a", email: "x", points: 1), Student(name: "b", email: "x", points: 2),
                Student(name: "c", email: "x", points: 3),
            ])
        }
        #expect(try coordinator.snapshot.fetchIDs(Student.self) == [ids[0]])
        #expect(coordinator.snapshot.value(for: ids[0])?.points == 3)
        try await context.transaction { context in
            try context.object(for: ids[0]).email = "y"
            context.insert(Student(name: "new x", email: "x"))
            context.insert(Student(name: "new y", email: "y"))
        }
        let names = try coordinator.snapshot.fetchValues(Student.self).map(\.name)
        #expect(names == ["new y", "new x"] && coordinator.check() == [])
    }

    @Test func `R10 an object that is not new never gives way`() async throws {
        let ids = try await context.transaction { context in
            context.insert(contentsOf: [Student(name: "a", email: "x"), Student(name: "b", email: "y")])
        }
        let found = try await violations { try $0.object(for: ids[1]).email = "x" }
        #expect(found == ["Student/p2.email = \"x\" is taken by Student/p1"])
    }

    @Test func `R10 keepExisting: the object that was there stays as it is`() async throws {
        let ids = try await context.transaction { context in
            let ada = context.insert(Student(name: "Ada"))
            ada.locker = context.insert(Locker(number: 1))
            return (ada.id, context.insert(Locker(number: 2)).id)
        }
        try await context.transaction { context in
            let bob = context.insert(Student(name: "Bob"))
            bob.locker = context.insert(Locker(number: 1))
            let eve = context.insert(Student(name: "Eve"))
            eve.locker = context.insert(Locker(number: 2))
        }
        let snapshot = coordinator.snapshot
        let students = try snapshot.fetchValues(Student.self)
        #expect(students.map(\.name) == ["Ada", "Bob", "Eve"] && snapshot.check() == [])
        #expect(
            students.map { $0.locker.id?.row } == [1, nil, ids.1.row] && snapshot.version(of: ids.0) == RowVersion(1))
        #expect(try snapshot.fetchCount(Locker.self) == 2)
    }

    @Test func `R10 a new object that changes nothing makes no commit`() async throws {
        try await context.transaction { _ = $0.insert(Locker(number: 1)) }
        let commit = coordinator.snapshot.commit
        let new = await context.perform { $0.insert(Locker(number: 1)).id }
        try await context.save()
        #expect(coordinator.snapshot.commit == commit)
        await context.perform { context in
            #expect(context[new] == nil)
            #expect(context.hasChanges == false)
        }
    }

    @Test func `R10 the value of an object that is deleted in the same save is free`() async throws {
        let id = try await context.transaction { $0.insert(Student(name: "a", email: "x")).id }
        let new = try await context.transaction { context in
            try context.object(for: id).delete()
            return context.insert(Student(name: "b", email: "x")).id
        }
        #expect(try coordinator.snapshot.fetchIDs(Student.self) == [new])
    }

    @Test func `R10 upsert against an object that another context deletes`() async throws {
        let id = try await context.transaction { $0.insert(Student(name: "a", email: "x")).id }
        let other = Context(coordinator)
        try await context.transaction { try $0.object(for: id).delete() }
        let new = try await other.transaction { $0.insert(Student(name: "b", email: "x")).id }
        #expect(try coordinator.snapshot.fetchIDs(Student.self) == [new])
        // The other way round the delete meets a newer version.
        try await other.perform { try $0.object(for: new).delete() }
        await context.refresh()
        try await context.transaction { _ = $0.insert(Student(name: "c", email: "x")) }
        await #expect(throws: GraphError.self) { try await other.save() }
        #expect(coordinator.snapshot.value(for: new)?.name == "c" && coordinator.check() == [])
    }

    @Test func `R10 upsert finds what others committed since`() async throws {
        let other = Context(coordinator)
        let id = try await context.transaction { $0.insert(Student(name: "a", email: "x", points: 1)).id }
        try await other.transaction { _ = $0.insert(Student(name: "b", email: "x", points: 2)) }
        #expect(
            coordinator.snapshot.value(for: id)?.points == 2 && coordinator.snapshot.version(of: id) == RowVersion(2))
    }
    @Test(.bug(id: "places of upserted members", "the one that stays came last"))
    func `R10 upsert: the object that was there takes over the places among ordered members`() async throws {
        let coordinator = try await Coordinator(for: Track.self, Disc.self, Mix.self, checksEveryCommit: true)
        let context = Context(coordinator)
        let old = try await context.transaction { $0.insert(contentsOf: [Track(code: "a"), Track(code: "b")]) }
        let (disc, mix) = try await context.transaction { context in
            let tracks = ["a", "new", "b"].map { context.insert(Track(code: $0, title: "again")) }
            let (disc, mix) = (context.insert(Disc(name: "disc")), context.insert(Mix(name: "mix")))
            disc.tracks = RelatedObjects(tracks)
            mix.tracks = RelatedObjects(tracks)
            return (disc.id, mix.id)
        }
        try await context.perform { context in
            let (disc, mix) = try (context.object(for: disc), context.object(for: mix))
            #expect(disc.tracks.map(\.code) == ["a", "new", "b"] && mix.tracks == disc.tracks)
            #expect([disc.tracks[0].id, disc.tracks[2].id] == old && disc.tracks[0].title == "again")
        }
    }

    @Test(.bug(id: "upserts that follow", "the twigs of the upserted tree were refused"), arguments: [true, false])
    func `R10 upsert by a reference to what is upserted in the same save`(isTreeFirst: Bool) async throws {
        let coordinator =
            isTreeFirst
            ? try await Coordinator(for: Tree.self, Twig.self, checksEveryCommit: true)
            : try await Coordinator(for: Twig.self, Tree.self, checksEveryCommit: true)
        let context = Context(coordinator)
        for leaves in [1, 2] {
            try await context.transaction { context in
                let tree = context.insert(Tree(name: "oak"))
                context.insert(Twig(name: "left", leaves: leaves, tree: ToOne(tree.id)))
            }
        }
        #expect(coordinator.snapshot.count(of: Tree.self) == 1)
        #expect(try coordinator.snapshot.fetchValues(Twig.self).map(\.leaves) == [2])
    }

    /// The author who is there takes the pair over before a new one comes to have it, by way of a rival who gives way too.
    @Test func `R10 a new object gives way to one that took the value over in the same save`() async throws {
        let coordinator = try await Coordinator(for: Author.self, checksEveryCommit: true)
        let bee = try await coordinator.transaction { $0.insert(Author(name: "Bee", email: "bee")).id }
        let context = Context(coordinator)
        await context.perform { context in
            context.insert(Author(name: "Dot", email: "cat", rival: ToOne(bee)))
            let new = context.insert(Author(name: "Dot", email: "eve"))
            new.rival = context.insert(Author(name: "Bee", email: "bee"))
        }
        // Comes after the new ones in the order of rows, and before them in the store.
        try await coordinator.transaction { _ = $0.insert(Author(name: "Cat", email: "cat")) }
        try await context.save()
        #expect(try coordinator.snapshot.fetchValues(Author.self).map(\.email) == ["bee", "cat"])
        #expect(try coordinator.snapshot.fetchValues(Author.self).map(\.name) == ["Bee", "Dot"])
    }

    @Test func `R40 the constraint that refuses comes first, before one by which the object would have given way`()
        async throws
    {
        let coordinator = try await Coordinator(for: Member.self)
        try await coordinator.transaction { context in
            for number in 1...12 { context.insert(Member(email: "\(number)", number: number)) }
        }
        do throws(GraphError) {
            let context = Context(coordinator)
            await context.perform { context in
                for number in 1...12 { context.insert(Member(email: "\(number)", number: number)) }
            }
            try await context.save()
            Issue.record("saved")
        } catch {
            guard case .notUnique(let violations) = error else { throw error }
            #expect(violations.totalCount == 24 && violations.prefix(12).allSatisfy { $0.property == "number" })
            #expect(error.description.contains("Member/p13.number = 1 is taken by Member/p1"))
            #expect(!error.description.contains("email"))
        }
    }

    @Test func `R10 numbers are compared by their bits: two zeros, and one NaN`() async throws {
        let coordinator = try await Coordinator(for: Member.self)
        let insert: @Sendable (Int, Double?) async throws -> Void = { number, weight in
            try await coordinator.transaction { context in
                context.insert(Member(email: "\(number)", number: number, weight: weight))
            }
        }
        for (number, weight) in [nil, nil, 0.0, -0.0, .nan].enumerated() { try await insert(number, weight) }
        await #expect(throws: GraphError.self) { try await insert(9, .nan) }
        #expect(coordinator.snapshot.count(of: Member.self) == 5)
    }

    @Test func `R10 upsert: attributes come as they are, nil or not, and what the new object does not lead to stays`()
        async throws
    {
        let (ada, mentor) = try await context.transaction { context in
            let mentor = context.insert(Student(name: "Mentor"))
            let ada = context.insert(Student(name: "Ada", email: "ada@x", points: 5, mentor: ToOne(mentor.id)))
            ada.courses = [context.insert(Course(title: "Logic"))]
            return (ada.id, mentor.id)
        }
        try await context.transaction { context in
            let new = context.insert(Student(name: "", email: "ada@x"))
            new.courses = [context.insert(Course(title: "Sets"))]
        }
        let row = try #require(coordinator.snapshot.value(for: ada))
        #expect(row.name == "" && row.points == 0 && row.mentor.id == mentor)
        let courses = try coordinator.snapshot.relatedValues(\Student.courses, of: ada)
        #expect(courses.map(\.title) == ["Logic", "Sets"])
    }

    @Test func `R9 a new object that gives way denies no delete`() async throws {
        let coordinator = try await Coordinator(for: Desk.self, Office.self, checksEveryCommit: true)
        let context = Context(coordinator)
        let office = try await context.transaction { context in
            context.insert(Desk(number: 1))
            return context.insert(Office(name: "corner")).id
        }
        try await context.transaction { context in
            context.insert(Desk(number: 1, office: ToOne(office)))
            try context.object(for: office).delete()
        }
        #expect(coordinator.snapshot.count(of: Office.self) == 0 && coordinator.snapshot.count(of: Desk.self) == 1)
    }
}
