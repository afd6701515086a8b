import Testing

@testable import Graph

struct ReviewTests {
    // MARK: Versions

    @Test func `a conflicting change that is taken back leaves the version as it is in the store`() async throws {
        let disk = GatedDisk()
        let coordinator = try await Coordinator.people(on: disk)
        let (context, other) = (Context(coordinator), Context(coordinator))
        let person = try await context.transaction { $0.insert(Person(name: "Ada")).id }
        await other.refresh()
        disk.hold()
        let first = Task { try await other.transaction { try $0.object(for: person).age = 5 } }
        await disk.waitForArrival()
        await context.perform { _ = $0.insert(Team(name: "red")) }
        let second = Task { try await context.save() }
        while await !context.isSaveUnderWay { await Task.yield() }
        try await context.perform { try $0.object(for: person).age = 1 }
        disk.release()
        try await first.value
        try await second.value
        // Both sides changed it; now it is as the others have it.
        try await context.perform { try $0.object(for: person).age = 5 }
        #expect(await context.hasChanges == false)
        await context.perform { #expect($0[person]?.version == RowVersion(2)) }
        try await context.transaction { _ = $0.insert(Team(name: "blue")) }
        #expect(coordinator.snapshot.version(of: person) == RowVersion(2))
        try await context.transaction { try $0.object(for: person).age = 9 }
        try await coordinator.close()
        let reopened = try await Coordinator.people(on: disk)
        #expect(reopened.snapshot.value(for: person)?.age == 9)
        #expect(reopened.check() == [])
    }

    // MARK: Uniqueness

    private static func tracks() async throws -> Coordinator {
        try await Coordinator(for: Track.self, Disc.self, Mix.self, checksEveryCommit: true)
    }

    @Test func `upsert keeps the place among a disc's tracks`() async throws {
        let context = Context(try await Self.tracks())
        let disc = try await context.transaction { context in
            context.insert(Track(code: "a"))
            context.insert(Track(code: "b"))
            return context.insert(Disc(name: "disc")).id
        }
        let codes = try await context.transaction { context in
            let disc = try context.object(for: disc)
            disc.tracks = ["a", "new", "b"].map { context.insert(Track(code: $0, title: "again")) }.related
            return disc.tracks.map(\.code)
        }
        #expect(codes == ["a", "new", "b"])
        await context.perform { #expect($0[disc]?.tracks.map(\.code) == ["a", "new", "b"]) }
    }

    @Test func `upsert keeps the place among a mix's tracks`() async throws {
        let context = Context(try await Self.tracks())
        let mix = try await context.transaction { context in
            context.insert(Track(code: "a"))
            context.insert(Track(code: "b"))
            return context.insert(Mix(name: "mix")).id
        }
        try await context.transaction { context in
            let mix = try context.object(for: mix)
            mix.tracks = ["a", "new", "b"].map { context.insert(Track(code: $0, title: "again")) }.related
        }
        await context.perform { #expect($0[mix]?.tracks.map(\.code) == ["a", "new", "b"]) }
    }

    private static func importTwice(_ coordinator: Coordinator) async throws {
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

    @Test func `upsert by a reference to what is upserted, referred to first`() async throws {
        try await Self.importTwice(Coordinator(for: Tree.self, Twig.self, checksEveryCommit: true))
    }

    @Test func `upsert by a reference to what is upserted, referring first`() async throws {
        try await Self.importTwice(Coordinator(for: Twig.self, Tree.self, checksEveryCommit: true))
    }

    @Test func `an upserted row's missing member is reported`() async throws {
        let coordinator = try await Coordinator.school()
        let (context, other) = (Context(coordinator), Context(coordinator))
        let course = try await context.transaction { context in
            context.insert(Student(name: "Ada", email: "ada@x"))
            return context.insert(Course(title: "gone")).id
        }
        await other.refresh()
        try await context.transaction { try $0.object(for: course).delete() }
        await other.perform { _ = $0.insert(Student(name: "Ada", email: "ada@x", courses: [course])) }
        await #expect(throws: GraphError.self) { try await other.save() }
    }

    @Test func `R9 uniqueness is judged before denied deletes`() async throws {
        let coordinator = try await Coordinator(for: Desk.self, Office.self, checksEveryCommit: true)
        let context = Context(coordinator)
        let office = try await context.transaction { context in
            context.insert(Desk(number: 1))
            return context.insert(Office(name: "corner")).id
        }
        await context.perform { _ = $0.insert(Desk(number: 1, office: ToOne(office))) }
        try await context.perform { try $0.object(for: office).delete() }
        // The new desk gives way, and with it all that refers to the office.
        try await context.save()
        #expect(coordinator.snapshot.count(of: Office.self) == 0)
    }

    // MARK: Both ends

    @Test func `R12 one to one, written through a property of the program's own`() async throws {
        let coordinator = try await Coordinator.school()
        let context = Context(coordinator)
        try await context.transaction { context in
            let ada = context.insert(Student(name: "Ada"))
            let locker = context.insert(Locker(number: 1))
            #expect(locker.student == nil)
            ada.lockerID = locker.id
            let paired = try context.fetchCount(Student.self) { $0.locker.id != nil }
            #expect(paired == 1)
            #expect(locker.student?.id == ada.id)
            locker.number = 7
            #expect(ada.locker?.id == locker.id)
        }
        #expect(try coordinator.snapshot.fetchValues(Student.self)[0].locker.id != nil)
    }

    @Test func `R12 one to one through a property of the program's own, the other end written before`() async throws {
        let coordinator = try await Coordinator.school()
        let context = Context(coordinator)
        let (ada, locker) = try await context.transaction { context in
            (context.insert(Student(name: "Ada")).id, context.insert(Locker(number: 1)).id)
        }
        try await context.transaction { context in
            let (ada, locker) = try (context.object(for: ada), context.object(for: locker))
            ada.lockerID = locker.id
            locker.number = 7
        }
        #expect(coordinator.snapshot.value(for: ada)?.locker.id == locker)
        #expect(coordinator.snapshot.value(for: locker)?.student.id == ada)
    }

    @Test func `a to-many property of the program's own`() async throws {
        await #expect(processExitsWith: .success) {
            let context = Context(try await Coordinator.school())
            await context.perform { context in
                let ada = context.insert(Student(name: "Ada"))
                _ = ada.friends.count
            }
        }
    }

    // MARK: Members that lead nowhere

    /// A context that has linked a student to a course that others deleted, and has noticed.
    private func missing() async throws -> (Coordinator, Context, Student.ID, Course.ID) {
        let coordinator = try await Coordinator.school()
        let (context, other) = (Context(coordinator), Context(coordinator))
        let (ada, course) = try await other.transaction { context in
            (context.insert(Student(name: "Ada")).id, context.insert(Course(title: "Logic")).id)
        }
        await context.refresh()
        try await context.perform { try $0.object(for: ada).courses.append($0.object(for: course)) }
        try await other.transaction { try $0.object(for: course).delete() }
        await context.refresh()
        return (coordinator, context, ada, course)
    }

    @Test func `removeAll gives up members that lead nowhere`() async throws {
        let (_, context, ada, _) = try await missing()
        await #expect(throws: GraphError.self) { try await context.save() }
        try await context.perform { try $0.object(for: ada).courses.removeAll() }
        try await context.save()
    }

    @Test func `a member that leads nowhere of an owner that is gone is no change`() async throws {
        let coordinator = try await Coordinator.school()
        let context = Context(coordinator)
        let course = try await context.transaction { $0.insert(Course(title: "Logic")).id }
        try await context.transaction { try $0.object(for: course).delete() }
        await context.perform { context in
            let ada = context.insert(Student(name: "Ada", courses: [course]))
            ada.delete()
            #expect(context.hasChanges == false)
        }
    }

    @Test func `members assigned while a save is in flight take the place of those that lead nowhere`() async throws {
        let disk = GatedDisk()
        let schema = try Schema([
            EntityDescription(Course.self), EntityDescription(Lecture.self), EntityDescription(Student.self),
            EntityDescription(Locker.self), EntityDescription(Paper.self), EntityDescription(Hall.self),
            EntityDescription(Key.self),
        ])
        let coordinator = try await Coordinator(
            schema, path: JournalFixture.path, fileSystem: disk, options: JournalFixture.options(seed: 1))
        let (context, other) = (Context(coordinator), Context(coordinator))
        let (ada, course) = try await context.transaction { context in
            (context.insert(Student(name: "Ada")).id, context.insert(Course(title: "Logic")).id)
        }
        await other.refresh()
        try await context.transaction { try $0.object(for: course).delete() }
        await other.refresh()
        // The course is gone by now.
        await other.perform { $0[ada]?.writeCourses([course]) }
        // Another's save is under way, so that the answer waits.
        disk.hold()
        let first = Task { try await context.transaction { _ = $0.insert(Locker(number: 1)) } }
        await disk.waitForArrival()
        let second = Task { try await other.save() }
        while await !other.isSaveUnderWay { await Task.yield() }
        try await other.perform { try $0.object(for: ada).courses = [] }
        disk.release()
        try await first.value
        await #expect(throws: GraphError.self) { try await second.value }
        await other.refresh()
        try await other.save()
    }

    @Test(arguments: [500, 1_000, 2_000, 4_000]) func `many members that lead nowhere`(count: Int) async throws {
        let coordinator = try await Coordinator(for: Track.self, Disc.self, Mix.self)
        let (context, other) = (Context(coordinator), Context(coordinator))
        let (ids, mix) = try await other.transaction { context in
            (context.insert(contentsOf: (0..<count).map { Track(code: "\($0)") }), context.insert(Mix(name: "m")).id)
        }
        await context.refresh()
        try await context.perform { context in
            let mix = try context.object(for: mix)
            for id in ids { mix.tracks.append(try context.object(for: id)) }
        }
        try await other.transaction { context in for id in ids { context[id]?.delete() } }
        let time = await ContinuousClock().measure { await context.refresh() }
        print("REVIEW missing \(count): \(time)")
    }

    @Test func `R13 a link that denies a delete can be ended after the delete too`() async throws {
        let coordinator = try await Coordinator.school()
        let context = Context(coordinator)
        let (paper, course) = try await context.transaction { context in
            let paper = context.insert(Paper(title: "Paper"))
            let course = context.insert(Course(title: "Logic"))
            course.readings = [paper]
            return (paper.id, course.id)
        }
        try await context.perform { context in
            try context.object(for: paper).delete()
            try context.object(for: course).readings = []
        }
        try await context.save()
    }

    // MARK: Live collections

    @Test func `the first two members are the ones that are deleted`() async throws {
        let context = Context(try await Self.tracks())
        try await context.transaction { context in
            let disc = context.insert(Disc(name: "disc"))
            disc.tracks = ["a", "b", "c", "d"].map { context.insert(Track(code: $0)) }.related
            disc.tracks.prefix(2).forEach { $0.delete() }
            #expect(disc.tracks.map(\.code) == ["c", "d"])
        }
    }

    @Test func `members may be changed in map`() async throws {
        await #expect(processExitsWith: .success) {
            let coordinator = try await Coordinator(for: Track.self, Disc.self, Mix.self)
            await Context(coordinator).perform { context in
                let disc = context.insert(Disc(name: "disc"))
                disc.tracks = ["a", "b", "c", "d"].map { context.insert(Track(code: $0)) }.related
                let names = disc.tracks.map { track in
                    track.disc = nil
                    return track.code
                }
                precondition(names == ["a", "b", "c", "d"])
            }
        }
    }

    // MARK: The registry

    @Test func `looking up rows with ephemeral values takes no memory that stays`() async throws {
        let coordinator = try await Coordinator(for: Flagged.self)
        let context = Context(coordinator)
        let id = try await context.transaction { $0.insert(Flagged(name: "x")).id }
        let count = await context.lookUpOften(id)
        #expect(count < 1_000)
    }

    @Test func `upserts leave nothing behind in a context`() async throws {
        let coordinator = try await Self.tracks()
        let context = Context(coordinator)
        let count = try await context.upsertOften()
        #expect(count < 10)
    }

    // MARK: Order

    @Test(arguments: [500, 1_000, 2_000, 4_000]) func `keys of a reversed collection`(count: Int) async throws {
        let context = Context(try await Coordinator(for: Track.self, Disc.self, Mix.self))
        await context.perform { context in
            let disc = context.insert(Disc(name: "disc"))
            disc.tracks = (0..<count).map { context.insert(Track(code: "\($0)")) }.related
            let time = ContinuousClock().measure { disc.tracks = Array(disc.tracks.reversed()).related }
            let longest = context.longestKey()
            print("REVIEW reversed \(count): \(time), longest key \(longest)")
            #expect(longest < 100)
        }
    }

    @Test(arguments: [500, 1_000, 2_000, 4_000]) func `keys of a block put into the middle`(count: Int) async throws {
        let context = Context(try await Coordinator(for: Track.self, Disc.self, Mix.self))
        await context.perform { context in
            let disc = context.insert(Disc(name: "disc"))
            disc.tracks = ["first", "last"].map { context.insert(Track(code: $0)) }.related
            let tracks = (0..<count).map { context.insert(Track(code: "\($0)")) }
            let time = ContinuousClock().measure {
                for (offset, track) in tracks.enumerated() { disc.tracks.insert(track, at: 1 + offset) }
            }
            let longest = context.longestKey()
            print("REVIEW block \(count): \(time), longest key \(longest)")
            #expect(longest < 100)
        }
    }

    @Test func `a key of any length that a file may have has a place behind it`() async {
        await #expect(processExitsWith: .success) {
            let lower = OrderKey(bytes: [UInt8](repeating: 128, count: 200_000))!
            let upper = OrderKey(bytes: [UInt8](repeating: 128, count: 199_999) + [129])!
            precondition(lower < OrderKey.between(lower, upper))
        }
    }
}

extension ManagedObject<Student> {
    fileprivate func writeCourses(_ ids: [Course.ID]) { self[dynamicMember: \.courses] = ToMany(ids) }
}

extension Array where Element == ManagedObject<Track> {
    var related: RelatedObjects<Track> { RelatedObjects(self) }
}

extension Context {
    fileprivate func lookUpOften(_ id: Flagged.ID) -> Int {
        for _ in 0..<100_000 { _ = self[id]?.name }
        guard let registry = state.registry else { return -1 }
        let recent = Mirror(reflecting: registry).children.first { $0.label == "recent" }?.value
        return Mirror(reflecting: recent ?? []).children.count
    }

    fileprivate func upsertOften() async throws -> Int {
        insert(Track(code: "a"))
        try await save()
        for number in 0..<1_000 {
            let track = insert(Track(code: "a", title: "\(number)"))
            try await save()
            #expect(track.isDeleted)
        }
        let replaced = Mirror(reflecting: state).children.first { $0.label == "replacements" }?.value
        return (replaced as? Replacements)?.values.map(\.count).reduce(0, +) ?? -1
    }

    fileprivate func longestKey() -> Int {
        var longest = 0
        for list in state.flushed.adjacencies {
            list.members.forEachEntry { entry in
                longest = Swift.max(longest, entry.count - 16)
                return true
            }
        }
        return longest
    }
}
