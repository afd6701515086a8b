import Testing

@testable import Graph

/// R3: order is a key beside each member.
struct OrderedMembersTests {
    let coordinator: Coordinator
    let context: Context

    init() async throws {
        coordinator = try await .school()
        context = Context(coordinator)
    }

    private static func titles(_ course: Course.Object) -> String { course.lectures.map(\.title).joined() }

    private func course(_ titles: String) async throws -> Course.ID {
        try await context.transaction { context in
            let course = context.insert(Course(title: "Logic"))
            for title in titles { course.lectures.append(context.insert(Lecture(title: String(title)))) }
            return course.id
        }
    }

    @Test func `members are appended, inserted and moved`() async throws {
        let id = try await course("abcd")
        try await context.transaction { context in
            let course = try context.object(for: id)
            course.lectures.move(from: 3, to: 0)
            #expect(Self.titles(course) == "dabc")
            course.lectures.move(from: 0, to: 2)
            #expect(Self.titles(course) == "abdc")
            course.lectures.insert(context.insert(Lecture(title: "x")), at: 1)
            #expect(
                Self.titles(course) == "axbdc" && course.lectures[1].title == "x" && course.lectures.last?.title == "c")
            course.lectures.append(course.lectures[0])
            #expect(Self.titles(course) == "axbdc", "a member keeps its place")
            course.lectures[4].course = nil
            course.lectures.remove(at: 0).delete()
            #expect(Self.titles(course) == "xbd")
            for lecture in try context.fetch(Lecture.self, where: { $0.course.id == nil }) { lecture.delete() }
        }
        #expect(coordinator.check() == [])
    }

    @Test func `a child that refers to its parent comes last`() async throws {
        let id = try await course("ab")
        try await context.transaction { context in
            let course = try context.object(for: id)
            let lectures = "xyz".map { context.insert(Lecture(title: String($0))) }
            for lecture in lectures.reversed() { lecture.course = course }
            #expect(Self.titles(course) == "abzyx")
            lectures[0].course = course
            #expect(Self.titles(course) == "abzyx")
            lectures[2].course = nil
            lectures[2].course = course
            #expect(Self.titles(course) == "abyxz")
        }
    }

    @Test func `an assignment gives the order, with as few moves as it takes`() async throws {
        let id = try await course("abcdef")
        let before = try await keys(of: id)
        try await context.transaction { context in
            let course = try context.object(for: id)
            let lectures = Array(course.lectures)
            course.lectures = [lectures[5], lectures[0], lectures[1], lectures[3], lectures[2]]
            #expect(Self.titles(course) == "fabdc")
            lectures[4].delete()
        }
        let after = try await keys(of: id)
        #expect(after.filter { before[$0.key] == $0.value }.count == 3)
        try await context.transaction { context in
            let course = try context.object(for: id)
            course.lectures = RelatedObjects(course.lectures.reversed())
            #expect(Self.titles(course) == "cdbaf")
        }
        #expect(coordinator.check() == [])
    }

    private func keys(of id: Course.ID) async throws -> [RowNumber: OrderKey] {
        let snapshot = coordinator.snapshot
        let list = try #require(snapshot.schema.linkTables.firstIndex { $0.toOne != nil })
        return Dictionary(uniqueKeysWithValues: snapshot.linkTables[list].keys(of: id.row).map { ($0.member, $0.key) })
    }

    @Test func `order is kept across saving, refreshing and reopening, in both directions`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("school.graph")
        let first = try await Coordinator.school(at: path)
        let id = try await Context(first).transaction { context in
            let readings = "abc".map { context.insert(Paper(title: String($0))) }
            let course = context.insert(Course(title: "Logic", readings: ToMany(readings.reversed().map(\.id))))
            let other = context.insert(Course(title: "Sets", readings: ToMany(readings.map(\.id))))
            course.readings.move(from: 0, to: 1)
            readings[0].courses.move(from: 1, to: 0)
            #expect(course.readings.map(\.title) == ["b", "c", "a"] && readings[0].courses == [other, course])
            return (course.id, readings[0].id)
        }
        try await first.close()
        let second = try await Coordinator.school(at: path)
        #expect(try second.snapshot.relatedValues(\Course.readings, of: id.0).map(\.title) == ["b", "c", "a"])
        #expect(try second.snapshot.relatedValues(\Paper.courses, of: id.1).map(\.title) == ["Sets", "Logic"])
        #expect(second.check() == [])
        try await second.close()
    }

    @Test func `R3 contexts that add to one list both do, in one order for all`() async throws {
        let id = try await course("ab")
        let contexts = [context, Context(coordinator), Context(coordinator)]
        for (context, title) in zip(contexts, ["x", "y", "z"]) {
            try await context.perform { context in
                try context.object(for: id).lectures.append(context.insert(Lecture(title: title)))
            }
        }
        try await contexts[1].perform { context in
            let course = try context.object(for: id)
            course.lectures.move(from: 0, to: 1)
        }
        for context in contexts.reversed() { try await context.save() }
        #expect(
            try coordinator.snapshot.relatedValues(\Course.lectures, of: id).map(\.title) == ["b", "a", "x", "y", "z"])
        #expect(coordinator.snapshot.version(of: id) == RowVersion(1))
        // What was appended at the same place has one key; putting something between pulls the two apart.
        await context.refresh()
        try await context.transaction { context in
            let course = try context.object(for: id)
            course.lectures.insert(context.insert(Lecture(title: "!")), at: 3)
            #expect(Self.titles(course) == "bax!yz")
            course.lectures.insert(context.insert(Lecture(title: "?")), at: 5)
            #expect(Self.titles(course) == "bax!y?z")
        }
        #expect(coordinator.check() == [])
    }

    @Test func `R3 a move changes no row, and the later of two moves of one member counts`() async throws {
        let id = try await course("abc")
        let other = Context(coordinator)
        try await context.perform { try $0.object(for: id).lectures.move(from: 2, to: 0) }
        try await other.perform { try $0.object(for: id).lectures.move(from: 2, to: 1) }
        try await context.save()
        try await other.save()
        #expect(try coordinator.snapshot.relatedValues(\Course.lectures, of: id).map(\.title) == ["a", "c", "b"])
        let snapshot = coordinator.snapshot
        #expect(try snapshot.fetchIDs(Lecture.self).allSatisfy { snapshot.version(of: $0) == RowVersion(1) })
        #expect(coordinator.check() == [])
    }

    @Test func `R3 a move to where the member is changes nothing and undoes no move of others`() async throws {
        let id = try await course("abcd")
        let other = Context(coordinator)
        try await other.perform { try $0.object(for: id).lectures.move(from: 3, to: 1) }
        try await other.save()
        try await context.perform { context in
            let lectures = try context.object(for: id).lectures
            for offset in 0..<4 {
                lectures.move(from: offset, to: offset)
                lectures.insert(lectures[offset], at: offset)
            }
            let hasChanges = context.hasChanges
            #expect(!hasChanges)
            lectures.move(from: 0, to: 0)
            try context.object(for: id).title = "e"
        }
        try await context.save()
        #expect(try coordinator.snapshot.relatedValues(\Course.lectures, of: id).map(\.title) == ["a", "d", "b", "c"])
    }

    @Test(.bug(id: "long order keys", "keys grew by a byte for every few members"))
    func `R3 a long collection that is reversed has short keys`() async throws {
        let id = try await context.transaction { context in
            let course = context.insert(Course(title: "Logic"))
            course.lectures = RelatedObjects((0..<2_000).map { context.insert(Lecture(title: "\($0)")) })
            course.lectures = RelatedObjects(course.lectures.reversed())
            #expect(course.lectures.map(\.title) == (0..<2_000).reversed().map { "\($0)" })
            return course.id
        }
        let keys = try await keys(of: id)
        #expect(keys.count == 2_000)
        #expect(keys.values.map(\.bytes.count).max() ?? 0 <= 16)
    }

    @Test(.bug(id: "long order keys", "the process ended")) func `R3 members go between long keys that a file has`()
        throws
    {
        let schema = try Schema([
            EntityDescription(Disc.self), EntityDescription(Mix.self), EntityDescription(Track.self),
        ])
        let list = try #require(schema.linkTables.firstIndex { $0.toOne != nil })
        let bytes = [UInt8](repeating: 128, count: 200_000)
        let (lower, upper) = (OrderKey(bytes: bytes), OrderKey(bytes: bytes.dropLast() + [129]))
        var store = RecordedStore(schema: schema)
        try store.commit { work in
            work.insert(1, Disc(name: "disc"))
            for row in RowNumber(1)...3 {
                work.insert(row, Track(code: "\(row)", disc: ToOne(PersistentID(row: 1))))
            }
            work.snapshot.linkTables[list].insert(1, of: 1, key: lower)
            work.snapshot.linkTables[list].insert(2, of: 1, key: upper)
        }
        let snapshot = try store.replay().snapshot
        #expect(snapshot.check() == [])
        #expect(snapshot.linkTables[list].key(of: 1, of: 1) == lower)
        var work = WorkingState(base: snapshot)
        let tracks = schema.toMany(\Disc.tracks, of: schema.number(of: Disc.self))
        work.place(3, of: 1, through: tracks, at: 1)
        #expect(work.snapshot.linkTables[list].keys(of: 1).map(\.member) == [1, 3, 2])
    }
}
