import Testing

@testable import Graph

/// R3, R9, R13, R14: relationships that several contexts change at once. Every commit of these stores is checked.
struct RelationshipConcurrencyTests {
    let coordinator: Coordinator
    let ours: Context
    let theirs: Context

    init() async throws {
        coordinator = try await .school()
        ours = Context(coordinator)
        theirs = Context(coordinator)
    }

    private func read<E>(_ id: PersistentID<E>) -> E? { coordinator.snapshot.value(for: id) }

    /// Saves, and gives back what kept it from being saved.
    private func refusal(of context: Context) async -> GraphError? {
        do {
            try await context.save()
            return nil
        } catch {
            return error
        }
    }

    // MARK: Parents and children

    @Test func `R14 a parent is deleted while a child is added elsewhere: the rule decides`() async throws {
        let ids = try await ours.transaction { context in
            let student = context.insert(Student(name: "Ada"))
            return (context.insert(Course(title: "Logic")).id, student.id, context.insert(Hall(house: "A")).id)
        }
        // Added first, deleted then: cascade takes the child along, nullify lets it go, deny denies.
        await theirs.refresh()
        try await ours.perform { context in
            try context.object(for: ids.0).lectures.append(context.insert(Lecture(title: "First")))
            context.insert(Student(name: "Pupil", mentor: ToOne(ids.1)))
            context.insert(Course(title: "Sets", room: ToOne(ids.2)))
        }
        try await ours.save()
        try await theirs.perform { context in
            try context.object(for: ids.0).delete()
            try context.object(for: ids.1).delete()
        }
        try await theirs.save()
        let snapshot = coordinator.snapshot
        #expect(try snapshot.fetchCount(Lecture.self) == 0)
        #expect(try snapshot.fetchValues(Student.self).map(\.mentor.id) == [nil])
        try await theirs.perform { try $0.object(for: ids.2).delete() }
        guard case .deleteDenied(let denied) = await refusal(of: theirs) else {
            Issue.record("the hall is gone")
            return
        }
        #expect(denied.map(\.relationship) == ["Hall.courses"] && read(ids.2) != nil)
    }

    @Test func `R14 a parent is deleted before a child is added elsewhere: the reference dangles`() async throws {
        let ids = try await ours.transaction { context in
            (context.insert(Course(title: "Logic")).id, context.insert(Student(name: "Ada")).id)
        }
        await theirs.refresh()
        try await ours.transaction { try $0.object(for: ids.0).delete() }
        try await theirs.perform { context in
            context.insert(Lecture(title: "First", course: ToOne(ids.0)))
            try context.object(for: ids.0).students.append(try context.object(for: ids.1))
        }
        for _ in 1...2 {
            guard case .danglingReferences(let dangling) = await refusal(of: theirs) else {
                Issue.record("saved")
                return
            }
            #expect(
                dangling.map(\.description).sorted() == [
                    "Lecture/p1.course refers to Course/p1, which does not exist",
                    "Student/p1.courses refers to Course/p1, which does not exist",
                ])
            // Moving the base hides the link, and goes on reporting it.
            await theirs.refresh()
            try await theirs.perform { context in
                let student = try context.object(for: ids.1)
                #expect(student.courses.isEmpty && student.courses.count == 0)
                #expect(context.hasChanges == true)
            }
        }
        try await theirs.perform { context in
            try context.object(for: ids.1).courses = []
            for lecture in try context.fetch(Lecture.self) { lecture.delete() }
        }
        #expect(await refusal(of: theirs) == nil)
    }

    @Test func `R3 two contexts add children to one parent, whose version stays`() async throws {
        let id = try await ours.transaction { $0.insert(Course(title: "Logic")).id }
        await theirs.refresh()
        for context in [ours, theirs] {
            try await context.perform { context in
                let course = try context.object(for: id)
                course.lectures.append(context.insert(Lecture(title: "x")))
                course.students.append(context.insert(Student(name: "x")))
            }
        }
        try await ours.save()
        try await theirs.save()
        let snapshot = coordinator.snapshot
        #expect(snapshot.version(of: id) == RowVersion(1))
        #expect(try snapshot.related(\Course.lectures, of: id).count == 2)
        #expect(try snapshot.related(\Course.students, of: id).count == 2)
    }

    // MARK: Links

    private func linked() async throws -> (Course.ID, Student.ID) {
        let ids = try await ours.transaction { context in
            let student = context.insert(Student(name: "Ada"))
            return (context.insert(Course(title: "Logic", students: [student.id])).id, student.id)
        }
        await theirs.refresh()
        return ids
    }

    @Test func `R3 both remove one link, from either side`() async throws {
        let ids = try await linked()
        try await ours.perform { try $0.object(for: ids.0).students.removeAll() }
        try await theirs.perform { try $0.object(for: ids.1).courses.removeAll() }
        try await ours.save()
        let commit = coordinator.snapshot.commit
        try await theirs.save()
        #expect(coordinator.snapshot.commit == commit, "nothing was left to do")
        #expect(try coordinator.snapshot.related(\Course.students, of: ids.0) == [])
    }

    @Test func `R3 both add one link`() async throws {
        let ids = try await linked()
        let other = try await ours.transaction { $0.insert(Student(name: "Bob")).id }
        await theirs.refresh()
        for context in [ours, theirs] {
            try await context.perform { context in
                try context.object(for: ids.0).students.append(try context.object(for: other))
            }
        }
        try await ours.save()
        try await theirs.save()
        #expect(try coordinator.snapshot.related(\Course.students, of: ids.0) == [ids.1, other])
    }

    @Test func `R3 one adds, one removes, one edits the rows: no conflict`() async throws {
        let ids = try await linked()
        let third = Context(coordinator)
        try await ours.perform { try $0.object(for: ids.0).students.removeAll() }
        await theirs.perform { context in
            let student = context.insert(Student(name: "Bob", courses: [ids.0]))
            student.points = 1
        }
        try await third.perform { context in
            try context.object(for: ids.0).title = "Logic I"
            try context.object(for: ids.1).name = "Ada L."
        }
        for context in [third, ours, theirs] { try await context.save() }
        #expect(try coordinator.snapshot.relatedValues(\Course.students, of: ids.0).map(\.name) == ["Bob"])
        #expect(read(ids.0)?.title == "Logic I" && read(ids.1)?.name == "Ada L.")
    }

    @Test func `R14 a link to what others deleted; and a delete of what others linked`() async throws {
        let ids = try await linked()
        try await ours.transaction { try $0.object(for: ids.1).delete() }
        try await theirs.perform { context in
            let course = try context.object(for: ids.0)
            course.students.remove(at: 0)
            let sets = context.insert(Course(title: "Sets"))
            try context.object(for: ids.1).courses.append(sets)
        }
        guard case .danglingReferences(let dangling) = await refusal(of: theirs) else {
            Issue.record("saved")
            return
        }
        #expect(dangling.map(\.description) == ["Course/p2.students refers to Student/p1, which does not exist"])
        await theirs.rollback(to: .latest)

        let student = try await ours.transaction { $0.insert(Student(name: "Bob")).id }
        await theirs.refresh()
        try await theirs.perform { try $0.object(for: student).delete() }
        try await ours.transaction { try $0.object(for: ids.0).students.append(try $0.object(for: student)) }
        try await theirs.save()
        #expect(try coordinator.snapshot.related(\Course.students, of: ids.0) == [])
    }

    @Test func `R13 links that others made deny a delete; those that they ended do not`() async throws {
        let ids = try await ours.transaction { context in
            let paper = context.insert(Paper(title: "Organon"))
            return (context.insert(Course(title: "Logic", readings: [paper.id])).id, paper.id)
        }
        await theirs.refresh()
        try await theirs.perform { try $0.object(for: ids.1).delete() }
        try await ours.transaction { try $0.object(for: ids.0).readings.removeAll() }
        #expect(await refusal(of: theirs) == nil, "the link that denied it is gone")
        #expect(read(ids.1) == nil)

        let paper = try await ours.transaction { $0.insert(Paper(title: "Topics")).id }
        await theirs.refresh()
        try await theirs.perform { try $0.object(for: paper).delete() }
        try await ours.transaction { try $0.object(for: ids.0).readings.append(try $0.object(for: paper)) }
        guard case .deleteDenied(let denied) = await refusal(of: theirs) else {
            Issue.record("the paper is gone")
            return
        }
        #expect(denied.map(\.relationship) == ["Paper.courses"])
        // After the base moved, the link that others made is still what denies it.
        await theirs.refresh()
        guard case .deleteDenied = await refusal(of: theirs) else {
            Issue.record("the paper is gone")
            return
        }
        try await ours.transaction { try $0.object(for: ids.0).delete() }
        await theirs.refresh()
        #expect(await refusal(of: theirs) == nil)
    }

    // MARK: While a save is in flight

    private static func gatedSchool() async throws -> (GatedDisk, Coordinator) {
        let disk = GatedDisk()
        var options = JournalOptions()
        options.random = { 7 }
        let entities = [
            EntityDescription(Course.self), EntityDescription(Lecture.self), EntityDescription(Student.self),
            EntityDescription(Locker.self), EntityDescription(Paper.self), EntityDescription(Hall.self),
        ]
        let coordinator = try await Coordinator(
            Schema(entities), path: "/data/store.graph", fileSystem: disk, options: options, checksEveryCommit: true)
        return (disk, coordinator)
    }

    @Test func `R23a what is done meanwhile to a new object that gives way goes to the one that stays`() async throws {
        let (disk, coordinator) = try await Self.gatedSchool()
        let context = Context(coordinator)
        let (ada, logic) = try await context.transaction { context in
            (context.insert(Student(name: "Ada", email: "x")).id, context.insert(Course(title: "Logic")).id)
        }
        disk.hold()
        let new = await context.perform { $0.insert(Student(name: "Ada L.", email: "x", points: 1)).id }
        let save = Task { try await context.save() }
        await disk.waitForArrival()
        let pupil = try await context.perform { context in
            let student = try context.object(for: new)
            student.points = 2
            try context.object(for: logic).students.append(student)
            student.buddies.append(student)
            return context.insert(Student(name: "Pupil", mentor: ToOne(new))).id
        }
        disk.release()
        try await save.value
        try await context.perform { context in
            let survivor = try context.object(for: ada)
            #expect(survivor.name == "Ada L." && survivor.points == 2 && survivor.courses.ids == [logic])
            #expect(survivor.buddies == [survivor] && survivor.pupils.ids == [pupil] && survivor.isUpdated)
            #expect(context[new] == nil)
        }
        try await context.save()
        #expect(coordinator.snapshot.value(for: ada)?.points == 2 && coordinator.check() == [])
        try await coordinator.close()
    }

    @Test func `R23a links made and ended while a save is in flight stay pending`() async throws {
        let (disk, coordinator) = try await Self.gatedSchool()
        let context = Context(coordinator)
        disk.hold()
        let (course, student) = await context.perform { context in
            let student = context.insert(Student(name: "Ada"))
            return (context.insert(Course(title: "Logic", students: [student.id])).id, student.id)
        }
        let save = Task { try await context.save() }
        await disk.waitForArrival()
        try await context.perform { context in
            try context.object(for: course).students.removeAll()
            context.insert(Course(title: "Sets", students: [student]))
        }
        disk.release()
        try await save.value
        #expect(try coordinator.snapshot.related(\Course.students, of: course) == [student])
        try await context.perform { context in
            let student = try context.object(for: student)
            #expect(student.courses.map(\.title) == ["Sets"])
        }
        try await context.save()
        #expect(try coordinator.snapshot.related(\Course.students, of: course) == [])
        // A save that fails gives everything back.
        disk.hold()
        try await context.perform { try $0.object(for: course).students.append(try $0.object(for: student)) }
        let failing = Task { try await context.save() }
        await disk.waitForArrival()
        disk.fill()
        disk.release()
        await #expect(throws: GraphError.self) { try await failing.value }
        try await context.perform { context in
            let student = try context.object(for: student)
            #expect(student.courses.map(\.title) == ["Logic", "Sets"])
        }
        try await coordinator.close()
    }

    @Test func `R8 a save fails whose new row was deleted meanwhile, which a link denies`() async throws {
        let (disk, coordinator) = try await Self.gatedSchool()
        let context = Context(coordinator)
        let id = try await context.transaction { $0.insert(Course(title: "Logic")).id }
        disk.hold()
        let paper = await context.perform { $0.insert(Paper(title: "Organon", courses: [id])).id }
        let save = Task { try await context.save() }
        await disk.waitForArrival()
        try await context.perform { try $0.object(for: paper).delete() }
        disk.fill()
        disk.release()
        await #expect(throws: GraphError.self) { try await save.value }
        try await context.perform { context in
            let course = try context.object(for: id)
            #expect(course.readings.isEmpty && course.readings.ids == [])
            #expect(context.hasChanges == false)
        }
        try await context.save()
        #expect(coordinator.check() == [])
        try await coordinator.close()
    }

    @Test func `R20 a link to what a failed transaction inserted does not stand in the way of later saves`()
        async throws
    {
        let (disk, coordinator) = try await Self.gatedSchool()
        let context = Context(coordinator)
        let id = try await context.transaction { $0.insert(Course(title: "Logic")).id }
        disk.hold()
        let transaction = Task { try await context.transaction { _ = $0.insert(Student(name: "Ada")) } }
        await disk.waitForArrival()
        try await context.perform { context in
            let course = try context.object(for: id)
            course.title = "Sets"
            course.students.append(try #require(try context.first(Student.self)))
        }
        disk.fill()
        disk.release()
        await #expect(throws: GraphError.self) { try await transaction.value }
        await context.perform { #expect($0[id]?.students.isEmpty == true) }
        try await context.save()
        #expect(coordinator.snapshot.value(for: id)?.title == "Sets" && coordinator.check() == [])
        try await coordinator.close()
    }

    // MARK: Deletes

    @Test func `R13 deny, with the last child deleted by another context`() async throws {
        let ids = try await ours.transaction { context in
            let hall = context.insert(Hall(house: "A"))
            return (hall.id, context.insert(Course(title: "Logic", room: ToOne(hall.id))).id)
        }
        await theirs.refresh()
        try await theirs.perform { try $0.object(for: ids.0).delete() }
        guard case .deleteDenied = await refusal(of: theirs) else {
            Issue.record("deleted while a course is held there")
            return
        }
        try await ours.transaction { try $0.object(for: ids.1).delete() }
        #expect(await refusal(of: theirs) == nil)
        #expect(read(ids.0) == nil)
    }

    @Test func `R13 a cycle through three entities is deleted as a whole`() async throws {
        let store = try await Coordinator(for: Ring1.self, Ring2.self, Ring3.self, checksEveryCommit: true)
        let context = Context(store)
        let id = try await context.transaction { context in
            let (one, two, three) = (context.insert(Ring1()), context.insert(Ring2()), context.insert(Ring3()))
            one.next = two
            two.next = three
            three.next = one
            return one.id
        }
        try await context.transaction { try $0.object(for: id).delete() }
        let snapshot = store.snapshot
        #expect(snapshot.count(of: Ring1.self) + snapshot.count(of: Ring2.self) + snapshot.count(of: Ring3.self) == 0)
    }

    @Test func `R13 a cascade of 100,000 rows`() async throws {
        let store = try await Coordinator(
            for: Course.self, Lecture.self, Student.self, Locker.self, Paper.self, Hall.self)
        let context = Context(store)
        let id = try await context.transaction { context in
            let id = context.insert(Course(title: "Logic")).id
            context.insert(contentsOf: (0..<100_000).map { Lecture(title: "\($0)", course: ToOne(id)) })
            return id
        }
        #expect(try store.snapshot.related(\Course.lectures, of: id).count == 100_000)
        try await context.transaction { try $0.object(for: id).delete() }
        #expect(store.snapshot.count(of: Lecture.self) == 0 && store.check() == [])
    }

    @Test func `R13 a cascade along a chain of 100,000 rows`() async throws {
        let store = try await Coordinator(for: Link.self)
        let context = Context(store)
        let first = try await context.transaction { context in
            // A reference may be to a row that comes later, so none has to be found again.
            var (first, last) = (Link.ID?.none, Link.ID?.none)
            for _ in 0..<100_000 {
                let link = context.insert(Link(parent: ToOne(last))).id
                (first, last) = (first ?? link, link)
            }
            return first
        }
        try await context.transaction { context in
            try context.object(for: #require(first)).delete()
            #expect(try context.fetchCount(Link.self) == 0)
        }
        #expect(store.snapshot.count(of: Link.self) == 0 && store.check() == [])
        await context.perform { context in
            #expect(context.hasChanges == false)
        }
    }

    @Entity struct Link {
        var parent: ToOne<Link> = nil
        @Relationship(.cascade, inverse: \Link.parent) var children: ToMany<Link> = []
    }

    struct Ring1: Entity {
        var next: ToOne<Ring2> = nil
        static let schema = EntitySchema<Ring1>("Ring1") { $0.toOne("next", \.next, deleteRule: .cascade) }
    }

    struct Ring2: Entity {
        var next: ToOne<Ring3> = nil
        static let schema = EntitySchema<Ring2>("Ring2") { $0.toOne("next", \.next, deleteRule: .cascade) }
    }

    struct Ring3: Entity {
        var next: ToOne<Ring1> = nil
        static let schema = EntitySchema<Ring3>("Ring3") { $0.toOne("next", \.next, deleteRule: .cascade) }
    }
}
