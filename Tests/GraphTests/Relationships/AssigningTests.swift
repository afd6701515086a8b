import Testing

@testable import Graph

/// R12: relationships written and compared as what a program has in hand: identifiers, objects, arrays.
struct AssigningTests {
    let context: Context

    init() async throws {
        context = Context(try await .school())
    }

    // MARK: To one

    @Test func `a reference is assigned as an identifier, and the inverse follows`() async throws {
        try await context.transaction { context in
            let (ada, bob) = (context.insert(Student(name: "Ada")), context.insert(Student(name: "Bob")))
            ada.mentor = bob.id
            #expect(ada.mentor == bob && bob.pupils == [ada])
            let read: Student.ID? = ada.mentor
            #expect(read == bob.id)
            let none: Student.ID? = nil
            ada.mentor = none
            #expect(ada.mentor == nil && bob.pupils.isEmpty)
            ada.mentor = bob
            ada.mentor = nil
            #expect(bob.pupils.isEmpty)
            // One to one: who had it gives it up.
            let locker = context.insert(Locker(number: 1))
            ada.locker = locker.id
            bob.locker = locker.id
            #expect(ada.locker == nil && locker.student == bob)
        }
    }

    @Test func `an identifier of nothing is refused when it is saved`() async throws {
        await #expect(throws: GraphError.self) {
            try await context.transaction { context in
                context.insert(Student(name: "Ada")).mentor = PersistentID<Student>(row: 99)
            }
        }
        #expect(await context.hasChanges == false)
    }

    @Test func `a reference compares with an object, its identifier and nil`() async throws {
        try await context.perform { context in
            let (ada, bob) = (context.insert(Student(name: "Ada")), context.insert(Student(name: "Bob")))
            ada.mentor = bob
            let (value, none): (Student, Student.Object?) = (ada.value, nil)
            #expect(value.mentor == bob && bob == value.mentor && value.mentor == bob.id && bob.id == value.mentor)
            #expect(value.mentor != ada && ada != value.mentor && value.mentor != ada.id && ada.id != value.mentor)
            #expect(value.mentor != nil && value.mentor != none && value.mentor != none?.id)
            #expect(bob.value.mentor == nil && bob.value.mentor == none && none == bob.value.mentor)
            #expect(bob.value.mentor != ada && bob.value.mentor != ada.id)
            #expect(value.mentor == ToOne(bob.id) && value.mentor == value.mentor)
            #expect(ada.mentor == bob && ada.mentor == bob.id && ada.mentor != ada && ada.mentor != ada.id)
            let pupils = try context.fetch(Student.self, where: { $0.mentor == bob })
            #expect(try pupils == [ada] && context.fetchCount(Student.self, where: { $0.mentor != bob.id }) == 1)
        }
    }

    // MARK: To many

    @Test func `members are assigned as an array, and read as one`() async throws {
        await context.perform { context in
            let students = "abcd".map { context.insert(Student(name: String($0))) }
            let (course, mentor) = (context.insert(Course(title: "Logic")), context.insert(Student(name: "m")))
            course.students = students
            mentor.pupils = students.filter { $0.name != "b" }
            let read: [Student.Object] = course.students
            #expect(read == students && mentor.pupils.map(\.name) == ["a", "c", "d"] && students[1].mentor == nil)
            course.students = course.students.filter { $0.name > "b" }
            #expect(read == students && course.students.map(\.name) == ["c", "d"] && students[0].courses.isEmpty)
            course.students = course.students + [students[0]]
            course.students += [students[1]]
            #expect(course.students.count == 4)
            let papers = "abc".map { context.insert(Paper(title: String($0))) }
            course.readings = Array(papers.reversed())
            #expect(course.readings.map(\.title) == ["c", "b", "a"])
            course.readings = course.readings.sorted { $0.title < $1.title }
            #expect(course.readings.map(\.title) == ["a", "b", "c"])
            let empty: [Paper.Object] = []
            course.readings = empty
            #expect(course.readings.isEmpty)
        }
    }

    @Test func `members of another context may not be assigned as an array either: the process ends`() async {
        await #expect(processExitsWith: .failure) { @MainActor in
            let coordinator = try await Coordinator.school()
            let contexts = [Context(coordinator, executor: .main), Context(coordinator, executor: .main)]
            let course = contexts[0].sync { $0.insert(Course(title: "Logic")) }
            course.students = [contexts[1].sync { $0.insert(Student(name: "Ada")) }]
        }
    }

    @Test func `members that a closure accepts are removed, from every kind of relationship`() async throws {
        try await context.transaction { context in
            let students = "abcd".map { context.insert(Student(name: String($0))) }
            let (course, mentor) = (context.insert(Course(title: "Logic")), context.insert(Student(name: "m")))
            (course.students, mentor.pupils) = (RelatedObjects(students), RelatedObjects(students))
            course.readings = RelatedObjects("abcd".map { context.insert(Paper(title: String($0))) })
            course.students.removeAll { $0.name < "c" }
            mentor.pupils.removeAll { $0.name == "d" || $0.mentor == nil }
            course.readings.removeAll(where: { "bd".contains($0.title) })
            #expect(course.students.map(\.name) == ["c", "d"] && students[0].courses.isEmpty)
            #expect(mentor.pupils.map(\.name) == ["a", "b", "c"] && students[3].mentor == nil)
            #expect(course.readings.map(\.title) == ["a", "c"])
            mentor.pupils.removeAll { _ in false }
            #expect(mentor.pupils.count == 3)
            // It sees the members as they were, whatever it does.
            var seen = ""
            mentor.pupils.removeAll { pupil in
                seen += pupil.name
                students[2].mentor = nil
                return pupil.name != "b"
            }
            #expect(seen == "abc" && mentor.pupils.map(\.name) == ["b"])
        }
    }

    @Test func `where the closure throws, all members stay`() async throws {
        struct Stop: Error {}
        try await context.transaction { context in
            let course = context.insert(Course(title: "Logic"))
            course.students = RelatedObjects("abc".map { context.insert(Student(name: String($0))) })
            #expect(throws: Stop.self) {
                try course.students.removeAll { student in
                    if student.name == "c" { throw Stop() }
                    return true
                }
            }
            #expect(course.students.count == 3)
        }
    }

    @Test func `what is removed by a closure was read: others' new members are a conflict for a serializable one`()
        async throws
    {
        let id = try await context.transaction { context in
            let course = context.insert(Course(title: "Logic"))
            course.students = RelatedObjects("ab".map { context.insert(Student(name: String($0))) })
            return course.id
        }
        let tries = Counter()
        try await context.coordinator.transaction(isolation: .serializable) { [context] inner in
            try inner.object(for: id).students.removeAll { $0.points == 0 }
            guard tries.next() == 1 else { return }
            try await context.coordinator.transaction { other in
                try other.object(for: id).students.append(other.insert(Student(name: "c")))
            }
        }
        #expect(try context.coordinator.snapshot.related(\Course.students, of: id).isEmpty && tries.value == 2)
    }

    // MARK: Objects in hand

    @MainActor @Test func `a context on the main actor deletes, discards and requires objects there`() async throws {
        let context = Context(try await .school(), executor: .main)
        let (ada, bob) = (
            context.sync { $0.insert(Student(name: "Ada")) }, context.sync { $0.insert(Student(name: "Bob")) }
        )
        try await context.save()
        bob.name = "Robert"
        context.discard(bob)
        #expect(bob.name == "Bob")
        context.delete(ada)
        #expect(ada.isDeleted)
        let id = bob.id
        try await context.coordinator.transaction { $0[id]?.name = "Bobby" }
        context.require(unchanged: bob)
        await #expect(throws: GraphError.self) { try await context.save() }
    }

    @Test func `an object of another context is refused: the process ends`() async {
        await #expect(processExitsWith: .failure) { @MainActor in
            let coordinator = try await Coordinator.school()
            let contexts = [Context(coordinator, executor: .main), Context(coordinator, executor: .main)]
            contexts[1].delete(contexts[0].sync { $0.insert(Student(name: "Ada")) })
        }
    }
}
